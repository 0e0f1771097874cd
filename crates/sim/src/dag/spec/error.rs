//! What can be wrong with the name of a computation.

use std::fmt;

use super::text::{EXAMPLES, NAMES};

/// A text that names no computation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// No computation has this name.
    Name(String),
    /// The computation has no such parameter.
    Parameter {
        /// The computation.
        name: String,
        /// The parameter.
        parameter: String,
    },
    /// The parameter has a value that it cannot have.
    Value {
        /// The computation.
        name: String,
        /// The parameter.
        parameter: String,
        /// Its value.
        value: String,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let example = |name: &str| {
            let number = NAMES.iter().position(|known| *known == name);
            number.map_or("", |number| EXAMPLES[number])
        };
        match self {
            SpecError::Name(name) => write!(
                f,
                "no computation is called `{name}`: possible are {}",
                NAMES.join(", ")
            ),
            SpecError::Parameter { name, parameter } => write!(
                f,
                "{name} has no parameter `{parameter}`: possible is {}",
                example(name)
            ),
            SpecError::Value {
                name,
                parameter,
                value,
            } => write!(
                f,
                "{name} cannot have {parameter}={value}: possible is, for example, {}",
                example(name)
            ),
        }
    }
}

impl std::error::Error for SpecError {}
