//! Tests against a real Redis server, which they start on a port of its own.

#[path = "../../../tests/redis/prerequisites.rs"]
mod prerequisites;

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;

use super::*;
use crate::leases::battery::{World, battery};
use crate::leases::{Refusal, Terms, follow};
use prerequisites::{free_port, program, there_is};

/// A server with a folder of its own and without a file: its data is gone with the tests.
struct Started {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl Started {
    /// Starts a server. Returns `None` if there is none.
    fn new(options: &[&str]) -> Option<Started> {
        let program = program();
        if !there_is(&program) {
            return None;
        }
        let port = free_port();
        let folder =
            std::env::temp_dir().join(format!("locksley-redis-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room for a folder");
        let process = Command::new(program)
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
            ])
            .arg(&folder)
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let server = Started {
            process,
            folder,
            port,
        };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            sleep(Duration::from_millis(10));
        }
        Some(server)
    }

    fn server(&self) -> Server {
        Server::find(Some(&format!("redis://127.0.0.1:{}", self.port))).expect("it is an address")
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

struct Real {
    redis: Redis,
    _server: Started,
}

impl World for Real {
    fn pool(&self) -> &dyn LeasePool {
        &self.redis
    }

    fn advance(&self, time: Duration) {
        sleep(time);
    }

    /// The test cannot set the machine's clock. Instead it moves the noted time and all deadlines
    /// ahead.
    fn set_back(&self, time: Duration) {
        let later = format!(
            "local at = redis.call('TIME')[1] * 1000 + {0} \
             for _, key in ipairs(redis.call('KEYS', 'locksley:*:leases')) do \
               for _, entry in ipairs(redis.call('ZRANGE', key, 0, -1)) do \
                 redis.call('ZINCRBY', key, {0}, entry) \
               end \
             end \
             for _, key in ipairs({{ 'locksley:due', 'locksley:workers' }}) do \
               for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do \
                 redis.call('ZINCRBY', key, {0}, member) \
               end \
             end \
             redis.call('HSET', 'locksley:clock', 'seen', redis.call('HGET', 'locksley:clock', 'seen') + {0}) \
             return at",
            time.as_millis()
        );
        raw(&self.redis, &["EVAL", &later, "0"]);
    }
}

fn world() -> Option<Real> {
    let server = Started::new(&[])?;
    let redis = Redis::connect(server.server()).expect("it is there");
    Some(Real {
        redis,
        _server: server,
    })
}

mod the_battery {
    use super::*;

    battery!(world().as_ref());
}

fn order(build: u64, tasks: usize) -> Order {
    let job = JobInfo {
        id: "job".parse().expect("it is plain"),
        build: Build(build),
        program: "p".to_owned(),
        terms: Terms::default(),
    };
    Order::whole(job, vec![b"task".to_vec(); tasks])
}

fn worker(build: u64) -> WorkerId {
    let (name, build) = ("w".to_owned(), Build(build));
    WorkerId { name, build }
}

fn raw(redis: &Redis, words: &[&str]) -> Value {
    let mut ask = redis::cmd(words[0]);
    for word in &words[1..] {
        ask.arg(word);
    }
    redis.connections.query(&ask).expect("it is a command")
}

#[test]
fn a_job_whose_tasks_the_server_lost_does_not_run_for_ever() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    let (mut order, worker) = (order(1, 2), worker(1));
    order.job.terms.lease = Duration::from_millis(50);
    let id = &order.job.id;
    redis.submit(&order).expect("it is new");
    let lease = redis.lease(&worker, 1, false, Duration::ZERO);
    assert_eq!(lease.expect("it waits").len(), 1);
    raw(&redis, &["DEL", "locksley:{job}:tasks"]);
    let followed = follow(&redis, id, Duration::ZERO, |_| {});
    assert_eq!(followed.err(), Some(LeaseError::Vanished(id.clone())));
    sleep(Duration::from_millis(60));
    let reclaimed = redis.reclaim().expect("it is there");
    assert_eq!((reclaimed.returned, reclaimed.aside), (0, 0));
    assert_eq!(
        redis.running(),
        Ok(vec![]),
        "no worker looks for it any more"
    );
    assert_eq!(redis.submit(&order), Ok(Submitted::New));
    let lease = redis.lease(&worker, 1, false, Duration::ZERO);
    assert_eq!(lease.expect("it waits").len(), 1);
}

