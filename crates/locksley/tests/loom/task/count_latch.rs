use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::*;

struct Scope {
    pending: CountLatch,
    cells: [UnsafeCell<u32>; 2],
}

// SAFETY: loom checks that the accesses to the cells do not race.
unsafe impl Sync for Scope {}
// SAFETY: as above.
unsafe impl Send for Scope {}

/// Two tasks on threads that are not the owner's. The first one spawns a third task.
fn model(wait: impl Fn(&Scope) + Copy + Send + Sync + 'static) {
    loom::model(move || {
        let scope = Arc::new(Scope {
            pending: CountLatch::owned(),
            cells: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        let owner = thread::current();
        let task = |cell: usize| {
            scope.pending.add(true);
            let (scope, owner) = (scope.clone(), owner.clone());
            thread::spawn(move || {
                if cell == 0 {
                    scope.pending.add(false);
                    done(&scope, &owner);
                }
                // SAFETY: loom checks it.
                scope.cells[cell].with_mut(|value| unsafe { *value = 1 });
                done(&scope, &owner);
            })
        };
        let threads = [task(0), task(1)];
        assert!(!scope.pending.take_away(true));
        wait(&scope);
        for cell in &scope.cells {
            // SAFETY: loom checks it.
            assert_eq!(cell.with(|value| unsafe { *value }), 1);
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

fn done(scope: &Scope, owner: &thread::Thread) {
    if scope.pending.take_away(false) {
        // SAFETY: the latch is in an `Arc`.
        unsafe { Latch::set(&raw const scope.pending.latch, || owner.unpark()) };
    }
}

#[test]
fn the_owner_sees_what_all_wrote() {
    model(|scope| {
        while !scope.pending.is_over() {
            thread::yield_now();
        }
    });
}

/// A lost wake-up would be a deadlock, which loom reports.
#[test]
fn a_sleeping_owner_is_woken() {
    model(|scope| {
        if let Some(latch) = scope.pending.latch() {
            latch.park(thread::park);
        }
    });
}
