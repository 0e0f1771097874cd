//! The kernel refuses the heavy barrier although it was available before: thieves fall back to
//! requests.
//!
//! A seccomp filter forbids `membarrier` to the threads that install it, and to no others.
#![cfg(all(target_os = "linux", not(loom), not(miri)))]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use locksley_queue::split::{Deque, Forced, Stealer};
use locksley_queue::steal_half::extended;
use locksley_queue::{Owner, Steal, Thief, barrier};

const ITEMS: u64 = 4_000;

/// Makes `membarrier` fail in this thread with EPERM from now on. Returns `false` if the kernel
/// does not accept the filter.
fn forbid_membarrier() -> bool {
    const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(LOAD_WORD, 0, 0, 0), // the number of the call
        step(JUMP_IF_EQUAL, 0, 1, libc::SYS_membarrier as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program is well formed, and the kernel copies it.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    }
}

/// Runs `work` in a thread to which the barrier is refused. Returns `None` if the filter cannot be
/// installed.
fn without_membarrier<R: Send>(work: impl FnOnce() -> R + Send) -> Option<R> {
    thread::scope(|scope| {
        let refused = scope.spawn(|| forbid_membarrier().then(work));
        refused.join().expect("the thread does not panic")
    })
}

/// Steals until `closed`, and forces or requests an exposure if all work is private. Returns the
/// sum of the stolen items and the number of refusals.
fn steal_until_closed(thief: &Stealer<u64>, closed: &AtomicBool) -> (u64, u64) {
    let (mut sum, mut refusals) = (0, 0);
    loop {
        let last = closed.load(Ordering::Acquire);
        match thief.steal() {
            Steal::Success(item) => sum += item,
            Steal::Empty | Steal::Private if last => return (sum, refusals),
            Steal::Private => {
                if thief.force() == Forced::Refused {
                    refusals += 1;
                    thief.request();
                    thread::yield_now();
                }
            }
            Steal::Empty => thread::yield_now(),
            Steal::Retry => std::hint::spin_loop(),
        }
    }
}

#[test]
fn a_refused_force_changes_nothing() {
    if !barrier::is_ready() {
        return; // It is refused from the start: the deque is fenced.
    }
    let mut deque = Deque::new();
    let thief = deque.thief();
    for item in 0..3 {
        deque.push(item).unwrap();
    }
    let refused = without_membarrier(|| (thief.force(), thief.steal(), thief.request()));
    let Some(answers) = refused else { return };
    assert_eq!(answers, (Forced::Refused, Steal::Private, true));
    deque.push(3).unwrap();
    assert_eq!(thief.steal(), Steal::Success(0), "the request is answered");
    assert_eq!(thief.force(), Forced::Public, "this thread has the barrier");
    for item in (1..4).rev() {
        assert_eq!(deque.pop(), Some(item));
    }
    assert_eq!(deque.pop(), None);
}

/// A thief of the extended deque gets `Private`, not `Retry` for ever, if it cannot have the rest.
#[test]
fn a_refused_theft_of_half_says_so_and_changes_nothing() {
    if !barrier::is_ready() {
        return; // Both sides use fences.
    }
    let mut deque = extended::Deque::new();
    let thief = deque.thief();
    for item in 0..8_u64 {
        deque.push(item).unwrap();
    }
    let refused = without_membarrier(|| {
        let mut stolen = Vec::new();
        // At most eight items and the final result: more calls would mean an endless retry.
        let answer = (0..9).map(|_| thief.steal()).find(|answer| match answer {
            Steal::Success(item) => {
                stolen.push(*item);
                false
            }
            _ => true,
        });
        (stolen, answer, thief.steal())
    });
    let Some((mut seen, answer, again)) = refused else {
        return;
    };
    assert_eq!((answer, again), (Some(Steal::Private), Steal::Private));
    let stolen = thief.steal().success();
    seen.push(stolen.expect("this thread has the barrier"));
    seen.extend(std::iter::from_fn(|| deque.pop()));
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..8));
}

/// Thieves with and without the barrier, and an owner that pushes now and then.
#[test]
fn thieves_that_are_refused_ask() {
    let ready = barrier::is_ready();
    let mut deque = Deque::new();
    let closed = &AtomicBool::new(false);
    let stolen = &AtomicU64::new(0);
    let mut kept = 0;
    thread::scope(|scope| {
        for refused in [true, true, false] {
            let thief = deque.thief();
            scope.spawn(move || {
                let filtered = refused && forbid_membarrier();
                let (sum, refusals) = steal_until_closed(&thief, closed);
                assert!(filtered || refusals == 0 || !ready);
                stolen.fetch_add(sum, Ordering::AcqRel);
            });
        }
        for item in 1..=ITEMS {
            deque.push(item).unwrap();
            if item % 8 == 0 {
                kept += deque.pop().unwrap_or(0);
                thread::yield_now();
            }
        }
        kept += std::iter::from_fn(|| deque.pop()).sum::<u64>();
        closed.store(true, Ordering::Release);
    });
    assert_eq!(
        kept + stolen.load(Ordering::Acquire),
        ITEMS * (ITEMS + 1) / 2
    );
}
