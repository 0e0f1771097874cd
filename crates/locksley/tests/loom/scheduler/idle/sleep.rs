use locksley_queue::barrier;
use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::scheduler::idle::counts::{AtomicCounts, Counts};

/// One worker pushes a job while another goes to sleep: either the sleeper is woken, or it does not
/// sleep, or it finds the job. A lost wake-up is a deadlock, which loom reports.
#[test]
fn a_push_wakes_a_sleeper() {
    loom::model(|| {
        let state = Arc::new(SleepState::new());
        let sleepers = Arc::new(AtomicCounts::new(0));
        let deque = Arc::new(Embedded::new());
        let sleeper = {
            let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
            thread::spawn(move || {
                if deque.is_empty() {
                    sleepers.begin_sleep(&state);
                    leave_call(&deque);
                    if !barrier::heavy() || !deque.is_empty() {
                        sleepers.end_sleep(&state);
                        return;
                    }
                    while state.is_asleep() {
                        thread::park();
                    }
                    sleepers.end_sleep(&state);
                }
                assert!(!deque.is_empty(), "woken for nothing");
            })
        };
        // SAFETY: this thread is the owner, for both.
        unsafe {
            if deque.push(1_usize).1 && take_call(&deque).requested {
                let chosen = sleepers.choose([((), &*state)].into_iter());
                if chosen.is_some() {
                    sleeper.thread().unpark();
                }
            }
        }
        sleeper.join().unwrap();
        assert_eq!(sleepers.get().asleep(), 0);
    });
}

type Asleep = (Arc<SleepState>, Arc<AtomicCounts>, Arc<Embedded<usize>>);

/// A worker that is asleep, the counts of its pool, and the deque of another worker, which it has
/// called.
fn asleep() -> Asleep {
    let (state, sleepers) = (SleepState::new(), AtomicCounts::new(0));
    let deque = Embedded::new();
    sleepers.begin_sleep(&state);
    leave_call(&deque);
    (Arc::new(state), Arc::new(sleepers), Arc::new(deque))
}

/// A worker that was woken to search sees the job that it was woken for.
#[test]
fn a_woken_worker_sees_the_job() {
    loom::model(|| {
        let (state, sleepers, deque) = asleep();
        let woken = {
            let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
            thread::spawn(move || {
                if sleepers.end_sleep(&state).to_search {
                    fence(Ordering::Acquire); // [Z6]
                    assert!(!deque.is_empty(), "woken for nothing");
                }
            })
        };
        // SAFETY: this thread is the owner, for both.
        unsafe {
            deque.push(1_usize);
            take_call(&deque);
        }
        sleepers.wake_to_search(&state);
        woken.join().unwrap();
    });
}

/// A pusher wakes no other worker while one is on its way: the woken worker sees the job.
#[test]
fn a_push_behind_a_summons_is_seen() {
    loom::model(|| {
        let (state, sleepers, deque) = asleep();
        assert!(sleepers.wake_to_search(&state));
        let woken = {
            let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
            thread::spawn(move || {
                assert!(sleepers.end_sleep(&state).to_search);
                !deque.is_empty()
            })
        };
        // SAFETY: this thread is the owner, for both.
        unsafe {
            deque.push(1_usize);
            take_call(&deque);
        }
        let waits = sleepers.summoned() > 0;
        let seen = woken.join().unwrap();
        assert!(seen || !waits, "each leaves the job to the other");
    });
}

/// A waker that comes too late leaves no summons that a pusher relies on.
#[test]
fn a_summons_that_fails_is_not_relied_on() {
    loom::model(|| {
        let (state, sleepers, deque) = asleep();
        let waker = {
            let (state, sleepers) = (state.clone(), sleepers.clone());
            thread::spawn(move || sleepers.wake_to_search(&state))
        };
        let sleeper = {
            let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
            thread::spawn(move || {
                sleepers.end_sleep(&state);
                fence(Ordering::SeqCst); // [K6]
                !deque.is_empty()
            })
        };
        // SAFETY: this thread is the owner, for both.
        unsafe {
            deque.push(1_usize);
            take_call(&deque);
        }
        let relied = sleepers.summoned() > 0;
        let seen = sleeper.join().unwrap();
        waker.join().unwrap();
        assert!(
            seen || !relied,
            "the job is left to a worker that has looked"
        );
    });
}

/// A pusher leaves its job to a worker that naps: the napper sees it when it looks.
#[test]
fn a_push_that_is_left_to_a_nap_is_seen() {
    loom::model(|| {
        let (_, sleepers, deque) = asleep();
        for _ in 0..3 {
            sleepers.note_search(false);
        }
        sleepers.begin_nap();
        let napper = {
            let (sleepers, deque) = (sleepers.clone(), deque.clone());
            thread::spawn(move || {
                sleepers.end_nap();
                !deque.is_empty()
            })
        };
        // SAFETY: this thread is the owner, for both.
        unsafe {
            deque.push(1_usize);
            take_call(&deque);
        }
        let left = sleepers.leaves_to_nap();
        let seen = napper.join().unwrap();
        assert!(seen || !left, "each leaves the job to the other");
    });
}

