//! Texts that name programs and computations: a parsed value is printed as a text that parses to
//! the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use locksley_sim::dag::Dag;
use locksley_workload::catalog::{Scale, Spec};

fuzz_target!(|text: &str| {
    if let Ok(spec) = Spec::parse(text, Scale::Quick) {
        let printed = spec.to_string();
        let again = Spec::parse(&printed, Scale::Full);
        assert_eq!(again.expect("what it is printed as is read"), spec);
    }
    // `file:PATH` would read a file of the machine, whatever is in it.
    if text.starts_with("file") {
        return;
    }
    if let Ok(dag) = text.parse::<Dag>() {
        let printed = dag.to_string();
        let again = printed.parse::<Dag>();
        assert_eq!(again.expect("what it is printed as is read"), dag);
    }
});
