//! Simulations in parallel on Locksley's own pool. The outcome does not depend on the number of
//! threads.

use locksley::Pool;
use locksley_measure::runtimes::FreeJoin;
use locksley_sim::dag::Dag;
use locksley_sim::{Setup, Simulate, Strategy, Sweep};
use locksley_workload::{Serial, Task};

#[test]
fn every_number_of_threads_gives_the_same_reports_bit_for_bit() {
    let mut jobs = Vec::new();
    for strategy in Strategy::all() {
        for dag in [
            "random:nodes=2000",
            "wavefront:rows=20,columns=20",
            "generator:tasks=99",
        ] {
            for seed in 0..3 {
                let dag: Dag = dag.parse().expect("a computation");
                let setup = Setup {
                    seed,
                    sample: 20,
                    timeline: true,
                    ..Setup::new(10, strategy)
                };
                jobs.push((dag, setup));
            }
        }
    }
    let run = |(dag, setup): &(Dag, Setup)| dag.build(Simulate(setup)).expect("no file is read");
    let serial = Sweep::new(&jobs, &run).run(Serial);
    assert_eq!(serial.len(), jobs.len());
    assert!(serial.iter().all(Result::is_ok));
    for workers in [1, 2, 5] {
        let pool = Pool::builder().workers(workers).build().expect("a pool");
        let parallel = pool.install(|| Sweep::new(&jobs, &run).run(FreeJoin));
        assert_eq!(parallel, serial, "{workers} workers");
    }
}
