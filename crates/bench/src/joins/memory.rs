//! How much of this process is resident, as Linux tells it.

use std::fs;
use std::ops::Range;

/// A mapping of the process, and how many KiB of it are resident.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    addresses: Range<usize>,
    resident: u64,
}

/// KiB that are resident. `smaps` counts pages; the sums of `status` lag behind.
pub(super) fn resident() -> Option<u64> {
    Some(mappings()?.iter().map(|mapping| mapping.resident).sum())
}

/// KiB that are resident in the mappings that contain these addresses and are not larger
/// than `limit` bytes.
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

/// A mapping begins with a line like `7f12-7f34 rw-p ...`; `Rss: 12 kB` is among the ones below it.
fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(word) = words.next() else { continue };
        if let Some(addresses) = range(word) {
            mappings.push(Mapping {
                addresses,
                resident: 0,
            });
        } else if word == "Rss:"
            && let Some(mapping) = mappings.last_mut()
            && let Some(Ok(resident)) = words.next().map(str::parse)
        {
            mapping.resident = resident;
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
                    8000-9000 r--p 00000000 00:00 0 [vdso]\nRss: 12 kB\n";
        let expected = [
            Mapping {
                addresses: 0x7f00..0x7f20,
                resident: 4,
            },
            Mapping {
                addresses: 0x8000..0x9000,
                resident: 12,
            },
        ];
        assert_eq!(parse(text), expected);
    }
}
