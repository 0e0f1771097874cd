//! The order in which a thief tries its victims.
//!
//! A search tries every victim once: a *sweep*. The victims lie in *rings* around the thief, the
//! nearest first: those that share the narrowest level with it (a core, a cache), those that share
//! only the next wider one, and so on; last, those of whom nothing is known.
//!
//! ```text
//!   thief 0 of 2 sockets x 2 caches x 2 cores:   | 1 | 2 3 | 4 5 6 7 | unknown ... |
//!                                                 ring 0  1      2          3
//! ```
//!
//! Where a sweep starts is drawn as in Rito's thesis, Algorithm 11: with probability 1 - theta at a
//! victim that is uniform over all; otherwise in the neighbourhood: in ring 0 with probability 1/2,
//! in ring 1 with 1/4, and so on, the last but one ring of known victims taking what is left; those
//! of the last are equally far from all. Within a ring the sweep starts at a random victim and goes
//! round. Then come the other rings, the nearest first.
//!
//! **Theorem** (thesis, section 6.3.1). Since the first attempt of a sweep is uniform with
//! probability at least 1 - theta, the expected run time is O(T1/P + Tinf/(1 - theta)).
//!
//! **Deviations from the paper.** The number of levels is the machine's, not three. Empty
//! neighbourhoods, which the paper's algorithm would draw a victim from, do not become rings. The
//! paper makes one attempt and then draws again; a sweep goes on through the other victims, so that
//! a thief that finds nothing knows that every victim had nothing. Uniform means uniform over the
//! others: the paper lets a thief draw itself.

use crate::random::Source;

/// The order in which one thief tries its victims. See the [crate] for an example.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    me: usize,
    theta: f64,
    /// The known victims, the nearest first.
    victims: Box<[u16]>,
    /// Where each ring of them ends; the last is the number of victims.
    ends: Box<[u16]>,
    /// How many rings make up the neighbourhood.
    neighbourhood: usize,
    /// How many processors were known, the thief included.
    known: usize,
}

impl Order {
    /// The order of a thief that knows nothing of distances: all are in one ring.
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

    /// The order of a thief by the processors' addresses: for each one the numbers of the
    /// package, the cache, the core that it is in, from the widest level to the narrowest. Two
    /// processors are the nearer, the longer the common start of their addresses.
    ///
    /// `theta` is the probability that a sweep starts in the neighbourhood. An address that is
    /// empty is unknown. Where there are no two rings, or more processors than 2^16, this is
    /// [`uniform`](Order::uniform).
    pub fn nearest<A: AsRef<[u32]>>(me: usize, addresses: &[A], theta: f64) -> Order {
        let own = addresses.get(me).map_or(&[][..], AsRef::as_ref);
        if own.is_empty() || addresses.len() > usize::from(u16::MAX) {
            return Order::uniform(me);
        }
        let shared = |other: usize| {
            let pairs = own.iter().zip(addresses[other].as_ref());
            pairs.take_while(|(a, b)| a == b).count()
        };
        // Unknown ones share nothing, like those that are known to share nothing, but come last.
        let nearness = |other: usize| match addresses[other].as_ref() {
            [] => 0,
            _ => shared(other) + 1,
        };
        // Ring by ring, instead of a sort: there are few of them.
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

    /// How many rings of different distance there are; 1 where nothing is known.
    pub fn rings(&self) -> usize {
        self.ends.len().max(1)
    }

    /// How many of the rings are neighbours; 0 where nothing is known.
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

    /// One of a ring, with equal probability, that is among the first `count` processors; `None` if
    /// the drawn one is not.
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

    /// Starts a search among the first `count` processors: an iterator over all of them but the
    /// thief.
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

    /// Makes an attempt at each processor in the order of [`sweep`](Order::sweep), until one comes
    /// to something.
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
        // As a sweep would, but in registers.
        let others = self.others(count);
        let start = if others > 1 { random.below(others) } else { 0 };
        let mut places = (start..others).chain(0..start);
        places.find_map(|place| attempt(self.other(place, count)))
    }

    /// How many of the first `count` processors are not the thief.
    #[inline]
    fn others(&self, count: usize) -> usize {
        count - usize::from(self.me < count)
    }

    /// The one at this place among them, counted from behind the thief.
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

/// The ring in which Algorithm 11 looks for a neighbour, for a number drawn below theta: it
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

/// Stands for all rings at once.
const ALL: usize = usize::MAX;

/// No ring is left.
const DONE: usize = usize::MAX - 1;

/// What a sweep goes round at the moment.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where the first one stands: in `Order::victims`, or among the processors.
    start: usize,
    len: usize,
    /// How far behind the start it begins, and how many are still to come.
    offset: usize,
    left: usize,
    /// Set if these are places in `Order::victims`.
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

/// A search: an iterator over the victims in the order in which to try them. Made by
/// [`Order::sweep`].
#[derive(Clone, Debug)]
pub struct Sweep<'a, S> {
    order: &'a Order,
    count: usize,
    random: S,
    /// The ring that was visited first, out of turn; [`ALL`] if the start was uniform.
    first: usize,
    /// The ring to visit next.
    next: usize,
    part: Part,
}

impl<S: Source> Sweep<'_, S> {
    /// The others as one part, without regard to rings.
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
        // Those that were not known when the order was made.
        let strangers = self.order.known.min(self.count)..self.count;
        self.part = Part::new(strangers, false, &mut self.random);
        self.part.left > 0
    }

    /// The victim at the current place of the current part.
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
            // A stranger, by number.
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
                // Among those of a list some may not be there.
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
