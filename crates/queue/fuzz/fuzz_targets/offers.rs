//! Sequences of operations by one thread on the entries of a worker: each item is taken once, by
//! the donee or the popper, and a void offer stays void.
#![no_main]

use libfuzzer_sys::fuzz_target;
use locksley_queue::offer::{Acquired, Entries, EntryRef, Offer};

/// Expected state of an entry.
struct Model {
    entry: EntryRef,
    item: usize,
    offer: Option<Offer>,
    accepted: bool,
}

fuzz_target!(|data: &[u8]| {
    let [start, operations @ ..] = data else {
        return;
    };
    let capacity = usize::from(1 + start % 4);
    let mut entries = Entries::starting_at(5, capacity, (1 << 30) - u64::from(start >> 4));
    let peer = entries.peer();
    let (mut inside, mut void) = (Vec::<Model>::new(), Vec::<Offer>::new());
    for (item, &operation) in operations.iter().enumerate() {
        if operation % 8 < 2 {
            match entries.store(item) {
                Ok(entry) => inside.push(Model {
                    entry,
                    item,
                    offer: None,
                    accepted: false,
                }),
                Err(full) => {
                    assert_eq!(full.into_inner(), item);
                    assert_eq!(inside.len(), capacity);
                }
            }
        } else if !inside.is_empty() {
            let at = usize::from(operation >> 3) % inside.len();
            let model = &mut inside[at];
            match operation % 8 {
                2 | 3 => {
                    let offer = entries.share(&model.entry);
                    assert_eq!(offer.is_none(), model.accepted);
                    assert!(model.offer.is_none() || offer.is_none() || model.offer == offer);
                    model.offer = model.offer.or(offer);
                }
                4 => {
                    assert_eq!(entries.retract(&model.entry), !model.accepted);
                    if !model.accepted {
                        void.extend(model.offer.take());
                    }
                }
                5 => {
                    if let Some(offer) = model.offer {
                        let accepted = peer.accept(offer);
                        assert_eq!(accepted, (!model.accepted).then_some(model.item));
                        model.accepted = true;
                    }
                }
                way => {
                    let model = inside.swap_remove(at);
                    let acquired = if way == 6 {
                        entries.acquire(model.entry)
                    } else {
                        peer.acquire(model.entry)
                    };
                    let expected = if model.accepted {
                        Acquired::Ghost
                    } else {
                        Acquired::Item(model.item)
                    };
                    assert_eq!(acquired, expected);
                    void.extend(model.offer);
                }
            }
        }
        for &offer in &void {
            assert!(entries.is_void(offer));
            assert_eq!(peer.accept(offer), None);
        }
    }
});
