//! The extension point for a user's own choice of victims: the trait [`Balancer`].

use crate::params::Theta;
use crate::random::Source;
use crate::view::{View, other};

/// Outcome of an opportunity to steal.
///
/// ```
/// use locksley_policy::{Heuristic, Outcome, Update};
///
/// // Where an attempt was aborted many are idle.
/// let heuristic = Heuristic::CONTINUOUS_ABORT_FOR_TAT;
/// assert_eq!(heuristic.by_thief(Outcome::Abort), Update::True);
/// assert_eq!(heuristic.by_thief(Outcome::Empty), Update::Unchanged);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// No attempt was made.
    Skipped,
    /// The thief stole at least one item.
    Success,
    /// The victim had nothing.
    Empty,
    /// Another thief was quicker.
    Abort,
}

/// State of a thief: two words of 32 bits. No built-in policy needs more.
///
/// ```
/// use locksley_policy::{Memory, Outcome};
///
/// let mut memory = Memory::default();
/// memory.stolen_by(7);
/// memory.tried(3, Outcome::Success);
/// assert_eq!((memory.last_thief(), memory.last_victim()), (Some(7), Some(3)));
/// memory.tried(3, Outcome::Empty);
/// assert_eq!((memory.last_thief(), memory.last_victim()), (Some(7), None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    last_thief: u32,
    last_victim: u32,
}

/// Stands for no processor. Pools and simulations have fewer processors.
const NONE: u32 = u32::MAX;

fn known(processor: u32) -> Option<usize> {
    (processor != NONE).then_some(processor as usize)
}

impl Memory {
    /// Creates a memory of a last thief and a last victim.
    pub fn new(last_thief: Option<usize>, last_victim: Option<usize>) -> Memory {
        let word = |processor: Option<usize>| processor.map_or(NONE, |number| number as u32);
        Memory {
            last_thief: word(last_thief),
            last_victim: word(last_victim),
        }
    }

    /// Returns the last processor that stole from this one. The thief notes it here (the thesis's
    /// `lastThief`).
    #[inline]
    pub fn last_thief(&self) -> Option<usize> {
        known(self.last_thief)
    }

    /// Returns the victim of this processor's last steal, unless a later attempt found a victim
    /// empty.
    #[inline]
    pub fn last_victim(&self) -> Option<usize> {
        known(self.last_victim)
    }

    /// Notes that a thief has stolen from this processor.
    #[inline]
    pub fn stolen_by(&mut self, thief: usize) {
        self.last_thief = thief as u32;
    }

    /// Notes that this processor has tried to steal from a victim.
    #[inline]
    pub fn tried(&mut self, victim: usize, outcome: Outcome) {
        match outcome {
            Outcome::Success => self.last_victim = victim as u32,
            Outcome::Empty => self.last_victim = NONE,
            // Another thief was quicker: there may be more.
            Outcome::Abort | Outcome::Skipped => {}
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new(None, None)
    }
}

/// A processor that looks for work, or has work to give.
///
/// ```
/// use locksley_policy::{Blind, Memory, Random, Actor, Victims};
///
/// let actor = Actor { me: 1, memory: Memory::default() };
/// assert_eq!(Victims::Uniform.choose(actor, &Blind(2), &mut Random::new(1, 0)), Some(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Actor {
    /// Number of the processor.
    pub me: usize,
    /// Its memory.
    pub memory: Memory,
}

/// A choice of victims. [`Victims`](crate::Victims) has the built-in ones; implement this trait for
/// your own, with one value per worker.
///
/// A thief that always follows its balancer may starve, for instance if the balancer names a victim
/// that never has work. So a thief asks its balancer with a probability theta below 1 and tries a
/// random victim otherwise ([`Mixed`]); then the expected run time is O(T1/P + Tinf/(1 - theta))
/// whatever the balancer answers (Rito, "Scheduling computations", section 4.5).
///
/// ```
/// use locksley_policy::{Balancer, Outcome, Actor, Source, View};
///
/// /// Tries the one opposite.
/// struct Opposite;
///
/// impl Balancer for Opposite {
///     fn choose(&mut self, actor: Actor, view: &dyn View, _: &mut dyn Source) -> Option<usize> {
///         Some((actor.me + view.count() / 2) % view.count())
///     }
/// }
///
/// let actor = Actor { me: 1, memory: Default::default() };
/// let mut random = locksley_policy::Random::new(1, 0);
/// let loads: &[u32] = &[5; 8];
/// let mut own: Box<dyn Balancer + Send> = Box::new(Opposite);
/// assert_eq!(own.choose(actor, &loads, &mut random), Some(5));
/// ```
pub trait Balancer {
    /// Returns the victim to try, or `None` to make no attempt this time. The thief's own number or
    /// one that does not exist counts as `None`.
    fn choose(&mut self, actor: Actor, view: &dyn View, random: &mut dyn Source) -> Option<usize>;

