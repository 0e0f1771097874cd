//! The answers that a client gets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;

use super::*;
use crate::Build;
use crate::leases::{
    Catalogue, Child, Completion, JobInfo, Memory, Order, Setup, Stop, Terms, WorkerId, serve,
};

const BUILD: Build = Build(5);

fn get(server: &StatusServer, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).expect("it listens");
    let rest = "HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
    write!(stream, "{request} {rest}").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

fn submit(memory: &Memory, name: &str, build: Build, tasks: usize) {
    let job = JobInfo {
        id: name.parse().expect("it is plain"),
        build,
        program: "p".to_owned(),
        terms: Terms::default(),
    };
    let order = Order::whole(job, vec![b"task".to_vec(); tasks]);
    memory.submit(&order).expect("it is new");
}

#[test]
fn queues_are_counted_by_what_can_be_leased_now() {
    let memory = Arc::new(Memory::default());
    submit(&memory, "nightly", BUILD, 5);
    let worker = WorkerId {
        name: "w".to_owned(),
        build: BUILD,
    };
    let leases = memory.lease(&worker, 2, false, Duration::ZERO);
    let leases = leases.expect("they wait");
    let completion = Completion {
        children: vec![Child {
            delay: Duration::from_secs(3600),
            ..Child::new(b"later".to_vec())
        }],
        tasks: 1,
        ..Completion::default()
    };
    let done = memory.complete(&leases[0].ticket, &completion);
    done.expect("it is held");
    let server = StatusServer::start("127.0.0.1:0", memory, Monitor::default());
    let server = server.expect("there is a port");
    let metrics = get(&server, "GET /metrics");
    for line in [
        "locksley_queue_depth 3",
        "locksley_server_up 1",
        "locksley_jobs_running 1",
        "locksley_job_tasks{job=\"nightly\",program=\"p\",state=\"ready\"} 3",
        "locksley_job_tasks{job=\"nightly\",program=\"p\",state=\"delayed\"} 1",
        "locksley_job_tasks{job=\"nightly\",program=\"p\",state=\"in_flight\"} 1",
        "locksley_job_leases_completed{job=\"nightly\",program=\"p\"} 1",
        "locksley_job_tasks_set_aside{job=\"nightly\",program=\"p\"} 0",
    ] {
        let found = metrics.lines().any(|found| found == line);
        assert!(found, "{line} is missing:\n{metrics}");
    }
    assert!(!metrics.contains("locksley_worker_"), "there is none");
    let health = get(&server, "GET /healthz");
    assert!(health.starts_with("HTTP/1.1 503"), "{health}");
}

#[test]
fn a_worker_is_shown_while_it_works_with_the_jobs_of_its_build() {
    let memory = Arc::new(Memory::default());
    submit(&memory, "foreign", Build(6), 1);
    let pool = locksley::Pool::builder().workers(1).build();
    let worker = WorkerId {
        name: "w".to_owned(),
        build: BUILD,
    };
    let setup = Setup::new(worker, pool.expect("it is small"), Catalogue::default());
    let (monitor, stop) = (setup.monitor.clone(), Stop::default());
    let server = StatusServer::start("127.0.0.1:0", memory.clone(), monitor.clone());
    let server = server.expect("there is a port");
    thread::scope(|scope| {
        scope.spawn(|| serve(memory.clone(), setup, &stop, |_| {}));
        while monitor.state().is_none() {
            thread::yield_now();
        }
        let health = get(&server, "GET /healthz");
        let metrics = get(&server, "GET /metrics");
        let document = get(&server, "GET /status.json?now");
        stop.stop();
        assert!(health.starts_with("HTTP/1.1 200"), "{health}");
        for line in [
            "locksley_queue_depth 0",
            "locksley_jobs_running 1",
            "locksley_worker_threads{state=\"all\"} 1",
            "locksley_worker_leases{state=\"most\"} 1",
            "locksley_worker_leases_total{outcome=\"completed\"} 0",
        ] {
            let found = metrics.lines().any(|found| found == line);
            assert!(found, "{line} is missing:\n{metrics}");
        }
        assert!(document.contains("\"name\":\"w\""), "{document}");
        assert!(document.contains("\"jobs\":[]"), "{document}");
        assert!(document.contains("Content-Security-Policy"), "{document}");
    });
}

/// While the server of tasks does not answer, one thread waits for it, and the others go on.
#[test]
fn a_query_that_hangs_occupies_one_thread() {
    let (cache, begun, end) = (Cache::default(), Barrier::new(2), Barrier::new(2));
    let of_jobs = |running| Cluster {
        running,
        ..Cluster::default()
    };
    thread::scope(|scope| {
        let hanging = scope.spawn(|| {
            cache.get(|| {
                begun.wait();
                end.wait();
                of_jobs(1)
            })
        });
        begun.wait();
        let none = cache.get(|| unreachable!("it is being queried"));
        let other = cache.get(|| unreachable!("it is being queried"));
        end.wait();
        assert!(none.error.is_some() && other.error.is_some());
        assert_eq!(hanging.join().expect("no panic").running, 1);
    });
    let last = cache.get(|| unreachable!("the answer is fresh"));
    assert_eq!((last.running, last.error), (1, None));
}

/// While the next query takes long, the last answer is good enough.
#[test]
fn the_last_answer_is_used_while_the_next_one_is_awaited() {
    let cache = Cache::default();
    let (past, answer) = (Instant::now() - 2 * FRESH, Cluster::default());
    cache.state().last = Some((past, answer));
    cache.state().querying = true;
    assert!(
        cache
            .get(|| unreachable!("it is being queried"))
            .error
            .is_none()
    );
    cache.state().last = Some((past - STALE, Cluster::default()));
    assert!(
        cache
            .get(|| unreachable!("it is being queried"))
            .error
            .is_some()
    );
}

#[test]
fn the_guide_lists_all_metrics() {
    let guide = include_str!("../../../DEPLOY.md");
    let state = crate::leases::WorkerState {
        worker: WorkerId {
            name: "w".to_owned(),
            build: BUILD,
        },
        counts: Default::default(),
        threads: 1,
        slots: 1,
        held: 0,
        stuck: 0,
        server_up: true,
        stopping: false,
    };
    let memory = Memory::default();
    submit(&memory, "nightly", BUILD, 1);
    let cluster = Cluster::query(&memory, &Monitor::default()).expect("it is in memory");
    let text = metrics::text(Some(state), &cluster);
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    assert!(names.len() >= 13, "{text}");
    for name in names {
        assert!(guide.contains(name), "{name}");
    }
}

#[test]
fn what_is_not_there_and_what_would_change_something_is_refused() {
    let memory = Arc::new(Memory::default());
    let server = StatusServer::start("127.0.0.1:0", memory, Monitor::default());
    let server = server.expect("there is a port");
    for (request, status) in [
        ("GET /", "200"),
        ("GET /nothing", "404"),
        ("POST /", "405"),
        ("DELETE /metrics", "405"),
    ] {
        let answer = get(&server, request);
        let expected = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&expected), "{request}: {answer}");
    }
}
