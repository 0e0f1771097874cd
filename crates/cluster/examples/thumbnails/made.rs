//! The result of a batch.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use locksley_cluster::Reduce;
use locksley_cluster::leases::plain;

/// Most complaints that are kept: enough to see what is wrong.
const KEPT: usize = 100;

/// Most letters of a reason that are kept.
const REASON: usize = 300;

/// The result of a batch, or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Made {
    /// Number of thumbnails that were made.
    pub(crate) made: u64,
    /// Number of thumbnails that existed.
    pub(crate) there: u64,
    /// Number of entries that are not images by their names, or not files.
    pub(crate) ignored: u64,
    /// Images, or folders, that could not be read.
    pub(crate) broken: Complaints,
    /// Thumbnails that could not be written.
    pub(crate) unwritten: Complaints,
    /// Number of images without a thumbnail because writing failed.
    pub(crate) left: u64,
}

impl Reduce for Made {
    fn identity() -> Made {
        Made::default()
    }

    fn combine(&mut self, other: Made) {
        self.made += other.made;
        self.there += other.there;
        self.ignored += other.ignored;
        self.broken.combine(other.broken);
        self.unwritten.combine(other.unwritten);
        self.left += other.left;
    }
}

/// Complaints about files: their number, and the first ones by name, up to a hundred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Complaints {
    /// Number of complaints.
    pub(crate) count: u64,
    /// The first ones, sorted.
    pub(crate) first: Vec<Complaint>,
}

/// A complaint about a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Complaint {
    /// Path of the file.
    pub(crate) path: String,
    /// Reason.
    pub(crate) why: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", plain(&self.path), plain(&self.why))
    }
}

impl Complaints {
    /// Adds a complaint.
    pub(super) fn add(&mut self, path: &Path, why: impl fmt::Display) {
        let path = path.display().to_string();
        let why = why.to_string().chars().take(REASON).collect();
        self.combine(Complaints {
            count: 1,
            first: vec![Complaint { path, why }],
        });
    }

    /// Keeps the first ones of both, so that the result depends neither on the order nor on the
    /// grouping.
    fn combine(&mut self, mut other: Complaints) {
        self.count += other.count;
        self.first.append(&mut other.first);
        self.first.sort_unstable();
        self.first.truncate(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_counted_all_and_kept_in_part_in_any_order() {
        let made = |numbers: &[usize]| {
            let mut made = Made::identity();
            for number in numbers {
                let path = format!("{number:04}");
                made.broken.add(Path::new(&path), "x".repeat(1000));
            }
            made
        };
        let numbers: Vec<usize> = (0..250).collect();
        let (evens, odds): (Vec<usize>, Vec<usize>) =
            numbers.iter().partition(|number| **number % 2 == 0);
        let mut all = made(&odds);
        all.combine(made(&evens));
        assert_eq!(all, made(&numbers));
        assert_eq!((all.broken.count, all.broken.first.len()), (250, KEPT));
        assert_eq!(all.broken.first[KEPT - 1].path, "0099");
        assert_eq!(all.broken.first[0].why.len(), REASON);
    }
}
