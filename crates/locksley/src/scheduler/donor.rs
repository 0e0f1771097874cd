//! User-defined decisions on when and to whom a worker gives jobs ([`Donor`]), under `sharing`.
//!
//! The donor is asked before the strategy's queue is borrowed, and the queue is told the decision.
//! A worker whose donor has panicked gives nothing away.

use locksley_policy::{Actor, Donor, Opportunity};

use crate::pool::config::Config;
use crate::scheduler::own_policy::OwnPolicy;
use crate::scheduler::worker::Worker;

/// The donor of a worker, if the pool's builder has set one.
pub(crate) type OwnDonor = OwnPolicy<dyn Donor + Send>;

/// Creates the donor of the worker with this index. Also returns whether it is eager.
pub(crate) fn make_donor(index: usize, config: &Config) -> (OwnDonor, bool) {
    let mut is_eager = false;
    let make = config.donor.as_ref().map(|make| {
        || {
            let donor = make(index);
            is_eager = donor.is_eager();
            donor
        }
    });
    (OwnPolicy::new(config, make), is_eager)
}

impl Worker {
    /// Asks the user's donor before an opportunity to give, and tells the queue its answer.
    #[inline]
    pub(crate) fn consult_donor(&self) {
        if self.donor.is_set() {
            self.ask_donor();
        }
    }

    #[cold]
    fn ask_donor(&self) {
        // SAFETY: the queue does not call back into the worker.
        let asked = unsafe { self.local_queue() }.and_then(|queue| {
            // An earlier decision is out of date.
            queue.decide(None);
            queue.opportunity()
        });
        let Some((memory, asked)) = asked else { return };
        let me = self.index();
        let opportunity = Opportunity {
            donor: Actor { me, memory },
            asked,
        };
        let chosen = self.donor.ask(&self.registry().config, |donor| {
            self.with_sight(|sight, random| donor.choose(opportunity, sight, random))
        });
        let chosen = chosen.flatten().filter(|&donee| donee != me);
        // SAFETY: as above.
        if let Some(queue) = unsafe { self.local_queue() } {
            queue.decide(chosen);
        }
    }

    /// Tells the donor the outcome of its offer, after an opportunity to give.
    #[inline]
    pub(crate) fn inform_donor(&self) {
        if self.donor.is_set() {
            self.tell_donor();
        }
    }

    #[cold]
    fn tell_donor(&self) {
        // SAFETY: the queue does not call back into the worker.
        let outcome = unsafe { self.local_queue() }.and_then(|queue| queue.take_outcome());
        if let Some((donee, accepted)) = outcome {
            let config = &self.registry().config;
            self.donor
                .ask(config, |donor| donor.offered(donee, accepted));
        }
    }
}
