//! Ranks that are threads, on good and on bad networks: exact counts, or one error that names the
//! cause.

use std::time::Duration;

use locksley_cluster::programs::uts::{self, Search};
use locksley_cluster::ranks::{self, Network, Options, Outcome, RankError};
use locksley_cluster::{Program, Reduce, Sum, Task, Tasks};
use locksley_policy::rank::{Protocol, ProtocolError};
use locksley_trace::{Arrow, Trace, TraceEvent};
use locksley_workload::{Size, Uts, UtsTree};
use serde::{Deserialize, Serialize};

/// Some 50,000 nodes, unevenly spread.
fn tree() -> UtsTree {
    UtsTree::binomial(2000.0, 0.24, 4, 19)
}

fn size() -> Size {
    Uts::new(tree()).size()
}

fn options() -> Options {
    Options {
        workers: 1,
        ..Options::default()
    }
}

/// Options with little patience, so that tests of failures don't take long.
fn impatient() -> Options {
    let protocol = Protocol {
        patience: 800_000_000,
        beat: 100_000_000,
        ..Protocol::default()
    };
    Options {
        protocol,
        ..options()
    }
}

fn search(
    options: &Options,
    network: Network,
    hosts: &[&str],
) -> Result<Outcome<uts::Counted>, RankError> {
    let peers = network.connect(hosts);
    ranks::run_threads(&uts::program(), [Search::whole(tree())], options, peers)
}

/// Asserts that nothing is lost, nothing is done twice, and the counts agree.
fn check(outcome: &Outcome<uts::Counted>) {
    assert_eq!(outcome.result.0, size());
    let counts = outcome.counts();
    assert_eq!(counts.given, counts.taken);
    let sum = |part: fn(&ranks::Report) -> u64| outcome.ranks.iter().map(part).sum::<u64>();
    assert_eq!(
        sum(|rank| rank.usage.added),
        sum(|rank| rank.usage.tasks + rank.usage.withdrawn)
    );
    assert_eq!(sum(|rank| rank.usage.withdrawn), counts.given);
}

#[test]
fn counts_are_exact_on_any_number_of_ranks() {
    for ranks in 1..=5 {
        let outcome = search(&options(), Network::default(), &vec!["here"; ranks]).unwrap();
        check(&outcome);
        assert_eq!(outcome.ranks.len(), ranks);
        let counts = outcome.counts();
        assert_eq!(counts.successes > 0, ranks > 1, "{counts:?}");
    }
}

#[test]
fn counts_are_exact_with_every_protocol_and_several_workers() {
    for protocol in [
        "uniform",
        "nearest:theta_r=0.75",
        "lifelines",
        "uniform:floor=0",
    ] {
        let options = Options {
            workers: 2,
            protocol: protocol.parse().unwrap(),
            ..options()
        };
        let network = Network {
            delay: Duration::from_millis(2),
            seed: 7,
            ..Network::default()
        };
        let outcome = search(&options, network, &["oak", "oak", "elm", "elm"]).unwrap();
        check(&outcome);
        assert_eq!(outcome.ranks[2].host, "elm");
        assert!(outcome.ranks.iter().all(|rank| rank.workers == 2));
    }
}

/// If rank 0 sent a list of all names to each of the others, that would be 23 times 24 times 10,000
/// bytes.
#[test]
fn names_of_hosts_go_up_a_tree_and_not_back_to_everybody() {
    let names: Vec<String> = (0..24).map(|rank| format!("{rank:->10000}")).collect();
    let hosts: Vec<&str> = names.iter().map(String::as_str).collect();
    let outcome = search(&options(), Network::default(), &hosts).unwrap();
    check(&outcome);
    for (rank, report) in outcome.ranks.iter().enumerate() {
        assert_eq!((report.rank, &report.host), (rank, &names[rank]));
    }
    let all: u64 = outcome
        .ranks
        .iter()
        .map(|rank| rank.traffic.bytes_sent)
        .sum();
    // Each name goes over one to three links, and so do its own greeting and its sum; work is
    // small.
    assert!(all < 2 * 3 * 24 * 10_000, "{all} bytes");
}

