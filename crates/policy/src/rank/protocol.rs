//! The parameters of the protocol between ranks, and their text form.

use std::fmt;

use super::lifelines::Lifelines;
use crate::amount::Amount;
use crate::sharing::Target;
use crate::text::{ParseError, Reader, TextForm, Writer};
use crate::victims::Victims;

/// How ranks balance their loads. All ranks of a job must have the same parameters.
///
/// | text | what ranks out of work do |
/// |---|---|
/// | `uniform` | ask any rank, and wait longer after each failure |
/// | `nearest:theta_r=0.75` | ask nearer ranks more often, see [`Victims`] |
/// | `lifelines`, `nearest:lifelines,w=4` | ask lifelines after `w` failures, then fall silent, see [`Lifelines`] |
/// | `sending:threshold,l_p=3` | ask no rank: ranks that have work send some, see [`Target`] |
///
/// This may be followed by `amount`, `floor`, `batch`, `backoff`, `beat` and `patience`.
///
/// ```
/// use locksley_policy::rank::Protocol;
/// use locksley_policy::{Lifelines, Victims};
///
/// let text = "nearest:theta_r=0.75,lifelines,w=4,floor=8,backoff=50us..2ms,patience=3s";
/// let protocol: Protocol = text.parse()?;
/// assert_eq!(protocol.lifelines, Some(Lifelines { w: 4, base: 2 }));
/// assert_eq!(protocol.backoff, (50_000, 2_000_000));
/// assert_eq!(protocol.to_string(), text);
/// assert_eq!("uniform".parse(), Ok(Protocol::default()));
/// assert_eq!("lifelines".parse::<Protocol>()?.victims, Victims::Uniform);
/// let error = "uniform:beat=soon".parse::<Protocol>().unwrap_err();
/// assert!(error.to_string().contains("a time such as 50us, 2ms or 1s"));
/// # Ok::<(), locksley_policy::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protocol {
    /// How a rank that has run out of work chooses a victim.
    pub victims: Victims,
    /// How much of its surplus a rank gives.
    pub amount: Amount,
    /// Number of waiting tasks that a rank keeps for its own workers. At 0, only what a store
    /// counts as its [surplus](super::Store::surplus) protects them.
    pub floor: usize,
    /// Largest number of tasks in a message.
    pub batch: usize,
    /// The lifelines, if ranks out of work are to fall silent.
    pub lifelines: Option<Lifelines>,
    /// How a rank that has more than its floor chooses a rank to send work to. If set, no rank asks
    /// for work.
    pub sending: Option<Target>,
    /// Time that a rank waits after a failure before it asks again, in nanoseconds: the first, and
    /// the longest. With lifelines a rank does not wait, since it soon stops asking.
    pub backoff: (u64, u64),
    /// Interval between heartbeats, in nanoseconds.
    pub beat: u64,
    /// Time of silence after which a rank counts as dead, in nanoseconds. Heartbeats are sent at
    /// least four times as often.
    pub patience: u64,
}

impl Default for Protocol {
    /// Asks random ranks for half of their surplus. The floor and the batch are those of UTS on MPI
    /// (Dinan et al., "Dynamic load balancing of unbalanced computations using message passing"),
    /// to an order of magnitude. The first wait is about a round trip over TCP. The patience leaves
    /// room for a machine that swaps or hangs for ten seconds, since a job of hours should survive
    /// that. A process that ends is noticed at once by its parent; patience is for hosts and links
    /// that fail, and processes that hang.
    fn default() -> Protocol {
        Protocol {
            victims: Victims::Uniform,
            amount: Amount::Half,
            floor: 16,
            batch: 4096,
            lifelines: None,
            sending: None,
            backoff: (20_000, 1_000_000),
            beat: 1_000_000_000,
            patience: 30_000_000_000,
        }
    }
}

