//! What happens to a lease when its quantum is over: waiting tasks are handed over, and running
//! ones finished, until none are left.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::completion::OpenLease;
use super::slot::{Outcome, give_up_reason};
use super::{Service, Ticket};
use crate::leases::{Completed, EncodedCut, Run};

/// Time for which tasks may spawn what they hold and end, before anything is handed over. Most
/// tasks end in this time, and then one request suffices.
const DRAIN: Duration = Duration::from_millis(5);

/// Time after which spawned tasks are begun here again, since the tasks that still run may run for
/// long.
const RELEASE: Duration = Duration::from_millis(100);

/// Longest time between two requests that hand over waiting tasks.
const HAND_OVER: Duration = Duration::from_millis(250);

/// Longest time that results wait while other tasks of the lease run: results that were handed in
/// survive the process.
const HAND_IN: Duration = Duration::from_secs(2);

/// Longest time between two checks of the running tasks.
const CHECK: Duration = Duration::from_millis(20);

/// The rest of a lease.
pub(super) struct Drain<'a> {
    service: &'a Service,
    lease: &'a OpenLease<'a>,
    run: &'a dyn Run,
    /// Ticket of the last step.
    ticket: Ticket,
    began: Instant,
    /// Time until the next check.
    pause: Duration,
    /// Number of tasks that ran at the last check.
    running: usize,
    /// Whether waiting tasks are held back.
    held: bool,
    /// When something was handed over last, and the time until that may be done again.
    last: Instant,
    gap: Duration,
}

impl<'a> Drain<'a> {
    pub(super) fn new(
        service: &'a Service,
        lease: &'a OpenLease<'a>,
        run: &'a dyn Run,
    ) -> Drain<'a> {
        let began = Instant::now();
        Drain {
            service,
            lease,
            run,
            ticket: lease.ticket.clone(),
            began,
            pause: Duration::from_micros(100),
            running: usize::MAX,
            held: true,
            last: began,
            gap: DRAIN,
        }
    }

    /// Hands over waiting tasks, and continues with running ones, until there are none left.
    pub(super) fn finish(mut self) -> Outcome {
        self.run.wind_down();
        loop {
            if self.run.wait(self.pause) || self.run.fault().is_some() {
                return self.service.last_cut(self.lease, self.ticket, self.run);
            }
            self.check();
            if !self.is_due() {
                continue;
            }
            let Some(cut) = self.run.cut() else {
                continue;
            };
            if cut.kept.is_empty() {
                self.run.cancel();
                return self.service.ran(self.lease, self.ticket, cut);
            }
            if let ControlFlow::Break(outcome) = self.hand_over(cut) {
                return outcome;
            }
        }
    }

    /// Updates what depends on the time and on the number of running tasks.
    fn check(&mut self) {
        self.run.expire();
        if self.began.elapsed() > DRAIN {
            self.pause = (2 * self.pause).min(CHECK);
        }
        if self.held && self.began.elapsed() > RELEASE && !self.service.stop.is_set() {
            self.run.release();
            self.held = false;
        }
        let running = self.run.running();
        if running < self.running {
            // Notify the leaser, which counts the free workers of the pool.
            self.service.changed.notify_all();
        }
        self.running = running;
    }

    /// Returns `true` if something should be handed over now.
    fn is_due(&self) -> bool {
        let since = self.last.elapsed();
        since >= self.gap && (self.run.is_due() || (since >= HAND_IN && self.run.has_results()))
    }

    /// Completes the lease with a cut, and keeps the rest. Breaks with the outcome of the lease if
    /// it does not go on.
    fn hand_over(&mut self, cut: EncodedCut) -> ControlFlow<Outcome> {
        let completion = self.service.completion(self.lease, cut);
        let leases = &self.service.leases;
        let answer = self
            .service
            .retried(|| leases.complete(&self.ticket, &completion));
        match answer {
            Some(Ok(Completed::Counted { outstanding, .. })) => {
                self.ticket.step += 1;
                let mut table = self.service.table();
                table
                    .outstanding
                    .insert(self.lease.job.id.clone(), outstanding);
                table.counts.tasks += completion.tasks;
                table.counts.children += completion.children.len() as u64;
            }
            Some(Ok(Completed::Fenced)) | None => {
                self.run.cancel();
                return ControlFlow::Break(Outcome::Lost);
            }
            Some(Err(error)) => return ControlFlow::Break(Outcome::GaveUp(give_up_reason(&error))),
        }
        (self.last, self.gap) = (Instant::now(), (2 * self.gap).min(HAND_OVER));
        ControlFlow::Continue(())
    }
}
