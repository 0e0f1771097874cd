//! Parses the names of workloads, strategies and rivals, and suggests names for misspelt ones.

use std::str::FromStr;

use locksley::{ParseError, Strategy};
use locksley_workload::catalog::{self, Scale, Spec};

use crate::error::Error;
use crate::measure::comparison::Runtime;

/// Parses a workload.
pub(crate) fn workload(text: &str, full: bool) -> Result<Spec, Error> {
    let scale = if full { Scale::Full } else { Scale::Quick };
    Spec::parse(text, scale).map_err(|error| {
        Error::usage(format!(
            "{error}\n`locksley list` shows all workloads and their parameters"
        ))
    })
}

/// Parses a list of the pool's strategies; `all` stands for one of each kind.
pub(crate) fn strategies(text: &str) -> Result<Vec<Strategy>, Error> {
    several(text, || Strategy::ALL.to_vec())
}

/// Parses one strategy of the pool.
pub(crate) fn strategy(text: &str) -> Result<Strategy, Error> {
    one(text)
}

/// Parses a list of the simulator's strategies; `all` stands for one of each kind.
pub(crate) fn simulated(text: &str) -> Result<Vec<locksley_sim::Strategy>, Error> {
    several(text, locksley_sim::Strategy::all)
}

fn several<S: FromStr<Err = ParseError> + PartialEq>(
    text: &str,
    all: impl Fn() -> Vec<S>,
) -> Result<Vec<S>, Error> {
    let mut found: Vec<S> = Vec::new();
    for part in split(text) {
        let more = if part == "all" {
            all()
        } else {
            vec![one(&part)?]
        };
        for strategy in more {
            if !found.contains(&strategy) {
                found.push(strategy);
            }
        }
    }
    if found.is_empty() {
        // The text is empty: parsing it gives the error that lists the strategies.
        return one(text).map(|strategy| vec![strategy]);
    }
    Ok(found)
}

/// Splits a list at its commas, except before a `key=value`, which belongs to the strategy before
/// it.
fn split(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in text
        .split(',')
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
    {
        let head = piece.split(':').next().unwrap_or(piece);
        match parts.last_mut() {
            Some(last) if head.contains('=') => *last += &format!(",{piece}"),
            _ => parts.push(piece.to_owned()),
        }
    }
    parts
}

/// Parses a policy of any kind.
pub(crate) fn one<S: FromStr<Err = ParseError>>(text: &str) -> Result<S, Error> {
    text.parse().map_err(|error: ParseError| {
        let near = match &error {
            ParseError::Word {
                found, possible, ..
            } => catalog::nearest(found, possible.iter().copied()),
            ParseError::Surplus {
                found, possible, ..
            } => {
                let key = found.split('=').next().unwrap_or(found);
                catalog::nearest(key, possible.iter().copied())
            }
            _ => Vec::new(),
        };
        Error::usage(format!("{error}{}", meant(&near)))
    })
}

/// Runtimes to compare with.
pub(crate) const RIVALS: [&str; 3] = ["serial", "rayon", "chili"];

/// Parses a list of rivals; `all` stands for all, `none` for none.
pub(crate) fn rivals(text: &str) -> Result<Vec<Runtime>, Error> {
    let mut found = Vec::new();
    for name in text.split(',').map(str::trim) {
        match name {
            "all" => found.extend([Runtime::Serial, Runtime::Rayon, Runtime::Chili]),
            "none" => {}
            "serial" => found.push(Runtime::Serial),
            "rayon" => found.push(Runtime::Rayon),
            "chili" => found.push(Runtime::Chili),
            _ => {
                let near = catalog::nearest(name, RIVALS);
                return Err(Error::usage(format!(
                    "there is no rival `{name}`: possible are {}, all, none{}",
                    RIVALS.join(", "),
                    meant(&near)
                )));
            }
        }
    }
    found.dedup();
    Ok(found)
}

/// Returns `; did you mean `x`?`, or an empty string without suggestions.
pub(crate) fn meant(near: &[&str]) -> String {
    match near {
        [] => String::new(),
        near => format!("; did you mean `{}`?", near.join("` or `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_a_strategy_do_not_split_it() {
        assert_eq!(
            split("sharing:greedy,theta_s=0.25,target=spread-back,chase-lev,abp"),
            [
                "sharing:greedy,theta_s=0.25,target=spread-back",
                "chase-lev",
                "abp"
            ]
        );
        assert_eq!(strategies("all").unwrap().len(), Strategy::ALL.len());
        assert_eq!(strategies("abp,abp").unwrap(), [Strategy::Abp]);
    }

    #[test]
    fn a_slip_of_the_pen_is_understood() {
        let error = |text| strategies(text).unwrap_err().to_string();
        assert!(error("chase-leave").contains("did you mean `chase-lev`?"));
        assert!(error("").contains("use one of"));
        assert!(error("sharing:greedy,theta=0.1").contains("theta_s"));
        let error = simulated("lockfree").unwrap_err().to_string();
        assert!(error.contains("did you mean `lock-free`?"), "{error}");
        let error = rivals("rayn").unwrap_err().to_string();
        assert!(error.contains("did you mean `rayon`?"), "{error}");
        let error = workload("fibb", false).unwrap_err().to_string();
        assert!(error.contains("did you mean `fib`?"), "{error}");
    }
}
