//! Fibonacci numbers by their recursive definition.

use super::{SeriesParallel, Size, Step};

/// The largest n whose work fits into 64 bits.
const MAX_INDEX: usize = 89;

/// fib(n): a fork, fib(n - 1), fib(n - 2), and a join; for n < 2 a single node.
///
/// Work 3 F(n + 1) - 2, span 2n - 1 (F is the n-th Fibonacci number; 1 and 1 for n < 2).
///
/// ```
/// use locksley_sim::dag::{Fib, SeriesParallel, Size};
///
/// assert_eq!(Fib::new(10).size(), Size { work: 265, span: 19 });
/// assert!(Fib::new(43).size().work > 1_000_000_000);
/// ```
#[derive(Clone, Debug)]
pub struct Fib {
    n: u8,
    /// The work of fib(i), up to i = n.
    work: Vec<u64>,
}

/// A call with this argument, or a join if the number is [`JOIN`].
type Task = u8;

const JOIN: Task = u8::MAX;

impl Fib {
    /// Creates the computation of the n-th number. More than 89 is taken as 89, the largest whose
    /// work fits into 64 bits.
    pub fn new(n: u32) -> Fib {
        let n = n.min(MAX_INDEX as u32) as usize;
        let mut work = vec![1, 1];
        for i in 2..=n {
            work.push(work[i - 1] + work[i - 2] + 2);
        }
        Fib { n: n as u8, work }
    }
}

impl SeriesParallel for Fib {
    type Task = Task;

    const PAIRED: bool = true;

    fn root(&self) -> Task {
        self.n
    }

    #[inline]
    fn step(&self, task: Task) -> Step<Task> {
        match task {
            0 | 1 | JOIN => Step::Done,
            n => Step::ForkJoin(n - 1, n - 2, JOIN),
        }
    }

    #[inline]
    fn at_least(&self, task: Task) -> u64 {
        self.work.get(usize::from(task)).copied().unwrap_or(1)
    }

    fn size(&self) -> Size {
        let n = usize::from(self.n);
        Size {
            work: self.work[n],
            span: (2 * n as u64).saturating_sub(1).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{Strands, explore, levels};

    #[test]
    fn formulas_agree_with_the_graph() {
        for n in 0..20 {
            let fib = Fib::new(n);
            assert_eq!(fib.size(), explore(&fib), "{n}");
            assert_eq!(fib.size(), levels(&mut Strands::new(fib)), "{n}");
        }
    }
}
