use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::sync::AtomicUsize;

struct Slot<L> {
    latch: L,
    cells: [UnsafeCell<u32>; 2],
}

// SAFETY: loom checks that the accesses to the cells do not race.
unsafe impl<L: Sync> Sync for Slot<L> {}
// SAFETY: as above.
unsafe impl<L: Send> Send for Slot<L> {}

fn slot<L>(latch: L) -> Arc<Slot<L>> {
    let cells = [UnsafeCell::new(0), UnsafeCell::new(0)];
    Arc::new(Slot { latch, cells })
}

fn write<L>(slot: &Slot<L>, cell: usize) {
    // SAFETY: loom checks it.
    slot.cells[cell].with_mut(|value| unsafe { *value = 1 });
}

fn read<L>(slot: &Slot<L>, cell: usize) -> u32 {
    // SAFETY: loom checks it.
    slot.cells[cell].with(|value| unsafe { *value })
}

#[test]
fn hands_over_the_result() {
    loom::model(|| {
        let shared = slot(Latch::new());
        let setter = shared.clone();
        let thread = thread::spawn(move || {
            write(&setter, 0);
            // SAFETY: the latch is in an `Arc`.
            unsafe { Latch::set(&raw const setter.latch, || {}) };
        });
        if shared.latch.probe() {
            assert_eq!(read(&shared, 0), 1);
        }
        thread.join().unwrap();
    });
}

/// A lost wake-up would be a deadlock, which loom reports.
#[test]
fn wakes_a_parked_waiter() {
    loom::model(|| {
        let shared = slot(Latch::new());
        let waiter = shared.clone();
        let thread = thread::spawn(move || {
            waiter.latch.park(thread::park);
            assert_eq!(read(&waiter, 0), 1);
        });
        write(&shared, 0);
        let handle = thread.thread().clone();
        // SAFETY: the latch is in an `Arc`.
        unsafe { Latch::set(&raw const shared.latch, || handle.unpark()) };
        thread.join().unwrap();
    });
}

/// The setter finds the waiter by what it published before it parked, and wakes it.
fn sets_and_wakes(note: impl Fn(&Latch) + Send + Sync + 'static) {
    loom::model(move || {
        let shared = Arc::new((Latch::new(), AtomicUsize::new(0)));
        let waiter = shared.clone();
        let thread = thread::spawn(move || {
            waiter.1.store(1, Ordering::Relaxed);
            waiter.0.park(thread::park);
        });
        let handle = thread.thread().clone();
        note(&shared.0);
        let wake = || {
            assert_eq!(shared.1.load(Ordering::Relaxed), 1, "no waiter is seen");
            handle.unpark();
        };
        // SAFETY: the latch is in an `Arc`.
        unsafe { Latch::set(&raw const shared.0, wake) };
        assert_eq!(shared.0.runner(), None);
        thread.join().unwrap();
    });
}

/// A runner that notes its index while the waiter parks wakes the waiter all the same, and its
/// index is seen.
#[test]
fn a_runner_that_is_noted_finds_the_parked_waiter() {
    sets_and_wakes(|latch| {
        latch.note_runner(5);
        assert_eq!(latch.runner(), Some(5));
    });
}

/// The latch of a job that has moved.
#[test]
fn finds_the_parked_waiter() {
    sets_and_wakes(|_| {});
}
