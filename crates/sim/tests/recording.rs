//! The simulator reads recordings of the pool. They are the same computations as those by formula.

use std::time::Duration;

use locksley::{Pool, Recording};
use locksley_measure::runtimes::FreeJoin;
use locksley_sim::dag::{Computation, Dag, Fib, Graph, SeriesParallel, Size, Visitor};
use locksley_sim::dag::{levels, measure};
use locksley_sim::{Report, Setup, Strategy, simulate};
use locksley_workload::{Program, Sort, Task};

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn record<R: Send>(program: impl FnOnce() -> R + Send) -> Recording {
    let pool = Pool::builder().workers(3).record(true).build();
    let pool = pool.expect("the pool starts");
    pool.install(program);
    pool.take_recording().expect("something was run")
}

fn graph(recording: &Recording, unit: Duration) -> Graph {
    Graph::parse(&recording.to_json(unit)).expect("what is recorded is a computation")
}

/// Records the structure of a program: every node takes one step.
fn structure<R: Send>(program: impl FnOnce() -> R + Send) -> Graph {
    graph(&record(program), Duration::MAX)
}

#[test]
fn a_recorded_fib_has_as_many_forks_and_is_as_deep_as_the_formulas_say() {
    let mut numbers = vec![1, 1];
    for n in 0..18 {
        let recording = record(|| fib(n));
        let mut graph = graph(&recording, Duration::MAX);
        // Each call with n >= 2 forks: F(n + 1) - 1 forks, nested at most n - 1 deep.
        assert_eq!(recording.forks(), numbers[n as usize] - 1, "{n}");
        assert_eq!(graph.size(), Fib::new(n).size(), "{n}");
        assert_eq!((graph.size().span - 1) / 2, u64::from(n.saturating_sub(1)));
        assert_eq!(levels(&mut graph), graph.size(), "{n}");
        numbers.push(numbers[n as usize] + numbers[n as usize + 1]);
    }
}

#[test]
fn a_recorded_sort_is_as_balanced_as_its_program() {
    // 2^12 numbers, of which 2^6 are sorted in series: 6 levels of forks.
    let mut sort = Sort::new(1 << 12, 7);
    let task = sort.task();
    let graph = structure(move || task.run(FreeJoin));
    assert_eq!(sort.check(()), Ok(()));
    let forks = (1 << 6) - 1;
    let size = Size {
        work: 3 * forks + 1,
        span: 2 * 6 + 1,
    };
    assert_eq!(graph.size(), size);
}

#[test]
fn the_tasks_of_a_scope_run_beside_each_other() {
    let mut graph = structure(|| {
        locksley::scope(|s| {
            for _ in 0..10 {
                s.spawn(|s| s.spawn(|_| ()));
            }
        });
    });
    // Two nodes before and after the scope; eleven of the body, which spawns ten times; and for
    // each task a node before it spawns, one after, and one for the task that it spawns.
    let size = Size {
        work: 2 + 11 + 10 * 3,
        // The last task is spawned by the tenth node of the body.
        span: 2 + 10 + 2,
    };
    assert_eq!(graph.size(), size);
    assert_eq!(levels(&mut graph), size);
}

#[test]
fn times_become_steps() {
    let recording = record(|| fib(10));
    let fine = graph(&recording, Duration::from_nanos(1)).size();
    let coarse = graph(&recording, Duration::from_secs(1000)).size();
    assert_eq!(coarse, Fib::new(10).size());
    // No segment is shorter than a step, so the sum may exceed the work, by at most a step for each
    // segment.
    let work = recording.work().as_nanos() as u64;
    assert!((work..=work + coarse.work).contains(&fine.work));
    assert!(fine.span <= fine.work);
    let zero = graph(&recording, Duration::ZERO).size();
    assert_eq!(zero, fine, "no unit is shorter than a nanosecond");
}

struct Simulate(Setup);

impl Visitor for Simulate {
    type Output = Report;

    fn visit<C: Computation>(self, mut computation: C) -> Report {
        let report = simulate(&mut computation, &self.0).expect("the setup makes sense");
        assert_eq!(measure(&mut computation), report.size.work);
        report
    }
}

#[test]
fn a_recorded_file_is_simulated_under_every_scheduler() {
    let recording = record(|| fib(12));
    let path = std::env::temp_dir().join(format!("locksley-{}.json", std::process::id()));
    let file = std::fs::File::create(&path).expect("a file");
    let written = recording.write(file, Duration::from_micros(1));
    written.expect("a file that can be written");
    let dag = Dag::File { path: path.clone() };
    for strategy in Strategy::all() {
        let report = dag.build(Simulate(Setup::new(16, strategy)));
        let report = report.expect("what is recorded is a computation");
        assert_eq!(report.tally.executed, report.size.work, "{strategy}");
        assert!(report.makespan >= report.size.span, "{strategy}");
    }
    std::fs::remove_file(path).expect("the file is there");
}
