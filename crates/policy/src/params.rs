//! The papers' parameters theta and mu, and a factor: numbers that are checked to be in their
//! range.
//!
//! A value of these types is checked on construction, so a policy that has one needs no check of
//! its own, and can be compared and hashed.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// Error for a number that is not in the range of a parameter.
///
/// ```
/// use locksley_policy::Mu;
///
/// let error = Mu::new(2.0).unwrap_err();
/// assert_eq!(error.to_string(), "2 is not valid: give a number above 0, and not above 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// The given number.
    pub given: f64,
    /// The valid numbers.
    pub wanted: &'static str,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not valid: give {}", self.given, self.wanted)
    }
}

impl std::error::Error for OutOfRange {}

macro_rules! parameter {
    ($(#[$doc:meta])* $name:ident, $wanted:literal, |$value:ident| $fits:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// The valid numbers.
            pub const WANTED: &'static str = $wanted;

            /// Creates a parameter with this value.
            ///
            /// # Errors
            ///
            /// If the value is out of range.
            pub const fn new($value: f64) -> Result<$name, OutOfRange> {
                if $fits {
                    // Adding 0.0 turns -0.0 into 0.0, so that equal values have equal bits.
                    Ok($name($value + 0.0))
                } else {
                    Err(OutOfRange {
                        given: $value,
                        wanted: $wanted,
                    })
                }
            }

            /// Returns the value.
            #[inline]
            pub const fn get(self) -> f64 {
                self.0
            }

            /// Creates a constant of this crate; panics if it is out of range.
            pub(crate) const fn known(value: f64) -> $name {
                match $name::new(value) {
                    Ok(parameter) => parameter,
                    Err(_) => panic!("out of range"),
                }
            }
        }

        // Equality is reflexive, since the value is not NaN.
        impl Eq for $name {}

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.to_bits().hash(state);
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = OutOfRange;

            fn from_str(text: &str) -> Result<$name, OutOfRange> {
                $name::new(text.parse().unwrap_or(f64::NAN))
            }
        }
    };
}

parameter! {
    /// A probability below 1: the thesis's theta_r and theta_s, the probability that a processor
    /// does something other than try a random victim. A scheduler's expected run time depends on
    /// 1/(1 - theta).
    ///
    /// ```
    /// use locksley_policy::Theta;
    ///
    /// assert_eq!(Theta::new(0.25).unwrap().get(), 0.25);
    /// assert_eq!("0.5".parse(), Ok(Theta::HALF));
    /// let error = Theta::new(1.0).unwrap_err();
    /// let text = "1 is not valid: give a probability from 0 up to but not 1";
    /// assert_eq!(error.to_string(), text);
    /// ```
    Theta, "a probability from 0 up to but not 1", |value| value >= 0.0 && value < 1.0
}

parameter! {
    /// The constant mu of probabilistic balancing: a processor with n items tries to balance with
    /// probability mu/n.
    ///
    /// ```
    /// use locksley_policy::Mu;
    ///
    /// assert_eq!(Mu::ONE.get(), 1.0);
    /// assert!(Mu::new(0.0).is_err());
    /// ```
    Mu, "a number above 0, and not above 1", |value| value > 0.0 && value <= 1.0
}

parameter! {
    /// A factor by which something changes.
    ///
    /// ```
    /// use locksley_policy::Factor;
    ///
    /// assert_eq!(Factor::TWO.get(), 2.0);
    /// assert!(Factor::new(1.0).is_err());
    /// ```
    Factor, "a finite number above 1", |value| value > 1.0 && value.is_finite()
}

impl Theta {
    /// Probability 0.
    pub const ZERO: Theta = Theta::known(0.0);

    /// Probability 1/2: bounds on expected values grow by a factor of at most 1/(1 - theta) = 2.
    pub const HALF: Theta = Theta::known(0.5);
}

impl Default for Theta {
    fn default() -> Self {
        Theta::ZERO
    }
}

impl Mu {
    /// The largest: a processor with one item always tries.
    pub const ONE: Mu = Mu::known(1.0);
}

impl Factor {
    /// Doubling or halving.
    pub const TWO: Factor = Factor::known(2.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused() {
        for bad in [-0.1, 1.0, 1.5, f64::NAN, f64::INFINITY] {
            assert!(Theta::new(bad).is_err(), "{bad}");
        }
        for bad in [0.0, -1.0, 1.01, f64::NAN] {
            assert!(Mu::new(bad).is_err(), "{bad}");
        }
        for bad in [1.0, 0.5, f64::INFINITY, f64::NAN] {
            assert!(Factor::new(bad).is_err(), "{bad}");
        }
        assert!("half".parse::<Theta>().is_err());
        assert!("".parse::<Theta>().is_err());
    }

    #[test]
    fn both_zeros_are_one() {
        let zero = Theta::new(-0.0).unwrap();
        assert_eq!(zero.get().to_bits(), Theta::ZERO.get().to_bits());
        assert_eq!(zero.to_string(), "0");
    }

    #[test]
    fn equal_values_have_equal_hashes_and_others_have_others() {
        let hash = |value: f64| {
            let mut hasher = std::hash::DefaultHasher::new();
            Theta::new(value).unwrap().hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(0.0), hash(-0.0));
        assert_eq!(hash(0.25), hash(0.25));
        assert_ne!(hash(0.25), hash(0.5));
    }
}
