//! The policy of the sharing strategy: whether, and to whom, a busy processor offers work.
//!
//! A processor that enables two nodes while its flag is set offers one of them with probability 1 -
//! theta_s (Rito, "Scheduling computations", Algorithm 7, `SPREAD`). The target is one of these:
//!
//! - [`Target::Random`]: a random processor, which takes the offer if it is idle;
//! - [`Target::SpreadBack`]: the same; and with probability theta_s, where nothing else would be
//!   offered, the last thief (Algorithm 12);
//! - [`Target::Threshold`]: the first of up to L_p other processors, probed one after the other,
//!   whose queue is shorter than a threshold (Eager, Lazowska, Zahorjan; section 2.4.4);
//! - [`Target::Shortest`]: the one of L_p other processors with the shortest queue.
//!
//! **Deviations from the paper.** Random means one of the other processors. In Algorithm 12 the
//! flag treats the offer to the last thief as unmade, and so it does here ([`Offer::Back`]). Eager
//! et al. include the task in execution in the length of a queue; so a busy processor counts one
//! more than the number of items that wait.

use std::fmt;

use crate::balancer::Actor;
use crate::heuristic::{Heuristic, Spread};
use crate::params::Theta;
use crate::random::Source;
use crate::text::{ParseError, Reader, TextForm, Writer, entry_of, text_form};
use crate::view::{MOST_PROBES, View, other, probe};

/// The processor to which work is offered.
///
/// ```
/// use locksley_policy::{Random, Target};
///
/// let loads: &[u32] = &[2, 0];
/// assert_eq!(Target::Random.choose(0, loads, &mut Random::new(1, 0)), Some(1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// A random processor.
    #[default]
    Random,
    /// A random processor; and the last thief, where no offer would be made.
    SpreadBack,
    /// The first of `probes` random processors whose queue is shorter than `below`.
    Threshold {
        /// Number of processors that are probed, at most [`MOST_PROBES`] (Eager et al.'s L_p).
        probes: u32,
        /// The length of a queue from which on a processor is not chosen.
        below: u32,
    },
    /// The one of `probes` random processors with the shortest queue.
    Shortest {
        /// Number of processors that are probed, at most [`MOST_PROBES`] (Eager et al.'s L_p).
        probes: u32,
    },
}

impl Target {
    /// [`Target::Threshold`] of three probes, for idle processors only: according to Eager et al.,
    /// more probes gain little.
    pub const THRESHOLD: Target = Target::Threshold {
        probes: Target::PROBES,
        below: Target::BELOW,
    };

    /// [`Target::Shortest`] of three probes.
    pub const SHORTEST: Target = Target::Shortest {
        probes: Target::PROBES,
    };

    /// One value of each variant.
    pub const ALL: [Target; 4] = [
        Target::Random,
        Target::SpreadBack,
        Target::THRESHOLD,
        Target::SHORTEST,
    ];