#[test]
fn a_dead_rank_ends_the_job_and_is_named() {
    for (rank, after) in [(1, 0), (1, 3), (2, 10)] {
        let network = Network {
            death: Some((rank, after)),
            ..Network::default()
        };
        let error = search(&impatient(), network, &["a", "b", "c"]).unwrap_err();
        let RankError::Protocol {
            error: ProtocolError::Silent { rank: silent, .. },
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(silent, rank);
    }
}

#[test]
fn a_network_that_loses_messages_gives_an_error_and_no_wrong_result() {
    for seed in 0..3 {
        let network = Network {
            loss: 0.2,
            seed,
            ..Network::default()
        };
        match search(&impatient(), network, &["a", "b", "c"]) {
            Ok(outcome) => assert_eq!(outcome.result.0, size()),
            Err(RankError::Protocol { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A task that spawns others, of which one panics.
#[derive(Serialize, Deserialize)]
struct Fragile(u32);

impl Task for Fragile {
    const KIND: &'static str = "fragile";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        if self.0 == 0 {
            for number in 1..=400 {
                tasks.spawn(Fragile(number));
            }
        }
        std::thread::sleep(Duration::from_micros(200));
        assert!(self.0 != 300, "number {} broke", self.0);
        Sum(1)
    }
}

#[test]
fn a_task_that_panics_ends_every_rank_and_is_named() {
    let program = Program::new("fragile").with::<Fragile>();
    let peers = ranks::threads(3);
    let error = ranks::run_threads(&program, [Fragile(0)], &options(), peers).unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, RankError::Panicked { .. }), "{said}");
    assert!(said.contains("rank") && said.contains("fragile"), "{said}");
    assert!(said.contains("number 300 broke"), "{said}");
}

#[test]
fn a_pool_that_cannot_be_built_is_an_error_of_all() {
    let options = Options {
        workers: usize::MAX,
        ..options()
    };
    let error = search(&options, Network::default(), &["a", "b"]).unwrap_err();
    assert!(matches!(error, RankError::Pool(_)), "{error}");
}

#[test]
fn a_trace_has_all_ranks_and_an_arrow_for_each_steal() {
    let options = Options {
        trace: Some(1 << 14),
        ..options()
    };
    let outcome = search(&options, Network::default(), &["oak", "elm", "oak"]).unwrap();
    check(&outcome);
    let trace = outcome.trace.as_ref().unwrap();
    assert_eq!(Trace::from_json(&trace.to_json()).unwrap(), *trace);
    for rank in 0..3 {
        assert!(trace.events.iter().any(|event| event.pid() == rank));
    }
    assert!(trace.to_json().contains("rank 1 on elm"));
    let (mut left, mut arrived) = (Vec::new(), Vec::new());
    for event in &trace.events {
        match event {
            TraceEvent::Left {
                cat,
                id,
                pid,
                ts,
                tid: 1,
                ..
            } if cat == Arrow::Steal.name() => {
                left.push((*id, *pid, *ts));
            }
            TraceEvent::Arrived {
                cat,
                id,
                pid,
                ts,
                tid: 1,
                ..
            } if cat == Arrow::Steal.name() => {
                arrived.push((*id, *pid, *ts));
            }
            _ => {}
        }
    }
    assert_eq!(left.len() as u64, outcome.counts().gifts);
    assert!(!left.is_empty() && left.len() == arrived.len());
    for (left, arrived) in left.iter().zip(&arrived) {
        assert_eq!(left.0, arrived.0);
        assert_ne!(left.1, arrived.1, "between different ranks");
        assert!(left.2 <= arrived.2);
    }
}

/// A task that spawns one other, and so on.
#[derive(Serialize, Deserialize)]
struct Chain(u64);

impl Task for Chain {
    const KIND: &'static str = "chain";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        if self.0 > 1 {
            tasks.spawn(Chain(self.0 - 1));
        }
        std::thread::sleep(Duration::from_micros(300));
        Sum(1)
    }
}

