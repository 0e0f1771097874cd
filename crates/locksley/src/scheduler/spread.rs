//! Workers that were put on one CPU though another is free.
//!
//! Most systems move a thread that is ready to run to a CPU which has nothing to do. Some do not, such
//! as the kernels of small virtual machines that know nothing of how their CPUs belong together.
//! There two workers may share a CPU for as long as they do not sleep, and a program has half of
//! its speed. So each worker notes its CPU when it wakes up, wakes another, or finds nothing to do.
//! One that finds nothing to do, and another worker on its CPU that does not sleep, goes to a CPU
//! without one. And a worker that wakes another one has it wake up on a CPU of its own.

use crate::machine::pinning::{here, move_to};
use crate::machine::topology::allowed_now;
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::sync::Ordering;

/// How long a worker stays after it has moved, in nanoseconds: notes may be out of date.
const STAY: u64 = 1_000_000;

/// The largest pool whose workers do so. To look at all others takes time; and large machines have
/// systems that move threads.
const SMALL: usize = 8;

/// Has an idle worker go to another CPU, if there is reason to.
#[inline]
pub(crate) fn leave_crowded_cpu(registry: &Registry, worker: &Worker) {
    if registry.size() <= SMALL && registry.may_spread() {
        leave_if_taken(registry, worker);
    }
}

fn leave_if_taken(registry: &Registry, worker: &Worker) {
    let here = here();
    worker.note_home(here);
    if let Some(here) = here.filter(|&cpu| is_taken(registry, worker, cpu)) {
        leave(registry, worker, here);
    }
}

/// Returns `true` if another worker was last seen on this CPU, and does not sleep.
fn is_taken(registry: &Registry, worker: &Worker, cpu: usize) -> bool {
    let mut others = (0..registry.size()).filter(|&index| index != worker.index());
    others.any(|index| {
        let other = registry.worker(index);
        other.home() == Some(cpu) && !other.is_asleep() && !other.is_blocked()
    })
}

#[cold]
fn leave(registry: &Registry, worker: &Worker, here: usize) {
    if !may_move(registry, worker) {
        return;
    }
    let Some(allowed) = allowed_now() else { return };
    let free = next_free(&allowed, here, |cpu| is_taken(registry, worker, cpu));
    if let Some(cpu) = free.filter(|&cpu| move_to(cpu, &allowed).is_ok()) {
        worker.note_home(Some(cpu));
    }
}

/// Notes that a worker moves, unless it did a moment ago.
fn may_move(registry: &Registry, worker: &Worker) -> bool {
    let now = registry.now();
    let stays = now.saturating_sub(worker.moved_at.load(Ordering::Relaxed)) < STAY;
    if !stays {
        worker.moved_at.store(now, Ordering::Relaxed);
    }
    !stays
}

/// Wakes a worker that sleeps. If the waker is a worker, and on the CPU that the sleeper would wake
/// on, then the sleeper wakes on another: the waker goes on, and would leave it no time.
pub(crate) fn wake(registry: &Registry, sleeper: &Worker) {
    if registry.size() > SMALL || !registry.may_spread() || !wake_elsewhere(registry, sleeper) {
        sleeper.unpark();
    }
}

fn wake_elsewhere(registry: &Registry, sleeper: &Worker) -> bool {
    let Some(waker) = Worker::current().filter(|worker| worker.is_in(registry)) else {
        return false;
    };
    let here = here();
    waker.note_home(here);
    match here.filter(|_| sleeper.home() == here && sleeper.index() < registry.size()) {
        Some(here) => send(registry, sleeper, here),
        None => false,
    }
}

#[cold]
fn send(registry: &Registry, sleeper: &Worker, here: usize) -> bool {
    // An adopted thread may be gone before it is bound again to what it was.
    let adopted = registry.config.use_current_thread && sleeper.index() == 0;
    if adopted || !may_move(registry, sleeper) {
        return false;
    }
    let Some(allowed) = allowed_now() else {
        return false;
    };
    let free = next_free(&allowed, here, |cpu| is_taken(registry, sleeper, cpu));
    free.is_some_and(|cpu| sleeper.unpark_on(cpu))
}

/// The next CPU behind this one that is not taken.
fn next_free(allowed: &[usize], here: usize, taken: impl Fn(usize) -> bool) -> Option<usize> {
    let behind = allowed.iter().filter(|&&cpu| cpu > here);
    let before = allowed.iter().filter(|&&cpu| cpu < here);
    behind.chain(before).copied().find(|&cpu| !taken(cpu))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_next_free_cpu_is_behind_this_one_or_from_the_start() {
        let allowed = [0, 2, 3, 7];
        assert_eq!(next_free(&allowed, 2, |_| false), Some(3));
        assert_eq!(next_free(&allowed, 2, |cpu| cpu == 3), Some(7));
        assert_eq!(next_free(&allowed, 7, |cpu| cpu == 0), Some(2));
        assert_eq!(next_free(&allowed, 2, |cpu| cpu != 2), None);
    }
}
