//! The server's disk becomes full, and has room again.

use std::time::Duration;

use locksley_cluster::leases::{LeaseError, LeasePool, Refusal, follow, submit};
use locksley_cluster::programs::uts::Search;

use crate::processes::{Process, check, job, small, status, submit_tree, tree};
use crate::server::{Started, until};

/// Starts a server that continues without its disk, and refuses changes.
fn lenient() -> Option<Started> {
    Started::with(&["--appendfsync", "everysec"], "127.0.0.1")
}

#[test]
fn a_full_disk_is_told_to_the_submitter_and_costs_no_task() {
    let Some(server) = lenient() else { return };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let worker = Process::worker(&server);
    worker.until_it_works(&redis, &job.id);
    server.fill_disk(true);
    let (mut told, mut looks) = (0, 0);
    let ended = follow(&redis, &job.id, Duration::from_secs(30), |progress| {
        looks += 1;
        assert!(looks < 240, "nothing is told");
        let refusal = progress.expect("it answers").status.refusal;
        if refusal == Some(Refusal::Disk) {
            told += 1;
        }
        // Five looks take longer than a lease.
        if told == 5 {
            server.fill_disk(false);
        }
    });
    let ended = ended.expect("it ends");
    assert!(told >= 5, "it was told {told} times");
    assert_eq!(ended.status.refusal, None);
    check(&redis, &job.id, size);
    let said = worker.stop();
    assert!(said.err.contains("MISCONF"), "{}", said.err);
}

#[test]
fn what_is_submitted_while_the_disk_is_full_is_refused_as_a_whole() {
    let Some(server) = lenient() else { return };
    let (tree, size) = small();
    let redis = server.connect();
    let job = job("tree", "uts");
    server.fill_disk(true);
    until("it notices", || {
        server.ask(&["SET", "other", "1"]).contains("MISCONF")
    });
    let refused = submit(&redis, &job, [Search::whole(tree)]);
    let told = |error: &LeaseError| error.passes() && error.to_string().contains("MISCONF");
    assert!(refused.as_ref().is_err_and(told), "{refused:?}");
    assert_eq!(redis.status(&job.id), Ok(None));
    server.fill_disk(false);
    until("there is room", || {
        submit(&redis, &job, [Search::whole(tree)]).is_ok()
    });
    let worker = Process::worker(&server);
    check(&redis, &job.id, size);
    worker.stop();
}

/// A server that writes before each reply exits when it cannot.
#[test]
fn a_server_that_ends_for_want_of_a_disk_comes_back_with_all_that_it_had_acknowledged() {
    let Some(mut server) = Started::new() else {
        return;
    };
    let (tree, size) = tree();
    let redis = server.connect();
    let job = submit_tree(&redis, tree);
    let worker = Process::worker(&server);
    worker.until_it_works(&redis, &job.id);
    let before = status(&redis, &job.id).done;
    server.fill_disk(true);
    until("it ends", || {
        matches!(redis.status(&job.id), Err(LeaseError::Away(_)))
    });
    server.kill();
    server.restart();
    until("it is back", || redis.status(&job.id).is_ok());
    assert!(status(&redis, &job.id).done >= before);
    check(&redis, &job.id, size);
    worker.stop();
}
