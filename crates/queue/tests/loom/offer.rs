//! Models of the aged entries and the donation cell. Items are indices into an array of cells,
//! which the donor writes and the thread that takes the item marks. A missing happens-before edge
//! is a data race, a task taken twice is a wrong mark.

use locksley_queue::offer::{Acquired, Entries, EntryRef, Offer, Peer, State};
use locksley_queue::{Owner, Thief, Word, abp};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::support::Cells;

fn store(cells: &Cells, entries: &mut Entries<usize>, item: usize) -> EntryRef {
    cells.write(item);
    entries.store(item).expect("there is room")
}

/// Runs an idle worker that checks `looks` times for an offer.
fn donee(cells: Arc<Cells>, peer: Peer<usize>, state: Arc<State>, looks: usize) -> usize {
    let mut taken = 0;
    for _ in 0..looks {
        if let Some(offer) = state.take() {
            taken += cells.take(peer.accept(offer));
        }
    }
    taken
}

fn thief(cells: &Cells, peer: &Peer<usize>, thief: &abp::Stealer<EntryRef>) -> usize {
    match thief.steal().success() {
        Some(entry) => cells.take(peer.acquire(entry).item()),
        None => 0,
    }
}

fn idle() -> Arc<State> {
    let state = State::new();
    state.set_idle();
    Arc::new(state)
}

/// One entry is offered to a donee, while the owner pops its pointer and a thief steals it.
#[test]
fn donee_thief_and_owner() {
    loom::model(|| {
        let (cells, state) = (Cells::new(1), idle());
        let mut entries = Entries::new(0, 1);
        let mut deque = abp::Deque::with_capacity(1);
        let (peer, stealer) = (entries.peer(), deque.thief());
        let donee = {
            let (cells, peer, state) = (Arc::clone(&cells), peer.clone(), Arc::clone(&state));
            thread::spawn(move || donee(cells, peer, state, 1))
        };
        let thief = {
            let cells = Arc::clone(&cells);
            thread::spawn(move || thief(&cells, &peer, &stealer))
        };
        let entry = store(&cells, &mut entries, 0);
        let offer = entries.share(&entry).unwrap();
        assert!(state.offer(offer));
        deque.push(entry).unwrap();
        let mut taken = match deque.pop() {
            Some(entry) => cells.take(entries.acquire(entry).item()),
            None => 0,
        };
        taken += donee.join().unwrap() + thief.join().unwrap();
        assert_eq!(taken, 1);
        assert!(
            entries.store(0).is_ok(),
            "the slot was freed, wherever the item went"
        );
    });
}

/// The slot is reused while a donee has the offer of its first item.
#[test]
fn reuse_of_a_slot_with_an_old_offer_around() {
    loom::model(|| {
        let (cells, state) = (Cells::new(2), idle());
        let mut entries = Entries::starting_at(0, 1, (1 << 30) - 1);
        let donee = {
            let (cells, peer, state) = (Arc::clone(&cells), entries.peer(), Arc::clone(&state));
            thread::spawn(move || donee(cells, peer, state, 1))
        };
        let first = store(&cells, &mut entries, 0);
        let offer = entries.share(&first).unwrap();
        assert!(state.offer(offer));
        let mut taken = cells.take(entries.acquire(first).item());
        let second = store(&cells, &mut entries, 1);
        let other = entries.share(&second).unwrap();
        assert_ne!(offer, other);
        taken += cells.take(entries.acquire(second).item());
        assert_eq!(taken + donee.join().unwrap(), 2);
    });
}

/// The same, with the second offer made to another donee, and the slot freed by a thief.
#[test]
fn reuse_after_a_theft_with_two_donees() {
    loom::model(|| {
        let (cells, states) = (Cells::new(2), [idle(), idle()]);
        let mut entries = Entries::new(0, 1);
        let donees = [0, 1].map(|i| {
            let (cells, peer, state) = (Arc::clone(&cells), entries.peer(), Arc::clone(&states[i]));
            thread::spawn(move || donee(cells, peer, state, 1))
        });
        let mut taken = 0;
        for (item, state) in states.iter().enumerate() {
            let entry = store(&cells, &mut entries, item);
            let offer = entries.share(&entry).unwrap();
            assert!(state.offer(offer));
            taken += cells.take(entries.peer().acquire(entry).item());
        }
        taken += donees
            .map(|donee| donee.join().unwrap())
            .into_iter()
            .sum::<usize>();
        assert_eq!(taken, 2);
    });
}

/// The donee may miss an offer, but one that it sees is valid if no other thread takes the item.
#[test]
fn an_uncontested_offer_is_accepted() {
    loom::model(|| {
        let (cells, state) = (Cells::new(1), idle());
        let mut entries = Entries::new(0, 1);
        let donee = {
            let (cells, peer, state) = (Arc::clone(&cells), entries.peer(), Arc::clone(&state));
            thread::spawn(move || {
                let offer = state.take()?;
                let item = peer.accept(offer);
                assert!(item.is_some(), "a good offer was refused");
                Some(cells.take(item))
            })
        };
        let entry = store(&cells, &mut entries, 0);
        let offer = entries.share(&entry).unwrap();
        assert!(state.offer(offer));
        let accepted = donee.join().unwrap().is_some();
        let ghost = entries.acquire(entry) == Acquired::Ghost;
        assert_eq!(ghost, accepted);
    });
}

