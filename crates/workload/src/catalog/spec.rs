//! A program with all its parameters, parsed from a text and printed as one.

use std::fmt;

use locksley_policy::Part;

use super::demand::Demand;
use super::{Entry, Parameter, SpecError, Value, Values, all, find, nearest};

/// The scale of a program's default parameters.
///
/// ```
/// use locksley_workload::catalog::{Scale, Spec};
///
/// let [quick, full] = [Scale::Quick, Scale::Full].map(|scale| Spec::parse("fib", scale).unwrap());
/// assert!(quick.number("n") < full.number("n"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scale {
    /// About 50 to 300 milliseconds on one thread.
    Quick,
    /// One or a few seconds on one thread.
    #[default]
    Full,
}

/// A program of the catalogue with a value for each of its parameters.
///
/// It prints with all parameters, so that the text means the same at any scale:
///
/// ```
/// use locksley_workload::catalog::{Scale, Spec};
///
/// let spec = Spec::parse("sort:n=1_000,merge=parallel", Scale::Quick)?;
/// assert_eq!(spec.to_string(), "sort:n=1000,merge=parallel,seed=7");
/// assert_eq!(Spec::parse(&spec.to_string(), Scale::Full)?, spec);
/// # Ok::<(), locksley_workload::catalog::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spec {
    entry: &'static Entry,
    /// In the order of the entry's parameters.
    values: Vec<Value>,
}

impl Spec {
    /// Parses a text: a name, a colon, and `parameter=value` separated by commas. The name of the
    /// first parameter may be omitted. A parameter that is left out has its default.
    ///
    /// # Errors
    ///
    /// If there is no such program or parameter, a value is not valid, or the program would be too
    /// large.
    pub fn parse(text: &str, scale: Scale) -> Result<Spec, SpecError> {
        let (name, parts) = Part::split(text);
        let names = || all().iter().map(|entry| entry.name);
        let entry = find(name).ok_or_else(|| SpecError::Name {
            found: name.to_owned(),
            nearest: nearest(name, names()),
        })?;
        let reading = Reading { text, entry };
        let given = reading.given(&parts)?;
        let values = entry.parameters.iter().zip(given);
        let spec = Spec {
            entry,
            values: values
                .map(|(parameter, given)| given.unwrap_or(parameter.default(scale)))
                .collect(),
        };
        spec.check_demand()?;
        Ok(spec)
    }

    /// Returns a program with its default parameters.
    ///
    /// ```
    /// use locksley_workload::catalog::{self, Scale, Spec};
    ///
    /// let specs = catalog::all().iter().map(|entry| Spec::default_of(entry, Scale::Quick));
    /// assert!(specs.map(|spec| spec.to_string()).any(|text| text.starts_with("uts:tree=")));
    /// ```
    pub fn default_of(entry: &'static Entry, scale: Scale) -> Spec {
        let parameters = entry.parameters.iter();
        Spec {
            entry,
            values: parameters
                .map(|parameter| parameter.default(scale))
                .collect(),
        }
    }

    /// Returns the catalogue's entry of the program.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Returns the value of a parameter.
    ///
    /// ```
    /// use locksley_workload::catalog::{Scale, Spec, Value};
    ///
    /// let spec = Spec::parse("uts:T3", Scale::Quick)?;
    /// assert_eq!(spec.value("tree"), Some(Value::Word("T3")));
    /// # Ok::<(), locksley_workload::catalog::SpecError>(())
    /// ```
    pub fn value(&self, parameter: &str) -> Option<Value> {
        let mut parameters = self.entry.parameters.iter();
        let place = parameters.position(|other| other.name == parameter)?;
        self.values.get(place).copied()
    }

    /// Returns the value of a parameter that is a whole number.
    pub fn number(&self, parameter: &str) -> Option<u64> {
        match self.value(parameter)? {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the value of a parameter that is a word.
    pub fn word(&self, parameter: &str) -> Option<&'static str> {
        match self.value(parameter)? {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the number of bytes of stack that each thread that runs the program should have. For
    /// most programs the default of a thread is enough; deep trees need more.
    ///
    /// ```
    /// use locksley_workload::catalog::{Scale, Spec};
    ///
    /// let stack = |text| Spec::parse(text, Scale::Quick).unwrap().stack();
    /// assert_eq!(stack("fib"), 2 << 20);
    /// assert!(stack("uts:T3") > stack("uts:T1"));
    /// ```
    pub fn stack(&self) -> usize {
        Demand::of(self).stack()
    }

    pub(super) fn check_demand(&self) -> Result<(), SpecError> {
        let excess = Demand::of(self).excess();
        let Some((what, needs, limit)) = excess else {
            return Ok(());
        };
        Err(SpecError::TooMuch {
            spec: self.to_string(),
            what,
            needs,
            limit,
        })
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Spec) -> bool {
        self.entry.name == other.entry.name && self.values == other.values
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        let pairs = self.entry.parameters.iter().zip(&self.values);
        for (place, (parameter, value)) in pairs.enumerate() {
            let before = if place == 0 { ':' } else { ',' };
            write!(f, "{before}{}={value}", parameter.name)?;
        }
        Ok(())
    }
}

/// A text whose name has been read.
struct Reading<'t> {
    text: &'t str,
    entry: &'static Entry,
}

impl Reading<'_> {
    /// Returns the value that the text has for each parameter.
    fn given(&self, parts: &[Part<'_>]) -> Result<Vec<Option<Value>>, SpecError> {
        let mut given = vec![None; self.entry.parameters.len()];
        for (number, part) in parts.iter().enumerate() {
            let (place, parameter, value) = self.pair(number, part)?;
            let slot = &mut given[place];
            if slot.is_some() {
                return Err(SpecError::Twice {
                    text: self.text.to_owned(),
                    at: part.at,
                    parameter: parameter.name,
                });
            }
            *slot = Some(self.read(part.at, parameter, value)?);
        }
        Ok(given)
    }

    /// Returns the index of the parameter that a part of the list names, the parameter, and the
    /// text of its value.
    fn pair<'p>(
        &self,
        number: usize,
        part: &Part<'p>,
    ) -> Result<(usize, &'static Parameter, &'p str), SpecError> {
        let (name, value) = match part.key {
            Some(name) => (Some(name), part.value),
            None if number == 0 => (None, part.value),
            None => (Some(part.value), ""),
        };
        let mut parameters = self.entry.parameters.iter().enumerate();
        let known = match name {
            None => parameters.next(),
            Some(name) => parameters.find(|(_, parameter)| parameter.name == name),
        };
        let names = || self.entry.parameters.iter().map(|parameter| parameter.name);
        let found = name.unwrap_or(part.value);
        let (place, parameter) = known.ok_or_else(|| SpecError::Parameter {
            text: self.text.to_owned(),
            at: part.at,
            found: found.to_owned(),
            program: self.entry.name,
            nearest: nearest(found, names()),
        })?;
        Ok((place, parameter, value))
    }

    fn read(&self, at: usize, parameter: &Parameter, value: &str) -> Result<Value, SpecError> {
        let words = match parameter.values {
            Values::Words(words) => words,
            _ => &[],
        };
        let read = parameter.values.read(value);
        read.ok_or_else(|| SpecError::Value {
            text: self.text.to_owned(),
            at,
            parameter: parameter.name,
            found: value.to_owned(),
            nearest: nearest(value, words.iter().copied()),
            wanted: parameter.values.to_string(),
        })
    }
}
