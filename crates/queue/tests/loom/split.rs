use locksley_queue::barrier::{self, Payer};
use locksley_queue::split::{Deque, Embedded, Forced, Stealer, TakenBack};
use locksley_queue::{Owner, Thief};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::support::{Payload, assert_each_once, deep, pop, push};

/// What a thief does, once.
fn take(thief: &Stealer<Payload>) -> Vec<usize> {
    thief
        .steal()
        .success()
        .map(Payload::open)
        .into_iter()
        .collect()
}

fn take_two(thief: &Stealer<Payload>) -> Vec<usize> {
    let mut loot = Vec::new();
    let _ = thief.steal_some(
        |public| public.min(2),
        |item: Payload| loot.push(item.open()),
    );
    loot
}

fn force_and_take(thief: &Stealer<Payload>) -> Vec<usize> {
    thief.force();
    take(thief)
}

fn force_and_take_two(thief: &Stealer<Payload>) -> Vec<usize> {
    thief.force();
    take_two(thief)
}

fn ask_and_take(thief: &Stealer<Payload>) -> Vec<usize> {
    thief.request();
    take(thief)
}

type Act = fn(&Stealer<Payload>) -> Vec<usize>;

/// A deque with `items`, of which `public` are, an owner and thieves. Each item is seen once.
fn race(
    items: usize,
    public: usize,
    thieves: &'static [Act],
    owner: impl Fn(&mut Deque<Payload>, &mut Vec<usize>) + Sync + Send + 'static,
    total: usize,
) {
    loom::model(run(0, items, public, thieves, owner, total));
}

/// One run of [`race`], with indices from `start` on.
fn run(
    start: u64,
    items: usize,
    public: usize,
    thieves: &'static [Act],
    owner: impl Fn(&mut Deque<Payload>, &mut Vec<usize>) + Sync + Send + 'static,
    total: usize,
) -> impl Fn() + Sync + Send + 'static {
    move || {
        let mut deque = Deque::starting_at(0, start);
        for value in 0..items {
            push(&mut deque, value);
        }
        deque.expose(public);
        let handles: Vec<_> = thieves
            .iter()
            .map(|&act| {
                let thief = deque.thief();
                thread::spawn(move || act(&thief))
            })
            .collect();
        let mut seen = Vec::new();
        owner(&mut deque, &mut seen);
        for handle in handles {
            seen.extend(handle.join().unwrap());
        }
        while !deque.is_empty() {
            pop(&mut deque, &mut seen);
        }
        assert_each_once(seen, total);
    }
}

fn pop_twice(deque: &mut Deque<Payload>, seen: &mut Vec<usize>) {
    pop(deque, seen);
    pop(deque, seen);
}

#[test]
fn last_public_item_against_two_thieves() {
    race(1, 1, &[take, take], pop, 1);
}

#[test]
fn take_back_against_two_thieves() {
    race(2, 2, &[take, take], pop_twice, 2);
}

#[test]
fn half_is_taken_back_against_a_thief_of_two() {
    race(
        3,
        3,
        &[take_two],
        |deque, seen| {
            pop(deque, seen);
            pop(deque, seen);
        },
        3,
    );
}

#[test]
fn expose_against_steal() {
    race(
        0,
        0,
        &[take, take],
        |deque, seen| {
            push(deque, 0);
            push(deque, 1);
            deque.expose(1);
            pop(deque, seen);
        },
        2,
    );
}

/// The owner takes an item back, pushes another at the same index, and exposes that.
#[test]
fn same_index_again_against_steal() {
    race(
        1,
        1,
        &[take, take],
        |deque, seen| {
            pop(deque, seen);
            push(deque, 1);
            deque.expose(1);
        },
        2,
    );
}

