//! Names for the ways to choose a victim.

use std::fmt;
use std::str::FromStr;

/// How a thief chooses whom to steal from.
///
/// | text | meaning |
/// |---|---|
/// | `uniform` | anybody, with equal probability |
/// | `nearest` | near ones first, see [`Order`](crate::Order) |
/// | `nearest:0.9` | the same, with the probability that the search starts near |
///
/// ```
/// use locksley_policy::Victims;
///
/// let victims: Victims = "nearest:0.75".parse().unwrap();
/// assert_eq!(victims, Victims::Nearest { theta: 0.75 });
/// assert_eq!(victims.to_string(), "nearest:0.75");
/// assert_eq!("nearest".parse(), Ok(Victims::NEAREST));
/// let error = "farthest".parse::<Victims>().unwrap_err();
/// assert!(error.to_string().contains("uniform, nearest"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Victims {
    /// Anybody, with equal probability.
    #[default]
    Uniform,
    /// Near ones first.
    Nearest {
        /// The probability, 0 to 1, that a search starts in a thief's neighbourhood (the
        /// thesis's theta_r).
        theta: f64,
    },
}

impl Victims {
    /// [`Victims::Nearest`] with a probability of 1/2: the expected steals grow by
    /// at most 1 / (1 - theta) = 2.
    pub const NEAREST: Victims = Victims::Nearest { theta: 0.5 };

    /// One of each kind.
    pub const ALL: [Victims; 2] = [Victims::Uniform, Victims::NEAREST];
}

impl fmt::Display for Victims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Victims::Uniform => f.write_str("uniform"),
            nearest if *nearest == Victims::NEAREST => f.write_str("nearest"),
            Victims::Nearest { theta } => write!(f, "nearest:{theta}"),
        }
    }
}

/// A text that names no way to choose a victim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVictims(String);

impl fmt::Display for UnknownVictims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no way to choose victims is called `{}`: possible are uniform, nearest, and \
             nearest:P with a probability P from 0 to 1",
            self.0
        )
    }
}

impl std::error::Error for UnknownVictims {}

impl FromStr for Victims {
    type Err = UnknownVictims;

    fn from_str(text: &str) -> Result<Victims, UnknownVictims> {
        let unknown = || UnknownVictims(text.to_owned());
        match text.split_once(':') {
            None => Victims::ALL
                .into_iter()
                .find(|victims| victims.to_string() == text)
                .ok_or_else(unknown),
            Some(("nearest", theta)) => match theta.parse() {
                Ok(theta) if (0.0..=1.0).contains(&theta) => Ok(Victims::Nearest { theta }),
                _ => Err(unknown()),
            },
            Some(_) => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_and_print_back() {
        for victims in Victims::ALL {
            assert_eq!(victims.to_string().parse(), Ok(victims));
        }
        let text = "nearest:0.125";
        assert_eq!(text.parse::<Victims>().unwrap().to_string(), text);
    }

    #[test]
    fn other_texts_are_errors_that_list_what_is_possible() {
        for text in [
            "",
            "Uniform",
            "nearest:",
            "nearest:2",
            "nearest:NaN",
            "near:0.5",
        ] {
            let error = text.parse::<Victims>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
            assert!(error.contains("uniform, nearest, and nearest:P"), "{error}");
        }
    }
}
