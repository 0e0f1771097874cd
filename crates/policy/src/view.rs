//! What a policy may see of the processors: the trait [`View`].

use crate::random::Source;

/// What a policy may see of the processors. The pool and a simulator implement it, and so do slices
/// of loads.
///
/// Answers may be out of date, as they are in a pool, where other processors go on working. A
/// policy must be correct whatever the answers are.
///
/// ```
/// use locksley_policy::View;
///
/// let loads: &[u32] = &[3, 0, 7];
/// assert_eq!(loads.count(), 3);
/// assert_eq!(loads.load(2), 7);
/// assert!(loads.is_idle(1));
/// ```
pub trait View {
    /// Returns the number of processors.
    fn count(&self) -> usize;

    /// Returns the number of items that wait in a processor's queue.
    fn load(&self, processor: usize) -> usize;

    /// Returns `true` if a processor has nothing to do.
    fn is_idle(&self, processor: usize) -> bool {
        self.load(processor) == 0
    }

    /// Returns the number of rings of neighbours of a processor. Ring 0 is the nearest; processors
    /// beyond the last ring count as equally far. 0 if no distances are known.
    fn rings(&self, me: usize) -> usize {
        let _ = me;
        0
    }

    /// Returns a random processor of a ring, with equal probability.
    fn neighbour(&self, me: usize, ring: usize, random: &mut dyn Source) -> Option<usize> {
        let _ = (me, ring, random);
        None
    }
}

macro_rules! slices {
    ($($number:ty),*) => {$(
        impl View for [$number] {
            fn count(&self) -> usize {
                self.len()
            }

            fn load(&self, processor: usize) -> usize {
                self[processor] as usize
            }
        }

        impl View for &[$number] {
            fn count(&self) -> usize {
                self.len()
            }

            fn load(&self, processor: usize) -> usize {
                self[processor] as usize
            }
        }
    )*};
}

slices!(u16, u32, usize);

/// A view that shows only the number of processors: every processor seems to have one item.
///
/// ```
/// use locksley_policy::{Blind, View};
///
/// assert_eq!(Blind(4).count(), 4);
/// assert!(!Blind(4).is_idle(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blind(pub usize);

impl View for Blind {
    fn count(&self) -> usize {
        self.0
    }

    fn load(&self, _: usize) -> usize {
        1
    }
}

/// Returns a random processor other than `me`, with equal probability; `None` if there is no other.
///
/// ```
/// use locksley_policy::{Random, other};
///
/// let mut random = Random::new(1, 0);
/// assert_eq!(other(0, 2, &mut random), Some(1));
/// assert_eq!(other(0, 1, &mut random), None);
/// ```
#[inline]
pub fn other<S: Source + ?Sized>(me: usize, count: usize, random: &mut S) -> Option<usize> {
    let others = count - usize::from(me < count);
    if others == 0 {
        return None;
    }
    let drawn = random.below(others);
    Some(drawn + usize::from(drawn >= me))
}

/// The largest number of processors that a policy probes before it decides.
pub const MOST_PROBES: u32 = 16;

/// Calls `probe` for up to `limit` different processors other than `me`, drawn with equal
/// probability, until it returns `true`.
pub(crate) fn probe<S: Source + ?Sized>(
    me: usize,
    count: usize,
    limit: u32,
    random: &mut S,
    mut probe: impl FnMut(usize) -> bool,
) {
    let others = count - usize::from(me < count);
    let limit = (limit.min(MOST_PROBES) as usize).min(others);
    let mut probed = [usize::MAX; MOST_PROBES as usize];
    for turn in 0..limit {
        let fresh = loop {
            match other(me, count, random) {
                Some(drawn) if probed[..turn].contains(&drawn) => {}
                Some(drawn) => break drawn,
                None => return,
            }
        };
        probed[turn] = fresh;
        if probe(fresh) {
            return;
        }
    }
}

/// Processors in nested groups of equal sizes, for instance cores in caches in sockets in hosts.
/// Needs no memory per processor, so it suits a million of them.
///
/// ```text
///   NestedGroups::new([2, 8]):   | 0 1 | 2 3 | 4 5 | 6 7 || 8 9 | ...
///                          ring 0 of 0 is {1}, its ring 1 is {2..=7}, the rest is far
/// ```
///
/// ```
/// use locksley_policy::{NestedGroups, Random};
///
/// let nest = NestedGroups::new(&[2, 8]);
/// let mut random = Random::new(1, 0);
/// assert_eq!(nest.rings(), 2);
/// assert_eq!(nest.neighbour(5, 0, 100, &mut random), Some(4));
/// let near = nest.neighbour(5, 1, 100, &mut random).unwrap();
/// assert!([0, 1, 2, 3, 6, 7].contains(&near));
/// assert_eq!(nest.distance(5, 4), 0);
/// assert_eq!(nest.distance(5, 0), 1);
/// assert_eq!(nest.distance(5, 8), 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NestedGroups {
    sizes: [u32; NestedGroups::MOST],
    rings: u8,
}

