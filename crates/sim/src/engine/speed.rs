//! Speeds of processors, which may differ, change over time, and be 0 while a processor is taken
//! away.

use serde::{Deserialize, Serialize};

use super::wheel::NEVER;

/// Nominal speed: that of a processor that takes `Costs::node` ticks for a node.
pub const NOMINAL: u32 = 1000;

/// The speed of a processor over time: constant from each change to the next, in thousandths of the
/// [nominal](NOMINAL) speed. A processor with speed 0 is taken away: it stops in the middle of its
/// current operation, and the nodes in its queue can be stolen meanwhile.
///
/// ```
/// use locksley_sim::{NOMINAL, Speed};
///
/// let slow = Speed::constant(NOMINAL / 2);
/// assert_eq!(slow.after(100, 5), 110);
///
/// // Taken away for 30 ticks out of 100, again and again.
/// let shared = Speed::repeating(100, &[(0, NOMINAL), (70, 0)]);
/// assert_eq!(shared.after(60, 20), 110);
///
/// // Taken away for good.
/// let gone = Speed::changing(&[(0, NOMINAL), (50, 0)]);
/// assert_eq!(gone.after(40, 10), 50);
/// assert_eq!(gone.after(40, 11), u64::MAX);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speed {
    /// Times and the speeds from then on. The first time is 0; each is later than the one before.
    changes: Vec<(u64, u32)>,
    /// Number of ticks after which the changes repeat; 0 for never.
    period: u64,
}

impl Speed {
    /// Creates a constant speed.
    pub fn constant(speed: u32) -> Speed {
        Speed::changing(&[(0, speed)])
    }

    /// Creates a speed that changes at each of these times, and is nominal before the first. Times
    /// that are not later than the one before are ignored.
    pub fn changing(changes: &[(u64, u32)]) -> Speed {
        let mut kept = vec![(0, NOMINAL)];
        for &(from, speed) in changes {
            match kept.last() {
                Some(&(last, _)) if from > last => kept.push((from, speed)),
                _ if from == 0 => kept = vec![(0, speed)],
                _ => (),
            }
        }
        Speed {
            changes: kept,
            period: 0,
        }
    }

    /// Creates a speed whose changes repeat with a period. Changes after the end of the period are
    /// ignored.
    pub fn repeating(period: u64, changes: &[(u64, u32)]) -> Speed {
        let within: Vec<_> = changes
            .iter()
            .copied()
            .filter(|change| change.0 < period)
            .collect();
        Speed {
            period,
            ..Speed::changing(&within)
        }
    }

    /// Returns the time at which an operation ends that starts at `from` and takes `cost` ticks at
    /// nominal speed; `u64::MAX` if it never ends.
    pub fn after(&self, from: u64, cost: u64) -> u64 {
        let mut need = u128::from(cost) * u128::from(NOMINAL);
        let (mut now, mut base) = (from, 0);
        if let Some(turns) = now.checked_div(self.period) {
            let whole = self.done_in_period();
            if whole == 0 {
                return if cost == 0 { from } else { NEVER };
            }
            base = turns * self.period;
            now -= base;
            // Skips whole periods at once; less than two are left.
            let periods = (need / whole).saturating_sub(1);
            need -= periods * whole;
            base = base.saturating_add((periods as u64).saturating_mul(self.period));
        }
        let mut piece = self.changes.partition_point(|&(from, _)| from <= now) - 1;
        while need > 0 {
            let speed = u128::from(self.changes[piece].1);
            let end = self.end(piece);
            let can = u128::from(end - now).saturating_mul(speed);
            if can >= need {
                let last = need.div_ceil(speed) as u64;
                return base.saturating_add(now).saturating_add(last);
            }
            need -= can;
            now = end;
            piece += 1;
            if piece == self.changes.len() {
                if self.period == 0 {
                    return NEVER;
                }
                base = base.saturating_add(self.period);
                (now, piece) = (0, 0);
            }
        }
        base.saturating_add(now)
    }

    /// Returns `true` if the processor is taken away for good at some time.
    fn can_end(&self) -> bool {
        let last = self.changes.last().map_or(0, |&(from, _)| from);
        self.after(last, 1) == NEVER
    }

    /// Returns the end of a piece of constant speed.
    fn end(&self, piece: usize) -> u64 {
        let last = if self.period > 0 { self.period } else { NEVER };
        self.changes.get(piece + 1).map_or(last, |&(from, _)| from)
    }

    fn done_in_period(&self) -> u128 {
        let pieces = self.changes.iter().enumerate();
        pieces
            .map(|(piece, &(from, speed))| u128::from(self.end(piece) - from) * u128::from(speed))
            .sum()
    }

    /// Returns the speed at a time.
    pub fn at(&self, time: u64) -> u32 {
        let time = if self.period > 0 {
            time % self.period
        } else {
            time
        };
        let piece = self.changes.partition_point(|&(from, _)| from <= time) - 1;
        self.changes[piece].1
    }

