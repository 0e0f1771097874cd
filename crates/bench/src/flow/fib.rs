//! fib as in Danjean's lecture "Work Stealing": with joins, and as a flow in which the sum is a
//! task too.

use locksley::flow::{Flow, Write, flow};
use locksley::{Pool, join};
use locksley_workload::{Fib, Program};

use super::{FLOW, FORK_JOIN, SERIAL, pool};
use crate::harness::{Contender, Sample, WallClock, Workload, WrongResult};

pub(super) const NAME: &str = "flow fib P=2";

pub(super) fn workload(quick: bool) -> Workload {
    let n = if quick { 12 } else { 20 };
    Workload {
        name: NAME,
        about: "fib(20), a task for each call and each sum; one operation is one call",
        reference: FORK_JOIN,
        note: None,
        contenders: vec![
            contender(SERIAL, n, fib_serially),
            contender(FORK_JOIN, n, fib_by_joins),
            contender(FLOW, n, fib_by_flow),
        ],
    }
}

fn contender(name: &'static str, n: u64, fib: fn(u64) -> u64) -> Contender {
    let pool: Pool = pool(2);
    let oracle = Fib::new(n);
    Contender::new(name, move |operations| {
        let times = operations.div_ceil(oracle.operations());
        let clock = WallClock::now();
        let mut wrong = None;
        pool.install(|| {
            for _ in 0..times {
                wrong = oracle
                    .check(fib(std::hint::black_box(n)))
                    .err()
                    .or(wrong.take());
            }
        });
        let elapsed = clock.elapsed();
        if let Some(wrong) = wrong {
            return Err(WrongResult::new(name, "fib", wrong.expected, wrong.got));
        }
        Ok(Sample {
            elapsed,
            operations: times * oracle.operations(),
            note: 0.0,
        })
    })
}

fn fib_serially(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    fib_serially(n - 1) + fib_serially(n - 2)
}

fn fib_by_joins(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (x, y) = join(|| fib_by_joins(n - 1), || fib_by_joins(n - 2));
    x + y
}

fn fib_by_flow(n: u64) -> u64 {
    let mut result = 0;
    flow(|f| {
        let result = f.object(&mut result);
        f.fork_nested(result.write(), move |f, result| unfold(f, n, result));
    });
    result
}

fn unfold<'f>(f: &'f Flow<'f, '_>, n: u64, mut result: Write<'f, u64>) {
    if n < 2 {
        return result.set(n);
    }
    let (x, y, result) = (f.value(0), f.value(0), f.value(result));
    f.fork_nested(x.write(), move |f, x| unfold(f, n - 1, x));
    f.fork_nested(y.write(), move |f, y| unfold(f, n - 2, y));
    f.fork((x.read(), y.read(), result.update()), |(x, y, result)| {
        result.set(x + y)
    });
}