impl NestedGroups {
    /// The largest number of levels.
    pub const MOST: usize = 6;

    /// Creates groups of these sizes, the smallest first. A size that is not a proper multiple of
    /// the previous one is left out, so that each group is part of a group of the next size; sizes
    /// beyond [`MOST`](NestedGroups::MOST) are left out too.
    pub fn new(sizes: &[u32]) -> NestedGroups {
        let mut nest = NestedGroups::default();
        let mut last = 1;
        for &size in sizes {
            if size > last && size % last == 0 && nest.rings() < NestedGroups::MOST {
                nest.sizes[nest.rings()] = size;
                nest.rings += 1;
                last = size;
            }
        }
        nest
    }

    /// Returns the number of rings.
    pub fn rings(&self) -> usize {
        usize::from(self.rings)
    }

    /// Returns the ring around `me` in which `processor` lies; [`rings`](NestedGroups::rings) if it
    /// is outside of all of them.
    pub fn distance(&self, me: usize, processor: usize) -> usize {
        let sizes = &self.sizes[..self.rings()];
        let shared = |&size: &u32| me / size as usize == processor / size as usize;
        sizes.iter().position(shared).unwrap_or(sizes.len())
    }

    /// Returns a random processor of a ring among the first `count` processors, with equal
    /// probability. `None` if the ring is empty.
    pub fn neighbour<S: Source + ?Sized>(
        &self,
        me: usize,
        ring: usize,
        count: usize,
        random: &mut S,
    ) -> Option<usize> {
        let group = |size: u32| {
            let start = me - me % size as usize;
            start.min(count)..(start + size as usize).min(count)
        };
        let outer = group(*self.sizes[..self.rings()].get(ring)?);
        let inner = match ring {
            0 => me.min(count)..(me + 1).min(count),
            _ => group(self.sizes[ring - 1]),
        };
        let many = outer.len() - inner.len();
        if many == 0 {
            return None;
        }
        let drawn = outer.start + random.below(many);
        Some(if drawn < inner.start {
            drawn
        } else {
            drawn + inner.len()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::statistics::distributed;

    #[test]
    fn probes_are_different_and_as_many_as_there_can_be() {
        let mut random = Random::new(8, 0);
        for count in 0..24 {
            for limit in [0, 1, 5, 16, 99] {
                let mut seen = Vec::new();
                probe(3, count, limit, &mut random, |other| {
                    seen.push(other);
                    false
                });
                let others = count - usize::from(count > 3);
                assert_eq!(seen.len(), others.min(limit as usize).min(16));
                assert!(seen.iter().all(|&other| other < count && other != 3));
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len(), others.min(limit as usize).min(16));
            }
        }
    }

    /// The last of three probes is uniform, like the first.
    #[test]
    fn probes_have_no_preference() {
        let mut random = Random::new(9, 0);
        let mut counts = [[0; 5]; 3];
        for _ in 0..20_000 {
            let mut turn = 0;
            probe(5, 5, 3, &mut random, |other| {
                counts[turn][other] += 1;
                turn += 1;
                false
            });
        }
        for counts in counts {
            assert!(distributed(&counts, &[0.2; 5]), "{counts:?}");
        }
    }

    #[test]
    fn rings_of_a_nest_are_what_they_say() {
        let nest = NestedGroups::new(&[2, 8, 12, 24, 48, 96, 192, 384]);
        assert_eq!(
            nest.rings(),
            6,
            "12 is no multiple of 8, and six is the most"
        );
        let mut random = Random::new(10, 0);
        for count in [1, 2, 5, 30, 100] {
            for me in [0, 1, 7, 23, 29] {
                for ring in 0..7 {
                    let members: Vec<usize> = (0..count)
                        .filter(|&other| other != me && nest.distance(me, other) == ring)
                        .collect();
                    for _ in 0..20 {
                        let drawn = nest.neighbour(me, ring, count, &mut random);
                        match drawn {
                            Some(drawn) => assert!(members.contains(&drawn)),
                            None => assert!(members.is_empty() || ring == nest.rings()),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_ring_has_no_preference() {
        let nest = NestedGroups::new(&[2, 6]);
        let mut random = Random::new(11, 0);
        let mut counts = [0; 6];
        for _ in 0..20_000 {
            counts[nest.neighbour(3, 1, 6, &mut random).unwrap()] += 1;
        }
        let expected = [0.25, 0.25, 0.0, 0.0, 0.25, 0.25];
        assert!(distributed(&counts, &expected), "{counts:?}");
    }
}
