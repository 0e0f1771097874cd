//! Simulations in parallel on Locksley's own pool. The outcome does not depend on the number of
//! threads.

use locksley::Pool;
use locksley_sim::dag::{Computation, Dag, Visitor};
use locksley_sim::{Report, Setup, Strategy, Sweep, simulate};
use locksley_workload::{Fork, Serial, Task};

/// Forks on the current pool.
#[derive(Clone, Copy)]
struct OnPool;

impl Fork for OnPool {
    type Again<'a> = OnPool;

    fn again(&mut self) -> OnPool {
        OnPool
    }

    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        locksley::join(move || a.run(OnPool), move || b.run(OnPool))
    }
}

struct Run<'a>(&'a Setup);

impl Visitor for Run<'_> {
    type Output = Report;

    fn visit<C: Computation>(self, mut computation: C) -> Report {
        simulate(&mut computation, self.0).expect("the setup makes sense")
    }
}

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
    let run = |(dag, setup): &(Dag, Setup)| dag.build(Run(setup)).expect("no file is read");
    let serial = Sweep::new(&jobs, &run).run(Serial);
    assert_eq!(serial.len(), jobs.len());
    for workers in [1, 2, 5] {
        let pool = Pool::builder().workers(workers).build().expect("a pool");
        let parallel = pool.install(|| Sweep::new(&jobs, &run).run(OnPool));
        assert_eq!(parallel, serial, "{workers} workers");
    }
}
