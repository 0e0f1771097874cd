//! The server is killed and restarted repeatedly while a job is submitted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use locksley_cluster::Sum;
use locksley_cluster::leases::{Redis, Submission, Submitted, follow, submit_and_wait};

use crate::processes::{Grain, Process, deeds, job};
use crate::server::{Started, until};

/// Number of first tasks: several chunks.
const GRAINS: u64 = 20_000;

/// Returns tasks so slowly that faults can happen meanwhile.
fn slowly() -> impl Iterator<Item = Grain> {
    (0..GRAINS)
        .inspect(|number| {
            if number % 100 == 0 {
                sleep(Duration::from_millis(8));
            }
        })
        .map(|number| Grain { number })
}

/// Kills and restarts a server until `over`. Returns the number of times.
fn disturb(server: &mut Started, over: &AtomicBool) -> u32 {
    let mut times = 0;
    while !over.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(170));
        server.kill();
        sleep(Duration::from_millis(40));
        server.restart();
        // The longer its file, the longer this takes.
        until("it has read its file", || server.ask(&["PING"]) == "PONG");
        times += 1;
    }
    times
}

/// Runs `submit` and a worker while the server is killed and restarted.
fn beside_restarts<A: Send>(submit: impl FnOnce(&Redis, &AtomicBool) -> A + Send) -> Option<A> {
    let mut server = Started::new()?;
    let redis = server.connect();
    let worker = Process::worker(&server);
    let over = AtomicBool::new(false);
    let answer = thread::scope(|scope| {
        let submitting = scope.spawn(|| {
            let answer = submit(&redis, &over);
            over.store(true, Ordering::Relaxed);
            answer
        });
        let times = disturb(&mut server, &over);
        assert!(times > 3, "the server was killed {times} times");
        submitting.join().expect("no panic")
    });
    worker.stop();
    Some(answer)
}

/// The sum of all numbers, each counted once.
const ALL: u64 = GRAINS * (GRAINS - 1) / 2;

#[test]
fn attempts_to_submit_add_up_to_one_job_though_the_server_is_restarted() {
    let mut job = job("grains", "deeds");
    job.terms.tries = 100;
    job.terms.limits.children = 900;
    let ended = beside_restarts(|redis, over| {
        let mut submission = Submission::new(redis, &job, false);
        let submitted = loop {
            match submission.attempt(slowly) {
                Err(error) => assert!(error.passes(), "{error}"),
                Ok(submitted) => break submitted,
            }
        };
        assert!(!matches!(submitted, Submitted::Over(_)));
        over.store(true, Ordering::Relaxed);
        follow(redis, &job.id, Duration::from_secs(30), |_| {}).expect("it ends")
    });
    if let Some(ended) = ended {
        let Sum(found) = ended.result(&deeds()).expect("it is a result");
        assert_eq!((found, ended.status.aside), (ALL, 0), "{:?}", ended.status);
    }
}

#[test]
fn submit_and_wait_ends_with_all_though_the_server_is_restarted() {
    let job = job("grains", "deeds");
    let found = beside_restarts(|redis, over| {
        let last = GRAINS - 1;
        let tasks = slowly().inspect(|grain| {
            if grain.number == last {
                over.store(true, Ordering::Relaxed);
            }
        });
        submit_and_wait(redis, job.build, &deeds(), job.id.clone(), tasks)
    });
    if let Some(found) = found {
        assert_eq!(found.expect("it is complete").0, ALL);
    }
}
