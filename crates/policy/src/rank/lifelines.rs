//! Lifelines: how an idle rank stops asking for work and still gets it.
//!
//! From Saraswat, Kambadur, Kodali, Grove and Krishnamoorthy, "Lifeline-based global load
//! balancing" (PPoPP 2011). A rank whose requests have failed `w` times asks its *lifelines*, a few
//! fixed neighbours. A lifeline that has no work either remembers the rank, which then sends no
//! more requests. A rank that remembers another one and gets more work than it needs sends it some.
//!
//! ```text
//!    base 2, 8 ranks:   6 ------ 7    a rank's lifeline along a dimension is the next one in the
//!                      /|       /|    ring of `base` places; work flows the other way
//!                     4 ------ 5 |
//!                     | 2 -----| 3    with 7 ranks the ring (5, 7) is cut short to (5) alone:
//!                     |/       |/     that lifeline is the rank itself, which is none
//!                     0 ------ 1
//! ```
//!
//! **Lemma.** Work can flow from every rank to every other. A path of lifelines leads from every p
//! to 0: a step along a dimension adds one to a digit of p in base `base` or, if no rank is there,
//! sets it to zero, so repeating it for each digit ends at 0. And one leads from 0 to every p:
//! setting the digits of p from the highest on goes through numbers that are not above p, so each
//! of them is a rank. So the graph is strongly connected, and so is its reverse.

use std::fmt;

use crate::text::{ParseError, Reader, TextForm, Writer, text_form};

/// When a thief asks its lifelines, and which they are.
///
/// ```
/// use locksley_policy::Lifelines;
///
/// let usual = Lifelines::default();
/// assert_eq!(usual, Lifelines { w: 2, base: 2 });
/// assert_eq!(usual.of(5, 8), [4, 7, 1]);
/// assert_eq!(usual.of(5, 7), [4, 1]);
/// assert_eq!("lifelines:w=3,base=4".parse(), Ok(Lifelines { w: 3, base: 4 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lifelines {
    /// Number of failed attempts before a rank asks its lifelines.
    pub w: u32,
    /// Number of places along each dimension of the hypercube; at least 2.
    pub base: u32,
}

impl Default for Lifelines {
    /// A binary hypercube, and two attempts: few messages, and log2 P lifelines.
    fn default() -> Lifelines {
        Lifelines { w: 2, base: 2 }
    }
}

impl Lifelines {
    /// Returns the number of dimensions of the hypercube.
    ///
    /// ```
    /// use locksley_policy::Lifelines;
    ///
    /// let usual = Lifelines::default();
    /// assert_eq!([1, 2, 3, 8, 9].map(|count| usual.dimensions(count)), [0, 1, 2, 3, 4]);
    /// ```
    pub fn dimensions(&self, count: usize) -> u32 {
        let mut dimensions = 0;
        while self.stride(dimensions).is_some_and(|stride| stride < count) {
            dimensions += 1;
        }
        dimensions
    }

    /// Returns the next rank along a dimension, which is below
    /// [`dimensions`](Lifelines::dimensions); `me` if there is no other rank.
    ///
    /// ```
    /// use locksley_policy::Lifelines;
    ///
    /// let threes = Lifelines { w: 2, base: 3 };
    /// assert_eq!(threes.along(0, 1, 9), 3);
    /// assert_eq!(threes.along(6, 1, 9), 0);
    /// assert_eq!(threes.along(5, 1, 8), 2);
    /// ```
    pub fn along(&self, me: usize, dimension: u32, count: usize) -> usize {
        let base = self.base.max(2) as usize;
        let Some(stride) = self.stride(dimension) else {
            return me;
        };
        let digit = me / stride % base;
        let first = me - digit * stride;
        let next = first + (digit + 1) % base * stride;
        // The ring may be cut short by the number of ranks.
        if next < count { next } else { first }
    }

    /// Returns the lifelines of a rank, without duplicates and without the rank itself.
    pub fn of(&self, me: usize, count: usize) -> Vec<usize> {
        let mut lines = Vec::new();
        for dimension in 0..self.dimensions(count) {
            let next = self.along(me, dimension, count);
            if next != me && !lines.contains(&next) {
                lines.push(next);
            }
        }
        lines
    }

    fn stride(&self, dimension: u32) -> Option<usize> {
        (self.base.max(2) as usize).checked_pow(dimension)
    }
}

impl TextForm for Lifelines {
    const NAME: Option<&'static str> = Some("lifelines");

    fn read(reader: &mut Reader<'_>) -> Result<Lifelines, ParseError> {
        let usual = Lifelines::default();
        Ok(Lifelines {
            w: reader.number("w", usual.w, 0..=u32::MAX)?,
            base: reader.number("base", usual.base, 2..=u32::MAX)?,
        })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        let usual = Lifelines::default();
        writer.pair("w", self.w, usual.w)?;
        writer.pair("base", self.base.max(2), usual.base)
    }
}

text_form!(Lifelines);

#[cfg(test)]
mod tests {
    use super::*;

    /// The lemma, for many sizes: every rank is reached from rank 0 and from the last one.
    #[test]
    fn work_flows_from_everywhere_to_everywhere() {
        for base in [2, 3, 4, 7, u32::MAX] {
            let lifelines = Lifelines { w: 0, base };
            for count in (1..130).chain([1000, 1023, 1025]) {
                let lines: Vec<Vec<usize>> = (0..count).map(|me| lifelines.of(me, count)).collect();
                for start in [0, count - 1] {
                    let mut seen = vec![false; count];
                    let mut reached = vec![start];
                    seen[start] = true;
                    while let Some(rank) = reached.pop() {
                        for &next in &lines[rank] {
                            if !std::mem::replace(&mut seen[next], true) {
                                reached.push(next);
                            }
                        }
                    }
                    assert!(seen.iter().all(|&seen| seen), "base {base}, {count} ranks");
                }
            }
        }
    }
}
