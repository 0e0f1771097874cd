//! Offers: a donor, donees and thieves compete for the same entries.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use locksley_queue::offer::{Acquired, Entries, EntryRef, Peer, State};
use locksley_queue::{Owner, Thief, abp};

use crate::items::{Item, Ledger};
use crate::rng::Rng;
use crate::scale;

/// Fewer than the deque has slots, so that entries are reused all the time.
const ENTRIES: usize = 4;
const DONEES: usize = 2;
const THIEVES: usize = 2;

/// Numbers of accepted offers and of ghosts.
#[derive(Default)]
struct Counts {
    accepted: AtomicUsize,
    ghosts: AtomicUsize,
}

impl Counts {
    fn popper(&self, acquired: Acquired<Item>) {
        match acquired {
            Acquired::Item(item) => drop(item.take()),
            Acquired::Ghost => drop(self.ghosts.fetch_add(1, Ordering::Relaxed)),
            Acquired::Foreign(_) => panic!("there is only one donor"),
        }
    }

    fn donee(&self, state: &State, peer: &Peer<Item>, rng: &mut Rng) {
        if rng.below(8) == 0 {
            state.set_working();
            thread::yield_now();
        }
        state.set_idle();
        let taken = state.take().and_then(|offer| peer.accept(offer));
        if let Some(item) = taken {
            item.take();
            self.accepted.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn thief(&self, thief: &abp::Stealer<EntryRef>, peer: &Peer<Item>) -> bool {
        match thief.steal().success() {
            Some(entry) => {
                self.popper(peer.acquire(entry));
                true
            }
            None => false,
        }
    }
}

/// The donor stores each item, offers most of them, pushes the pointers, and pops some.
fn donate(
    ledger: &'static Ledger,
    entries: &mut Entries<Item>,
    deque: &mut abp::Deque<EntryRef>,
    donees: &[State],
    counts: &Counts,
) {
    let mut rng = Rng::new(1);
    for id in 0..ledger.count() {
        let mut stored = entries.store(ledger.item(id));
        while let Err(full) = stored {
            // Every entry is in use: one must be freed.
            match deque.pop() {
                Some(entry) => counts.popper(entries.acquire(entry)),
                None => thread::yield_now(),
            }
            stored = entries.store(full.into_inner());
        }
        let entry = stored.expect("the loop ends with an entry");
        let donee = &donees[rng.below(DONEES as u64) as usize];
        let offer = (rng.below(4) != 0).then(|| entries.share(&entry)).flatten();
        if offer.is_some_and(|offer| !donee.offer(offer)) {
            assert!(
                entries.retract(&entry),
                "no other thread knew of this offer"
            );
        }
        if let Err(full) = deque.push(entry) {
            counts.popper(entries.acquire(full.into_inner()));
        }
        if let Some(entry) = (rng.below(3) == 0).then(|| deque.pop()).flatten() {
            counts.popper(entries.acquire(entry));
        }
        if rng.below(16) == 0 {
            thread::yield_now();
        }
    }
    while let Some(entry) = deque.pop() {
        counts.popper(entries.acquire(entry));
    }
}

/// Every item is taken once, and every accepted offer leaves one ghost.
#[test]
fn every_item_is_taken_once_and_ghosts_are_counted() {
    let ledger = Ledger::new(30_000 * scale());
    // The 30 bits of age in an offer wrap on the way.
    let mut entries = Entries::starting_at(0, ENTRIES, (1 << 30) - 100);
    let mut deque = abp::Deque::with_capacity(2 * ENTRIES);
    let donees: [State; DONEES] = std::array::from_fn(|_| State::new());
    let (counts, over) = (Counts::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        for (nth, state) in donees.iter().enumerate() {
            let (peer, counts, over) = (entries.peer(), &counts, &over);
            scope.spawn(move || {
                let mut rng = Rng::new(nth as u64 + 2);
                while !over.load(Ordering::Acquire) {
                    counts.donee(state, &peer, &mut rng);
                    thread::yield_now();
                }
            });
        }
        for _ in 0..THIEVES {
            let (peer, thief, counts, over) = (entries.peer(), deque.thief(), &counts, &over);
            scope.spawn(move || {
                while !over.load(Ordering::Acquire) {
                    if !counts.thief(&thief, &peer) {
                        thread::yield_now();
                    }
                }
            });
        }
        donate(ledger, &mut entries, &mut deque, &donees, &counts);
        over.store(true, Ordering::Release);
    });
    // All stolen pointers have been acquired, and the donor's deque is empty.
    let stored: Vec<_> = std::iter::from_fn(|| deque.pop()).collect();
    assert!(stored.is_empty(), "the donor has emptied its deque");
    drop((entries, deque));
    ledger.assert_each_taken_once();
    let Counts { accepted, ghosts } = counts;
    assert_eq!(accepted.into_inner(), ghosts.into_inner());
}

/// All handles are dropped with entries in every state; items that were not taken are dropped once.
#[test]
fn what_is_inside_is_dropped_once() {
    for round in 0..200 * scale() {
        let ledger = Ledger::new(ENTRIES);
        let mut entries = Entries::new(0, ENTRIES);
        let stored: Vec<_> = (0..ENTRIES)
            .map(|id| entries.store(ledger.item(id)).expect("there is room"))
            .collect();
        let offers: Vec<_> = stored
            .iter()
            .filter_map(|entry| entries.share(entry))
            .collect();
        let peer = entries.peer();
        thread::scope(|scope| {
            let donee = entries.peer();
            scope.spawn(move || {
                for offer in offers.into_iter().take(round % 4) {
                    donee.accept(offer).map(Item::take);
                }
            });
            scope.spawn(move || {
                for entry in stored.into_iter().take(round / 4 % 4) {
                    peer.acquire(entry).item().map(Item::take);
                }
            });
            drop(entries);
        });
        ledger.assert_each_dropped_once();
    }
}
