//! The order in which a thief tries its victims.
//!
//! A search tries every victim once: a *sweep*. The victims lie in *rings* around the thief, the
//! nearest first: ring 0 shares the narrowest level with the thief (a core, a cache), ring 1 only
//! the next wider one, and so on. The last ring has the victims whose location is unknown.
//!
//! ```text
//!   thief 0 of 2 sockets x 2 caches x 2 cores:   | 1 | 2 3 | 4 5 6 7 | unknown ... |
//!                                                 ring 0  1      2          3
//! ```
//!
//! The start of a sweep is drawn as in Rito's thesis, Algorithm 11. With probability 1 - theta it
//! is uniform over all victims. Otherwise it is in the neighbourhood: in ring 0 with probability
//! 1/2, in ring 1 with 1/4, and so on, and the last ring of the neighbourhood gets the rest. The
//! neighbourhood is ring 0 and all other rings of known victims but the outermost, whose victims
//! are equally far from all. Within a ring the sweep starts at a random victim and goes round. Then
//! it visits the other rings, the nearest first.
//!
//! **Theorem** (thesis, section 6.3.1). Since the first attempt of a sweep is uniform with
//! probability at least 1 - theta, the expected run time is O(T1/P + Tinf/(1 - theta)).
//!
//! **Deviations from the paper.** The number of levels is the machine's, not three. Empty
//! neighbourhoods, from which the paper's algorithm would draw a victim, do not become rings. The
//! paper makes one attempt and then draws again; a sweep goes on through the other victims, so that
//! a thief that finds nothing knows that every victim had nothing. Uniform means uniform over the
//! other processors: the paper lets a thief draw itself.

use crate::random::Source;

/// The order in which one thief tries its victims. See the [crate] for an example.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    me: usize,
    theta: f64,
    /// The other processors that were known when the order was made, the nearest first, those of
    /// unknown location last. Empty if no distances are known.
    victims: Box<[u16]>,
    /// End of each ring in `victims`; the last is the number of victims.
    ends: Box<[u16]>,
    /// Number of rings in the neighbourhood.
    neighbourhood: usize,
    /// Number of processors when the order was made, the thief included.
    known: usize,
}

impl Order {
    /// Creates the order of a thief that knows no distances: all victims are in one ring.
    ///
    /// ```
    /// use locksley_policy::{Order, Random};
    ///
    /// let order = Order::uniform(2);
    /// let mut victims: Vec<usize> = order.sweep(4, &mut Random::new(1, 2)).collect();
    /// victims.sort();
    /// assert_eq!(victims, [0, 1, 3]);
    /// ```
    pub fn uniform(me: usize) -> Order {
        Order {
            me,
            theta: 0.0,
            victims: Box::default(),
            ends: Box::default(),
            neighbourhood: 0,
            known: 0,
        }
    }

    /// Creates the order of a thief from the processors' addresses. An address has the numbers of
    /// the package, the cache and the core that the processor is in, from the widest level to the
    /// narrowest. Two processors are the nearer, the longer the common prefix of their addresses.
    ///
    /// `theta` is the probability that a sweep starts in the neighbourhood. An empty address is
    /// unknown. If the thief's own address is unknown, or there are fewer than two rings, or more
    /// than 2^16 - 1 processors, this is [`uniform`](Order::uniform).
    pub fn nearest<A: AsRef<[u32]>>(me: usize, addresses: &[A], theta: f64) -> Order {
        let own = addresses.get(me).map_or(&[][..], AsRef::as_ref);
        if own.is_empty() || addresses.len() > usize::from(u16::MAX) {
            return Order::uniform(me);
        }
        let shared = |other: usize| {
            let pairs = own.iter().zip(addresses[other].as_ref());
            pairs.take_while(|(a, b)| a == b).count()
        };
        // Unknown processors come last, after those that are known to share no level.
        let nearness = |other: usize| match addresses[other].as_ref() {
            [] => 0,
            _ => shared(other) + 1,
        };
        // One pass per ring instead of a sort: there are few rings.
        let (mut victims, mut ends, mut unknown) = (Vec::new(), Vec::new(), false);
        for near in (0..=own.len() + 1).rev() {
            let ring = (0..addresses.len()).filter(|&other| other != me && nearness(other) == near);
            victims.extend(ring.map(|other| other as u16));
            if victims.len() > ends.last().map_or(0, |&end| usize::from(end)) {
                ends.push(victims.len() as u16);
                unknown = near == 0;
            }
        }
        if ends.len() < 2 {
            return Order::uniform(me);
        }
        Order {
            me,
            theta,
            neighbourhood: (ends.len() - 1 - usize::from(unknown)).max(1),
            victims: victims.into(),
            ends: ends.into(),
            known: addresses.len(),
        }
    }

