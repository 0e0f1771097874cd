//! Text form of numbers: three significant digits, and a suitable unit.

/// A unit of time.
///
/// ```
/// assert_eq!(locksley_figures::Unit::for_seconds(0.0419).name, "ms");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// The symbol that follows a number.
    pub name: &'static str,
    /// The number of these units in a second.
    pub per_second: f64,
}

const UNITS: [Unit; 4] = [
    Unit {
        name: "s",
        per_second: 1.0,
    },
    Unit {
        name: "ms",
        per_second: 1e3,
    },
    Unit {
        name: "µs",
        per_second: 1e6,
    },
    Unit {
        name: "ns",
        per_second: 1e9,
    },
];

impl Unit {
    /// Returns the largest unit in which this many seconds are at least 1, or else nanoseconds. For
    /// times that are not positive, seconds.
    pub fn for_seconds(seconds: f64) -> Unit {
        let fits = |unit: &&Unit| seconds * unit.per_second >= 1.0;
        if seconds <= 0.0 {
            UNITS[0]
        } else {
            *UNITS.iter().find(fits).unwrap_or(&UNITS[3])
        }
    }
}

/// Formats a number with three significant digits, or more before the point: `1234` rather than
/// `1.23e3`. A number that is not finite is a dash.
///
/// ```
/// use locksley_figures::number;
///
/// let shown = [0.0641, 9.006, 140.27, 4012.6, 0.0].map(number);
/// assert_eq!(shown, ["0.0641", "9.01", "140", "4013", "0"]);
/// ```
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0" } else { "–" }.into();
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let decimals = (2.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    // Rounding may have added a digit: 9.999 becomes 10.0, not 10.00.
    let rounded: f64 = text.parse().unwrap_or(value);
    let decimals = (2.0 - rounded.abs().log10().floor()).max(0.0) as usize;
    format!("{value:.decimals$}")
}

/// Formats a time with a suitable unit.
///
/// ```
/// assert_eq!(locksley_figures::seconds(0.0419), "41.9 ms");
/// ```
pub fn seconds(value: f64) -> String {
    let unit = Unit::for_seconds(value);
    format!("{} {}", number(value * unit.per_second), unit.name)
}

/// Formats two times with the unit that suits the second one.
///
/// ```
/// assert_eq!(locksley_figures::range(0.0417, 0.0423), "41.7–42.3 ms");
/// ```
pub fn range(lower: f64, upper: f64) -> String {
    let unit = Unit::for_seconds(upper);
    format!(
        "{}–{} {}",
        number(lower * unit.per_second),
        number(upper * unit.per_second),
        unit.name
    )
}

/// Formats a ratio.
///
/// ```
/// assert_eq!(locksley_figures::ratio(1.934), "1.93×");
/// ```
pub fn ratio(value: f64) -> String {
    format!("{}×", number(value))
}

/// Formats a number of things, in the singular or the plural.
///
/// ```
/// use locksley_figures::plural;
///
/// assert_eq!((plural(1, "worker"), plural(2, "worker")), ("1 worker".into(), "2 workers".into()));
/// ```
pub fn plural(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let cases = [
            (0.0419, "41.9 ms"),
            (1.0, "1.00 s"),
            (9.999, "10.0 s"),
            (0.0, "0 s"),
            (2.5e-6, "2.50 µs"),
        ];
        for (value, text) in cases {
            assert_eq!(seconds(value), text);
        }
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(number(-2.5), "-2.50");
        assert_eq!(
            [1e-7, 1e15, 9.99e14].map(number),
            ["1.00e-7", "1.00e15", "999000000000000"]
        );
        assert_eq!(
            [999e-9, 1e-6, 1e-3].map(|time| Unit::for_seconds(time).name),
            ["ns", "µs", "ms"]
        );
        assert_eq!(seconds(3e-10), "0.300 ns");
        assert_eq!(seconds(4321.0), "4321 s");
    }

    #[test]
    fn ranges_ratios_and_plurals_are_spelled_out() {
        assert_eq!(range(0.0417, 0.0423), "41.7–42.3 ms");
        assert_eq!(range(0.5, 2.0), "0.500–2.00 s");
        assert_eq!(ratio(1.934), "1.93×");
        let things = [0, 1, 2].map(|count| plural(count, "worker"));
        assert_eq!(things, ["0 workers", "1 worker", "2 workers"]);
        assert_eq!(
            [0.0, -1.0, 1.0].map(|time| Unit::for_seconds(time).name),
            ["s"; 3]
        );
        assert_eq!(
            [99.96, 0.09996, 0.09994].map(number),
            ["100", "0.100", "0.0999"]
        );
        assert_eq!([1e-5, 9e-6].map(number), ["0.0000100", "9.00e-6"]);
    }
}
