//! Errors in the text form of a computation.

use super::text::{EXAMPLES, NAMES};

/// Error in the text form of a computation.
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
    /// The value is not possible for this parameter.
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

/// Returns an example of the text form of this computation, with all parameters.
fn example(name: &str) -> &'static str {
    let number = NAMES.iter().position(|known| *known == name);
    number.map_or("", |number| EXAMPLES[number])
}
