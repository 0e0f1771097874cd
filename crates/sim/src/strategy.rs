//! Schedulers by name.

use std::fmt;

use locksley_policy::{Flexible, ParseError, Reader, Spell, Writer};

/// A scheduler, with its policies.
///
/// | text | scheduler | from |
/// |---|---|---|
/// | `lock-free` | LFWS: thieves choose uniformly and take one | thesis, Alg. 1 |
/// | `flexible:steal-back,theta_r=0.25` | CFLFWS with a balancer, see [`Flexible`] | thesis, Alg. 2, 10, 11 |
/// | `semi-private` | WSSPD: work is private until a thief asks | thesis, Alg. 8, 9 |
///
/// ```
/// use locksley_sim::Strategy;
///
/// let strategy: Strategy = "flexible:sticky".parse().unwrap();
/// assert_eq!(strategy.to_string(), "flexible:sticky");
/// let error = "lock-step".parse::<Strategy>().unwrap_err().to_string();
/// assert!(error.contains("lock-free, flexible"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Strategy {
    /// Lock-free work stealing.
    LockFree,
    /// The same, with another choice of victims.
    Flexible(Flexible),
    /// Work stealing with semi-private deques.
    SemiPrivate,
}

#[derive(Clone, Copy)]
enum Name {
    LockFree,
    Flexible,
    SemiPrivate,
}

const NAMED: [(&str, Name); 3] = [
    ("lock-free", Name::LockFree),
    ("flexible", Name::Flexible),
    ("semi-private", Name::SemiPrivate),
];

impl Spell for Strategy {
    fn read(reader: &mut Reader<'_>) -> Result<Strategy, ParseError> {
        Ok(match reader.word("strategy", &NAMED)? {
            Name::LockFree => Strategy::LockFree,
            Name::Flexible => Strategy::Flexible(Flexible::read(reader)?),
            Name::SemiPrivate => Strategy::SemiPrivate,
        })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        match self {
            Strategy::LockFree => writer.word("lock-free"),
            Strategy::Flexible(flexible) => {
                writer.word("flexible")?;
                flexible.write(writer)
            }
            Strategy::SemiPrivate => writer.word("semi-private"),
        }
    }
}

impl std::str::FromStr for Strategy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Strategy, ParseError> {
        Spell::parse(text)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f)
    }
}
