//! Formats in addition to those of `locksley_figures`: ticks, counts, sentences, markup.

pub(crate) use locksley_figures::{Unit, number, plural, range, ratio, seconds};

/// Formats the label of a tick, with no more digits than necessary.
pub(crate) fn tick(value: f64) -> String {
    let text = number(value);
    if text.contains('.') && !text.contains('e') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    match value {
        v if v >= 1e9 && v % 1e8 == 0.0 => format!("{} G", v / 1e9),
        v if v >= 1e6 && v % 1e5 == 0.0 => format!("{} M", v / 1e6),
        v if v >= 1e4 && v % 1e2 == 0.0 => format!("{} k", v / 1e3),
        _ => text,
    }
}

/// Formats a whole number with spaces between the thousands.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202F}');
        }
        text.push(digit);
    }
    text
}

/// Adds a capital letter and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    let stop = if text.is_empty() || text.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{}{}{stop}", first.unwrap_or_default(), letters.as_str())
}

/// Shortens a text to at most `limit` characters, with an ellipsis.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Escapes text for HTML and SVG, as content or between double or single quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML cannot represent control characters.
            c if c.is_control() && c != '\n' && c != '\t' => escaped.push('\u{FFFD}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        let cases = [
            (0.5, "0.5"),
            (2.0, "2"),
            (1500.0, "1500"),
            (20_000.0, "20 k"),
            (9_900.0, "9900"),
            (10_000.0, "10 k"),
            (12_300.0, "12.3 k"),
            (12_345.0, "12345"),
            (1e6, "1 M"),
            (3e6, "3 M"),
            (1.2e6, "1.2 M"),
            (1e9, "1 G"),
            (2.5e9, "2.5 G"),
            (0.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(tick(value), text);
        }
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(1_234_567), "1\u{202F}234\u{202F}567");
        assert_eq!(count(12), "12");
    }

    #[test]
    fn sentences_begin_and_end_as_they_should() {
        let cases = [
            ("a sum: of trees", "A sum: of trees."),
            ("Done.", "Done."),
            ("", ""),
            ("ß", "SS."),
        ];
        for (text, expected) in cases {
            assert_eq!(sentence(text), expected);
        }
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            escape("<a href='x'>\u{1}&\""),
            "&lt;a href=&#39;x&#39;&gt;\u{FFFD}&amp;&quot;"
        );
    }
}