#[test]
fn a_name_that_goes_to_another_build_takes_its_tasks_along() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    redis.submit(&order(1, 1)).expect("it is new");
    let before = redis.lease(&worker(1), 1, false, Duration::ZERO);
    assert_eq!(before.expect("it is there").len(), 1);
    let other = Redis::connect(_server.server()).expect("it is there");
    let id = order(1, 1).job.id;
    other.cancel(&id, true).expect("it is there");
    other.submit(&order(2, 1)).expect("it is new");
    assert_eq!(
        redis.lease(&worker(1), 1, false, Duration::ZERO),
        Ok(vec![])
    );
    let leases = other.lease(&worker(2), 1, false, Duration::ZERO);
    let leases = leases.expect("it is there");
    assert_eq!((leases.len(), leases[0].attempt), (1, 1));
}

/// However soon one follows the other, and whatever the clock does.
#[test]
fn two_submissions_under_one_name_are_told_apart() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    let order = order(1, 1);
    let mut before = 0;
    for _ in 0..50 {
        redis.submit(&order).expect("its name is free");
        let status = redis.status(&order.job.id).expect("it is there");
        let submitted = status.expect("it is known").submitted;
        assert!(submitted > before, "{submitted} after {before}");
        before = submitted;
        redis.cancel(&order.job.id, true).expect("it is there");
    }
}

#[test]
fn of_what_is_set_aside_all_is_counted_and_not_all_is_kept() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    let order = order(1, 1010);
    redis.submit(&order).expect("it is new");
    let why = GiveUp::Hopeless("\u{1b}[2Jno".to_owned());
    let leases = redis.lease(&worker(1), 1010, false, Duration::ZERO);
    for lease in leases.expect("they wait") {
        assert_eq!(redis.give_up(&lease.ticket, &why), Ok(true));
    }
    let status = redis.status(&order.job.id).expect("it is there");
    let status = status.expect("it is known");
    assert_eq!((status.state, status.aside), (State::Done, 1010));
    assert_eq!(status.reasons[0].reason, "\\u{1b}[2Jno");
    let kept = || values::number(raw(&redis, &["XLEN", "locksley:{job}:aside"]));
    assert_eq!(kept(), 1000);
    // Tasks that fail again are stored again, however many others were set aside.
    assert_eq!(redis.retry_aside(&order.job.id, &[]), Ok(Some(1000)));
    let leases = redis.lease(&worker(1), 1010, false, Duration::ZERO);
    for lease in leases.expect("they wait") {
        assert_eq!(redis.give_up(&lease.ticket, &why), Ok(true));
    }
    let status = redis.status(&order.job.id).expect("it is there");
    assert_eq!(status.expect("it is known").aside, 1010);
    assert_eq!(kept(), 1000);
}

/// The replica emulates a server that is restarted without its last second.
#[test]
fn a_server_that_lost_its_last_changes_delivers_under_other_numbers() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    redis.submit(&order(1, 2)).expect("it is new");
    let second = Started::new(&[]).expect("the first one was there");
    let replica = Redis::connect(second.server()).expect("it is there");
    let port = _server.port.to_string();
    raw(&replica, &["REPLICAOF", "127.0.0.1", &port]);
    let mut seen = Value::Nil;
    while seen == Value::Nil {
        sleep(Duration::from_millis(10));
        // While it loads the data it answers nothing else.
        let mut ask = redis::cmd("HGET");
        ask.arg("locksley:{job}:job").arg("submitted");
        seen = replica.connections.query(&ask).unwrap_or(Value::Nil);
    }
    raw(&replica, &["REPLICAOF", "NO", "ONE"]);
    let lease = |redis: &Redis| {
        let leases = redis.lease(&worker(1), 2, false, Duration::ZERO);
        leases.expect("they wait")
    };
    let (before, after) = (lease(&redis), lease(&replica));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.ticket.entry, after.ticket.entry);
        assert_ne!(before.ticket, after.ticket, "it is the same worker's");
        let kept = Completion {
            kept: Some(b"rest".to_vec()),
            ..Completion::default()
        };
        let late = replica.complete(&before.ticket, &kept);
        assert_eq!(late, Ok(Completed::Fenced));
        let renewed = replica.renew(std::slice::from_ref(&after.ticket));
        assert_eq!(renewed, Ok(vec![true]));
    }
    assert_eq!((before.len(), after.len()), (2, 2));
}

