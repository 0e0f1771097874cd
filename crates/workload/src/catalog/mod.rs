//! The catalogue: every program by name, with checked parameters.
//!
//! ```text
//!   sort:n=1000000,merge=parallel        a name, and parameters where they are not the defaults
//!   uts:T3                               the first parameter may go without its name
//!   fib                                  nothing but defaults
//! ```
//!
//! [`all`] lists the programs with descriptions, sources and parameters. [`Spec::parse`] parses a
//! text; parameters that it does not have get their values from a [`Scale`]. The programs are of
//! different types, so [`Spec::visit`] passes the requested one to a [`Visitor`].
//!
//! ```
//! use locksley_workload::catalog::{Scale, Spec, Visitor};
//! use locksley_workload::{Mismatch, Program, Serial, Task};
//!
//! /// Runs a program on this thread.
//! struct Run;
//!
//! impl Visitor for Run {
//!     type Output = Result<(), Mismatch>;
//!
//!     fn visit<P: Program>(self, mut program: P) -> Self::Output {
//!         let output = program.task().run(Serial);
//!         program.check(output)
//!     }
//! }
//!
//! let spec = Spec::parse("fib:n=20", Scale::Quick)?;
//! assert_eq!(spec.visit(Run)?, Ok(()));
//!
//! let error = Spec::parse("fibo", Scale::Quick).unwrap_err();
//! assert!(error.to_string().contains("did you mean `fib`?"));
//! # Ok::<(), locksley_workload::catalog::SpecError>(())
//! ```
//!
//! No program of the catalogue needs more than [`MOST_BYTES`] of memory for its data, or more than
//! about [`MOST_STEPS`] steps: a text that asks for more is an error, before anything is allocated.

mod arrays;
mod build;
mod demand;
mod entries;
mod error;
mod spec;
mod visit;

use std::fmt;

pub use demand::{MOST_BYTES, MOST_STEPS};
pub use error::{SpecError, nearest};
pub use spec::{Scale, Spec};
pub use visit::Visitor;

use entries::{ENTRIES, ProgramKind};

/// Returns every program.
///
/// ```
/// let names: Vec<_> = locksley_workload::catalog::all().iter().map(|entry| entry.name).collect();
/// assert!(names.contains(&"fib") && names.contains(&"sort"));
/// ```
pub fn all() -> &'static [Entry] {
    ENTRIES
}

/// Returns the program with this name.
///
/// ```
/// use locksley_workload::catalog;
///
/// assert_eq!(catalog::find("queens").unwrap().parameters[0].name, "n");
/// assert!(catalog::find("kings").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// A program of the catalogue.
///
/// ```
/// let fib = locksley_workload::catalog::find("fib").unwrap();
/// assert!(fib.about.starts_with("Fibonacci"));
/// assert_eq!(fib.parameters.len(), 1);
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Name of the program.
    pub name: &'static str,
    /// What the program computes and what is special about it, in a line.
    pub about: &'static str,
    /// Source of the program, such as a paper.
    pub source: &'static str,
    /// Parameters; the name of the first one may be omitted in a text.
    pub parameters: &'static [Parameter],
    kind: ProgramKind,
}

/// A parameter of a program.
///
/// ```
/// use locksley_workload::catalog::{self, Scale, Value};
///
/// let merge = catalog::find("sort").unwrap().parameter("merge").unwrap();
/// assert_eq!(merge.values.to_string(), "serial, parallel or path");
/// assert_eq!(merge.default(Scale::Quick), Value::Word("serial"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// Meaning of the parameter, in a few words.
    pub meaning: &'static str,
    /// Valid values.
    pub values: Values,
    quick: Value,
    full: Value,
}

impl Entry {
    /// Returns the parameter with this name.
    ///
    /// ```
    /// let fib = locksley_workload::catalog::find("fib").unwrap();
    /// assert!(fib.parameter("n").is_some() && fib.parameter("m").is_none());
    /// ```
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == name)
    }
}

impl Parameter {
    /// Returns the default value at a scale.
    pub fn default(&self, scale: Scale) -> Value {
        match scale {
            Scale::Quick => self.quick,
            Scale::Full => self.full,
        }
    }
}

/// The value of a parameter.
///
/// ```
/// use locksley_workload::catalog::Value;
///
/// assert_eq!(Value::Number(3).to_string(), "3");
/// assert_eq!(Value::Word("serial").to_string(), "serial");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Number(u64),
    /// A decimal number.
    Decimal(f64),
    /// One of several words.
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Decimal(number) => number.fmt(f),
            Value::Word(word) => word.fmt(f),
        }
    }
}

/// The valid values of a parameter.
///
/// ```
/// use locksley_workload::catalog::{Value, Values};
///
/// let values = Values::Numbers { from: 1, to: 9 };
/// assert_eq!(values.to_string(), "a whole number from 1 to 9");
/// assert_eq!(values.read("3"), Some(Value::Number(3)));
/// assert_eq!(values.read("10"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// A whole number in a range. Underscores between the digits are allowed.
    Numbers {
        /// The least number.
        from: u64,
        /// The greatest number.
        to: u64,
    },
    /// A decimal number in a range.
    Decimals {
        /// The least number.
        from: f64,
        /// The greatest number.
        to: f64,
    },
    /// One of these words.
    Words(&'static [&'static str]),
}

impl Values {
    /// Parses a value. Returns `None` if it is not valid.
    pub fn read(&self, text: &str) -> Option<Value> {
        match self {
            Values::Numbers { from, to } => {
                let number = text.replace('_', "").parse().ok()?;
                (*from..=*to)
                    .contains(&number)
                    .then_some(Value::Number(number))
            }
            Values::Decimals { from, to } => {
                let number = text.parse().ok()?;
                (*from..=*to)
                    .contains(&number)
                    .then_some(Value::Decimal(number))
            }
            Values::Words(words) => {
                let word = words.iter().find(|word| **word == text)?;
                Some(Value::Word(word))
            }
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Numbers { from, to } => write!(f, "a whole number from {from} to {to}"),
            Values::Decimals { from, to } => write!(f, "a number from {from} to {to}"),
            Values::Words([most @ .., last]) if !most.is_empty() => {
                write!(f, "{} or {last}", most.join(", "))
            }
            Values::Words(words) => write!(f, "{}", words.join(", ")),
        }
    }
}