    const NAMED: [(&'static str, Target); 4] = [
        ("random", Target::Random),
        ("threshold", Target::THRESHOLD),
        ("shortest", Target::SHORTEST),
        ("spread-back", Target::SpreadBack),
    ];

    /// The default number of probes: according to Eager et al., more gain little.
    const PROBES: u32 = 3;

    /// The default threshold: idle processors only.
    const BELOW: u32 = 1;

    fn read_probes(mut self, reader: &mut Reader<'_>) -> Result<Target, ParseError> {
        if let Target::Threshold { probes, .. } | Target::Shortest { probes } = &mut self {
            *probes = reader.number("l_p", *probes, 1..=MOST_PROBES)?;
        }
        if let Target::Threshold { below, .. } = &mut self {
            *below = reader.number("below", *below, 1..=u32::MAX)?;
        }
        Ok(self)
    }

    fn write_probes(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        if let Target::Threshold { probes, .. } | Target::Shortest { probes } = *self {
            writer.pair("l_p", probes, Target::PROBES)?;
        }
        if let Target::Threshold { below, .. } = *self {
            writer.pair("below", below, Target::BELOW)?;
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        entry_of(&Target::NAMED, self).0
    }

    /// Returns the processor to offer work to, or `None` if no probed processor qualifies.
    ///
    /// ```
    /// use locksley_policy::{Random, Target};
    ///
    /// let mut random = Random::new(1, 0);
    /// let loads: &[u32] = &[9, 4, 0, 7];
    /// let shortest = Target::Shortest { probes: 3 };
    /// assert_eq!(shortest.choose(0, loads, &mut random), Some(2));
    /// let threshold = Target::Threshold { probes: 3, below: 1 };
    /// assert_eq!(threshold.choose(0, loads, &mut random), Some(2));
    /// assert_eq!(threshold.choose(2, loads, &mut random), None);
    /// ```
    #[inline]
    pub fn choose<V, S>(&self, me: usize, view: &V, random: &mut S) -> Option<usize>
    where
        V: View + ?Sized,
        S: Source + ?Sized,
    {
        let count = view.count();
        let (probes, below) = match *self {
            Target::Random | Target::SpreadBack => return other(me, count, random),
            Target::Threshold { probes, below } => (probes, Some(below as usize)),
            Target::Shortest { probes } => (probes, None),
        };
        let (mut best, mut least) = (None, below.unwrap_or(usize::MAX));
        probe(me, count, probes, random, |donee| {
            let length = length(view, donee);
            if length < least {
                (best, least) = (Some(donee), length);
            }
            // The first below the threshold will do.
            below.is_some() && best.is_some()
        });
        best
    }
}

/// The text form on its own: `threshold` unless a word says otherwise, followed by `l_p` and
/// `below`.
impl TextForm for Target {
    fn read(reader: &mut Reader<'_>) -> Result<Target, ParseError> {
        let target = if reader.has_word() {
            // All but `spread-back`: a processor that sends work does not know its thieves.
            reader.word("target", &Target::NAMED[..3])?
        } else {
            Target::THRESHOLD
        };
        target.read_probes(reader)
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        writer.word(self.name())?;
        self.write_probes(writer)
    }
}

/// Returns the length of a processor's queue, including the task that it is executing.
fn length<V: View + ?Sized>(view: &V, processor: usize) -> usize {
    view.load(processor) + usize::from(!view.is_idle(processor))
}

/// What a processor does with an opportunity to spread.
///
/// ```
/// use locksley_policy::{Offer, Spread};
///
/// assert_eq!(Offer::To(3).target(), Some(3));
/// assert_eq!(Offer::To(3).outcome(false), Spread::Failure);
/// assert_eq!(Offer::NoTarget.target(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Offer {
    /// Keep the work without having tried to offer it.
    Skip,
    /// Keep the work, because no probed processor qualified: a failure.
    NoTarget,
    /// Offer the work to this processor: a success if it is idle, otherwise a failure.
    To(usize),
    /// Offer the work to the last thief. The flag treats this as unmade.
    Back(usize),
}

impl Offer {
    /// Returns the processor that gets the offer, if there is one.
    pub fn target(self) -> Option<usize> {
        match self {
            Offer::Skip | Offer::NoTarget => None,
            Offer::To(donee) | Offer::Back(donee) => Some(donee),
        }
    }

    /// Returns the outcome for the heuristic; `offered` if the target was idle and has the offer
    /// now.
    pub fn outcome(self, offered: bool) -> Spread {
        match self {
            Offer::Skip | Offer::Back(_) => Spread::Unmade,
            Offer::To(_) if offered => Spread::Success,
            Offer::To(_) | Offer::NoTarget => Spread::Failure,
        }
    }
}

/// The policies of the sharing strategy.
///
/// `sharing:HEURISTIC,theta_s=P,theta_r=P,target=TARGET,l_p=N,below=N`: the heuristic is as in
/// [`Heuristic`], the thetas are 0 unless given, and the target is `random`, `spread-back`,
/// `threshold` (with `l_p` and `below`) or `shortest` (with `l_p`).
///
/// ```
/// use locksley_policy::{Heuristic, Sharing, Target, Theta};
///
/// let sharing: Sharing = "sharing:tit-for-tat,theta_s=0.25".parse().unwrap();
/// assert_eq!(sharing.heuristic, Heuristic::TIT_FOR_TAT);
/// assert_eq!(sharing.theta_s, Theta::new(0.25).unwrap());
/// assert_eq!(sharing.to_string(), "sharing:tit-for-tat,theta_s=0.25");
/// let probing: Sharing = "sharing:greedy,target=shortest,l_p=5".parse().unwrap();
/// assert_eq!(probing.target, Target::Shortest { probes: 5 });
/// assert_eq!("sharing".parse(), Ok(Sharing::default()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sharing {
    /// When a processor spreads.
    pub heuristic: Heuristic,
    /// Probability that it does not, although its flag is set.
    pub theta_s: Theta,
    /// Probability that a thief makes no attempt, and that it updates no flag.
    pub theta_r: Theta,
    /// The processor that gets the offer.
    pub target: Target,
}

