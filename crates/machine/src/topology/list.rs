//! Lists of CPUs as the kernel writes them: `0-3,8,10-11`.

use std::fmt;

use crate::insertion;

/// Bound on the CPU numbers that are accepted: far more than Linux can be built for (2^13).
const HIGHEST: usize = 1 << 16;

/// CPUs in ascending order, each once. Printed as the kernel does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<usize>);

impl CpuList {
    /// Parses a list. Returns `None` if the text is not one. The empty text is the empty list.
    pub(crate) fn parse(text: &str) -> Option<CpuList> {
        let mut cpus = Vec::new();
        for part in text.split(',').map(str::trim) {
            if part.is_empty() {
                continue;
            }
            let (range, stride) = match part.split_once(':') {
                // `0-31:1/4`: the first of every four.
                Some((range, stride)) => (range, Some(stride)),
                None => (part, None),
            };
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (usize, usize) = (number(first)?, number(last)?);
            if first > last {
                return None;
            }
            let (used, of) = stride.unwrap_or("1/1").split_once('/')?;
            let (used, of) = (number(used)?, number(of)?);
            if of == 0 || used > of {
                return None;
            }
            cpus.extend((first..=last).filter(|cpu| (cpu - first) % of < used));
        }
        // The list is almost always in order.
        insertion::sort_by(&mut cpus, |one, other| one < other);
        cpus.dedup();
        Some(CpuList(cpus))
    }
}

#[inline(never)]
fn number(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|&number| number < HIGHEST)
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (place, run) in runs.enumerate() {
            let comma = if place > 0 { "," } else { "" };
            match run {
                [one] => write!(f, "{comma}{one}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/topology/list.rs"]
mod tests;