/// An idle worker runs no script, and still finds a task of which it was not told.
#[test]
fn a_wake_that_is_lost_is_made_up_for() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    let soon = Duration::from_millis(10);
    let lease = || redis.lease(&worker(1), 1, false, soon).map(|all| all.len());
    let scripts = || {
        let about = values::text(raw(&redis, &["INFO", "commandstats"]));
        let line = about.lines().find(|line| line.contains("evalsha"));
        let calls = line.and_then(|line| line.split(['=', ',']).nth(1));
        calls.and_then(|calls| calls.parse::<u64>().ok())
    };
    assert_eq!(lease(), Ok(0));
    let before = scripts();
    assert_eq!((lease(), lease()), (Ok(0), Ok(0)));
    assert_eq!(scripts(), before);
    redis.submit(&order(1, 1)).expect("it is new");
    raw(&redis, &["DEL", &format!("locksley:wake:{}", Build(1))]);
    assert_eq!(lease(), Ok(1));
    assert!((0..8).all(|_| !redis.skips_poll()));
    let (slots, workers) = (1, CROWD);
    redis.note_size(ClusterSize { slots, workers });
    let looks = (0..8).filter(|_| !redis.skips_poll());
    assert_eq!(looks.count(), 2, "in a crowd");
}

#[test]
fn a_group_may_have_thousands_of_tasks() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    redis.submit(&order(1, 1)).expect("it is new");
    let lease = || {
        let leases = redis.lease(&worker(1), 1, false, Duration::ZERO);
        leases.expect("it is there").remove(0)
    };
    let slots = 2500;
    let filled = (0..slots).map(|index| (index, index.to_string().into_bytes()));
    let deferred = crate::continuation::DeferredTask {
        id: crate::continuation::DeferredId { home: 1, number: 1 },
        front: b"front".to_vec(),
        head: b"head".to_vec(),
        slots,
        filled: filled.collect(),
        urgent: false,
    };
    let inputs = deferred.filled.iter().map(|(_, input)| input.as_slice());
    let assembled = deferred.assemble(inputs);
    let completion = Completion {
        deferred: vec![deferred],
        tasks: 1,
        ..Completion::default()
    };
    let completed = redis.complete(&lease().ticket, &completion);
    let (outstanding, results) = (1, 0);
    let counted = Completed::Counted {
        outstanding,
        results,
    };
    assert_eq!(completed, Ok(counted));
    assert!(lease().task == Some(assembled));
    let left = raw(&redis, &["HLEN", "locksley:{job}:inputs"]);
    assert_eq!(values::number(left), 0);
}

#[test]
fn a_worker_may_hold_thousands_of_leases() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    let mut order = order(1, 9000);
    order.job.terms.limits.children = 9000;
    redis.submit(&order).expect("it is new");
    let leases = redis.lease(&worker(1), 9000, false, Duration::ZERO);
    let leases = leases.expect("they wait").into_iter();
    let mut tickets: Vec<Ticket> = leases.map(|lease| lease.ticket).collect();
    tickets[4321].delivery += 1;
    let present = WorkerInfo {
        worker: worker(1),
        slots: 9000,
    };
    let renewed = redis.heartbeat_and_renew(&present, Duration::from_secs(60), &tickets);
    let (cluster_size, good) = renewed.expect("it is there");
    assert_eq!((cluster_size.workers, good.len()), (1, 9000));
    let lost: Vec<usize> = (0..9000).filter(|place| !good[*place]).collect();
    assert_eq!(lost, [4321]);
}

#[test]
fn names_from_the_server_move_no_cursor() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    let order = order(1, 1);
    redis.submit(&order).expect("it is new");
    raw(&redis, &["ZADD", "locksley:{job}:shares", "1", "\u{1b}c"]);
    raw(&redis, &["HSET", "locksley:{job}:job", "program", "\u{7}p"]);
    let status = redis.status(&order.job.id).expect("it is there");
    let status = status.expect("it is known");
    assert_eq!(status.shares[0].worker, "\\u{1b}c");
    assert_eq!(status.job.program, "\\u{7}p");
}

