//! Recordings (task graphs as files) and timelines. A parsed graph can be simulated to its end; a
//! parsed timeline survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use locksley_sim::dag::{Computation, Graph};
use locksley_sim::{Setup, Strategy, simulate};
use locksley_trace::Trace;

/// Largest graph that is simulated: a simulation takes time in proportion to the work.
const MOST_WORK: u64 = 10_000;

fuzz_target!(|text: &str| {
    if let Ok(mut graph) = Graph::parse(text) {
        let size = graph.size();
        assert!(size.span <= size.work, "{size:?}");
        if size.work <= MOST_WORK {
            let setup = Setup::new(3, Strategy::LockFree);
            let report = simulate(&mut graph, &setup).expect("three processors are possible");
            assert!(report.makespan >= size.span, "{report:?}");
        }
    }
    if let Ok(trace) = Trace::from_json(text) {
        let written = trace.to_json();
        let again = Trace::from_json(&written).expect("what is written is read");
        assert_eq!(again.to_json(), written);
    }
});
