use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::*;

struct Task {
    claim: Claim,
    /// Stands for closure and result.
    content: UnsafeCell<u32>,
    freed: UnsafeCell<bool>,
}

// SAFETY: loom checks that the accesses to the cells do not race.
unsafe impl Sync for Task {}
// SAFETY: as above.
unsafe impl Send for Task {}

fn use_reference(task: &Task) -> bool {
    let won = task.claim.claim();
    if won {
        // SAFETY: loom checks it.
        task.content.with_mut(|content| unsafe { *content += 1 });
    }
    if task.claim.release() {
        // SAFETY: loom checks it.
        task.content
            .with_mut(|content| assert_eq!(unsafe { *content }, 1, "runs"));
        // SAFETY: as above.
        task.freed.with_mut(|freed| unsafe {
            assert!(!*freed, "freed twice");
            *freed = true;
        });
    }
    won
}

#[test]
fn one_of_two_runs_it_and_the_last_frees_it() {
    loom::model(|| {
        let task = Arc::new(Task {
            claim: Claim::default(),
            content: UnsafeCell::new(0),
            freed: UnsafeCell::new(false),
        });
        let entry = task.clone();
        let thief = thread::spawn(move || use_reference(&entry));
        let joined = use_reference(&task);
        assert_ne!(joined, thief.join().unwrap(), "one of them runs it");
        // SAFETY: both threads are done.
        assert!(task.freed.with(|freed| unsafe { *freed }));
    });
}
