use std::collections::BTreeSet;

use super::*;
use crate::sync::{Mutex, lock};

/// Work whose pieces are numbers: those that are ready, and those that were run.
struct Numbers(Mutex<(BTreeSet<u32>, Vec<u32>)>);

impl Numbers {
    fn new() -> Numbers {
        Numbers(Mutex::new(((0..100).collect(), Vec::new())))
    }

    fn ran(&self) -> usize {
        lock(&self.0).1.len()
    }
}

impl Work for Numbers {
    type Piece = u32;
    type Outcome = u32;

    fn take(&self, _: &Worker, offer: &Offer<'_>) -> Option<u32> {
        let number = lock(&self.0).0.pop_first();
        if number.is_none() {
            offer.give_back();
        }
        number
    }

    fn run(&self, _: &Worker, number: u32) -> u32 {
        number
    }

    fn exchange(&self, _: &Worker, number: u32) -> Option<u32> {
        let mut numbers = lock(&self.0);
        numbers.1.push(number);
        numbers.0.pop_first()
    }

    fn put_back(&self, number: u32) {
        assert!(lock(&self.0).0.insert(number));
    }

    fn has_more(&self) -> bool {
        !lock(&self.0).0.is_empty()
    }
}

#[test]
fn who_comes_too_deep_takes_nothing_and_all_begin_anew() {
    crate::pool::on_worker(|worker| {
        let numbers = Numbers::new();
        let begun = AtomicUsize::new(0);
        Helpers::run_until_done(&numbers, &AtomicBool::new(false), |helpers| {
            let offer = Offer::new(None);
            if begun.fetch_add(1, Ordering::Relaxed) == 0 {
                helpers.help(worker, &offer, MAX_NESTING + worker.num_workers() + 1);
                assert!(helpers.is_deep() && offer.is_back());
                assert_eq!(numbers.ran(), 0);
            } else {
                helpers.help(worker, &offer, 0);
            }
        });
        assert!(begun.into_inner() >= 2);
        assert_eq!(numbers.ran(), 100);
    });
}

#[test]
fn who_leaves_puts_back_what_it_has_taken() {
    crate::pool::on_worker(|worker| {
        let numbers = Numbers::new();
        let advise = || match numbers.ran() {
            7 => Advice::Leave,
            _ => Advice::Run,
        };
        let first = numbers.take(worker, &Offer::new(None));
        assert!(matches!(
            work_on(worker, &numbers, first, &advise),
            Stopped::Empty
        ));
        assert_eq!(lock(&numbers.0).0.len(), 93);
    });
}

#[test]
fn offers_are_made_inside_of_others_only_if_all_have_helpers() {
    let offer = |state, outer| Offer {
        state: AtomicUsize::new(state),
        outer,
    };
    let (taken, back) = (offer(Offer::TAKEN, None), offer(Offer::BACK, None));
    assert!(taken.wants_another() && back.wants_another());
    assert!(!Offer::new(Some(&taken)).wants_another());
    assert!(offer(Offer::TAKEN, Some(&taken)).wants_another());
    let inner = offer(Offer::TAKEN, Some(&back));
    assert!(!inner.wants_another());
    assert!(!offer(Offer::TAKEN, Some(&inner)).wants_another());
    assert!(offer(Offer::BACK, Some(&inner)).wants_another());
}
