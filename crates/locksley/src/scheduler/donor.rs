//! A user's own say in when and to whom a worker gives ([`Donor`]), under the strategy `sharing`.
//!
//! A donor is the user's code, and may fork, spawn or wait. So it is asked before the strategy's
//! queue is touched, and not while it is being asked: the queue is told what it has decided.

use std::cell::Cell;

use locksley_policy::{Donor, Opportunity, Seeker};

use crate::pool::config::Config;
use crate::scheduler::worker::Worker;
use crate::task::job::{Payload, catch, drop_caught};

/// The donor of a worker, if the pool's builder has set one.
pub(crate) struct DonorSlot {
    /// The owner's alone; not there while it is being asked.
    donor: Cell<Option<Box<dyn Donor + Send>>>,
    /// Set while there is a donor. The owner's alone.
    is_set: Cell<bool>,
}

impl DonorSlot {
    /// Creates the donor of the worker with this index. Returns besides whether it is eager.
    pub(crate) fn new(index: usize, config: &Config) -> (DonorSlot, bool) {
        let made = config.donor.as_ref().map(|make| {
            catch(|| {
                let donor = make(index);
                let is_eager = donor.is_eager();
                (donor, is_eager)
            })
        });
        let (donor, is_eager) = match made {
            Some(Ok((donor, is_eager))) => (Some(donor), is_eager),
            Some(Err(payload)) => {
                config.handle_panic(payload);
                (None, false)
            }
            None => (None, false),
        };
        let slot = DonorSlot {
            is_set: Cell::new(donor.is_some()),
            donor: Cell::new(donor),
        };
        (slot, is_eager)
    }
}

impl Worker {
    /// Before an opportunity to give: asks the user's donor, and tells the queue its answer.
    #[inline]
    pub(crate) fn consult_donor(&self) {
        if self.donor.is_set.get() {
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
        let Some(mut donor) = self.donor.donor.take() else {
            return;
        };
        let me = self.index();
        let opportunity = Opportunity {
            donor: Seeker { me, memory },
            asked,
        };
        let chosen =
            self.with_sight(|sight, random| catch(|| donor.choose(opportunity, sight, random)));
        match chosen {
            Ok(chosen) => {
                self.donor.donor.set(Some(donor));
                let chosen = chosen.filter(|&donee| donee != me);
                // SAFETY: as above.
                if let Some(queue) = unsafe { self.local_queue() } {
                    queue.decide(chosen);
                }
            }
            Err(payload) => self.dismiss_donor(donor, payload),
        }
    }

    /// After it: tells the donor what came of its offer.
    #[inline]
    pub(crate) fn inform_donor(&self) {
        if self.donor.is_set.get() {
            self.tell_donor();
        }
    }

    #[cold]
    fn tell_donor(&self) {
        // SAFETY: the queue does not come back here.
        let outcome = unsafe { self.local_queue() }.and_then(|queue| queue.take_outcome());
        let Some((donee, accepted)) = outcome else {
            return;
        };
        let Some(mut donor) = self.donor.donor.take() else {
            return;
        };
        match catch(|| donor.offered(donee, accepted)) {
            Ok(()) => self.donor.donor.set(Some(donor)),
            Err(payload) => self.dismiss_donor(donor, payload),
        }
    }

    /// A donor that has panicked is not asked again: the worker keeps what it has.
    fn dismiss_donor(&self, donor: Box<dyn Donor + Send>, payload: Payload) {
        self.donor.is_set.set(false);
        drop_caught(donor);
        self.registry().config.handle_panic(payload);
    }
}
