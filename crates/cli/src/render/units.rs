//! Formats and parses numbers with units.

pub(crate) use locksley_figures::{number as digits, plural as several, seconds as time};

/// Formats a whole number with a space between thousands: `1 234 567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(" ")
}

/// Formats a count with its noun and a space between thousands: `1 lease`, `1 234 leases`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    let what = if number == 1 { one } else { many };
    format!("{} {what}", count(number))
}

/// Formats a number of bytes with three digits and a unit: `12.3 kB`.
pub(crate) fn bytes(number: u64) -> String {
    let (scale, unit) = match number {
        0..1_000 => return format!("{number} B"),
        1_000..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    format!("{} {unit}", digits(number as f64 / scale))
}

/// Parses a duration with its unit: `200ns`, `1.5us`, `2ms`, `30s`, `5m`, `6h`, `1d`. For clap.
pub(crate) fn duration(text: &str) -> Result<std::time::Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let scale = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => DAY,
        _ => f64::NAN,
    };
    let seconds = number.trim().parse::<f64>().unwrap_or(f64::NAN) * scale;
    if seconds.is_nan() {
        return Err(format!(
            "`{text}` is not a duration: give a number with its unit, such as 200ns, 1.5us, 2ms, \
             30s, 5m, 6h or 1d"
        ));
    }
    if !(1e-9..=LONGEST).contains(&seconds) {
        let days = LONGEST / DAY;
        return Err(format!(
            "`{text}` is out of range: the shortest duration is 1ns, the longest {days}d"
        ));
    }
    Ok(std::time::Duration::from_secs_f64(seconds))
}

const DAY: f64 = 86_400.0;

/// The longest duration that is accepted, in seconds: a year.
const LONGEST: f64 = 365.0 * DAY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        assert_eq!(time(0.012_34), "12.3 ms");
        assert_eq!(time(1.234), "1.23 s");
        assert_eq!(time(123.4e-6), "123 µs");
        assert_eq!(time(5e-9), "5.00 ns");
        assert_eq!(digits(9.999), "10.0");
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!([999, 12_345].map(bytes), ["999 B", "12.3 kB"]);
        assert_eq!(
            (several(1, "worker"), several(2, "worker")),
            ("1 worker".into(), "2 workers".into())
        );
        assert_eq!(
            [0, 1, 1234].map(|number| counted(number, "leaf", "leaves")),
            ["0 leaves", "1 leaf", "1 234 leaves"]
        );
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("200ns"), Ok(std::time::Duration::from_nanos(200)));
        assert_eq!(duration("1.5us"), Ok(std::time::Duration::from_nanos(1500)));
        for (text, seconds) in [("2m", 120), ("6h", 21_600), ("1d", 86_400), ("0.5h", 1800)] {
            assert_eq!(duration(text), Ok(std::time::Duration::from_secs(seconds)));
        }
        for text in ["200", "ns", "x", "1y", "1 0s"] {
            let why = duration(text).expect_err("it is none");
            assert!(why.contains("1d"), "{why}");
        }
        for text in ["-1us", "0s", "366d"] {
            let why = duration(text).expect_err("it is too short or too long");
            assert!(why.contains("1ns") && why.contains("365d"), "{why}");
        }
    }
}