/// A task that a free worker is about to take is not passed on, even without a floor.
#[test]
fn a_task_is_not_handed_to_and_fro() {
    let options = Options {
        protocol: "uniform:floor=0".parse().unwrap(),
        ..options()
    };
    let program = Program::new("chain").with::<Chain>();
    let outcome = ranks::run_threads(&program, [Chain(300)], &options, ranks::threads(3)).unwrap();
    assert_eq!(outcome.result, Sum(300));
    let counts = outcome.counts();
    assert!(counts.given < 300, "{counts:?}");
}

/// Rank 0 answers other ranks while it adds the first tasks, and no rank detects termination
/// meanwhile.
#[test]
fn first_tasks_may_take_longer_than_the_patience() {
    let program = Program::new("chain").with::<Chain>();
    let first = (0..1500).map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        Chain(1)
    });
    let outcome = ranks::run_threads(&program, first, &impatient(), ranks::threads(3)).unwrap();
    assert_eq!(outcome.result, Sum(1500));
}

/// A result that is slow to serialise.
#[derive(Debug, PartialEq, Deserialize)]
struct Ponderous(u64);

impl Serialize for Ponderous {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        std::thread::sleep(Duration::from_millis(1500));
        serializer.serialize_newtype_struct("Ponderous", &self.0)
    }
}

impl Reduce for Ponderous {
    fn identity() -> Ponderous {
        Ponderous(0)
    }

    fn combine(&mut self, other: Ponderous) {
        self.0 += other.0;
    }
}

#[derive(Serialize, Deserialize)]
struct Ponder(u64);

impl Task for Ponder {
    const KIND: &'static str = "ponder";
    type Output = Ponderous;

    fn run(self, _: &Tasks<Ponderous>) -> Ponderous {
        Ponderous(self.0)
    }
}

#[test]
fn a_report_may_take_longer_than_the_patience() {
    let program = Program::new("ponder").with::<Ponder>();
    let first = (0..100).map(Ponder);
    let outcome = ranks::run_threads(&program, first, &impatient(), ranks::threads(3)).unwrap();
    assert_eq!(outcome.result, Ponderous(4950));
}

#[test]
fn a_trace_of_nothing_is_empty() {
    let options = Options {
        trace: Some(0),
        ..options()
    };
    let outcome = search(&options, Network::default(), &["oak", "elm"]).unwrap();
    check(&outcome);
    assert!(outcome.trace.unwrap().is_empty());
    assert_eq!(outcome.traces_left_out, 0);
}

/// Rank 0 holds the traces of all ranks in its memory.
#[test]
fn a_trace_that_is_larger_than_its_share_is_left_out() {
    let traced = |bytes| Options {
        trace: Some(1 << 14),
        trace_bytes: bytes,
        ..options()
    };
    let outcome = search(&traced(300), Network::default(), &["oak", "elm", "elm"]).unwrap();
    check(&outcome);
    assert_eq!(outcome.traces_left_out, 3);
    assert!(outcome.trace.unwrap().is_empty());
    let outcome = search(&traced(1 << 30), Network::default(), &["oak", "elm", "elm"]).unwrap();
    assert_eq!(outcome.traces_left_out, 0);
}

/// Spawns a delayed task, which spawns another, down to 0.
#[derive(Serialize, Deserialize)]
struct Later(u64);

impl Task for Later {
    const KIND: &'static str = "later";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        if self.0 > 0 {
            tasks.spawn_after(Duration::from_millis(10), Later(self.0 - 1));
        }
        Sum(1)
    }
}

#[test]
fn ranks_do_not_end_before_delayed_tasks() {
    let program = Program::new("later").with::<Later>();
    let peers = ranks::threads(2);
    let outcome = ranks::run_threads(&program, [Later(5), Later(3)], &options(), peers);
    assert_eq!(outcome.expect("it ends").result, Sum(10));
}
