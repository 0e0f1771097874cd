// The fork-join programs of Locksley's lab that the README compares with oneTBB.
//
//   onetbb PROGRAM N THREADS
//
// PROGRAM is fib, queens or skynet. Runs it once to warm up and once timed, and prints its result
// and its seconds. The forks are those of the lab's programs: between the two calls of fib, between
// any two candidate squares of a row, and between halves of the children of a node.

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tbb = oneapi::tbb;

static std::uint64_t fib(unsigned n) {
    if (n < 2) return n;
    std::uint64_t a = 0, b = 0;
    tbb::parallel_invoke([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
    return a + b;
}

struct Queens {
    std::uint32_t board, columns, rising, falling, candidates;

    Queens below(std::uint32_t square) const {
        Queens next = {board, columns | square, (rising | square) << 1, (falling | square) >> 1, 0};
        next.candidates = board & ~(next.columns | next.rising | next.falling);
        return next;
    }

    std::uint64_t ways() const {
        if (columns == board) return 1;
        const std::uint32_t first = candidates & (0 - candidates);
        const std::uint32_t others = candidates ^ first;
        if (first == 0) return 0;
        if (others == 0) return below(first).ways();
        const Queens rest = {board, columns, rising, falling, others};
        std::uint64_t a = 0, b = 0;
        tbb::parallel_invoke([&] { a = below(first).ways(); }, [&] { b = rest.ways(); });
        return a + b;
    }
};

// Sum of the numbers of the leaves below `count` neighbouring nodes, each with `leaves` leaves.
static std::uint64_t skynet(std::uint64_t first, std::uint64_t count, std::uint64_t leaves) {
    if (count == 1) return leaves == 1 ? first : skynet(first, 10, leaves / 10);
    const std::uint64_t half = (count + 1) / 2;
    std::uint64_t a = 0, b = 0;
    tbb::parallel_invoke([&] { a = skynet(first, half, leaves); },
                         [&] { b = skynet(first + half * leaves, count - half, leaves); });
    return a + b;
}

static std::uint64_t run(const char *program, unsigned n) {
    if (std::strcmp(program, "fib") == 0) return fib(n);
    if (std::strcmp(program, "queens") == 0) {
        const std::uint32_t board = (1u << n) - 1;
        return Queens{board, 0, 0, 0, board}.ways();
    }
    if (std::strcmp(program, "skynet") == 0) {
        std::uint64_t leaves = 1;
        for (unsigned level = 0; level < n; level++) leaves *= 10;
        return skynet(0, 1, leaves);
    }
    std::fprintf(stderr, "error: no program %s\n", program);
    std::exit(64);
}

int main(int count, char **arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: onetbb fib|queens|skynet N THREADS\n");
        return 64;
    }
    const unsigned n = std::atoi(arguments[2]);
    const int threads = std::atoi(arguments[3]);
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    tbb::task_arena arena(threads);
    std::uint64_t result = 0;
    arena.execute([&] { result = run(arguments[1], n); });
    const auto start = std::chrono::steady_clock::now();
    arena.execute([&] { result = run(arguments[1], n); });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%llu %.9f\n", static_cast<unsigned long long>(result), took.count());
}