    /// Returns the first change of the speed after a time, if there is one.
    pub fn next_change(&self, time: u64) -> Option<u64> {
        let (base, time) = match self.period {
            0 => (0, time),
            period => (time / period * period, time % period),
        };
        let later = self.changes.iter().find(|&&(from, _)| from > time);
        match later {
            Some(&(from, _)) => Some(base + from),
            None if self.period > 0 => Some(base + self.period),
            None => None,
        }
    }
}

/// The speeds of all processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speeds(Vec<Speed>);

impl Speeds {
    /// Returns the nominal speed for all processors.
    ///
    /// ```
    /// use locksley_sim::{Speed, Speeds};
    ///
    /// assert_eq!(Speeds::nominal(), Speeds::default());
    /// assert_ne!(Speeds::nominal(), Speeds::of(vec![Speed::constant(500)]));
    /// ```
    pub fn nominal() -> Speeds {
        Speeds::default()
    }

    /// Creates the speeds of the first processors; the list is repeated for the others.
    pub fn of(speeds: Vec<Speed>) -> Speeds {
        Speeds(speeds)
    }

    /// Returns the speed of a processor; `None` if all speeds are nominal.
    pub fn get(&self, processor: usize) -> Option<&Speed> {
        match self.0.len() {
            0 => None,
            len => self.0.get(processor % len),
        }
    }

    /// Returns `true` if some processors may be taken away for good.
    pub(crate) fn can_end(&self) -> bool {
        self.0.iter().any(Speed::can_end)
    }

    /// Returns `true` if a processor makes no progress from a time on.
    pub(crate) fn is_gone(&self, processor: usize, from: u64) -> bool {
        self.after(processor, from, 1) == NEVER
    }

    /// Returns the time at which an operation of a processor ends. See [`Speed::after`].
    #[inline]
    pub(crate) fn after(&self, processor: usize, from: u64, cost: u64) -> u64 {
        if self.0.is_empty() {
            return from.saturating_add(cost);
        }
        self.after_changes(processor, from, cost)
    }

    #[cold]
    fn after_changes(&self, processor: usize, from: u64, cost: u64) -> u64 {
        if from == NEVER {
            return NEVER;
        }
        self.0[processor % self.0.len()].after(from, cost)
    }
}

#[cfg(test)]
mod tests {
    use locksley_policy::Source;

    use super::*;
    use crate::CounterRng;

    /// Sums up the work of a processor, tick by tick.
    fn done(speed: &Speed, from: u64, to: u64) -> u64 {
        (from..to).map(|time| u64::from(speed.at(time))).sum()
    }

    #[test]
    fn the_end_is_the_first_tick_by_which_enough_is_done() {
        let mut draw = CounterRng::at(7, 0, 0);
        for turn in 0..2000 {
            let changes: Vec<(u64, u32)> = (0..draw.below(5))
                .map(|_| (draw.below(60) as u64, [0, 300, 1000, 2500][draw.below(4)]))
                .collect();
            let mut changes = changes;
            changes.sort_unstable();
            let speed = match turn % 2 {
                0 => Speed::changing(&changes),
                _ => Speed::repeating(61, &changes),
            };
            let (from, cost) = (draw.below(200) as u64, draw.below(100) as u64);
            let after = speed.after(from, cost);
            let need = cost * u64::from(NOMINAL);
            if after == NEVER {
                assert!(
                    done(&speed, from, from + 5000) < need,
                    "{speed:?} {from} {cost}"
                );
            } else {
                assert!(
                    done(&speed, from, after) >= need,
                    "{speed:?} {from} {cost} {after}"
                );
                assert!(
                    after == from || done(&speed, from, after - 1) < need,
                    "{speed:?} {from} {cost} {after}"
                );
            }
        }
    }

    #[test]
    fn changes_are_found() {
        let speed = Speed::repeating(100, &[(0, 1000), (70, 0)]);
        assert_eq!([speed.at(69), speed.at(70), speed.at(100)], [1000, 0, 1000]);
        assert_eq!(speed.next_change(0), Some(70));
        assert_eq!(speed.next_change(70), Some(100));
        assert_eq!(Speed::constant(5).next_change(9), None);
    }

    #[test]
    fn only_a_processor_without_a_last_piece_of_work_is_gone() {
        let gone = Speed::changing(&[(50, 0)]);
        let speeds = Speeds::of(vec![gone.clone(), Speed::constant(1)]);
        assert!(!speeds.is_gone(0, 49) && speeds.is_gone(0, 50) && !speeds.is_gone(1, 50));
        for (speed, can_end) in [
            (gone, true),
            (Speed::constant(0), true),
            (Speed::repeating(10, &[(0, 0)]), true),
            (Speed::changing(&[(50, 0), (90, 1)]), false),
            (Speed::repeating(10, &[(0, 0), (9, 1)]), false),
            (Speed::repeating(10, &[(0, 1), (9, 0)]), false),
        ] {
            assert_eq!(speed.can_end(), can_end, "{speed:?}");
        }
    }
}
