//! The next event of each host: a heap whose keys can be changed.

/// A priority queue with one entry for each host, ordered by time. Of equal times the lower host
/// number comes first.
pub(super) struct EventQueue {
    time: Vec<u64>,
    /// Hosts, as a binary heap.
    heap: Vec<u32>,
    /// For each host, its position in the heap.
    place: Vec<u32>,
}

impl EventQueue {
    /// Creates a queue in which no host has an event.
    pub(super) fn new(hosts: usize) -> EventQueue {
        EventQueue {
            time: vec![u64::MAX; hosts],
            heap: (0..hosts as u32).collect(),
            place: (0..hosts as u32).collect(),
        }
    }

    /// Returns the earliest time, and its host.
    pub(super) fn first(&self) -> (u64, usize) {
        let host = self.heap[0] as usize;
        (self.time[host], host)
    }

    /// Sets the time of a host.
    pub(super) fn set(&mut self, host: usize, time: u64) {
        let before = std::mem::replace(&mut self.time[host], time);
        if time < before {
            self.rise(self.place[host] as usize)
        } else {
            self.sink(self.place[host] as usize)
        }
    }

    fn precedes(&self, place: usize, other: usize) -> bool {
        let key = |place: usize| (self.time[self.heap[place] as usize], self.heap[place]);
        key(place) < key(other)
    }

    fn swap(&mut self, place: usize, other: usize) {
        self.heap.swap(place, other);
        self.place[self.heap[place] as usize] = place as u32;
        self.place[self.heap[other] as usize] = other as u32;
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.precedes(place, (place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let least = children.reduce(|least, other| {
                if self.precedes(other, least) {
                    other
                } else {
                    least
                }
            });
            let Some(least) = least.filter(|&least| self.precedes(least, place)) else {
                return;
            };
            self.swap(place, least);
            place = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use locksley_policy::{Random, Source};

    use super::*;

    #[test]
    fn the_earliest_is_first_whatever_is_changed() {
        let mut random = Random::new(1, 0);
        for hosts in [1, 2, 3, 10, 33] {
            let mut queue = EventQueue::new(hosts);
            let mut times = vec![u64::MAX; hosts];
            for _ in 0..2_000 {
                let (host, time) = (random.below(hosts), random.below(50) as u64);
                times[host] = time;
                queue.set(host, time);
                let least = (0..hosts).map(|host| (times[host], host)).min();
                assert_eq!(Some(queue.first()), least);
            }
        }
    }
}
