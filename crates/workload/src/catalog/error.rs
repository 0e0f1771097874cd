//! Errors in a text that names a program, with remedies.

use std::fmt;

use super::{all, find};

/// Error for a text that names no program, or one that cannot be run.
///
/// ```
/// use locksley_workload::catalog::{Scale, Spec, SpecError};
///
/// let error = Spec::parse("sort:merge=paralel", Scale::Full).unwrap_err();
/// assert!(matches!(error, SpecError::Value { at: 5, .. }));
/// assert_eq!(
///     error.to_string(),
///     "`merge=paralel` (character 6 of `sort:merge=paralel`) is not valid: did you mean \
///      `parallel`? give serial, parallel or path",
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// There is no program of this name.
    Name {
        /// The name.
        found: String,
        /// The names that are nearest to it; [`all`] has all names.
        nearest: Vec<&'static str>,
    },
    /// The program has no such parameter.
    Parameter {
        /// The whole text.
        text: String,
        /// Offset in the text, in bytes.
        at: usize,
        /// The parameter.
        found: String,
        /// The program.
        program: &'static str,
        /// The parameters that are nearest to it; [`find`](super::find) has all of them.
        nearest: Vec<&'static str>,
    },
    /// A parameter is given twice.
    Twice {
        /// The whole text.
        text: String,
        /// Offset of the second one in the text, in bytes.
        at: usize,
        /// The parameter.
        parameter: &'static str,
    },
    /// The value of a parameter is not valid.
    Value {
        /// The whole text.
        text: String,
        /// Offset in the text, in bytes.
        at: usize,
        /// The parameter.
        parameter: &'static str,
        /// The value.
        found: String,
        /// The valid words that are nearest to it, if the parameter takes words.
        nearest: Vec<&'static str>,
        /// The valid values.
        wanted: String,
    },
    /// Each parameter is valid, but together they ask for too much.
    TooMuch {
        /// The program with all its parameters.
        spec: String,
        /// The resource that is exceeded: bytes, steps, nodes, ...
        what: &'static str,
        /// The requested amount.
        needs: u64,
        /// The allowed amount.
        limit: u64,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::Name { found, nearest } => {
                match found.as_str() {
                    "" => write!(f, "the program's name is missing: ")?,
                    _ => write!(f, "there is no program `{found}`: ")?,
                }
                suggest(f, nearest)?;
                let possible: Vec<&str> = all().iter().map(|entry| entry.name).collect();
                write!(f, "the programs are {}", possible.join(", "))
            }
            SpecError::Parameter {
                text,
                at,
                found,
                program,
                nearest,
            } => {
                let place = Place(text, *at);
                write!(f, "{program} has no parameter `{found}` {place}: ")?;
                suggest(f, nearest)?;
                let parameters = find(program).map_or(&[][..], |entry| entry.parameters);
                let possible: Vec<&str> = parameters.iter().map(|other| other.name).collect();
                write!(f, "its parameters are {}", possible.join(", "))
            }
            SpecError::Twice {
                text,
                at,
                parameter,
            } => {
                let place = Place(text, *at);
                write!(f, "`{parameter}` is given twice {place}: give it once")
            }
            SpecError::Value {
                text,
                at,
                parameter,
                found,
                nearest,
                wanted,
            } => {
                let place = Place(text, *at);
                write!(f, "`{parameter}={found}` {place} is not valid: ")?;
                suggest(f, nearest)?;
                write!(f, "give {wanted}")
            }
            SpecError::TooMuch {
                spec,
                what,
                needs,
                limit,
            } => write!(
                f,
                "`{spec}` is too large: it needs at least {} {what}, and the limit is {}; give \
                 smaller parameters",
                Rounded(*needs),
                Rounded(*limit)
            ),
        }
    }
}

impl std::error::Error for SpecError {}

fn suggest(f: &mut fmt::Formatter<'_>, nearest: &[&str]) -> fmt::Result {
    if nearest.is_empty() {
        return Ok(());
    }
    write!(f, "did you mean `{}`? ", nearest.join("` or `"))
}

/// A position in a text, printed as a character counted from one.
struct Place<'t>(&'t str, usize);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place(text, at) = *self;
        let before = text.get(..at).unwrap_or(text).chars().count();
        write!(f, "(character {} of `{text}`)", before + 1)
    }
}

/// A number that prints with three figures if it is large.
struct Rounded(u64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            number @ 0..1_000_000 => number.fmt(f),
            u64::MAX => write!(f, "more than 1.8e19"),
            number => write!(f, "{:.2e}", number as f64),
        }
    }
}

/// Returns the names that are nearest to `found`: those that begin with it, or else those that
/// differ in the fewest letters, if these are at most a third of the letters, or one.
///
/// ```
/// use locksley_workload::catalog::nearest;
///
/// let names = ["fib", "queens", "quicksort", "sort"];
/// assert_eq!(nearest("qeuens", names), ["queens"]);
/// assert_eq!(nearest("quick", names), ["quicksort"]);
/// assert_eq!(nearest("sorts", names), ["sort"]);
/// assert!(nearest("xylophone", names).is_empty());
/// ```
pub fn nearest<'n>(found: &str, possible: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let found = found.to_lowercase();
    let letters = found.chars().count();
    let mut near: Vec<(usize, &str)> = possible
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let begins = letters >= 2 && lower.starts_with(&found);
            let away = if begins { 0 } else { distance(&found, &lower) };
            let allowed = (letters.max(lower.chars().count()) / 3).max(1);
            let alike = away < lower.chars().count() && away <= allowed;
            alike.then_some((away, name))
        })
        .collect();
    near.sort_by_key(|(away, _)| *away);
    let least = near.first().map(|(away, _)| *away);
    near.retain(|(away, _)| Some(*away) == least);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns how many letters must be added, left out, replaced or swapped with their neighbour to
/// get from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = a[i - 1] == b[j - 1];
            let mut least = (last[j - 1] + usize::from(!same))
                .min(last[j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_one_counts() {
        let pairs = [("", "", 0), ("a", "", 1), ("", "ab", 2), ("ab", "ba", 1)];
        let more = [
            ("kitten", "sitting", 3),
            ("fib", "fib", 0),
            ("abc", "cba", 2),
        ];
        for (a, b, away) in pairs.into_iter().chain(more) {
            assert_eq!(distance(a, b), away, "{a} {b}");
            assert_eq!(distance(b, a), away, "{b} {a}");
        }
    }

    #[test]
    fn one_letter_is_near_only_to_one_letter() {
        assert_eq!(nearest("m", ["n", "seed"]), Vec::<&str>::new());
        assert_eq!(nearest("t1", ["T1", "T1L"]), ["T1", "T1L"]);
    }
}