/// Accepting is safe even if no ordering comes with the offer.
#[test]
fn an_offer_may_come_by_any_road() {
    loom::model(|| {
        let cells = Cells::new(1);
        let road = Arc::new(AtomicUsize::new(0));
        let mut entries = Entries::new(0, 1);
        let donee = {
            let (cells, peer, road) = (Arc::clone(&cells), entries.peer(), Arc::clone(&road));
            thread::spawn(move || {
                let word = road.load(Ordering::Relaxed);
                if word == 0 {
                    return 0;
                }
                // SAFETY: the word comes from `into_word` of an `Offer` and is turned back once.
                let offer = unsafe { Offer::from_word(std::ptr::without_provenance_mut(word)) };
                cells.take(peer.accept(offer))
            })
        };
        let entry = store(&cells, &mut entries, 0);
        let offer = entries.share(&entry).unwrap();
        road.store(offer.into_word().addr(), Ordering::Relaxed);
        let taken = cells.take(entries.acquire(entry).item());
        assert_eq!(taken + donee.join().unwrap(), 1);
    });
}

/// Two thieves free the slots, and the owner finds both. (The owner is a spawned thread: loom runs
/// the main thread first, and finds more orders to try if the owner's loads come after the thieves'
/// swaps.)
#[test]
fn freed_slots_come_back() {
    loom::model(|| {
        let cells = Cells::new(2);
        let mut entries = Entries::new(0, 2);
        let peer = entries.peer();
        let [first, second] = [0, 1].map(|item| store(&cells, &mut entries, item));
        let owner = thread::spawn(move || {
            let stored: Vec<_> = (0..3).filter_map(|_| entries.store(0).ok()).collect();
            (entries, stored)
        });
        let other = {
            let (cells, peer) = (Arc::clone(&cells), peer.clone());
            thread::spawn(move || cells.take(peer.acquire(second).item()))
        };
        assert_eq!(cells.take(peer.acquire(first).item()), 1);
        assert_eq!(other.join().unwrap(), 1);
        let (mut entries, mut stored) = owner.join().unwrap();
        while let Ok(entry) = entries.store(0) {
            stored.push(entry);
        }
        assert_eq!(stored.len(), 2, "a slot was lost or given out twice");
        assert_ne!(stored[0], stored[1]);
    });
}

/// A donor that takes `shared` back races with a donee that accepts.
#[test]
fn retract_against_accept() {
    loom::model(|| {
        let (cells, state) = (Cells::new(1), idle());
        let mut entries = Entries::new(0, 1);
        let donee = {
            let (cells, peer, state) = (Arc::clone(&cells), entries.peer(), Arc::clone(&state));
            thread::spawn(move || donee(cells, peer, state, 1))
        };
        let entry = store(&cells, &mut entries, 0);
        let offer = entries.share(&entry).unwrap();
        assert!(state.offer(offer));
        let private = entries.retract(&entry);
        let taken = cells.take(entries.acquire(entry).item());
        assert_eq!(taken, usize::from(private));
        assert_eq!(taken + donee.join().unwrap(), 1);
    });
}

/// A donor takes an offer back and makes another offer of the same entry while a donee has the
/// first one, which stays void.
#[test]
fn share_again_with_an_old_offer_around() {
    loom::model(|| {
        let (cells, states) = (Cells::new(1), [idle(), idle()]);
        let mut entries = Entries::new(0, 1);
        let donees = [0, 1].map(|i| {
            let (cells, peer, state) = (Arc::clone(&cells), entries.peer(), Arc::clone(&states[i]));
            thread::spawn(move || donee(cells, peer, state, 1))
        });
        let entry = store(&cells, &mut entries, 0);
        let first = entries.share(&entry).unwrap();
        assert!(states[0].offer(first));
        let retracted = entries.retract(&entry);
        if let Some(second) = entries.share(&entry) {
            assert!(retracted && entries.is_void(first));
            assert_ne!(first, second);
            assert!(states[1].offer(second));
        }
        let taken = cells.take(entries.acquire(entry).item());
        let [first, second] = donees.map(|donee| donee.join().unwrap());
        assert_eq!(taken + first + second, 1);
        assert_eq!(first == 1, !retracted);
    });
}

/// Two donors make offers to the same donee: one offer is made, and the other donor learns that its
/// own was not.
#[test]
fn two_donors_and_a_worker_that_finds_work() {
    loom::model(|| {
        let (cells, state) = (Cells::new(2), idle());
        let donors = [0, 1].map(|i| {
            let (cells, state) = (Arc::clone(&cells), Arc::clone(&state));
            let mut entries = Entries::new(i, 1);
            let peer = entries.peer();
            let donor = thread::spawn(move || {
                let entry = store(&cells, &mut entries, i);
                let offer = entries.share(&entry).unwrap();
                if !state.offer(offer) {
                    assert!(entries.retract(&entry));
                }
                cells.take(entries.acquire(entry).item())
            });
            (donor, peer)
        });
        let [(first, peer), (second, other)] = donors;
        let mut taken = 0;
        if let Some(offer) = state.take() {
            taken += cells.take([&peer, &other][offer.worker()].accept(offer));
        }
        state.set_working();
        taken += first.join().unwrap() + second.join().unwrap();
        assert_eq!(taken, 2);
    });
}
