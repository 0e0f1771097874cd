//! The policy of the sharing strategy: whether, and to whom, a busy processor offers work.
//!
//! A processor that enables two nodes while its flag is set offers one of them with probability
//! 1 - theta_s (Rito, "Scheduling computations", Algorithm 7, `SPREAD`). To whom:
//!
//! - [`Target::Random`]: a random processor, which takes the offer if idle;
//! - [`Target::SpreadBack`]: the same, and with probability theta_s the last thief (Algorithm 12);
//! - [`Target::Threshold`]: up to L_p others are probed one after the other, and the first that has
//!   less than a threshold gets the offer (Eager, Lazowska, Zahorjan; section 2.4.4);
//! - [`Target::Shortest`]: the one that has least of L_p others.
//!
//! **Deviations from the paper.** Random means one of the others. In Algorithm 12 the offer to the
//! last thief counts as unmade for the flag, and so it does here ([`Offer::Back`]). What Eager et
//! al. call the queue's length includes the task being executed; so a processor that is busy counts
//! for one more than waits in its pile.

use std::fmt;

use crate::balancer::Seeker;
use crate::heuristic::{Heuristic, Spread};
use crate::params::Theta;
use crate::random::Source;
use crate::text::{ParseError, Reader, TextForm, Writer, text_form};
use crate::view::{MOST_PROBES, View, other, probe};

/// To whom work is offered.
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
    /// Any processor.
    #[default]
    Random,
    /// Any processor; and the last thief, where nothing would be offered.
    SpreadBack,
    /// The first that has less than `below`, of `probes` that are drawn.
    Threshold {
        /// How many are asked, at most [`MOST_PROBES`] (Eager et al.'s L_p).
        probes: u32,
        /// What is too much.
        below: u32,
    },
    /// The one that has least, of `probes` that are drawn.
    Shortest {
        /// How many are asked, at most [`MOST_PROBES`] (Eager et al.'s L_p).
        probes: u32,
    },
}

impl Target {
    /// [`Target::Threshold`] of three, for those that have nothing: more probes gain little, say
    /// Eager et al.
    pub const THRESHOLD: Target = Target::Threshold {
        probes: 3,
        below: 1,
    };

    /// [`Target::Shortest`] of three.
    pub const SHORTEST: Target = Target::Shortest { probes: 3 };

    /// One of each kind.
    pub const ALL: [Target; 4] = [
        Target::Random,
        Target::SpreadBack,
        Target::THRESHOLD,
        Target::SHORTEST,
    ];

