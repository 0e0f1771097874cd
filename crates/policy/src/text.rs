//! The text form of policies: `name:word,key=value`.
//!
//! ```text
//!   sharing:tit-for-tat,theta_s=0.25,target=shortest,l_p=3
//!   ^name   ^word       ^key    ^value
//! ```
//!
//! A text is a list of words and of pairs. A colon follows the first word, and commas separate the
//! other parts. The parts read the same when a policy stands on its own (`steal-back:theta_r=0.25`)
//! and when it is a part of another (`flexible:steal-back,theta_r=0.25`). The order of the words
//! matters, that of the pairs does not.
//!
//! A policy defines its text form by implementing [`TextForm`]; a macro derives `FromStr` and
//! `Display` from it. A part that is left out has its default value, and default values are not
//! printed.

use std::fmt;
use std::mem::discriminant;

/// Error for a text that is not a policy.
///
/// ```
/// use locksley_policy::{Dealing, ParseError};
///
/// let error = "dealing:locality,l=1".parse::<Dealing>().unwrap_err();
/// assert!(matches!(error, ParseError::Value { ref key, .. } if key == "l"));
/// assert!(error.to_string().ends_with("give a whole number from 2 on, or inf"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// An unknown word, or a missing one.
    Word {
        /// The whole text.
        text: String,
        /// The word; empty if there is none.
        found: String,
        /// What the word should name.
        what: &'static str,
        /// The valid words.
        possible: Vec<&'static str>,
    },
    /// An invalid value.
    Value {
        /// The whole text.
        text: String,
        /// The key.
        key: String,
        /// The value.
        found: String,
        /// The valid values.
        wanted: String,
    },
    /// A part that no policy has read: an unknown key, or one word too many.
    Surplus {
        /// The whole text.
        text: String,
        /// The part.
        found: String,
        /// The valid keys.
        possible: Vec<&'static str>,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Word {
                text,
                found,
                what,
                possible,
            } => {
                match found.as_str() {
                    "" => write!(f, "`{text}` does not name a {what}")?,
                    _ => write!(f, "`{found}` in `{text}` is not a known {what}")?,
                }
                write!(f, ": use one of {}", possible.join(", "))
            }
            ParseError::Value {
                text,
                key,
                found,
                wanted,
            } => write!(f, "`{key}={found}` in `{text}` is not valid: give {wanted}"),
            ParseError::Surplus {
                text,
                found,
                possible,
            } => {
                write!(f, "`{found}` in `{text}` is not recognized: leave it out")?;
                match possible.as_slice() {
                    [] => Ok(()),
                    keys => write!(f, " or use {}", keys.join("=.., ") + "=.."),
                }
            }
        }
    }
}

impl std::error::Error for ParseError {}

/// A part of a text: a word, or a key with its value.
///
/// ```
/// use locksley_policy::Part;
///
/// let (name, parts) = Part::split("rope:long,knots=3");
/// assert_eq!(name, "rope");
/// assert_eq!(parts[0], Part { at: 5, key: None, value: "long" });
/// assert_eq!(parts[1], Part { at: 10, key: Some("knots"), value: "3" });
/// assert_eq!(parts[1].text(), "knots=3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Offset of the part in the text, in bytes.
    pub at: usize,
    /// The key; `None` for a word.
    pub key: Option<&'a str>,
    /// The value, or the word.
    pub value: &'a str,
}

impl<'a> Part<'a> {
    /// Splits `name:part,part,...`. Empty parts are left out.
    pub fn split(text: &'a str) -> (&'a str, Vec<Part<'a>>) {
        let (name, list) = text.split_once(':').unwrap_or((text, ""));
        let mut at = name.len() + 1;
        let mut parts = Vec::new();
        for part in list.split(',') {
            if !part.is_empty() {
                parts.push(Part::new(at, part));
            }
            at += part.len() + 1;
        }
        (name, parts)
    }

    fn new(at: usize, text: &'a str) -> Part<'a> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (Some(key), value),
            None => (None, text),
        };
        Part { at, key, value }
    }

    /// Returns the part as it is written.
    pub fn text(&self) -> String {
        match self.key {
            Some(key) => format!("{key}={}", self.value),
            None => self.value.to_owned(),
        }
    }
}

