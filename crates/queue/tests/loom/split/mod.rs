//! Models of the split deque.

mod fenced;
mod force;
mod growth;
mod owner;

use locksley_queue::split::{Deque, Stealer};
use locksley_queue::{Owner, Thief};
use loom::thread;

use crate::support::{Payload, assert_each_once, pop, push};

/// Tries to steal one item.
fn take(thief: &Stealer<Payload>) -> Vec<usize> {
    thief
        .steal()
        .success()
        .map(Payload::open)
        .into_iter()
        .collect()
}

fn take_two(thief: &Stealer<Payload>) -> Vec<usize> {
    let mut stolen = Vec::new();
    let _ = thief.steal_some(
        |public| public.min(2),
        |item: Payload| stolen.push(item.open()),
    );
    stolen
}

fn force_and_take(thief: &Stealer<Payload>) -> Vec<usize> {
    thief.force();
    take(thief)
}

fn force_and_take_two(thief: &Stealer<Payload>) -> Vec<usize> {
    thief.force();
    take_two(thief)
}

fn take_force_and_take(thief: &Stealer<Payload>) -> Vec<usize> {
    let mut stolen = take(thief);
    stolen.extend(force_and_take(thief));
    stolen
}

fn ask_and_take(thief: &Stealer<Payload>) -> Vec<usize> {
    thief.request();
    take(thief)
}

type Act = fn(&Stealer<Payload>) -> Vec<usize>;

/// Runs an owner against thieves, on a deque with `items` items of which `public` are public. Each
/// of `total` items must be seen once.
fn race(
    items: usize,
    public: usize,
    thieves: &'static [Act],
    owner: impl Fn(&mut Deque<Payload>, &mut Vec<usize>) + Sync + Send + 'static,
    total: usize,
) {
    loom::model(run(0, items, public, thieves, owner, total));
}

/// Returns the model of [`race`], with indices from `start` on.
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