impl Protocol {
    /// Reads the parts after the kind of balancing.
    fn read_rest(
        reader: &mut Reader<'_>,
        victims: Victims,
        lifelines: Option<Lifelines>,
        sending: Option<Target>,
    ) -> Result<Protocol, ParseError> {
        let usual = Protocol::default();
        let named = Amount::ALL.map(|amount| (amount.name(), amount));
        let time =
            |reader: &mut Reader<'_>, key, usual| reader.value(key, usual, WANTED, read_time);
        let count = |reader: &mut Reader<'_>, key, usual, least: usize| {
            let wanted = format!("a whole number from {least} on");
            reader.value(key, usual, &wanted, |found| {
                found.parse().ok().filter(|&number| number >= least)
            })
        };
        Ok(Protocol {
            victims,
            lifelines,
            sending,
            amount: reader.choice("amount", usual.amount, &named)?,
            floor: count(reader, "floor", usual.floor, 0)?,
            batch: count(reader, "batch", usual.batch, 1)?,
            backoff: reader.value(
                "backoff",
                usual.backoff,
                "two times such as 50us..2ms",
                |found| {
                    let (least, most) = found.split_once("..")?;
                    let (least, most) = (read_time(least)?, read_time(most)?);
                    (least <= most).then_some((least, most))
                },
            )?,
            beat: time(reader, "beat", usual.beat)?,
            patience: time(reader, "patience", usual.patience)?,
        })
    }

    /// Returns the protocol that a rank with these parameters follows: those without effect have
    /// their default values, and those out of range the nearest ones. The text form is that of this
    /// protocol.
    ///
    /// ```
    /// use locksley_policy::rank::Protocol;
    /// use locksley_policy::{Lifelines, Target};
    ///
    /// let sending = Protocol { sending: Some(Target::SHORTEST), ..Protocol::default() };
    /// let lifelines = Some(Lifelines::default()); // without effect: no rank asks for work
    /// assert_eq!(Protocol { lifelines, ..sending }.normalized(), sending);
    /// assert_eq!(Protocol { beat: 0, ..sending }.normalized().beat, 1);
    /// ```
    pub fn normalized(self) -> Protocol {
        let (least, most) = self.backoff;
        let least = least.max(1);
        let mut protocol = Protocol {
            batch: self.batch.max(1),
            backoff: (least, most.max(least)),
            beat: self.beat.max(1),
            patience: self.patience.max(1),
            ..self
        };
        if let Some(target) = self.sending {
            protocol.victims = Victims::default();
            protocol.lifelines = None;
            protocol.sending = Some(match target {
                // No rank steals, so there is no last thief.
                Target::SpreadBack => Target::Random,
                _ => target,
            });
        }
        protocol
    }

    /// Returns how many tasks of a surplus a rank gives to one of `requests` ranks that have asked
    /// for some.
    ///
    /// ```
    /// use locksley_policy::rank::Protocol;
    ///
    /// let protocol = Protocol::default();
    /// assert_eq!(protocol.share(100, 1), 50);
    /// assert_eq!(protocol.share(100, 3), 25);
    /// assert_eq!(protocol.share(20, 1), 4); // 16 are kept
    /// assert_eq!(protocol.share(16, 1), 0);
    /// assert_eq!(protocol.share(1_000_000, 1), 4096);
    /// ```
    pub fn share(&self, surplus: usize, requests: usize) -> usize {
        let fair = surplus.div_ceil(requests + 1);
        let amount = self.amount.of_load(0, surplus).min(fair);
        amount
            .min(surplus.saturating_sub(self.floor))
            .min(self.batch.max(1))
    }
}

const WANTED: &str = "a time such as 50us, 2ms or 1s";

/// The units of time, the longest first.
const UNITS: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

fn read_time(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, name) = text.split_at(digits);
    let &(_, unit) = UNITS.iter().find(|(unit, _)| *unit == name)?;
    number
        .parse::<u64>()
        .ok()?
        .checked_mul(unit)
        .filter(|&time| time > 0)
}

struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = UNITS.iter().find(|(_, unit)| self.0 % *unit == 0);
        let &(name, unit) = fits.unwrap_or(&("ns", 1));
        write!(f, "{}{name}", self.0 / unit)
    }
}

impl TextForm for Protocol {
    fn read(reader: &mut Reader<'_>) -> Result<Protocol, ParseError> {
        let usual = Protocol::default();
        let mut ahead = reader.clone();
        let sending = ahead.word("", &[("sending", ())]).is_ok();
        if sending {
            let target = Some(Target::read(&mut ahead)?);
            *reader = ahead;
            return Protocol::read_rest(reader, usual.victims, None, target);
        }
        let mut ahead = reader.clone();
        let lifelines = [("lifelines", ())];
        let quiet = ahead.word("", &lifelines).is_ok();
        let victims = if quiet {
            *reader = ahead;
            usual.victims
        } else {
            Victims::read(reader)?
        };
        let quiet = if reader.has_word() && !quiet {
            reader.word("protocol", &lifelines).map(|()| true)?
        } else {
            quiet
        };
        let lifelines = quiet.then(|| Lifelines::read(reader)).transpose()?;
        Protocol::read_rest(reader, victims, lifelines, None)
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        let usual = Protocol::default();
        let protocol = self.normalized();
        let times = |(least, most)| format!("{}..{}", Time(least), Time(most));
        if let Some(target) = protocol.sending {
            writer.word("sending")?;
            target.write(writer)?;
        } else if protocol.victims != usual.victims || protocol.lifelines.is_none() {
            protocol.victims.write(writer)?;
        }
        if let Some(lifelines) = protocol.lifelines {
            writer.word("lifelines")?;
            lifelines.write(writer)?;
        }
        writer.pair("amount", protocol.amount.name(), usual.amount.name())?;
        writer.pair("floor", protocol.floor, usual.floor)?;
        writer.pair("batch", protocol.batch, usual.batch)?;
        writer.pair("backoff", times(protocol.backoff), times(usual.backoff))?;
        writer.pair(
            "beat",
            Time(protocol.beat).to_string(),
            Time(usual.beat).to_string(),
        )?;
        let patience = Time(protocol.patience).to_string();
        writer.pair("patience", patience, Time(usual.patience).to_string())
    }
}

crate::text::text_form!(Protocol);
