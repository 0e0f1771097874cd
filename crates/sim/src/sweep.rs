//! Many simulations, in parallel.

use locksley_workload::{Fork, Task};

/// Applies a function to each item of a slice, in parallel on any [`Fork`], and collects the
/// results in the order of the items.
///
/// The result for an item must depend on that item only. Then neither the number of threads nor
/// their timing changes the results. Simulations have this property.
///
/// ```
/// use locksley_sim::dag::{Fib, Strands};
/// use locksley_sim::{Setup, Strategy, Sweep, simulate};
/// use locksley_workload::{Serial, Task};
///
/// let makespan = |seed: &u64| {
///     let setup = Setup { seed: *seed, ..Setup::new(8, Strategy::LockFree) };
///     simulate(&mut Strands::new(Fib::new(15)), &setup).map(|report| report.makespan)
/// };
/// // A pool's fork in place of `Serial` runs them in parallel.
/// let makespans = Sweep::new(&[1, 2, 3], &makespan).run(Serial);
/// assert_eq!(makespans.len(), 3);
/// assert_eq!(makespans[1], makespan(&2));
/// ```
#[derive(Debug)]
pub struct Sweep<'a, I, F> {
    items: &'a [I],
    what: &'a F,
}

impl<'a, I, F> Sweep<'a, I, F> {
    /// Creates a sweep that applies `what` to each of `items` when it is run.
    pub fn new(items: &'a [I], what: &'a F) -> Sweep<'a, I, F> {
        Sweep { items, what }
    }
}

impl<I, F, O> Task for Sweep<'_, I, F>
where
    I: Sync,
    F: Fn(&I) -> O + Sync,
    O: Send,
{
    type Output = Vec<O>;

    fn run<K: Fork>(self, fork: K) -> Vec<O> {
        let Sweep { items, what } = self;
        if let [] | [_] = items {
            return items.iter().map(what).collect();
        }
        let (left, right) = items.split_at(items.len() / 2);
        let (mut done, rest) = fork.fork(Sweep::new(left, what), Sweep::new(right, what));
        done.extend(rest);
        done
    }
}