/// A pusher clears its call and leaves its job to a napper. After that, either its next push sees a
/// call again, or the napper sees that push when it looks.
#[test]
fn a_call_that_is_left_to_a_napper_comes_back() {
    loom::model(|| {
        let (_, sleepers, deque) = asleep();
        sleepers.begin_nap();
        let napper = {
            let (sleepers, deque) = (sleepers.clone(), deque.clone());
            thread::spawn(move || {
                let left = sleepers.end_nap();
                leave_call(&deque);
                let ordered = !left || barrier::heavy();
                ordered && deque.is_empty()
            })
        };
        // SAFETY: this thread is the owner, for all of these.
        let called = unsafe {
            let (_, called) = deque.push(1_usize);
            if called && take_call(&deque).requested {
                sleepers.note_left();
                if !sleepers.has_napper() {
                    deque.request_attention();
                }
            }
            deque.pop();
            deque.push(2_usize).1
        };
        let missed = napper.join().unwrap();
        assert!(
            called || !missed,
            "the call is gone, and the napper saw nothing"
        );
    });
}

/// Answers a call, if there is one, after a push: leaves the job to a napper if the pusher `relies`
/// on one because as many workers are awake as there are processors, or else wakes a sleeper.
fn answer_call(
    relies: bool,
    sleepers: &AtomicCounts,
    states: &[Arc<SleepState>],
    deque: &Embedded<usize>,
) {
    // SAFETY: the caller is the owner.
    if !unsafe { take_call(deque) }.requested {
        return;
    }
    if relies {
        sleepers.note_left();
        if sleepers.has_napper() {
            return;
        }
    }
    sleepers.choose(states.iter().map(|state| ((), &**state)));
    if sleepers.get().wants_work() {
        deque.request_attention();
    }
}

/// Ends the nap of a worker that gets up, and restores the calls if a push has relied on a napper.
/// Returns `false` if the barrier was refused.
fn end_nap_to_get_up(sleepers: &AtomicCounts, deques: &[&Embedded<usize>]) -> bool {
    if !sleepers.end_nap() {
        return true;
    }
    for deque in deques {
        leave_call(deque);
    }
    barrier::heavy()
}

/// A napper gets up just when another worker pushes, which wakes it or relies on it. A `second`
/// sleeper does not nap, and relies on the call. After that, either the next push sees a call, or
/// the napper sees that push when it looks.
fn a_napper_gets_up(relies: bool, second: bool) {
    loom::model(move || {
        let (state, sleepers, deque) = asleep();
        sleepers.begin_nap();
        let other = Arc::new(SleepState::new());
        if second {
            sleepers.begin_sleep(&other);
        }
        let napper = {
            let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
            thread::spawn(move || {
                assert!(end_nap_to_get_up(&sleepers, &[&deque]));
                sleepers.end_sleep(&state);
                deque.is_empty()
            })
        };
        // SAFETY: this thread is the owner, for all of these.
        let called = unsafe {
            if deque.push(1_usize).1 {
                answer_call(relies, &sleepers, &[state, other], &deque);
            }
            deque.pop();
            deque.push(2_usize).1
        };
        let missed = napper.join().unwrap();
        let all_up = sleepers.get().asleep() == 0;
        assert!(
            called || !missed || all_up,
            "the call is gone, and the napper saw nothing"
        );
        assert!(deque.is_attention_requested() || all_up, "its call is gone");
    });
}

#[test]
fn a_napper_that_a_push_wakes_need_not_restore_the_call() {
    a_napper_gets_up(false, false);
    a_napper_gets_up(false, true);
}

#[test]
fn a_napper_that_gets_up_restores_the_call_that_was_left_to_it() {
    a_napper_gets_up(true, false);
    a_napper_gets_up(true, true);
}

/// A worker goes to sleep, and relies on a call that stands, just when a pusher leaves that call
/// to a napper, which gets up.
#[test]
fn a_sleeper_may_rely_on_a_call_that_is_left_to_a_napper() {
    loom::model(|| {
        let (state, sleepers, deque) = asleep();
        sleepers.begin_nap();
        let second = Arc::new(SleepState::new());
        let napper = {
            let (sleepers, deque) = (sleepers.clone(), deque.clone());
            thread::spawn(move || {
                assert!(end_nap_to_get_up(&sleepers, &[&deque]));
                sleepers.end_sleep(&state);
            })
        };
        let sleeper = {
            let (second, sleepers, deque) = (second.clone(), sleepers.clone(), deque.clone());
            thread::spawn(move || {
                sleepers.begin_sleep(&second);
                leave_call(&deque);
            })
        };
        // SAFETY: this thread is the owner.
        unsafe { deque.push(1_usize) };
        answer_call(true, &sleepers, std::slice::from_ref(&second), &deque);
        napper.join().unwrap();
        sleeper.join().unwrap();
        assert!(
            deque.is_attention_requested() || !second.is_asleep(),
            "a worker sleeps, and its call is gone"
        );
    });
}

