//! Detection of computations that cannot end.
//!
//! If processors that hold nodes are taken away for good, the others go on trying to steal, so the
//! event queue does not run empty. A run whose processors can be taken away for good is therefore
//! checked now and then: it is stuck if no remaining processor executes a node or can get one. That
//! stays so, because only the execution of a node creates, sends or exposes others.

use crate::Speeds;

/// Number of actions of idle processors between two checks, for each processor. A check looks at
/// every processor once, so it adds little to the time of these actions.
const ACTIONS: u64 = 16;

/// Countdown to the next check.
#[derive(Debug)]
pub(super) struct StuckCheck {
    /// Number of actions between two checks; `None` if no processor is ever taken away for good.
    interval: Option<u64>,
    left: u64,
}

impl StuckCheck {
    pub(super) fn new(speeds: &Speeds, count: usize) -> StuckCheck {
        let interval = speeds.can_end().then(|| ACTIONS * count as u64);
        StuckCheck {
            interval,
            left: interval.unwrap_or(0),
        }
    }

    /// Counts actions of idle processors. Returns `true` if a check is due.
    #[inline]
    pub(super) fn is_due(&mut self, actions: usize) -> bool {
        let Some(interval) = self.interval else {
            return false;
        };
        self.left = self.left.saturating_sub(actions as u64);
        if self.left > 0 {
            return false;
        }
        self.left = interval;
        true
    }
}