#[test]
fn a_server_without_memory_or_room_is_away_and_changes_nothing() {
    let Some(server) = Started::new(&["--maxmemory", "100kb"]) else {
        return;
    };
    let redis = Redis::connect(server.server()).expect("it is there");
    let full = redis.submit(&order(1, 1)).expect_err("there is no memory");
    assert!(full.passes(), "{full:?}");
    assert_eq!(redis.status(&order(1, 1).job.id), Ok(None));
    assert_eq!(redis.running(), Ok(vec![]));

    let server = Started::new(&["--maxclients", "1"]).expect("it was there");
    // The connection that checked whether the server has started may still be open.
    let _first = loop {
        match Redis::connect(server.server()) {
            Ok(first) => break first,
            Err(crowded) => assert!(crowded.passes(), "{crowded:?}"),
        }
    };
    let crowded = Redis::connect(server.server()).expect_err("it is full");
    assert!(crowded.passes(), "{crowded:?}");
}

#[test]
fn a_full_server_lets_tasks_end_that_make_room() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    let order = order(1, 2);
    redis.submit(&order).expect("it is new");
    let leases = redis.lease(&worker(1), 2, false, Duration::ZERO);
    let leases = leases.expect("they wait");
    raw(&redis, &["CONFIG", "SET", "maxmemory", "100kb"]);
    let child = || crate::leases::Child::new(b"c".to_vec());
    let mut completion = Completion {
        results: vec![b"r".to_vec()],
        children: vec![child()],
        tasks: 1,
        ..Completion::default()
    };
    let full = redis.complete(&leases[0].ticket, &completion);
    assert!(full.is_err_and(|full| full.passes()));
    assert_eq!(redis.renew(&[leases[0].ticket.clone()]), Ok(vec![true]));
    let status = redis.status(&order.job.id).expect("it is there");
    let refusal = status.expect("it is known").refusal;
    assert_eq!(refusal, Some(Refusal::Memory), "a submitter is told so");
    completion.children.clear();
    let (outstanding, results) = (1, 1);
    let counted = Completed::Counted {
        outstanding,
        results,
    };
    let completed = redis.complete(&leases[1].ticket, &completion);
    assert_eq!(completed, Ok(counted));
    raw(&redis, &["CONFIG", "SET", "maxmemory", "0"]);
    let status = redis.status(&order.job.id).expect("it is there");
    assert_eq!(status.expect("it is known").refusal, None);
    completion.children.push(child());
    assert_ne!(
        redis.complete(&leases[0].ticket, &completion),
        Ok(Completed::Fenced)
    );
    assert_eq!(redis.results(&order.job.id, 99).map(|all| all.len()), Ok(2));
}

#[test]
fn on_a_full_server_workers_are_alive_and_leases_run_out() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    let mut order = order(1, 1);
    order.job.terms.lease = Duration::from_millis(50);
    redis.submit(&order).expect("it is new");
    raw(&redis, &["CONFIG", "SET", "maxmemory", "100kb"]);
    let present = WorkerInfo {
        worker: worker(1),
        slots: 2,
    };
    let cluster_size = redis.heartbeat(&present, Duration::from_secs(60));
    let (slots, workers) = (2, 1);
    assert_eq!(cluster_size, Ok(ClusterSize { slots, workers }));
    let lease = redis.lease(&worker(1), 1, false, Duration::ZERO);
    assert_eq!(lease.expect("it waits").len(), 1);
    sleep(Duration::from_millis(60));
    let reclaimed = redis.reclaim().expect("it is there");
    assert_eq!(reclaimed.returned, 1);
}

#[test]
fn the_newer_form_of_answers_is_not_asked_for() {
    let Some(Real { redis, _server }) = world() else {
        return;
    };
    redis.submit(&order(1, 1)).expect("it is new");
    let url = format!("redis://127.0.0.1:{}/?protocol=resp3", _server.port);
    let newer = Redis::connect(Server::find(Some(&url)).expect("it is an address"));
    let leases = newer
        .expect("it is there")
        .lease(&worker(1), 1, false, Duration::ZERO);
    assert_eq!(leases.expect("it waits").len(), 1);
}
