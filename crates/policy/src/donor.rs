//! The extension point for a user's own choice of when and to whom to give: the trait [`Donor`],
//! the counterpart of [`Balancer`] for busy processors (Rito, "Scheduling computations", sections
//! 1.4 and 7).
//!
//! [`Balancer`]: crate::balancer::Balancer

use crate::balancer::Actor;
use crate::random::Source;
use crate::sharing::Target;
use crate::view::View;

/// An opportunity to give: a processor has created a task that another one could execute.
///
/// ```
/// use locksley_policy::{Memory, Opportunity, Actor};
///
/// let donor = Actor { me: 2, memory: Memory::new(Some(5), None) };
/// let opportunity = Opportunity { donor, asked: true };
/// assert_eq!(opportunity.donor.memory.last_thief(), Some(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opportunity {
    /// The processor that has the task.
    pub donor: Actor,
    /// Set if a thief has asked for work since the last opportunity. A thief asks a random
    /// processor, as in Tit-for-tat.
    pub asked: bool,
}

/// Decides when and to whom a processor gives work. [`Sharing`](crate::Sharing) has the built-in
/// choices; implement this trait for your own, with one value per worker.
///
/// Work that was given away can still be stolen, so no donor can starve a processor: the expected
/// run time is O(T1/P + Tinf) whatever it answers, as long as it takes constant time (thesis,
/// section 6.1.4).
///
/// ```
/// use locksley_policy::{Donor, Opportunity, Random, Source, View};
///
/// /// Gives to the right, when asked.
/// struct Right;
///
/// impl Donor for Right {
///     fn choose(
///         &mut self,
///         at: Opportunity,
///         view: &dyn View,
///         _: &mut dyn Source,
///     ) -> Option<usize> {
///         at.asked.then(|| (at.donor.me + 1) % view.count())
///     }
/// }
///
/// let loads: &[u32] = &[5; 8];
/// let donor = locksley_policy::Actor { me: 7, memory: Default::default() };
/// let mut own: Box<dyn Donor + Send> = Box::new(Right);
/// let random = &mut Random::new(1, 0);
/// let mut choose = |asked| own.choose(Opportunity { donor, asked }, &loads, random);
/// assert_eq!((choose(true), choose(false)), (Some(0), None));
/// ```
pub trait Donor {
    /// Returns the processor to offer the work to, or `None` to keep it. The donor's own number or
    /// one that does not exist counts as `None`.
    fn choose(
        &mut self,
        opportunity: Opportunity,
        view: &dyn View,
        random: &mut dyn Source,
    ) -> Option<usize>;

    /// Reports the result of an offer: `accepted` if `donee` was idle and has the work now.
    fn offered(&mut self, donee: usize, accepted: bool) {
        let _ = (donee, accepted);
    }

    /// Returns `true` if the donor is to be asked at every opportunity, not only after a thief has
    /// asked for work. In the pool a fork then costs a few times as much. Called once.
    fn is_eager(&self) -> bool {
        false
    }
}

impl<D: Donor + ?Sized> Donor for Box<D> {
    fn choose(
        &mut self,
        opportunity: Opportunity,
        view: &dyn View,
        random: &mut dyn Source,
    ) -> Option<usize> {
        (**self).choose(opportunity, view, random)
    }

    fn offered(&mut self, donee: usize, accepted: bool) {
        (**self).offered(donee, accepted);
    }

    fn is_eager(&self) -> bool {
        (**self).is_eager()
    }
}

/// The policies of Eager, Lazowska and Zahorjan: the donor is asked at every opportunity.
impl Donor for Target {
    fn choose(
        &mut self,
        opportunity: Opportunity,
        view: &dyn View,
        random: &mut dyn Source,
    ) -> Option<usize> {
        Target::choose(self, opportunity.donor.me, view, random)
    }

    fn is_eager(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balancer::Memory;
    use crate::random::Random;

    #[test]
    fn a_target_is_a_donor() {
        let loads: &[u32] = &[9, 4, 0, 7];
        let donor = Actor {
            me: 0,
            memory: Memory::default(),
        };
        let mut shortest: Box<dyn Donor> = Box::new(Target::SHORTEST);
        assert!(shortest.is_eager());
        for asked in [false, true] {
            let opportunity = Opportunity { donor, asked };
            let chosen = shortest.choose(opportunity, &loads, &mut Random::new(1, 0));
            assert_eq!(chosen, Some(2), "three probes of three others");
        }
        shortest.offered(2, true);
    }

    #[derive(Default)]
    struct Patient(Vec<(usize, bool)>);

    impl Donor for Patient {
        fn choose(&mut self, _: Opportunity, _: &dyn View, _: &mut dyn Source) -> Option<usize> {
            None
        }

        fn offered(&mut self, donee: usize, accepted: bool) {
            self.0.push((donee, accepted));
        }
    }

    #[test]
    fn a_box_forwards_to_what_is_in_it() {
        fn told<D: Donor>(mut donor: D) -> (D, bool) {
            donor.offered(2, true);
            donor.offered(1, false);
            let eager = donor.is_eager();
            (donor, eager)
        }
        let (patient, eager) = told(Box::new(Patient::default()));
        assert_eq!(patient.0, [(2, true), (1, false)]);
        assert!(
            !eager,
            "a donor is asked when others ask, unless it says otherwise"
        );
        assert!(told(Box::new(Target::SHORTEST)).1);
    }
}
