//! Numbers of workers: `4`, `1:8` (all from 1 to 8), `1:8:2` (every second), `1,2,4:8`.

/// Parses a list of numbers from 1 to `most`. Returns them in ascending order, without duplicates.
pub(crate) fn numbers(text: &str, most: usize) -> Result<Vec<usize>, String> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        numbers.extend(range(text, part.trim(), most)?);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn range(text: &str, part: &str, most: usize) -> Result<Vec<usize>, String> {
    let bounds = part
        .split(':')
        .map(|bound| number(text, bound, most))
        .collect::<Result<Vec<usize>, String>>()?;
    let (from, to, step) = match bounds[..] {
        [one] => (one, one, 1),
        [from, to] => (from, to, 1),
        [from, to, step] => (from, to, step),
        _ => return Err(format!("`{part}` has too many colons: give {FORMS}")),
    };
    if from > to {
        return Err(format!(
            "the range `{part}` ends before it begins: give `{to}:{from}`, or one of {FORMS}"
        ));
    }
    Ok((from..=to).step_by(step).collect())
}

const FORMS: &str = "a number (4), a range (1:8), a range with a step (1:8:2), or a list (1,2,4)";

fn number(text: &str, bound: &str, most: usize) -> Result<usize, String> {
    let digits = bound.replace('_', "");
    match digits.parse::<usize>() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        Ok(0) => Err(format!("0 is too few: the least is 1, the most {most}")),
        Ok(number) => Err(format!(
            "{number} is too many: the least is 1, the most {most}"
        )),
        Err(_) if !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()) => Err(format!(
            "{bound} is too many: the least is 1, the most {most}"
        )),
        Err(_) => Err(format!(
            "`{bound}` in `{text}` is not a number: give {FORMS}"
        )),
    }
}

/// Parses numbers of workers, for clap.
pub(crate) fn workers(text: &str) -> Result<Numbers, String> {
    numbers(text, locksley::max_num_workers()).map(Numbers)
}

/// Parses numbers of simulated processors, for clap.
pub(crate) fn processors(text: &str) -> Result<Numbers, String> {
    numbers(text, locksley_sim::MAX_PROCESSORS).map(Numbers)
}

/// Parses one number of workers, for clap.
pub(crate) fn one_worker(text: &str) -> Result<usize, String> {
    match number(text, text, locksley::max_num_workers()) {
        Err(_) if text.contains([':', ',']) => Err(format!(
            "`{text}` has several numbers: give one number, such as 2"
        )),
        number => number,
    }
}

/// At least one number. A type of its own, since clap would take a `Vec` for several arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbers(pub(crate) Vec<usize>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists() {
        assert_eq!(numbers("3", 9), Ok(vec![3]));
        assert_eq!(numbers("1:4", 9), Ok(vec![1, 2, 3, 4]));
        assert_eq!(numbers("1:8:3", 9), Ok(vec![1, 4, 7]));
        assert_eq!(numbers("4,1,2:3,2", 9), Ok(vec![1, 2, 3, 4]));
        assert_eq!(numbers("1_000", 4096), Ok(vec![1000]));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let error = |text| numbers(text, 4096).unwrap_err();
        assert_eq!(error("0"), "0 is too few: the least is 1, the most 4096");
        assert!(error("1000000").contains("the most 4096"));
        assert!(error("99999999999999999999999").contains("the most 4096"));
        assert!(error("8:1").contains("give `1:8`"));
        assert!(error("1:8:0").contains("too few"));
        assert!(error("two").contains("is not a number"));
        assert!(error("").contains("is not a number"));
        assert!(error("1:2:3:4").contains("too many colons"));
        assert!(one_worker("1:2").unwrap_err().contains("one number"));
    }
}
