//! When a steal does not pay.
//!
//! A steal has its price: the thief's time, and often the victim's too (a barrier that interrupts
//! it, cache lines that change hands). Where tasks are shorter than that, as in a scope with a
//! hundred thousand tiny ones, the victim would be done sooner if it were left alone. A thief
//! cannot know how long a task is before it has run it; but flat tasks of one kind tend to be
//! alike. So a thief that got a short one waits before it steals the next, each time twice as long,
//! up to a limit; one that got a long one forgets about it.
//!
//! With a longest wait of `w` and a price of `p` to the victim, short tasks cost it at most `p/w`
//! of its time, and a long task that lies behind short ones is found at most `w` later.

use std::time::Duration;

/// How long a thief waits after steals that did not pay.
///
/// ```
/// use std::time::Duration;
/// use locksley_policy::Thrift;
///
/// let micros = Duration::from_micros;
/// let mut thrift = Thrift::new(micros(1), micros(2), micros(16));
/// let waits = [0, 0, 0, 0, 0].map(|task| thrift.wait_after(micros(task)));
/// assert_eq!(waits, [2, 4, 8, 16, 16].map(micros));
/// assert_eq!(thrift.wait_after(micros(5)), micros(0));
/// assert_eq!(thrift.wait_after(micros(0)), micros(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thrift {
    short: Duration,
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Thrift {
    /// A task below `short` does not pay. The first wait after one is `first`, the longest
    /// `longest`.
    pub const fn new(short: Duration, first: Duration, longest: Duration) -> Thrift {
        Thrift {
            short,
            first,
            longest,
            next: first,
        }
    }

    /// Notes how long a stolen task took. Returns how long the thief waits now.
    pub fn wait_after(&mut self, task: Duration) -> Duration {
        if task >= self.short {
            self.next = self.first;
            return Duration::ZERO;
        }
        let wait = self.next;
        self.next = (wait * 2).min(self.longest);
        wait
    }
}
