//! Workers and servers die, stop, and come back. The counts of trees are exact each time.

use std::time::Duration;

use locksley_cluster::leases::LeasePool;
use rustix::process::Signal;

use crate::processes::{Process, check, command, small, status, submit_tree, this, tree};
use crate::server::{Started, until};

#[test]
fn workers_are_killed_and_others_join_late() {
    let Some(server) = Started::new() else { return };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let (first, second) = (Process::worker(&server), Process::worker(&server));
    first.until_it_works(&redis, &job.id);
    second.until_it_works(&redis, &job.id);
    first.signal(Signal::KILL);
    drop(first);
    let late = Process::worker(&server);
    late.until_it_works(&redis, &job.id);
    second.signal(Signal::KILL);
    let ended = check(&redis, &job.id, size);
    assert_eq!(ended.status.shares.len(), 3, "{:?}", ended.status);
}

#[test]
fn a_worker_is_stopped_for_longer_than_its_lease_and_goes_on() {
    let Some(server) = Started::new() else { return };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let frozen = Process::worker(&server);
    frozen.until_it_works(&redis, &job.id);
    // Stopped between two leases it would have nothing to lose.
    until("it is stopped with a lease", || {
        frozen.signal(Signal::STOP);
        // Requests that it has sent so far arrive.
        std::thread::sleep(Duration::from_millis(20));
        let holds = frozen.holds(&status(&redis, &job.id));
        if !holds {
            frozen.signal(Signal::CONT);
        }
        holds
    });
    let other = Process::worker(&server);
    // Its leases are taken from it, while it believes that it holds them.
    until("its lease runs out", || {
        !frozen.holds(&status(&redis, &job.id))
    });
    frozen.signal(Signal::CONT);
    check(&redis, &job.id, size);
    let said = frozen.stop();
    assert!(said.count("lost") >= 1, "{}{}", said.out, said.err);
    assert!(said.err.contains("is lost"), "{}", said.err);
    other.stop();
}

#[test]
fn a_worker_that_is_stopped_for_a_moment_does_not_take_the_server_for_gone() {
    let Some(server) = Started::new() else { return };
    let redis = server.connect();
    let worker = Process::worker(&server);
    until("it is there", || {
        redis.workers().is_ok_and(|workers| workers.len() == 1)
    });
    // The blocking call to the server is interrupted each time.
    for _ in 0..5 {
        worker.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(20));
        worker.signal(Signal::CONT);
        std::thread::sleep(Duration::from_millis(100));
    }
    let said = worker.stop();
    assert!(!said.err.contains("cannot be used"), "{}", said.err);
}

#[test]
fn a_worker_that_is_told_to_stop_hands_over() {
    let Some(server) = Started::new() else { return };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let first = Process::worker(&server);
    first.until_it_works(&redis, &job.id);
    let said = first.stop();
    assert_eq!(said.count("lost"), 0, "{}", said.err);
    let handed = status(&redis, &job.id);
    assert_eq!(handed.in_flight, 0, "{handed:?}");
    let second = Process::worker(&server);
    let ended = check(&redis, &job.id, size);
    let done = said.count("completed") + second.stop().count("completed");
    assert_eq!(done, ended.status.done);
}

#[test]
fn the_server_is_killed_and_restarted() {
    let Some(mut server) = Started::new() else {
        return;
    };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let workers = [Process::worker(&server), Process::worker(&server)];
    for _ in 0..2 {
        workers[0].until_it_works(&redis, &job.id);
        server.kill();
        std::thread::sleep(Duration::from_millis(100));
        server.restart();
        until("it is back", || redis.status(&job.id).is_ok());
    }
    let ended = check(&redis, &job.id, size);
    let mut done = 0;
    for worker in workers {
        let said = worker.stop();
        assert!(said.err.contains("the server is back"), "{}", said.err);
        done += said.count("completed");
    }
    // A completion whose reply was lost is counted by the server, but not by the worker.
    assert!(done <= ended.status.done, "{done} and {:?}", ended.status);
}

/// Leases expire by a time that does not go back with the server's clock.
#[test]
fn the_servers_clock_steps_back_and_ahead_and_leases_run_out_all_the_same() {
    let Some(mut server) = Started::with_clock() else {
        return;
    };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let hour = 3_600_000;
    for step in [-hour, 2 * hour, -3 * hour] {
        let worker = Process::worker(&server);
        worker.until_it_works(&redis, &job.id);
        server.step_clock(step);
        worker.signal(Signal::KILL);
    }
    let last = Process::worker(&server);
    check(&redis, &job.id, size);
    last.stop();
}

#[test]
fn a_job_that_is_submitted_twice_is_done_once() {
    let Some(server) = Started::new() else { return };
    let (_, size) = small();
    let hand_in = || {
        let mut program = std::process::Command::new(this());
        command(&mut program, "twice", &server.url());
        Process::spawn(&mut program)
    };
    let submitters = [hand_in(), hand_in(), hand_in()];
    let worker = Process::worker(&server);
    let mut new = 0;
    let mut done = Vec::new();
    for submitter in submitters.into_iter().chain([hand_in()]) {
        let said = submitter.end();
        assert_eq!(said.count("nodes"), size.nodes, "{}{}", said.out, said.err);
        assert_eq!(said.count("leaves"), size.leaves);
        new += u32::from(said.out.contains("submitted=New"));
        done.push(said.count("done"));
    }
    assert_eq!(new, 1);
    assert!(done.iter().all(|&number| number == done[0]), "{done:?}");
    assert_eq!(worker.stop().count("completed"), done[0]);
}

#[test]
fn two_builds_at_once_do_not_mix() {
    let Some(server) = Started::new() else { return };
    let (_, size) = small();
    // Another build: the same executable with one more byte, which is never read.
    let other = server.folder.join("other-build");
    let mut bytes = std::fs::read(this()).expect("it can be read");
    bytes.push(0);
    std::fs::write(&other, bytes).expect("there is room");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&other, executable).expect("it is ours");
    let start = |path: &std::path::Path, role: &str| {
        let mut program = std::process::Command::new(path);
        command(&mut program, role, &server.url());
        Process::spawn(&mut program)
    };
    let here = this();
    let submitters = [start(&here, "here"), start(&other, "there")];
    let redis = server.connect();
    until("both are submitted", || {
        redis.running().is_ok_and(|jobs| jobs.len() == 2)
    });
    let mut submitters = submitters.into_iter();
    for (path, name, stranger) in [(&here, "here", Some("there")), (&other, "there", None)] {
        let worker = start(path, "worker");
        let said = submitters.next().expect("there are two").end();
        assert_eq!(said.count("nodes"), size.nodes, "{}{}", said.out, said.err);
        let done = said.count("done");
        if let Some(stranger) = stranger {
            let untouched = status(&redis, &stranger.parse().expect("it is plain"));
            assert_eq!((untouched.done, untouched.in_flight), (0, 0), "{name}");
        }
        let said = worker.stop();
        assert_eq!(said.count("completed"), done);
        if let Some(stranger) = stranger {
            let notice = format!("the job {stranger} is of build");
            assert!(said.err.contains(&notice), "{}", said.err);
        }
    }
}
