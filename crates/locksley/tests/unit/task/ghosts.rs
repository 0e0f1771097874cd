use super::*;
use crate::Pool;
use crate::scheduler::registry::Registry;
use crate::task::packet::Packet;

/// Creates the entry of a task that never runs: a ghost, or a job.
fn entry(registry: &Registry, is_ghost: bool) -> JobRef {
    let (job, packet) = Packet::create(registry, None, None, || ());
    // SAFETY: the handle's reference, which is not used again.
    unsafe {
        if is_ghost {
            packet.as_ref().head.claim.claim();
        }
        Packet::release(packet);
    }
    job
}

#[test]
fn ghosts_in_the_middle_are_freed_when_they_outnumber_the_jobs_by_many() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let mut queue: VecDeque<_> = std::iter::once(false)
        .chain([true; MANY + 2])
        .chain([false])
        .map(|is_ghost| entry(&pool.registry, is_ghost))
        .collect();
    let mut freed = 0;
    let mut ghosts = MANY + 1;
    trim(&mut queue, &mut ghosts, |&job| job, |_| freed += 1);
    assert_eq!(freed, 0);
    ghosts += 1;
    trim(&mut queue, &mut ghosts, |&job| job, |_| freed += 1);
    assert_eq!((freed, ghosts, queue.len()), (MANY + 2, 0, 2));
    for job in queue {
        // SAFETY: the entry is out of the queue.
        unsafe { job.free_ghost() };
    }
}

#[test]
fn a_sweep_that_frees_all_ghosts_counts_none_in_the_pools_queue() {
    let pool = Pool::builder().workers(1).spares(0).build().unwrap();
    pool.run(|worker| {
        let injector = &worker.registry().injector;
        let waiting = std::thread::scope(|threads| {
            let spawner = threads.spawn(|| pool.spawn(|| ()));
            spawner.join().unwrap()
        });
        for _ in 0..10 {
            let handles: Vec<_> = (0..2 * MANY).map(|_| crate::spawn(|| ())).collect();
            handles.into_iter().for_each(crate::JoinHandle::join);
        }
        assert_eq!((injector.len(), injector.ghosts()), (1, 0));
        waiting.join();
    });
}
