use loom::sync::Arc;
use loom::thread;

use super::*;

/// A task on the first worker spawns another one, which the second worker runs. A third thread
/// that finds everything done must be right.
#[test]
fn a_task_that_spawns_is_not_missed() {
    loom::model(|| {
        let counts = Arc::new([TaskCounts::default(), TaskCounts::default()]);
        let (queue, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        counts[0].spawn();
        let first = {
            let (counts, queue) = (counts.clone(), queue.clone());
            thread::spawn(move || {
                counts[0].spawn();
                queue.store(1, Ordering::Release);
                counts[0].finish();
            })
        };
        let second = {
            let (counts, over) = (counts.clone(), over.clone());
            thread::spawn(move || {
                if queue.load(Ordering::Acquire) == 1 {
                    over.store(1, Ordering::Relaxed);
                    counts[1].finish();
                }
            })
        };
        if all_done(|| counts.iter()) {
            assert_eq!(over.load(Ordering::Relaxed), 1, "a task is outstanding");
        }
        first.join().unwrap();
        second.join().unwrap();
    });
}