    /// Returns the number of rings; 1 if no distances are known.
    pub fn rings(&self) -> usize {
        self.ends.len().max(1)
    }

    /// Returns the number of rings in the neighbourhood; 0 if no distances are known.
    ///
    /// ```
    /// use locksley_policy::{Order, Random};
    ///
    /// let groups: [&[u32]; 4] = [&[0], &[0], &[1], &[1]];
    /// let order = Order::nearest(0, &groups, 0.9);
    /// assert_eq!(order.neighbourhood(), 1);
    /// assert_eq!(order.neighbour(0, 4, &mut Random::new(1, 0)), Some(1));
    /// assert_eq!(order.neighbour(0, 1, &mut Random::new(1, 0)), None, "nothing of the first one");
    /// ```
    pub fn neighbourhood(&self) -> usize {
        self.neighbourhood
    }

    /// Returns a random processor of a ring, with equal probability. `None` if the drawn one is not
    /// among the first `count` processors, or the ring is not in the neighbourhood.
    pub fn neighbour<S: Source + ?Sized>(
        &self,
        ring: usize,
        count: usize,
        random: &mut S,
    ) -> Option<usize> {
        if ring >= self.neighbourhood {
            return None;
        }
        let ring = self.ring(ring);
        let drawn = self.victims[ring.start + random.below(ring.len())];
        Some(usize::from(drawn)).filter(|&drawn| drawn < count)
    }

    /// Starts a sweep of the first `count` processors: an iterator over all of them but the thief.
    #[inline]
    pub fn sweep<S: Source>(&self, count: usize, random: S) -> Sweep<'_, S> {
        let mut sweep = Sweep {
            order: self,
            count,
            random,
            first: ALL,
            next: 0,
            part: Part::EMPTY,
        };
        if self.ends.is_empty() {
            sweep.part = sweep.others();
            sweep.next = DONE;
        } else {
            sweep.draw_start();
        }
        sweep
    }

    /// Calls `attempt` for each processor in the order of [`sweep`](Order::sweep), until it returns
    /// `Some`.
    ///
    /// ```
    /// use locksley_policy::{Order, Random};
    ///
    /// let mut random = Random::new(1, 2);
    /// let attempt = |victim| (victim == 3).then_some("work");
    /// let found = Order::uniform(0).search(4, &mut random, attempt);
    /// assert_eq!(found, Some("work"));
    /// ```
    #[inline]
    pub fn search<R>(
        &self,
        count: usize,
        random: &mut impl Source,
        mut attempt: impl FnMut(usize) -> Option<R>,
    ) -> Option<R> {
        if !self.ends.is_empty() {
            return self.sweep(count, random).find_map(attempt);
        }
        // The same order as a sweep's, but in registers.
        let others = self.others(count);
        let start = if others > 1 { random.below(others) } else { 0 };
        let mut places = (start..others).chain(0..start);
        places.find_map(|place| attempt(self.other(place, count)))
    }

    /// Returns how many of the first `count` processors are not the thief.
    #[inline]
    fn others(&self, count: usize) -> usize {
        count - usize::from(self.me < count)
    }

    /// Returns the processor at `place` among these, counted from the one after the thief.
    #[inline]
    fn other(&self, place: usize, count: usize) -> usize {
        if self.me >= count {
            return place;
        }
        let victim = self.me + 1 + place;
        if victim < count {
            victim
        } else {
            victim - count
        }
    }

    fn ring(&self, ring: usize) -> std::ops::Range<usize> {
        let start = match ring {
            0 => 0,
            _ => usize::from(self.ends[ring - 1]),
        };
        start..usize::from(self.ends[ring])
    }
}

