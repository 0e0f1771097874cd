//! A gate that lets threads start together.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Clone, Copy, Debug)]
enum State {
    /// The number of threads that wait.
    Closed(usize),
    /// The time of the start.
    Open(Instant),
    /// Not all threads could be created; the others end without a start.
    Off,
}

/// Holds threads back until all of them have arrived.
#[derive(Debug)]
pub(super) struct StartGate {
    state: Mutex<State>,
    changed: Condvar,
}

impl StartGate {
    pub(super) fn new() -> StartGate {
        StartGate {
            state: Mutex::new(State::Closed(0)),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the start. Returns its time, or `None` if the start was called off.
    pub(super) fn pass(&self) -> Option<Instant> {
        let mut state = self.state();
        if let State::Closed(waiting) = &mut *state {
            *waiting += 1;
            self.changed.notify_all();
        }
        loop {
            match *state {
                State::Closed(_) => state = self.wait(state),
                State::Open(start) => return Some(start),
                State::Off => return None,
            }
        }
    }

    /// Waits until `threads` threads wait, then lets them start. Returns the time of the start.
    pub(super) fn open(&self, threads: usize) -> Instant {
        let mut state = self.state();
        while matches!(*state, State::Closed(waiting) if waiting < threads) {
            state = self.wait(state);
        }
        let start = Instant::now();
        *state = State::Open(start);
        self.changed.notify_all();
        start
    }

    /// Ends the wait of all threads without a start.
    pub(super) fn call_off(&self) {
        *self.state() = State::Off;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_see_the_same_start() {
        let gate = StartGate::new();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| gate.pass())).collect();
            let start = gate.open(3);
            for thread in threads {
                assert_eq!(thread.join().unwrap(), Some(start));
            }
        });
    }

    #[test]
    fn a_start_can_be_called_off() {
        let gate = StartGate::new();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| gate.pass());
            gate.call_off();
            assert_eq!(thread.join().unwrap(), None);
        });
    }
}
