/* A clock that can be set: the real time plus an offset from a file. Preloaded into a server. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* In milliseconds; NULL before the file is mapped. */
static const volatile int64_t *offset;

__attribute__((constructor)) static void map(void) {
    const char *name = getenv("LOCKSLEY_CLOCK_FILE");
    int file = name ? open(name, O_RDONLY) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) offset = page;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = (int)syscall(SYS_clock_gettime, clock, time);
    int64_t ahead = offset ? *offset : 0;
    if (!failed && clock == CLOCK_REALTIME) {
        int64_t nanos = time->tv_nsec + ahead % 1000 * 1000000;
        int64_t carry = nanos < 0 ? -1 : nanos / 1000000000;
        time->tv_sec += ahead / 1000 + carry;
        time->tv_nsec = nanos - carry * 1000000000;
    }
    return failed;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise)) return -1;
    time->tv_sec = precise.tv_sec;
    time->tv_usec = precise.tv_nsec / 1000;
    return 0;
}