/// Returns the ring in which Algorithm 11 looks for a neighbour, for a number drawn below theta: it
/// compares with theta/2, theta/4, ... from above.
pub(crate) fn ring(choice: f64, theta: f64, rings: usize) -> usize {
    let mut ring = 0;
    let mut bound = theta / 2.0;
    while ring + 1 < rings && choice < bound {
        ring += 1;
        bound /= 2.0;
    }
    ring
}

/// In `Sweep::first`: the sweep started uniformly, in no ring.
const ALL: usize = usize::MAX;

/// In `Sweep::next`: no ring is left.
const DONE: usize = usize::MAX - 1;

/// The victims that a sweep goes round at the moment: a ring, or a range of processors.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Index of the first victim: in `Order::victims`, or among the processors.
    start: usize,
    len: usize,
    /// Offset of the next victim from `start`, and the number of victims still to come.
    offset: usize,
    left: usize,
    /// Set if `start` is an index in `Order::victims`.
    listed: bool,
}

impl Part {
    const EMPTY: Part = Part {
        start: 0,
        len: 0,
        offset: 0,
        left: 0,
        listed: false,
    };

    fn new<S: Source>(range: std::ops::Range<usize>, listed: bool, random: &mut S) -> Part {
        let len = range.len();
        Part {
            start: range.start,
            len,
            offset: if len > 1 { random.below(len) } else { 0 },
            left: len,
            listed,
        }
    }
}

/// An iterator over the victims in the order in which to try them. Created by [`Order::sweep`].
#[derive(Clone, Debug)]
pub struct Sweep<'a, S> {
    order: &'a Order,
    count: usize,
    random: S,
    /// The ring that was visited first, out of order; [`ALL`] if the start was uniform.
    first: usize,
    /// The ring to visit next.
    next: usize,
    part: Part,
}

impl<S: Source> Sweep<'_, S> {
    /// Returns all other processors as one part, without regard to rings.
    fn others(&mut self) -> Part {
        Part::new(0..self.order.others(self.count), false, &mut self.random)
    }

    #[cold]
    fn draw_start(&mut self) {
        let choice = self.random.unit();
        if choice >= self.order.theta {
            self.part = self.others();
            self.next = DONE;
            return;
        }
        let ring = ring(choice, self.order.theta, self.order.neighbourhood);
        self.first = ring;
        self.part = Part::new(self.order.ring(ring), true, &mut self.random);
    }

    /// Enters the next part. Returns `false` if there is none.
    #[cold]
    fn enter_next(&mut self) -> bool {
        let rings = self.order.ends.len();
        if self.next == DONE {
            return false;
        }
        if self.next == self.first {
            self.next += 1;
        }
        if self.next < rings {
            self.part = Part::new(self.order.ring(self.next), true, &mut self.random);
            self.next += 1;
            return true;
        }
        self.next = DONE;
        // The processors that were not known when the order was made.
        let strangers = self.order.known.min(self.count)..self.count;
        self.part = Part::new(strangers, false, &mut self.random);
        self.part.left > 0
    }

    /// Returns the victim at the current offset of the current part.
    #[inline]
    fn victim(&self) -> usize {
        let Part {
            start,
            len,
            offset,
            listed,
            ..
        } = self.part;
        let place = start + if offset < len { offset } else { offset - len };
        if listed {
            return usize::from(self.order.victims[place]);
        }
        if self.next == DONE && self.first != ALL {
            // A processor that was not known when the order was made, by number.
            return place;
        }
        self.order.other(place, self.count)
    }
}

impl<S: Source> Iterator for Sweep<'_, S> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            while self.part.left > 0 {
                let victim = self.victim();
                self.part.offset += 1;
                self.part.left -= 1;
                // A list may have victims beyond the first `count`.
                if victim < self.count && victim != self.order.me {
                    return Some(victim);
                }
            }
            if !self.enter_next() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
