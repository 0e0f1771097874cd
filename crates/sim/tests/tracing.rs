//! The traces of pool and simulator have the same format and use the same names.

use std::collections::BTreeSet;
use std::sync::Barrier;

use locksley::Pool;
use locksley_sim::dag::{Generator, Strands};
use locksley_sim::{Setup, simulate};
use locksley_trace::{Activity, Arrow, Trace, TraceEvent};

/// Returns the kinds of events in a trace, with their categories and names, after a round trip
/// through its text.
fn vocabulary(trace: &Trace) -> BTreeSet<String> {
    let read = Trace::from_json(&trace.to_json()).expect("what is written can be read");
    assert_eq!(read, *trace);
    let words = read.events.iter().map(|event| match event {
        TraceEvent::Name { name, .. } => format!("name {name:?}"),
        TraceEvent::Slice { name, cat, .. } => format!("slice {cat} {name}"),
        TraceEvent::Left { name, cat, .. } => format!("left {cat} {name}"),
        TraceEvent::Arrived { name, cat, .. } => format!("arrived {cat} {name}"),
        TraceEvent::Counter { name, .. } => format!("counter {name}"),
        TraceEvent::Instant { name, cat, .. } => format!("instant {cat} {name}"),
    });
    words.collect()
}

fn of_pool() -> Trace {
    let pool = Pool::builder().workers(2).trace(10_000).build();
    let pool = pool.expect("the pool starts");
    pool.install(|| {
        let barrier = Barrier::new(2);
        locksley::join(|| barrier.wait(), || barrier.wait());
    });
    let mut trace = pool.take_trace();
    // Waits until a worker has run out of work.
    while !vocabulary(&trace).contains("slice idle idle") {
        trace = pool.take_trace();
    }
    pool.install(|| {
        let barrier = Barrier::new(2);
        locksley::join(|| barrier.wait(), || barrier.wait());
    });
    trace.append(pool.take_trace());
    trace
}

fn of_simulator(strategy: &str) -> Trace {
    let strategy = strategy.parse().expect("a strategy");
    let setup = Setup {
        timeline: true,
        sample: 10,
        ..Setup::new(16, strategy)
    };
    let report = simulate(&mut Strands::new(Generator::new(100, 20, 3)), &setup);
    report.expect("the setup makes sense").trace()
}

#[test]
fn pool_and_simulator_tell_in_the_same_words() {
    let (pool, simulator) = (
        vocabulary(&of_pool()),
        vocabulary(&of_simulator("lock-free")),
    );
    let words = [
        "arrived steal steal",
        "counter load",
        "left steal steal",
        "name Process",
        "name Thread",
        "slice idle idle",
        "slice work work",
    ];
    assert_eq!(simulator, BTreeSet::from(words.map(str::to_owned)));
    // Simulated processors neither wait nor sleep.
    let rest: Vec<&String> = pool.difference(&simulator).collect();
    let known = [Activity::Wait, Activity::Parked]
        .map(|activity| format!("slice idle {}", activity.name()));
    assert!(rest.iter().all(|word| known.contains(word)), "{rest:?}");
    assert!(simulator.is_subset(&pool), "{pool:?}");
}

#[test]
fn other_ways_of_moving_work_have_names_too() {
    for (strategy, arrow) in [
        ("sharing:greedy", Arrow::Donation),
        ("dealing:simple", Arrow::Dealing),
        ("lifelines", Arrow::Lifeline),
    ] {
        let words = vocabulary(&of_simulator(strategy));
        let left = format!("left {0} {0}", arrow.name());
        assert!(words.contains(&left), "{strategy}: {words:?}");
    }
}
