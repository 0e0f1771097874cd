//! Resident memory of this process, on Linux.

use std::fs;
use std::ops::Range;

/// A mapping of the process, and its resident memory in KiB.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    addresses: Range<usize>,
    resident: u64,
    anonymous: u64,
}

/// Resident memory in KiB. `smaps` counts pages; the sums of `status` lag behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resident {
    pub(super) all: u64,
    /// Anonymous memory: stacks, heaps, written data. The rest is code, which the system maps 16
    /// pages at a time around an accessed page, so that its growth depends more on where the linker
    /// puts a function than on the function's size.
    pub(super) own: u64,
}

pub(super) fn resident() -> Option<Resident> {
    let mappings = mappings()?;
    let sum = |of: fn(&Mapping) -> u64| mappings.iter().map(of).sum();
    Some(Resident {
        all: sum(|mapping| mapping.resident),
        own: sum(|mapping| mapping.anonymous),
    })
}

/// Returns the resident KiB of the mappings that contain these addresses and are not larger than
/// `limit` bytes.
pub(super) fn resident_around(addresses: &[usize], limit: usize) -> Option<u64> {
    let around = mappings()?.into_iter().filter(|mapping| {
        mapping.addresses.len() <= limit
            && addresses
                .iter()
                .any(|address| mapping.addresses.contains(address))
    });
    Some(around.map(|mapping| mapping.resident).sum())
}

fn mappings() -> Option<Vec<Mapping>> {
    Some(parse(&fs::read_to_string("/proc/self/smaps").ok()?))
}

/// Parses `smaps`. A mapping begins with a line like `7f12-7f34 rw-p ...`, followed by lines such
/// as `Rss: 12 kB` and `Anonymous: 4 kB`.
fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(word) = words.next() else { continue };
        if let Some(addresses) = range(word) {
            mappings.push(Mapping {
                addresses,
                resident: 0,
                anonymous: 0,
            });
            continue;
        }
        let Some(mapping) = mappings.last_mut() else {
            continue;
        };
        let figure = match word {
            "Rss:" => &mut mapping.resident,
            "Anonymous:" => &mut mapping.anonymous,
            _ => continue,
        };
        if let Some(Ok(kib)) = words.next().map(str::parse) {
            *figure = kib;
        }
    }
    mappings
}

fn range(word: &str) -> Option<Range<usize>> {
    let (start, end) = word.split_once('-')?;
    let hexadecimal = |text| usize::from_str_radix(text, 16).ok();
    Some(hexadecimal(start)?..hexadecimal(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read() {
        let text = "7f00-7f20 rw-p 00000000 00:00 0 \nSize: 8 kB\nRss:       4 kB\nPss: 1 kB\n\
                    Anonymous:  3 kB\n\
                    8000-9000 r--p 00000000 00:00 0 [vdso]\nRss: 12 kB\n";
        let expected = [
            Mapping {
                addresses: 0x7f00..0x7f20,
                resident: 4,
                anonymous: 3,
            },
            Mapping {
                addresses: 0x8000..0x9000,
                resident: 12,
                anonymous: 0,
            },
        ];
        assert_eq!(parse(text), expected);
    }
}