/// Two pushers leave their calls to a napper, and another napper, which gets up first, takes the
/// notes of both: it restores both calls, since the first napper will not.
#[test]
fn a_napper_restores_the_calls_of_all_whose_notes_it_takes() {
    loom::model(|| {
        let (_, sleepers, one) = asleep();
        let two = Arc::new(Embedded::<usize>::new());
        leave_call(&two);
        sleepers.begin_nap();
        sleepers.begin_nap();
        let pusher = {
            let (sleepers, two) = (sleepers.clone(), two.clone());
            thread::spawn(move || answer_call(true, &sleepers, &[], &two))
        };
        let napper = {
            let (sleepers, one, two) = (sleepers.clone(), one.clone(), two.clone());
            thread::spawn(move || assert!(end_nap_to_get_up(&sleepers, &[&one, &two])))
        };
        answer_call(true, &sleepers, &[], &one);
        pusher.join().unwrap();
        napper.join().unwrap();
        // The other napper gets up last.
        assert!(end_nap_to_get_up(&sleepers, &[&one, &two]));
        assert!(one.is_attention_requested(), "a call is gone");
        assert!(two.is_attention_requested(), "a call is gone");
    });
}

/// A pusher drafts a sleeper that is getting up just then: the draft is ended, and the call comes
/// back for workers that are still asleep.
#[test]
fn a_draft_that_comes_too_late_is_ended() {
    loom::model(|| {
        let (state, sleepers, deque) = asleep();
        let sleeper = {
            let (state, sleepers, deque) = (state.clone(), sleepers.clone(), deque.clone());
            thread::spawn(move || {
                if sleepers.end_sleep(&state).drafted {
                    assert!(end_nap_to_get_up(&sleepers, &[&deque]));
                }
            })
        };
        // SAFETY: this thread is the owner, for both.
        unsafe {
            deque.push(1_usize);
            take_call(&deque);
        }
        sleepers.note_left();
        let drafted = sleepers.draft([((), &*state)].into_iter()).is_some();
        sleeper.join().unwrap();
        assert!(!sleepers.has_napper(), "a worker naps that is awake");
        assert_eq!(deque.is_attention_requested(), drafted, "its call is gone");
    });
}

/// A pusher that clears a call sees every sleeper that relies on it. The call may have been left
/// before.
fn calls_are_not_cleared_unseen(sleeping: usize, stands: bool) {
    loom::model(move || {
        let deque = Arc::new(Embedded::<usize>::new());
        let sleepers = Arc::new(AtomicCounts::new(0));
        if stands {
            deque.request_attention();
        }
        let handles: Vec<_> = (0..sleeping)
            .map(|_| {
                let (deque, sleepers) = (deque.clone(), sleepers.clone());
                thread::spawn(move || {
                    sleepers.begin_sleep(&SleepState::new());
                    leave_call(&deque);
                })
            })
            .collect();
        // SAFETY: this thread is the owner.
        let answered = unsafe { take_call(&deque) }.requested;
        let seen = sleepers.get().asleep();
        for handle in handles {
            handle.join().unwrap();
        }
        if answered && !deque.is_attention_requested() {
            assert_eq!(
                seen, sleeping,
                "the call is gone, and a caller was not seen"
            );
        }
    });
}

#[test]
fn a_call_is_not_cleared_unseen() {
    calls_are_not_cleared_unseen(1, false);
}

#[test]
fn two_calls_are_not_cleared_unseen() {
    calls_are_not_cleared_unseen(2, false);
}

/// A pusher that clears a call sees that a spare is wanted by a worker that relies on the call.
fn wants_are_not_missed(before: fn(&AtomicCounts), want: fn(&AtomicCounts)) {
    loom::model(move || {
        let deque = Arc::new(Embedded::<usize>::new());
        let counts = Arc::new(AtomicCounts::new(1));
        before(&counts);
        deque.request_attention();
        let other = {
            let (deque, counts) = (deque.clone(), counts.clone());
            thread::spawn(move || {
                want(&counts);
                leave_call(&deque);
            })
        };
        // SAFETY: this thread is the owner.
        let answered = unsafe { take_call(&deque) }.requested;
        let seen = counts.get().wants_spare();
        other.join().unwrap();
        assert!(
            seen || !answered || deque.is_attention_requested(),
            "the call is gone, and the want was not seen"
        );
    });
}

#[test]
fn a_blocked_worker_is_not_missed() {
    wants_are_not_missed(|_| (), |counts| assert!(counts.begin_block()));
}

#[test]
fn a_spare_put_aside_is_not_missed() {
    let before = |counts: &AtomicCounts| {
        assert!(counts.begin_block());
        assert!(counts.try_change(Counts::activate_spare));
    };
    wants_are_not_missed(before, AtomicCounts::lower_spare);
}

/// The sleeper writes nothing, because another sleeper has left a call before.
#[test]
fn a_standing_call_is_not_cleared_unseen() {
    calls_are_not_cleared_unseen(1, true);
    calls_are_not_cleared_unseen(2, true);
}