/// Reads the parts of a text.
///
/// ```
/// use locksley_policy::Reader;
///
/// let mut reader = Reader::new("rope:long,knots=3");
/// assert_eq!(reader.word("thing", &[("rope", 1), ("wire", 2)]), Ok(1));
/// assert_eq!(reader.word("length", &[("short", 'S'), ("long", 'L')]), Ok('L'));
/// assert!(!reader.has_word());
/// assert_eq!(reader.number("knots", 0, 0..=9), Ok(3));
/// assert_eq!(reader.choice("color", "red", &[("red", "red"), ("blue", "blue")]), Ok("red"));
/// assert_eq!(reader.finish(), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    /// The parts that have not been read, in order.
    parts: Vec<Part<'a>>,
    /// The keys that have been read or looked for.
    keys: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the beginning of a text.
    pub fn new(text: &'a str) -> Reader<'a> {
        let (name, rest) = Part::split(text);
        let name = Some(Part::new(0, name)).filter(|_| !name.is_empty());
        Reader {
            text,
            parts: name.into_iter().chain(rest).collect(),
            keys: Vec::new(),
        }
    }

    /// Reads the next word, and returns the value that it names in `named`.
    ///
    /// # Errors
    ///
    /// If there is no word, or `named` does not have it.
    pub fn word<T: Copy>(
        &mut self,
        what: &'static str,
        named: &[(&'static str, T)],
    ) -> Result<T, ParseError> {
        let place = self.parts.iter().position(|part| part.key.is_none());
        let found = place.map_or("", |place| self.parts.remove(place).value);
        let known = named.iter().find(|(name, _)| *name == found);
        known
            .map(|&(_, thing)| thing)
            .ok_or_else(|| ParseError::Word {
                text: self.text.to_owned(),
                found: found.to_owned(),
                what,
                possible: named.iter().map(|&(name, _)| name).collect(),
            })
    }

    /// Returns `true` if there is another word.
    pub fn has_word(&self) -> bool {
        self.parts.iter().any(|part| part.key.is_none())
    }

    /// Reads the value of a key; returns the default if the text does not have the key.
    ///
    /// # Errors
    ///
    /// If `read` returns `None`. The error says `wanted`, a description of the valid values.
    pub fn value<T>(
        &mut self,
        key: &'static str,
        default: T,
        wanted: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ParseError> {
        self.keys.push(key);
        let Some(place) = self.parts.iter().position(|part| part.key == Some(key)) else {
            return Ok(default);
        };
        let found = self.parts.remove(place).value;
        read(found).ok_or_else(|| ParseError::Value {
            text: self.text.to_owned(),
            key: key.to_owned(),
            found: found.to_owned(),
            wanted: wanted.to_owned(),
        })
    }

    /// Reads the value of a key, a whole number in a range; returns the default if the text does
    /// not have the key.
    ///
    /// # Errors
    ///
    /// If the value is not a number in the range.
    pub fn number(
        &mut self,
        key: &'static str,
        default: u32,
        range: std::ops::RangeInclusive<u32>,
    ) -> Result<u32, ParseError> {
        let wanted = match range.end() {
            &u32::MAX => format!("a whole number from {} on", range.start()),
            end => format!("a whole number from {} to {end}", range.start()),
        };
        self.value(key, default, &wanted, |found| {
            found.parse().ok().filter(|number| range.contains(number))
        })
    }

    /// Reads the value of a key, which is a name in `named`; returns the default if the text does
    /// not have the key.
    ///
    /// # Errors
    ///
    /// If `named` does not have the value.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        default: T,
        named: &[(&'static str, T)],
    ) -> Result<T, ParseError> {
        let names: Vec<&str> = named.iter().map(|&(name, _)| name).collect();
        self.value(key, default, &names.join(", "), |found| {
            let known = named.iter().find(|(name, _)| *name == found);
            known.map(|&(_, thing)| thing)
        })
    }

    /// Checks that every part has been read.
    ///
    /// # Errors
    ///
    /// If a part has not been read.
    pub fn finish(self) -> Result<(), ParseError> {
        match self.parts.first() {
            None => Ok(()),
            Some(part) => Err(ParseError::Surplus {
                text: self.text.to_owned(),
                found: part.text(),
                possible: self.keys,
            }),
        }
    }
}

/// Writes the parts of a text.
///
/// ```
/// use std::fmt;
///
/// use locksley_policy::Writer;
///
/// struct Rope { knots: u32 }
///
/// impl fmt::Display for Rope {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         let mut writer = Writer::new(f);
///         writer.word("rope")?;
///         writer.pair("knots", self.knots, 0)
///     }
/// }
///
/// assert_eq!(Rope { knots: 3 }.to_string(), "rope:knots=3");
/// assert_eq!(Rope { knots: 0 }.to_string(), "rope");
/// ```
pub struct Writer<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    /// Number of parts that have been written.
    parts: usize,
}

impl<'a, 'b> Writer<'a, 'b> {
    /// Creates a writer of a text.
    pub fn new(out: &'a mut fmt::Formatter<'b>) -> Self {
        Writer { out, parts: 0 }
    }

    fn separate(&mut self) -> fmt::Result {
        self.parts += 1;
        match self.parts {
            1 => Ok(()),
            2 => self.out.write_str(":"),
            _ => self.out.write_str(","),
        }
    }

    /// Writes a word.
    ///
    /// # Errors
    ///
    /// If the formatter fails.
    pub fn word(&mut self, word: &str) -> fmt::Result {
        self.separate()?;
        self.out.write_str(word)
    }

    /// Writes a pair, unless the value is the default.
    ///
    /// # Errors
    ///
    /// If the formatter fails.
    pub fn pair<T: fmt::Display + PartialEq>(
        &mut self,
        key: &str,
        value: T,
        default: T,
    ) -> fmt::Result {
        if value == default {
            return Ok(());
        }
        self.separate()?;
        write!(self.out, "{key}={value}")
    }
}

/// A value that can be written as a part of a text.
///
/// ```
/// use locksley_policy::{Reader, TextForm, Theta, Victims};
///
/// let mut reader = Reader::new("flexible:sticky,theta_r=0.25");
/// reader.word("strategy", &[("flexible", ()), ("sharing", ())]).unwrap();
/// let victims = Victims::read(&mut reader).unwrap();
/// reader.finish().unwrap();
/// assert_eq!(victims, Victims::Sticky { theta: Theta::new(0.25).unwrap() });
/// ```
pub trait TextForm: Sized {
    /// The name that precedes the value where it stands on its own, if there is one.
    const NAME: Option<&'static str> = None;

    /// Reads the parts after the name.
    ///
    /// # Errors
    ///
    /// If a word or value is not valid.
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError>;

    /// Writes the parts after the name.
    ///
    /// # Errors
    ///
    /// If the formatter fails.
    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result;

    /// Parses a whole text.
    ///
    /// # Errors
    ///
    /// If the text is not valid.
    fn parse(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::new(text);
        if let Some(name) = Self::NAME {
            reader.word("policy", &[(name, ())])?;
        }
        let read = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(read)
    }

    /// Writes a whole text.
    ///
    /// # Errors
    ///
    /// If the formatter fails.
    fn print(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writer = Writer::new(out);
        if let Some(name) = Self::NAME {
            writer.word(name)?;
        }
        self.write(&mut writer)
    }
}

/// Implements `FromStr` and `Display` by [`TextForm`].
macro_rules! text_form {
    ($($policy:ty),*) => {$(
        impl std::str::FromStr for $policy {
            type Err = $crate::ParseError;

            fn from_str(text: &str) -> Result<Self, $crate::ParseError> {
                $crate::TextForm::parse(text)
            }
        }

        impl std::fmt::Display for $policy {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::TextForm::print(self, f)
            }
        }
    )*};
}

pub(crate) use text_form;

/// Returns the name of a value's variant, and the variant's default value. `named` has an entry
/// for each variant.
pub(crate) fn entry_of<T: Copy>(named: &[(&'static str, T)], value: &T) -> (&'static str, T) {
    let variant = discriminant(value);
    let entry = named
        .iter()
        .find(|(_, other)| discriminant(other) == variant);
    *entry.expect("the table has every variant")
}
