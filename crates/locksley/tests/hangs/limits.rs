//! Pools whose system refuses to start more threads.

use std::thread;

use locksley::{Pool, Waiting, block_on};

use crate::child::assert_finishes;

/// Id of an ordinary user, to whom the limit on threads applies. No process should have it.
const USER: libc::uid_t = 61_234;

/// Makes the system refuse every further thread of this process. Returns `false` if that fails.
fn refuse_threads() -> bool {
    // SAFETY: plain system calls; the limit is read from a value that lives through the call. If
    // the user cannot be changed, it is already an ordinary one.
    unsafe {
        if libc::geteuid() == 0 {
            libc::setresuid(USER, USER, USER);
        }
        let limit = libc::rlimit {
            rlim_cur: 1,
            rlim_max: 1,
        };
        libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit);
    }
    match thread::Builder::new().spawn(|| ()) {
        Ok(thread) => {
            thread.join().expect("it does nothing");
            false
        }
        Err(_) => true,
    }
}

/// Runs a program whose workers block, in pools that get no spares.
fn without_spares(program: impl Fn(&Pool) + Sync) {
    let mut pools = Vec::new();
    for workers in [1, 2, 3] {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            let builder = Pool::builder().workers(workers).waiting(waiting);
            pools.push(builder.stack_size(16 << 20).build().unwrap());
        }
    }
    if !refuse_threads() {
        println!("the system cannot be made to refuse threads; nothing is tested");
        return;
    }
    for pool in &pools {
        program(pool);
    }
}

#[test]
fn a_refused_spare_of_a_future() {
    assert_finishes("limits::a_refused_spare_of_a_future", || {
        without_spares(|pool| {
            let seven = pool.install(|| block_on(locksley::spawn(|| 7)));
            assert_eq!(seven, 7);
        });
    });
}

#[test]
fn refused_spares_of_many_futures() {
    assert_finishes("limits::refused_spares_of_many_futures", || {
        without_spares(|pool| {
            for _ in 0..20 {
                pool.scope(|s| {
                    for _ in 0..20 {
                        s.spawn(|_| {
                            block_on(async {
                                locksley::spawn(|| ()).await;
                                locksley::spawn(|| ()).await;
                            });
                        });
                    }
                });
            }
        });
    });
}

#[test]
fn refused_spares_of_calls_into_another_pool() {
    assert_finishes("limits::refused_spares_of_calls_into_another_pool", || {
        let other = Pool::builder().workers(1).build().unwrap();
        without_spares(|pool| {
            pool.in_place_scope(|s| {
                for _ in 0..20 {
                    s.spawn(|_| other.install(|| pool.install(|| ())));
                }
            });
        });
    });
}
