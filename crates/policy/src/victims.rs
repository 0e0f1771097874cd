//! The built-in choices of victims.
//!
//! All of them are instances of the thesis's CFLFWS (Rito, "Scheduling computations", Algorithm 2):
//! with probability 1 - theta_r a thief tries a random victim; otherwise the policy decides.
//!
//! **Theorem** (section 4.5.1). The expected run time is O(T1/P + Tinf/(1 - theta_r)), since every
//! attempt hits each processor with probability at least (1 - theta_r)/P.
//!
//! **Deviations from the paper.** Random means one of the other processors: the paper lets a thief
//! draw itself. A thief that has no last thief, no last victim or no neighbour tries a random
//! victim. In Algorithm 10 a steal-back does not tell the victim who its last thief is; here every
//! success does, so that two processors that steal from each other keep doing so. Sticky and
//! longest are not in the thesis: sticky returns to the victim of the last success, longest is the
//! bias by length of BWoS (Wang et al., OSDI 2023).

use std::fmt;

use crate::balancer::{Actor, Balancer, Outcome};
use crate::order::ring;
use crate::params::Theta;
use crate::random::Source;
use crate::text::{ParseError, Reader, TextForm, Writer, entry_of, text_form};
use crate::view::{MOST_PROBES, View, other, probe};

/// How a thief chooses whom to steal from.
///
/// | text | with probability theta_r, the thief tries | from |
/// |---|---|---|
/// | `uniform` | (theta_r is 0) | Algorithm 1 |
/// | `skip` | no victim | Algorithm 2 |
/// | `steal-back` | the processor that stole from it last | Algorithm 10 |
/// | `nearest` | a neighbour, see [`Order`](crate::Order) | Algorithm 11 |
/// | `sticky` | the victim of its last steal, if it has not found a victim empty since | |
/// | `longest` | the one with the most items of `probes` others | BWoS |
///
/// The name may be followed by `theta_r`, a probability below 1, by default 1/2:
/// `sticky:theta_r=0.9`.
///
/// ```
/// use locksley_policy::{Theta, Victims};
///
/// let victims: Victims = "steal-back:theta_r=0.75".parse().unwrap();
/// assert_eq!(victims, Victims::StealBack { theta: Theta::new(0.75).unwrap() });
/// assert_eq!(victims.to_string(), "steal-back:theta_r=0.75");
/// assert_eq!("nearest".parse(), Ok(Victims::NEAREST));
/// let error = "farthest".parse::<Victims>().unwrap_err();
/// assert!(error.to_string().contains("uniform, skip, steal-back, nearest"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Victims {
    /// Any processor, with equal probability.
    #[default]
    Uniform,
    /// Sometimes no victim.
    Skip {
        /// Probability of this choice.
        theta: Theta,
    },
    /// The processor that stole from the thief last.
    StealBack {
        /// Probability of this choice.
        theta: Theta,
    },
    /// A neighbour, the nearer ones with higher probability.
    Nearest {
        /// Probability of this choice.
        theta: Theta,
    },
    /// The last victim, as long as it has items.
    Sticky {
        /// Probability of this choice.
        theta: Theta,
    },
    /// The victim with the most items of a few that are drawn.
    Longest {
        /// Probability of this choice.
        theta: Theta,
        /// Number of victims that are compared, at most [`MOST_PROBES`].
        probes: u32,
    },
}

impl Victims {
    /// [`Victims::Skip`] with probability 1/2.
    pub const SKIP: Victims = Victims::Skip { theta: Theta::HALF };

    /// [`Victims::StealBack`] with probability 1/2.
    pub const STEAL_BACK: Victims = Victims::StealBack { theta: Theta::HALF };

    /// [`Victims::Nearest`] with probability 1/2: the expected number of steals grows by a factor
    /// of at most 1 / (1 - theta) = 2.
    pub const NEAREST: Victims = Victims::Nearest { theta: Theta::HALF };

    /// [`Victims::Sticky`] with probability 1/2.
    pub const STICKY: Victims = Victims::Sticky { theta: Theta::HALF };

    /// [`Victims::Longest`] of two with probability 1/2: two choices have most of the effect of
    /// many (Mitzenmacher, "The power of two choices in randomized load balancing").
    pub const LONGEST: Victims = Victims::Longest {
        theta: Theta::HALF,
        probes: Victims::PROBES,
    };

    /// The default number of victims that are compared.
    const PROBES: u32 = 2;

    /// One value of each variant.
    pub const ALL: [Victims; 6] = [
        Victims::Uniform,
        Victims::SKIP,
        Victims::STEAL_BACK,
        Victims::NEAREST,
        Victims::STICKY,
        Victims::LONGEST,
    ];