impl Sharing {
    /// Decides what to do with a node. To be called if the flag is set.
    ///
    /// ```
    /// use locksley_policy::{Blind, Memory, Offer, Random, Actor, Sharing, Spread};
    ///
    /// let sharing: Sharing = "sharing:greedy,theta_s=0.5,target=spread-back".parse().unwrap();
    /// let actor = Actor { me: 0, memory: Memory::new(Some(1), None) };
    /// let mut random = Random::new(1, 0);
    /// let mut offer = |_| sharing.offer(actor, &Blind(2), &mut random);
    /// let offers: Vec<Offer> = (0..1000).map(&mut offer).collect();
    /// let back = offers.iter().filter(|&&offer| offer == Offer::Back(1)).count();
    /// assert!((400..600).contains(&back));
    /// assert_eq!(Offer::Back(1).outcome(true), Spread::Unmade);
    /// assert_eq!(Offer::To(1).outcome(true), Spread::Success);
    /// ```
    #[inline]
    pub fn offer<V, S>(&self, actor: Actor, view: &V, random: &mut S) -> Offer
    where
        V: View + ?Sized,
        S: Source + ?Sized,
    {
        let theta = self.theta_s.get();
        if theta > 0.0 && random.unit() < theta {
            return match actor.memory.last_thief() {
                Some(thief) if self.target == Target::SpreadBack && thief != actor.me => {
                    Offer::Back(thief)
                }
                _ => Offer::Skip,
            };
        }
        let target = self.target.choose(actor.me, view, random);
        target.map_or(Offer::NoTarget, Offer::To)
    }
}

impl TextForm for Sharing {
    const NAME: Option<&'static str> = Some("sharing");

    fn read(reader: &mut Reader<'_>) -> Result<Sharing, ParseError> {
        let heuristic = if reader.has_word() {
            Heuristic::read(reader)?
        } else {
            Heuristic::default()
        };
        let mut theta =
            |key| reader.value(key, Theta::ZERO, Theta::WANTED, |found| found.parse().ok());
        let (theta_s, theta_r) = (theta("theta_s")?, theta("theta_r")?);
        let target = reader.choice("target", Target::default(), &Target::NAMED)?;
        let target = target.read_probes(reader)?;
        Ok(Sharing {
            heuristic,
            theta_s,
            theta_r,
            target,
        })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        self.heuristic.write(writer)?;
        writer.pair("theta_s", self.theta_s, Theta::ZERO)?;
        writer.pair("theta_r", self.theta_r, Theta::ZERO)?;
        writer.pair("target", self.target.name(), Target::default().name())?;
        self.target.write_probes(writer)
    }
}

