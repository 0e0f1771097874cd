//! A user's own say in when and to whom a worker gives ([`Donor`]), under the strategy `sharing`.
//!
//! It is asked before the strategy's queue is touched; the queue is told what it has decided. A
//! worker whose donor has panicked keeps what it has.

use locksley_policy::{Donor, Opportunity, Seeker};

use crate::pool::config::Config;
use crate::scheduler::own_policy::OwnPolicy;
use crate::scheduler::worker::Worker;

/// The donor of a worker, if the pool's builder has set one.
pub(crate) type OwnDonor = OwnPolicy<dyn Donor + Send>;

/// Creates the donor of the worker with this index. Returns besides whether it is eager.
pub(crate) fn make_donor(index: usize, config: &Config) -> (OwnDonor, bool) {
    let mut is_eager = false;
    let make = config.donor.as_ref().map(|make| {
        || {
            let donor = make(index);
            is_eager = donor.is_eager();
            donor
        }
    });
    let donor = OwnPolicy::new(config, make);
    (donor, is_eager)
}

impl Worker {
    /// Before an opportunity to give: asks the user's donor, and tells the queue its answer.
    #[inline]
    pub(crate) fn consult_donor(&self) {
        if self.donor.is_set() {
            self.ask_donor();
        }
    }

    #[cold]
    fn ask_donor(&self) {
        // SAFETY: the queue does not come back here.
        let asked = unsafe { self.local_queue() }.and_then(|queue| {
            // An earlier decision is out of date.
            queue.decide(None);
            queue.opportunity()
        });
        let Some((memory, asked)) = asked else {
            return;
        };
        let me = self.index();
        let opportunity = Opportunity {
            donor: Seeker { me, memory },
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

    /// After it: tells the donor what came of its offer.
    #[inline]
    pub(crate) fn inform_donor(&self) {
        if self.donor.is_set() {
            self.tell_donor();
        }
    }

    #[cold]
    fn tell_donor(&self) {
        // SAFETY: the queue does not come back here.
        let outcome = unsafe { self.local_queue() }.and_then(|queue| queue.take_outcome());
        if let Some((donee, accepted)) = outcome {
            let config = &self.registry().config;
            self.donor
                .ask(config, |donor| donor.offered(donee, accepted));
        }
    }
}