    const NAMED: [(&'static str, Victims); 6] = [
        ("uniform", Victims::Uniform),
        ("skip", Victims::SKIP),
        ("steal-back", Victims::STEAL_BACK),
        ("nearest", Victims::NEAREST),
        ("sticky", Victims::STICKY),
        ("longest", Victims::LONGEST),
    ];

    /// Returns the probability that the policy decides, instead of a random victim being tried.
    pub fn theta(&self) -> Theta {
        match *self {
            Victims::Uniform => Theta::ZERO,
            Victims::Skip { theta }
            | Victims::StealBack { theta }
            | Victims::Nearest { theta }
            | Victims::Sticky { theta }
            | Victims::Longest { theta, .. } => theta,
        }
    }

    /// Returns the same variant with another theta; [`Uniform`](Victims::Uniform) has none and
    /// stays.
    ///
    /// ```
    /// use locksley_policy::{Theta, Victims};
    ///
    /// assert_eq!(Victims::STICKY.with_theta(Theta::ZERO).to_string(), "sticky:theta_r=0");
    /// ```
    pub fn with_theta(self, new: Theta) -> Victims {
        let mut victims = self;
        match &mut victims {
            Victims::Uniform => {}
            Victims::Skip { theta }
            | Victims::StealBack { theta }
            | Victims::Nearest { theta }
            | Victims::Sticky { theta }
            | Victims::Longest { theta, .. } => *theta = new,
        }
        victims
    }

    /// Returns `true` if the choice depends on the loads.
    pub fn looks_at_loads(&self) -> bool {
        matches!(self, Victims::Longest { .. })
    }

    /// Returns the victim to try; `None` to make no attempt, or if there is no other processor.
    ///
    /// ```
    /// use locksley_policy::{Memory, Random, Actor, Theta, Victims};
    ///
    /// let loads: &[u32] = &[0, 4, 9, 2];
    /// let actor = Actor { me: 0, memory: Memory::new(Some(3), None) };
    /// let mut random = Random::new(1, 0);
    /// let always = Theta::new(0.999_999).unwrap();
    /// let back = Victims::StealBack { theta: always };
    /// assert_eq!(back.choose(actor, loads, &mut random), Some(3));
    /// let longest = Victims::Longest { theta: always, probes: 3 };
    /// assert_eq!(longest.choose(actor, loads, &mut random), Some(2));
    /// ```
    #[inline]
    pub fn choose<V, S>(&self, actor: Actor, view: &V, random: &mut S) -> Option<usize>
    where
        V: View + ?Sized,
        S: Source,
    {
        let (me, count) = (actor.me, view.count());
        let theta = self.theta().get();
        let choice = if theta > 0.0 { random.unit() } else { 1.0 };
        if choice >= theta {
            return other(me, count, random);
        }
        let biased = match *self {
            Victims::Skip { .. } => return None,
            Victims::Uniform => None,
            Victims::StealBack { .. } => actor.memory.last_thief(),
            Victims::Sticky { .. } => actor.memory.last_victim(),
            Victims::Nearest { .. } => near(me, choice, theta, view, random),
            Victims::Longest { probes, .. } => longest(me, probes, view, random),
        };
        match biased {
            Some(victim) if victim != me && victim < count => Some(victim),
            _ => other(me, count, random),
        }
    }
}

/// Returns a neighbour, from the ring that Algorithm 11 draws or, if that is empty, from the next
/// ring that is not.
fn near<V, S>(me: usize, choice: f64, theta: f64, view: &V, random: &mut S) -> Option<usize>
where
    V: View + ?Sized,
    S: Source,
{
    let rings = view.rings(me);
    (ring(choice, theta, rings)..rings).find_map(|ring| view.neighbour(me, ring, random))
}

/// Returns the victim with the most items of up to `probes` that are drawn; `None` if all are
/// empty.
fn longest<V, S>(me: usize, probes: u32, view: &V, random: &mut S) -> Option<usize>
where
    V: View + ?Sized,
    S: Source,
{
    let (mut best, mut most) = (None, 0);
    probe(me, view.count(), probes, random, |victim| {
        let load = view.load(victim);
        if load > most {
            (best, most) = (Some(victim), load);
        }
        false
    });
    best
}

impl Balancer for Victims {
    fn choose(
        &mut self,
        actor: Actor,
        view: &dyn View,
        mut random: &mut dyn Source,
    ) -> Option<usize> {
        Victims::choose(self, actor, view, &mut random)
    }

    fn tried(&mut self, _: usize, _: Outcome) {}
}

impl TextForm for Victims {
    fn read(reader: &mut Reader<'_>) -> Result<Victims, ParseError> {
        let mut victims = reader.word("victim policy", &Victims::NAMED)?;
        if victims != Victims::Uniform {
            let theta = reader.value("theta_r", victims.theta(), Theta::WANTED, |found| {
                found.parse().ok()
            })?;
            victims = victims.with_theta(theta);
        }
        if let Victims::Longest { probes, .. } = &mut victims {
            *probes = reader.number("probes", *probes, 1..=MOST_PROBES)?;
        }
        Ok(victims)
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        let (name, usual) = entry_of(&Victims::NAMED, self);
        writer.word(name)?;
        writer.pair("theta_r", self.theta(), usual.theta())?;
        match *self {
            Victims::Longest { probes, .. } => writer.pair("probes", probes, Victims::PROBES),
            _ => Ok(()),
        }
    }
}

/// The policy of the flexible strategy: a choice of victims, written after the strategy's name.
///
/// ```
/// use locksley_policy::{Flexible, Theta, Victims};
///
/// let text = "flexible:steal-back,theta_r=0.25";
/// let flexible: Flexible = text.parse().unwrap();
/// assert_eq!(flexible.victims, Victims::StealBack { theta: Theta::new(0.25).unwrap() });
/// assert_eq!(flexible.to_string(), text);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flexible {
    /// The choice of victims.
    pub victims: Victims,
}

impl Default for Flexible {
    /// Steal-back, the first of the thesis's extensions.
    fn default() -> Self {
        Flexible {
            victims: Victims::STEAL_BACK,
        }
    }
}

impl TextForm for Flexible {
    const NAME: Option<&'static str> = Some("flexible");

    fn read(reader: &mut Reader<'_>) -> Result<Flexible, ParseError> {
        let victims = if reader.has_word() {
            Victims::read(reader)?
        } else {
            Flexible::default().victims
        };
        Ok(Flexible { victims })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        self.victims.write(writer)
    }
}

text_form!(Victims, Flexible);

#[cfg(test)]
mod tests;
