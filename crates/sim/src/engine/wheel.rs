//! The event queue: a hierarchical timing wheel.
//!
//! A level has 64 slots. Level 0 holds the events of the 64 ticks around the current time, one slot
//! for each tick; a slot of level n stands for 64^n ticks. An event goes to the level of the
//! highest digit, in base 64, in which its time differs from the current time. So all events on a
//! lower level are due before all events on a higher level. When a level is empty, the next slot of
//! the level above is moved into it. An event is moved at most once per level, and a bit map marks
//! the non-empty slots of a level, so the cost of an operation does not depend on the number of
//! events.
//!
//! Events of the same tick are returned in the order of their keys, not of their insertion. So the
//! outcome of a simulation is a function of its input.

const SLOTS: usize = 64;
const DIGIT: u32 = SLOTS.trailing_zeros();

/// Enough digits for 64 bits.
const LEVELS: usize = u64::BITS.div_ceil(DIGIT) as usize;

/// The time of events that never happen.
pub(crate) const NEVER: u64 = u64::MAX;

/// A queue of events, each with a time and a key.
#[derive(Debug)]
pub(crate) struct Wheel {
    now: u64,
    /// Keys of level 0, by slot.
    near: Vec<Vec<u32>>,
    /// Times and keys of level 1 and above, by level and slot.
    far: Vec<Vec<(u64, u32)>>,
    /// For each level, a bit map of the slots that are not empty.
    full: [u64; LEVELS],
}

impl Wheel {
    pub(crate) fn new() -> Wheel {
        Wheel {
            now: 0,
            near: vec![Vec::new(); SLOTS],
            far: vec![Vec::new(); SLOTS * (LEVELS - 1)],
            full: [0; LEVELS],
        }
    }

    /// Adds an event, which must not be in the past. Ignores events at [`NEVER`].
    #[inline]
    pub(crate) fn push(&mut self, time: u64, key: u32) {
        debug_assert!(time >= self.now);
        let differing = time ^ self.now;
        if differing < SLOTS as u64 {
            let slot = time as usize % SLOTS;
            self.near[slot].push(key);
            self.full[0] |= 1 << slot;
        } else if time != NEVER {
            self.push_far(time, key, differing);
        }
    }

    fn push_far(&mut self, time: u64, key: u32, differing: u64) {
        let level = differing.ilog2() / DIGIT;
        let slot = (time >> (level * DIGIT)) as usize % SLOTS;
        self.far[(level as usize - 1) * SLOTS + slot].push((time, key));
        self.full[level as usize] |= 1 << slot;
    }

    /// Removes all events of the next tick that has any, and replaces the contents of `keys` by
    /// their keys in order. Returns the tick.
    pub(crate) fn next(&mut self, keys: &mut Vec<u32>) -> Option<u64> {
        keys.clear();
        while self.full[0] == 0 {
            self.pour()?;
        }
        let slot = self.full[0].trailing_zeros() as usize;
        self.full[0] &= !(1 << slot);
        self.now = self.now & !(SLOTS as u64 - 1) | slot as u64;
        std::mem::swap(keys, &mut self.near[slot]);
        // The keys are a few sorted runs, which this sort exploits.
        keys.sort();
        Some(self.now)
    }

    /// Moves the events of the next slot, of the lowest level that has any, to the levels below.
    fn pour(&mut self) -> Option<()> {
        let level = (1..LEVELS).find(|&level| self.full[level] != 0)?;
        let slot = self.full[level].trailing_zeros() as usize;
        self.full[level] &= !(1 << slot);
        let shift = level as u32 * DIGIT;
        let above = self.now.checked_shr(shift + DIGIT).unwrap_or(0);
        let window = above.checked_shl(DIGIT).unwrap_or(0) | slot as u64;
        self.now = window << shift;
        let at = (level - 1) * SLOTS + slot;
        let mut events = std::mem::take(&mut self.far[at]);
        for (time, key) in events.drain(..) {
            self.push(time, key);
        }
        self.far[at] = events;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use locksley_policy::Source;

    use super::*;
    use crate::CounterRng;

    #[test]
    fn events_come_in_order_however_far_they_are() {
        let mut draw = CounterRng::at(1, 0, 0);
        let mut wheel = Wheel::new();
        let mut model: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        let mut keys = Vec::new();
        let mut now = 0;
        for turn in 0..20_000 {
            for _ in 0..draw.below(4) {
                let reach = draw.below(40) as u32;
                let time = now + 1 + draw.next() % (1 << reach);
                let key = draw.below(100) as u32;
                wheel.push(time, key);
                model.entry(time).or_default().push(key);
            }
            if turn % 3 == 0 {
                let next = wheel.next(&mut keys);
                let expected = model.pop_first().map(|(time, mut keys)| {
                    keys.sort_unstable();
                    (time, keys)
                });
                assert_eq!(next.map(|time| (time, keys.clone())), expected);
                now = next.unwrap_or(now);
            }
        }
    }

    #[test]
    fn the_last_tick_of_all_can_be_reached_and_never_is_not() {
        let mut wheel = Wheel::new();
        let mut keys = Vec::new();
        wheel.push(NEVER, 1);
        assert_eq!(wheel.next(&mut keys), None);
        wheel.push(NEVER - 1, 2);
        assert_eq!(wheel.next(&mut keys), Some(NEVER - 1));
        assert_eq!(keys, [2]);
    }
}