    const NAMED: [(&'static str, Target); 4] = [
        ("random", Target::Random),
        ("spread-back", Target::SpreadBack),
        ("threshold", Target::THRESHOLD),
        ("shortest", Target::SHORTEST),
    ];

    /// Those of Eager et al., for processors that send and do not know their thieves.
    const SENDERS: [(&'static str, Target); 3] = [
        ("random", Target::Random),
        ("threshold", Target::THRESHOLD),
        ("shortest", Target::SHORTEST),
    ];

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
            writer.pair("l_p", probes, 3)?;
        }
        if let Target::Threshold { below, .. } = *self {
            writer.pair("below", below, 1)?;
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        match self {
            Target::Random => "random",
            Target::SpreadBack => "spread-back",
            Target::Threshold { .. } => "threshold",
            Target::Shortest { .. } => "shortest",
        }
    }

    /// Whom to offer work to; `None` if none is fit.
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

/// `threshold` unless a word says otherwise; `l_p` and `below` may stand behind it.
impl TextForm for Target {
    fn read(reader: &mut Reader<'_>) -> Result<Target, ParseError> {
        let target = if reader.has_word() {
            reader.word("target", &Target::SENDERS)?
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

/// How much a processor has to do, what it is executing included.
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
    /// It keeps the work, and has not tried.
    Skip,
    /// It has probed, and none was fit: a failure.
    NoTarget,
    /// It offers the work to this one: a success if that is idle, or else a failure.
    To(usize),
    /// It offers the work to its last thief, on the side: unmade for the flag.
    Back(usize),
}

impl Offer {
    /// The receiver, if there is one.
    pub fn target(self) -> Option<usize> {
        match self {
            Offer::Skip | Offer::NoTarget => None,
            Offer::To(donee) | Offer::Back(donee) => Some(donee),
        }
    }

    /// What it is for the heuristic, given whether the target was idle and has the offer now.
    pub fn outcome(self, offered: bool) -> Spread {
        match self {
            Offer::Skip | Offer::Back(_) => Spread::Unmade,
            Offer::To(_) if offered => Spread::Success,
            Offer::To(_) | Offer::NoTarget => Spread::Failure,
        }
    }
}

/// The sharing strategy's policies.
///
/// `sharing:HEURISTIC,theta_s=P,theta_r=P,target=TARGET,l_p=N,below=N`: the heuristic is as in
/// [`Heuristic`], the thetas are 0 unless given, the target is one of `random`, `spread-back`,
/// `threshold` (with `l_p` and `below`) and `shortest` (with `l_p`).
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
    /// How often it does not, though it might.
    pub theta_s: Theta,
    /// How often a thief makes no attempt, and how often it changes no flag.
    pub theta_r: Theta,
    /// To whom.
    pub target: Target,
}

impl Sharing {
    /// What to do with a node, if the flag is set.
    ///
    /// ```
    /// use locksley_policy::{Blind, Memory, Offer, Random, Seeker, Sharing, Spread};
    ///
    /// let sharing: Sharing = "sharing:greedy,theta_s=0.5,target=spread-back".parse().unwrap();
    /// let seeker = Seeker { me: 0, memory: Memory::new(Some(1), None) };
    /// let mut random = Random::new(1, 0);
    /// let mut offer = |_| sharing.offer(seeker, &Blind(2), &mut random);
    /// let offers: Vec<Offer> = (0..1000).map(&mut offer).collect();
    /// let back = offers.iter().filter(|&&offer| offer == Offer::Back(1)).count();
    /// assert!((400..600).contains(&back));
    /// assert_eq!(Offer::Back(1).outcome(true), Spread::Unmade);
    /// assert_eq!(Offer::To(1).outcome(true), Spread::Success);
    /// ```
    #[inline]
    pub fn offer<V, S>(&self, seeker: Seeker, view: &V, random: &mut S) -> Offer
    where
        V: View + ?Sized,
        S: Source + ?Sized,
    {
        let theta = self.theta_s.get();
        if theta > 0.0 && random.unit() < theta {
            return match seeker.memory.last_thief() {
                Some(thief) if self.target == Target::SpreadBack && thief != seeker.me => {
                    Offer::Back(thief)
                }
                _ => Offer::Skip,
            };
        }
        let target = self.target.choose(seeker.me, view, random);
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
        let target = reader.choice("target", Target::Random, &Target::NAMED)?;
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
        writer.pair("target", self.target.name(), "random")?;
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

    fn seeker(last_thief: Option<usize>) -> Seeker {
        Seeker {
            me: 0,
            memory: Memory::new(last_thief, None),
        }
    }

    fn offers(policy: &str, thief: Option<usize>, view: &(impl View + ?Sized)) -> Vec<Offer> {
        let sharing: Sharing = policy.parse().unwrap();
        let mut random = Random::new(12, 0);
        (0..DRAWS)
            .map(|_| sharing.offer(seeker(thief), view, &mut random))
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

    /// Algorithm 12: the last thief, where Algorithm 7 does nothing.
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
        let robbed_by_nobody = offers(policy, None, &Blind(5));
        let skipped = count(&robbed_by_nobody, |offer| offer == Offer::Skip);
        assert!(fits(skipped, DRAWS, 0.3));
    }

    /// One of nine others is idle: L_p different probes find it with L_p/9.
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
            // The shortest of the probed gets it in any case.
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

    /// Who is executing its last task has an empty pile, and a queue of length 1.
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
            let offer = sharing.offer(seeker(None), &Blind(1), &mut random);
            assert_eq!(offer, Offer::NoTarget);
            assert_eq!(offer.outcome(false), Spread::Failure);
        }
    }
}