text_form!(Sharing);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balancer::Memory;
    use crate::random::Random;
    use crate::statistics::{distributed, fits};
    use crate::view::Blind;

    const DRAWS: usize = 50_000;

    fn actor(last_thief: Option<usize>) -> Actor {
        Actor {
            me: 0,
            memory: Memory::new(last_thief, None),
        }
    }

    fn offers(policy: &str, thief: Option<usize>, view: &(impl View + ?Sized)) -> Vec<Offer> {
        let sharing: Sharing = policy.parse().unwrap();
        let mut random = Random::new(12, 0);
        (0..DRAWS)
            .map(|_| sharing.offer(actor(thief), view, &mut random))
            .collect()
    }

    fn count(offers: &[Offer], wanted: impl Fn(Offer) -> bool) -> usize {
        offers.iter().filter(|&&offer| wanted(offer)).count()
    }

    /// Algorithm 7: with probability theta_s nothing, otherwise any processor.
    #[test]
    fn random_targets_are_any_processor() {
        let made = offers("sharing:greedy,theta_s=0.3", Some(2), &Blind(5));
        assert!(fits(count(&made, |offer| offer == Offer::Skip), DRAWS, 0.3));
        let counts: Vec<usize> = (1..5)
            .map(|donee| count(&made, |offer| offer == Offer::To(donee)))
            .collect();
        assert!(distributed(&counts, &[0.25; 4]), "{counts:?}");
        let always = offers("sharing:greedy", None, &Blind(5));
        assert_eq!(count(&always, |offer| matches!(offer, Offer::To(_))), DRAWS);
    }

    /// Algorithm 12: an offer to the last thief where Algorithm 7 makes none.
    #[test]
    fn spread_back_goes_to_the_last_thief() {
        let policy = "sharing:greedy,theta_s=0.3,target=spread-back";
        let made = offers(policy, Some(2), &Blind(5));
        assert!(fits(
            count(&made, |offer| offer == Offer::Back(2)),
            DRAWS,
            0.3
        ));
        let others = count(&made, |offer| matches!(offer, Offer::To(_)));
        assert!(fits(others, DRAWS, 0.7));
        let never_stolen_from = offers(policy, None, &Blind(5));
        let skipped = count(&never_stolen_from, |offer| offer == Offer::Skip);
        assert!(fits(skipped, DRAWS, 0.3));
    }

    /// One of nine other processors is idle: L_p different probes find it with probability L_p/9.
    #[test]
    fn probing_finds_with_the_probability_of_its_limit() {
        let loads: &[u32] = &[4, 4, 4, 4, 4, 4, 4, 0, 4, 4];
        for limit in [1, 3, 9] {
            let policy = format!("sharing:greedy,target=threshold,l_p={limit}");
            let made = offers(&policy, None, loads);
            let found = count(&made, |offer| offer == Offer::To(7));
            assert!(
                fits(found, DRAWS, f64::from(limit) / 9.0),
                "{limit}: {found}"
            );
            assert_eq!(
                found + count(&made, |offer| offer == Offer::NoTarget),
                DRAWS
            );
            // The shortest of the probed queues gets the offer in any case.
            let policy = format!("sharing:greedy,target=shortest,l_p={limit}");
            let made = offers(&policy, None, loads);
            let found = count(&made, |offer| offer == Offer::To(7));
            assert!(
                fits(found, DRAWS, f64::from(limit) / 9.0),
                "{limit}: {found}"
            );
            assert_eq!(count(&made, |offer| offer == Offer::NoTarget), 0);
        }
    }

    /// A processor that is executing its last task has no waiting items and a queue of length 1.
    #[test]
    fn the_task_in_execution_counts() {
        struct Busy;

        impl View for Busy {
            fn count(&self) -> usize {
                2
            }

            fn load(&self, _: usize) -> usize {
                0
            }

            fn is_idle(&self, _: usize) -> bool {
                false
            }
        }

        let mut random = Random::new(1, 0);
        let one = Target::Threshold {
            probes: 1,
            below: 1,
        };
        let two = Target::Threshold {
            probes: 1,
            below: 2,
        };
        assert_eq!(one.choose(0, &Busy, &mut random), None);
        assert_eq!(two.choose(0, &Busy, &mut random), Some(1));
    }

    #[test]
    fn a_lone_processor_offers_nothing() {
        let mut random = Random::new(1, 0);
        for target in Target::ALL {
            assert_eq!(target.choose(0, &Blind(1), &mut random), None);
            let sharing = Sharing {
                target,
                ..Sharing::default()
            };
            let offer = sharing.offer(actor(None), &Blind(1), &mut random);
            assert_eq!(offer, Offer::NoTarget);
            assert_eq!(offer.outcome(false), Spread::Failure);
        }
    }
}
