//! Adapters that put every runtime behind one small trait, so that a program is written once.
//!
//! An adapter adds no cost to the call that it stands for: `Fork` is implemented for a newtype of
//! what the runtime passes along, by value, or for a type of size zero.
//!
//! ```
//! use locksley_measure::runtimes::{Rayon, Runtime, Serial, Locksley};
//! use locksley_workload::FibTask;
//!
//! assert_eq!(Serial::start(1).run(FibTask(20)), 6765);
//! assert_eq!(Rayon::start(2).run(FibTask(20)), 6765);
//! let mut ours = Locksley::under("steal-half".parse().unwrap(), 2);
//! assert_eq!(ours.run(FibTask(20)), 6765);
//! println!("{}", ours.0.stats());
//! ```

mod chili;
mod locksley;
mod rayon;
mod serial;

use std::thread;
use std::time::Duration;

use locksley_workload::{Program, Task};

use crate::{Sample, WallClock, WrongResult, clock};

pub use self::chili::Chili;
pub use self::locksley::{FreeJoin, Locksley, LocksleyJoin, OnWorker, TakeAny, Traced};
pub use self::rayon::Rayon;
pub use self::serial::Serial;

/// Stack size of every worker: UTS T3 is 1572 levels deep, and a worker that steals while it waits
/// nests one search in another. For runtimes without an option it has to be set in the environment.
pub const STACK: usize = 64 << 20;

/// A runtime with its workers. See the [module](self) for an example.
pub trait Runtime: 'static {
    /// Name in tables, progress bars and JSON.
    const NAME: &'static str;

    /// Starts the runtime with this many workers.
    fn start(workers: usize) -> Self;

    /// Runs a task.
    fn run<T: Task>(&mut self, task: T) -> T::Output;
}

/// Pause before a sample, in which workers that were just started or stopped settle down.
const SETTLE: Duration = Duration::from_millis(2);

/// Runs a program as often as needed for at least `operations` operations, and checks the results.
/// `who` and `case` name the contender and the program in the error. The note of the sample is the
/// processor time of an operation in nanoseconds.
///
/// ```
/// use locksley_measure::runtimes::{Rayon, Runtime, run_sample};
/// use locksley_workload::Fib;
///
/// let sample = run_sample(&mut Rayon::start(2), &mut Fib::new(20), ("rayon", "fib"), 1).unwrap();
/// assert_eq!(sample.operations, 10_945, "one run");
/// ```
///
/// # Errors
///
/// If a result is wrong.
pub fn run_sample<R: Runtime, P: Program>(
    runtime: &mut R,
    program: &mut P,
    (who, case): (&str, &str),
    operations: u64,
) -> Result<Sample, WrongResult> {
    let each = program.operations().max(1);
    let runs = operations.div_ceil(each).max(1);
    let (mut elapsed, mut used) = (Duration::ZERO, Duration::ZERO);
    thread::sleep(SETTLE);
    for _ in 0..runs {
        let task = program.task();
        let (start, before) = (WallClock::now(), clock::process());
        let output = runtime.run(task);
        elapsed += start.elapsed();
        let both = clock::process().zip(before);
        used += both.map_or(Duration::ZERO, |(after, before)| after - before);
        program
            .check(output)
            .map_err(|mismatch| WrongResult::new(who, case, mismatch.expected, mismatch.got))?;
    }
    let operations = runs * each;
    Ok(Sample {
        elapsed,
        operations,
        note: used.as_secs_f64() * 1e9 / operations as f64,
    })
}