    /// Reports the outcome of an attempt, at the balancer's victim or at a random one.
    fn tried(&mut self, victim: usize, outcome: Outcome) {
        let _ = (victim, outcome);
    }
}

impl<B: Balancer + ?Sized> Balancer for Box<B> {
    fn choose(&mut self, actor: Actor, view: &dyn View, random: &mut dyn Source) -> Option<usize> {
        (**self).choose(actor, view, random)
    }

    fn tried(&mut self, victim: usize, outcome: Outcome) {
        (**self).tried(victim, outcome);
    }
}

/// Follows a balancer with probability theta, and tries a random victim otherwise: the thesis's
/// CFLFWS (Algorithm 2), which leaves open what happens with probability theta.
///
/// ```
/// use locksley_policy::{Balancer, Mixed, Random, Actor, Source, Theta, View};
///
/// struct First;
///
/// impl Balancer for First {
///     fn choose(&mut self, _: Actor, _: &dyn View, _: &mut dyn Source) -> Option<usize> {
///         Some(0)
///     }
/// }
///
/// let mut mixed = Mixed { theta: Theta::HALF, balancer: First };
/// let actor = Actor { me: 9, memory: Default::default() };
/// let (loads, mut random) = ([1_u32; 10], Random::new(1, 0));
/// let first = (0..9000)
///     .filter(|_| mixed.choose(actor, &&loads[..], &mut random) == Some(0))
///     .count();
/// assert!((4700..5300).contains(&first), "about 9000 (1/2 + 1/2 * 1/9): {first}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mixed<B> {
    /// Probability of following the balancer.
    pub theta: Theta,
    /// The balancer.
    pub balancer: B,
}

impl<B: Balancer> Balancer for Mixed<B> {
    fn choose(&mut self, actor: Actor, view: &dyn View, random: &mut dyn Source) -> Option<usize> {
        if random.unit() >= self.theta.get() {
            return other(actor.me, view.count(), random);
        }
        let chosen = self.balancer.choose(actor, view, random);
        chosen.filter(|&victim| victim != actor.me && victim < view.count())
    }

    fn tried(&mut self, victim: usize, outcome: Outcome) {
        self.balancer.tried(victim, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Chooses a fixed victim, and keeps what it is told.
    struct Fixed(usize, Vec<(usize, Outcome)>);

    impl Balancer for Fixed {
        fn choose(&mut self, _: Actor, _: &dyn View, _: &mut dyn Source) -> Option<usize> {
            Some(self.0)
        }

        fn tried(&mut self, victim: usize, outcome: Outcome) {
            self.1.push((victim, outcome));
        }
    }

    fn told<B: Balancer>(mut balancer: B) -> B {
        balancer.tried(3, Outcome::Abort);
        balancer.tried(1, Outcome::Success);
        balancer
    }

    #[test]
    fn boxes_and_mixtures_pass_on_what_came_of_it() {
        let expected = [(3, Outcome::Abort), (1, Outcome::Success)];
        assert_eq!(told(Box::new(Fixed(0, Vec::new()))).1, expected);
        let mixed = Mixed {
            theta: Theta::HALF,
            balancer: Fixed(0, Vec::new()),
        };
        assert_eq!(told(mixed).balancer.1, expected);
    }

    #[test]
    fn a_mixture_follows_its_balancer_to_other_processors_only() {
        let loads: &[u32] = &[1; 4];
        let choices = |victim| {
            let mut mixed = Mixed {
                theta: Theta::HALF,
                balancer: Fixed(victim, Vec::new()),
            };
            let mut random = Random::new(1, 0);
            let me = Actor {
                me: 2,
                memory: Memory::default(),
            };
            let mut chosen = [0; 5];
            for _ in 0..6000 {
                chosen[mixed.choose(me, &loads, &mut random).unwrap_or(4)] += 1;
            }
            chosen
        };
        // Half of the choices, and a third of the other half.
        let first = choices(0);
        assert!((3800..4200).contains(&first[0]), "{first:?}");
        assert_eq!((first[2], first[4]), (0, 0));
        for none in [2, 4] {
            let chosen = choices(none);
            assert!((2800..3200).contains(&chosen[4]), "{chosen:?}");
            assert_eq!(chosen[2], 0);
        }
    }
}
