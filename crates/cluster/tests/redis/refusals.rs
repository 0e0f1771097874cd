//! Tasks that no worker can run are set aside, with a reason, and nothing else is lost. Jobs can be
//! cancelled.

use std::time::Duration;

use locksley_cluster::leases::{LeaseError, LeasePool, State, Submitted, WorkerId, follow, submit};

use crate::processes::{
    Fails, LEASE, Leaf, Parent, Process, check, deeds, job, small, status, submit_tree, tree,
};
use crate::server::{Started, until};

#[test]
fn a_task_that_kills_its_workers_is_set_aside_and_takes_no_other_along() {
    let Some(server) = Started::new() else { return };
    let redis = server.connect();
    let mut job = job("deadly", "deeds");
    (job.terms.tries, job.terms.lease) = (3, LEASE / 2);
    let deeds_of = (0..6).map(|number| Leaf {
        deadly: number == 2,
    });
    submit(&redis, &job, deeds_of).expect("it is new");
    let mut killed = 0;
    let mut worker = Process::worker(&server);
    until("the job is over", || {
        if worker.has_ended() {
            killed += 1;
            worker = Process::worker(&server);
        }
        status(&redis, &job.id).state == State::Done
    });
    let ended = follow(&redis, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    assert_eq!(ended.result(&deeds()).expect("it is a result").0, 5);
    assert_eq!((ended.status.aside, killed), (1, 3), "{:?}", ended.status);
    let reason = &ended.status.reasons[0];
    assert!(
        reason.reason.contains("no worker lived") && reason.attempts == 3,
        "{reason:?}"
    );
}

#[test]
fn of_many_leaves_of_one_task_one_that_kills_its_workers_costs_one() {
    let Some(server) = Started::new() else { return };
    let redis = server.connect();
    let mut job = job("brood", "deeds");
    (job.terms.tries, job.terms.lease) = (3, LEASE / 2);
    let brood = Parent {
        deeds: 60,
        deadly: 40,
    };
    submit(&redis, &job, [brood]).expect("it is new");
    let mut workers = [Process::worker(&server), Process::worker(&server)];
    until("the job is over", || {
        for worker in &mut workers {
            if worker.has_ended() {
                *worker = Process::worker(&server);
            }
        }
        status(&redis, &job.id).state == State::Done
    });
    let ended = follow(&redis, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    assert_eq!(ended.result(&deeds()).expect("it is a result").0, 59);
    assert_eq!(ended.status.aside, 1, "{:?}", ended.status);
}

/// At their last tries failing tasks run one at a time in a worker, beside other tasks, and neither
/// job waits for the other.
#[test]
fn a_job_that_always_fails_ends_beside_one_that_is_long() {
    let Some(server) = Started::new() else { return };
    let redis = server.connect();
    let long = job("long", "deeds");
    let fine = || Leaf { deadly: false };
    submit(&redis, &long, (0..1000).map(|_| fine())).expect("it is new");
    let mut failing = job("failing", "deeds");
    failing.terms.tries = 3;
    let failures = 40;
    submit(&redis, &failing, (0..failures).map(|_| Fails)).expect("it is new");
    let worker = Process::worker(&server);
    until("the job that fails is over", || {
        status(&redis, &failing.id).state == State::Done
    });
    assert_eq!(status(&redis, &failing.id).aside, failures);
    let long = status(&redis, &long.id);
    assert_eq!(long.state, State::Running, "they waited for it");
    assert!(long.done > failures, "it waited for them: {long:?}");
    worker.stop();
}

#[test]
fn a_thousand_jobs_cost_an_idle_worker_a_few_commands() {
    let Some(server) = Started::with(&["--appendfsync", "no"], "127.0.0.1") else {
        return;
    };
    let redis = server.connect();
    let mut job = job("many", "deeds");
    job.terms.lease = Duration::from_secs(600);
    let other = WorkerId {
        name: "other".to_owned(),
        build: job.build,
    };
    for number in 0..1000 {
        job.id = format!("many-{number}").parse().expect("it is plain");
        submit(&redis, &job, [Leaf { deadly: false }]).expect("it is new");
    }
    let mut taken = 0;
    while taken < 1000 {
        let leases = redis.lease(&other, 100, false, Duration::ZERO);
        taken += leases.expect("it is there").len();
    }
    let worker = Process::worker(&server);
    until("it is there", || {
        redis.workers().is_ok_and(|workers| workers.len() == 1)
    });
    let before = commands(&server);
    std::thread::sleep(Duration::from_secs(3));
    let asked = commands(&server) - before;
    assert!(asked < 300, "{asked} commands in three seconds");
    worker.stop();
}

#[test]
fn entries_that_are_no_tasks_are_set_aside() {
    let Some(server) = Started::new() else { return };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let (tasks, waiting) = ("locksley:{tree}:tasks", "locksley:{tree}:waiting");
    // The encoded beginning of a task of kind `k` without inputs.
    let front = "\u{1}k\0";
    let large = format!(
        "{front}{}",
        "x".repeat(job.terms.limits.task + 1 - front.len())
    );
    let file = server.folder.join("large");
    std::fs::write(&file, large).expect("there is room");
    server.ask(&["HSET", tasks, "garbage", "\u{7f}garbage"]);
    server.ask(&["HSET", tasks, "odd", "x"]);
    server.ask(&["HSET", "locksley:{tree}:tries", "odd", "-12"]);
    // As an argument it would be too large for a command line.
    let put = std::process::Command::new("redis-cli")
        .args([
            "-p",
            &server.port().to_string(),
            "-x",
            "HSET",
            tasks,
            "large",
        ])
        .stdin(std::fs::File::open(&file).expect("it is there"))
        .output();
    assert!(put.expect("it comes with the server").status.success());
    for entry in ["garbage", "nothing", "odd", "large"] {
        server.ask(&["RPUSH", waiting, entry]);
    }
    let worker = Process::worker(&server);
    let ended = follow(&redis, &job.id, Duration::ZERO, |_| {}).expect("it ends");
    let counted = ended.result(&locksley_cluster::programs::uts::program());
    assert_eq!(counted.expect("it is a result").0, size);
    assert_eq!(ended.status.aside, 4, "{:?}", ended.status);
    for reason in [
        "malformed",
        "no task in the entry",
        "1048577 exceeds the limit of 1048576",
    ] {
        let found = ended
            .status
            .reasons
            .iter()
            .any(|aside| aside.reason.contains(reason));
        assert!(found, "{reason}: {:?}", ended.status.reasons);
    }
    worker.stop();
}

#[test]
fn what_is_too_large_is_refused_before_it_is_sent() {
    let Some(server) = Started::new() else { return };
    let redis = server.connect();
    let mut job = job("large", "deeds");
    job.terms.limits.task = 3;
    let refused = submit(&redis, &job, [Leaf { deadly: false }]);
    assert!(
        matches!(refused, Err(LeaseError::Oversized(_))),
        "{refused:?}"
    );
    assert_eq!(redis.status(&job.id), Ok(None));
    job.terms.limits.task = 100;
    let many = submit(&redis, &job, (0..10_000).map(|_| Leaf { deadly: false }));
    assert_eq!(many, Ok(Submitted::New), "they come in chunks");
    assert_eq!(status(&redis, &job.id).outstanding, 10_000);
}

#[test]
fn a_cancelled_job_is_left_and_the_next_one_done() {
    let Some(server) = Started::new() else { return };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let worker = Process::worker(&server);
    worker.until_it_works(&redis, &job.id);
    let before = status(&redis, &job.id).done;
    assert_eq!(redis.cancel(&job.id, true), Ok(Some(State::Cancelled)));
    // Under the same name: the rest of the old job must not count.
    let job = submit_tree(&redis, tree);
    let after = check(&redis, &job.id, size).status.done;
    let said = worker.stop();
    // Leases that were completed between the look and the cancellation count here only. If a reply
    // took longer than the worker waits for one, the worker repeated the request, and the
    // completion that the server had counted was void then: the worker considers that lease lost.
    let unheard = if said.err.contains("trying again") {
        said.count("lost")
    } else {
        0
    };
    let completed = said.count("completed");
    assert!(
        completed + unheard >= before + after,
        "{completed} is less than {before} and {after}: {}{}",
        said.out,
        said.err
    );
}

#[test]
fn a_job_whose_tasks_the_server_threw_away_is_reported() {
    let Some(server) = Started::new() else { return };
    let (tree, _) = small();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    server.ask(&["DEL", "locksley:{tree}:tasks"]);
    let worker = Process::worker(&server);
    let ended = follow(&redis, &job.id, Duration::ZERO, |_| {});
    assert_eq!(ended.err(), Some(LeaseError::Vanished(job.id)));
    // Before that it handles no signal, and would just be killed.
    until("the worker is there", || {
        redis.workers().is_ok_and(|workers| workers.len() == 1)
    });
    worker.stop();
}

#[test]
fn an_idle_worker_blocks_and_does_not_poll() {
    let Some(server) = Started::new() else { return };
    let worker = Process::worker(&server);
    let redis = server.connect();
    until("it is there", || {
        redis.workers().is_ok_and(|workers| workers.len() == 1)
    });
    let before = commands(&server);
    std::thread::sleep(Duration::from_secs(3));
    let asked = commands(&server) - before;
    // A few requests a second: it blocks for a second at a time, lists running jobs, and sends
    // heartbeats.
    assert!(asked < 60, "{asked} commands in three seconds");
    worker.stop();
}

/// Returns the number of commands that a server has executed, including those inside scripts.
fn commands(server: &Started) -> u64 {
    let info = server.ask(&["INFO", "stats"]);
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("total_commands_processed:"));
    line.and_then(|number| number.trim().parse::<u64>().ok())
        .expect("it counts")
}
