//! What can be wrong with the name of a computation.

use super::text::{EXAMPLES, NAMES};

/// A text that names no computation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No computation has this name.
    #[error("no computation is called `{0}`: possible are {names}", names = NAMES.join(", "))]
    Name(String),
    /// The computation has no such parameter.
    #[error("{name} has no parameter `{parameter}`: possible is {}", example(name))]
    Parameter {
        /// The computation.
        name: String,
        /// The parameter.
        parameter: String,
    },
    /// The parameter has a value that it cannot have.
    #[error(
        "{name} cannot have {parameter}={value}: possible is, for example, {}",
        example(name)
    )]
    Value {
        /// The computation.
        name: String,
        /// The parameter.
        parameter: String,
        /// Its value.
        value: String,
    },
}

/// How a computation of this name is written, with its parameters.
fn example(name: &str) -> &'static str {
    let number = NAMES.iter().position(|known| *known == name);
    number.map_or("", |number| EXAMPLES[number])
}