#[test]
fn request_against_push() {
    race(
        1,
        0,
        &[ask_and_take, take],
        |deque, seen| {
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    );
}

#[test]
fn force_against_pops() {
    race(2, 0, &[force_and_take], pop_twice, 2);
}

#[test]
fn force_against_the_last_pop() {
    race(1, 0, &[force_and_take, take], pop, 1);
}

#[test]
fn force_against_push() {
    deep(run(
        0,
        0,
        0,
        &[force_and_take, take],
        |deque, seen| {
            push(deque, 0);
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    ));
}

#[test]
fn force_against_pop_and_push() {
    race(
        1,
        0,
        &[force_and_take],
        |deque, seen| {
            pop(deque, seen);
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    );
}

/// Marks make every pop look at the span, and store the limit.
#[test]
fn force_against_marks() {
    race(
        2,
        0,
        &[force_and_take],
        |deque, seen| {
            deque.mark();
            pop(deque, seen);
            pop(deque, seen);
        },
        2,
    );
}

#[test]
fn force_against_expose() {
    race(
        2,
        0,
        &[force_and_take],
        |deque, seen| {
            deque.expose(1);
            pop(deque, seen);
            pop(deque, seen);
        },
        2,
    );
}

#[test]
fn two_forces() {
    deep(run(0, 2, 0, &[force_and_take, force_and_take], pop, 2));
}

/// A force that the owner cancels does not come true later, though another one follows.
#[test]
fn two_forces_against_pop_and_push() {
    deep(run(
        0,
        1,
        0,
        &[force_and_take, force_and_take],
        |deque, seen| {
            pop(deque, seen);
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    ));
}

#[test]
fn steal_of_many_against_force() {
    deep(run(0, 2, 0, &[force_and_take_two, take_two], pop, 2));
}

/// The circle has two slots under loom: the third push doubles it.
#[test]
fn grow_against_steal() {
    race(2, 2, &[take, take], |deque, _| push(deque, 2), 3);
}

#[test]
fn grow_against_force() {
    race(2, 0, &[force_and_take], |deque, _| push(deque, 2), 3);
}

#[test]
fn slot_reuse_against_steal() {
    race(
        2,
        2,
        &[take_two],
        |deque, seen| {
            pop(deque, seen);
            push(deque, 2);
            push(deque, 3);
        },
        4,
    );
}

/// The circle grows and shrinks again, while a thief holds on to what it has claimed.
#[test]
fn shrink_against_steal() {
    race(
        3,
        3,
        &[take_two],
        |deque, seen| {
            while deque.pop().map(|item| seen.push(item.open())).is_some() {}
            push(deque, 3);
            deque.expose(1);
        },
        4,
    );
}

/// The owner finds the last item stolen, and shrinks the circle before the thief has read its slot.
#[test]
fn shrink_behind_a_thief() {
    race(
        3,
        1,
        &[take],
        |deque, seen| {
            for _ in 0..3 {
                pop(deque, seen);
            }
        },
        3,
    );
}

#[test]
fn grow_against_a_thief_of_two() {
    race(2, 2, &[take_two], |deque, _| push(deque, 2), 3);
}

/// The 40 bits of `top` in the span wrap round between the two items.
const LAST_TOP: u64 = ((1 << 40) - 1) * 8;

#[test]
fn top_wraps_round_under_steals() {
    loom::model(run(LAST_TOP, 2, 2, &[take_two, take], pop_twice, 2));
}

#[test]
fn top_wraps_round_under_a_force() {
    loom::model(run(LAST_TOP, 2, 0, &[force_and_take], pop_twice, 2));
}

/// A force whose barrier is refused takes its mark away, and nothing is lost.
#[test]
fn refused_force_against_pops() {
    barrier::model_refusal(true);
    let act: Act = |thief| {
        assert_ne!(thief.force(), Forced::Public);
        take(thief)
    };
    let thieves: &'static [Act] = Box::leak(Box::new([act]));
    race(
        2,
        0,
        thieves,
        |deque, seen| {
            pop(deque, seen);
            push(deque, 2);
            pop(deque, seen);
        },
        3,
    );
}

/// Without `membarrier` the owner exposes after every push.
#[test]
fn attentive_owner_against_two_thieves() {
    barrier::model_payer(Payer::Both);
    race(
        1,
        0,
        &[take, take],
        |deque, seen| {
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    );
}

/// A thief of several items skips the hole of one that was taken back from between them.
#[test]
fn hole_against_a_thief_of_two() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        let token = deque.push_for_take_back(Payload::new(1));
        push(&mut deque, 2);
        deque.expose(2);
        let thief = deque.thief();
        let robber = thread::spawn(move || take_two(&thief));
        let mut seen: Vec<_> = deque
            .take_back(token)
            .map(Payload::open)
            .into_iter()
            .collect();
        pop(&mut deque, &mut seen);
        seen.extend(robber.join().unwrap());
        seen.extend(std::iter::from_fn(|| deque.pop()).map(Payload::open));
        assert_each_once(seen, 3);
    });
}

/// A sleeper calls, passes the heavy barrier, and looks; an owner pushes, and looks whether it was
/// called. One of them sees the other.
#[test]
fn sleeper_against_push() {
    loom::model(|| {
        let deque = Arc::new(Embedded::new());
        let sleeper = deque.clone();
        let asleep = thread::spawn(move || {
            sleeper.call();
            assert!(barrier::heavy());
            sleeper.is_empty()
        });
        // SAFETY: this thread is the owner, for both.
        let (_, attention) = unsafe { deque.push(1_usize) };
        let woken = attention && unsafe { deque.attend() }.requested;
        assert!(!asleep.join().unwrap() || woken);
    });
}

/// What a thief did before its request is visible to the owner that clears it.
#[test]
fn request_brings_its_reason() {
    loom::model(|| {
        let deque = Arc::new(Embedded::new());
        let thief = deque.clone();
        let reason = Arc::new(UnsafeCell::new(0));
        let written = reason.clone();
        let asking = thread::spawn(move || {
            // SAFETY: the owner reads it only if it has seen the request; loom checks that.
            written.with_mut(|reason| unsafe { *reason = 1 });
            thief.request();
        });
        // SAFETY: this thread is the owner, for both.
        let (_, attention) = unsafe { deque.push(1_usize) };
        if attention && unsafe { deque.attend() }.requested {
            // SAFETY: the thief writes it before its request alone.
            assert_eq!(reason.with(|reason| unsafe { *reason }), 1);
        }
        asking.join().unwrap();
    });
}

/// A join's item is taken back from under a spawned one, public or not, or a thief has it.
#[test]
fn taken_from_the_middle() {
    for public in 0..3 {
        for force in [false, true] {
            loom::model(move || {
                let deque = Arc::new(Embedded::new());
                let thief = deque.clone();
                // SAFETY: this thread is the owner, for all of these.
                let place = unsafe {
                    let (place, _) = deque.push(Payload::new(0));
                    deque.push(Payload::new(1));
                    deque.mark();
                    deque.expose(public);
                    place
                };
                let robber = thread::spawn(move || {
                    if force {
                        thief.force();
                    }
                    let stolen = thief.steal().success();
                    stolen.map(Payload::open).into_iter().collect::<Vec<_>>()
                });
                let mut seen = Vec::new();
                // SAFETY: as above; the item was not popped.
                if unsafe { deque.take_back(place) } != TakenBack::No {
                    seen.push(0);
                }
                // SAFETY: as above.
                seen.extend(unsafe { deque.pop() }.map(Payload::open));
                seen.extend(robber.join().unwrap());
                // SAFETY: as above.
                while let Some(item) = unsafe { deque.pop() } {
                    seen.push(item.open());
                }
                seen.sort_unstable();
                assert_eq!(seen, [0, 1]);
            });
        }
    }
}

/// What was pushed last comes back, or a thief has it.
#[test]
fn taken_back_or_forced() {
    loom::model(|| {
        let deque = Arc::new(Embedded::new());
        let thief = deque.clone();
        // SAFETY: this thread is the owner.
        let (place, _) = unsafe { deque.push(1_usize) };
        let robber = thread::spawn(move || {
            let forced = thief.force();
            let stolen = thief.steal().is_success();
            assert!(!stolen || forced == Forced::Public);
            stolen
        });
        // SAFETY: as above; the item was not popped.
        let back = unsafe { deque.take_back(place) } == TakenBack::Yes;
        assert!(back != robber.join().unwrap());
    });
}

#[test]
fn what_is_left_is_dropped_once() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        push(&mut deque, 1);
        deque.expose(1);
        let thief = deque.thief();
        let robber = thread::spawn(move || thief.steal().is_success());
        drop(deque);
        robber.join().unwrap();
    });
}

/// One item is there at any time, so a thief that looks must find one.
#[test]
fn never_empty() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        deque.expose(1);
        let thief = deque.thief();
        let looking = thread::spawn(move || (thief.is_empty(), thief.steal().is_empty()));
        push(&mut deque, 1);
        drop(deque.thief().steal());
        let (empty, steals_nothing) = looking.join().unwrap();
        assert!(!empty && !steals_nothing);
    });
}
