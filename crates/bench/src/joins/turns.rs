//! The turns of one program: every runtime runs it, and what comes out is checked.

use std::any::Any;
use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use locksley_workload::Program;

use super::cases::{Case, Visitor};
use super::contenders::{Chili, Forte, Free, Kept, Rayon, Runtime, Serial, TakeAny, Worker};
use super::guest::Guest;
use crate::harness::clock;
use crate::harness::{Contender, Sample, WallClock, Workload, Wrong};

/// More workers than the machine has cores.
pub(super) const CROWD: usize = 16;

/// The name of the contender that has them.
pub(super) const CROWDED: &str = "locksley 16";

/// Before a sample the workers of the one before are given time to go to sleep.
const SETTLE: Duration = Duration::from_millis(2);

/// A program that is made when it is needed: the trees fill much memory.
pub(super) struct Shared<P>(Rc<RefCell<Option<P>>>, Rc<dyn Fn() -> P>);

impl<P> Shared<P> {
    pub(super) fn new(make: impl Fn() -> P + 'static) -> Shared<P> {
        Shared(Rc::default(), Rc::new(make))
    }

    fn get(&self) -> RefMut<'_, P> {
        RefMut::map(self.0.borrow_mut(), |program| {
            program.get_or_insert_with(|| (self.1)())
        })
    }
}

impl<P> Clone for Shared<P> {
    fn clone(&self) -> Self {
        Shared(self.0.clone(), self.1.clone())
    }
}

/// Runs a program, as often as it takes to do that many operations.
pub(super) fn turn<R: Runtime, P: Program>(
    runtime: &mut R,
    program: &mut P,
    (contender, case): (&'static str, &'static str),
    operations: u64,
) -> Result<Sample, Wrong> {
    let runs = operations.div_ceil(program.operations()).max(1);
    let (mut elapsed, mut used) = (Duration::ZERO, Duration::ZERO);
    thread::sleep(SETTLE);
    for _ in 0..runs {
        let task = program.task();
        let (start, used_before) = (WallClock::now(), clock::process());
        let output = runtime.run(task);
        elapsed += start.elapsed();
        let used_after = clock::process().zip(used_before);
        used += used_after.map_or(Duration::ZERO, |(after, before)| after - before);
        program
            .check(output)
            .map_err(|mismatch| Wrong::new(contender, case, mismatch.expected, mismatch.got))?;
    }
    let operations = runs * program.operations();
    Ok(Sample {
        elapsed,
        operations,
        note: used.as_secs_f64() * 1e9 / operations as f64,
    })
}

fn contender<R: Runtime, P: Program + 'static>(
    name: &'static str,
    case: &'static str,
    (runtime, program): (&Kept<R>, &Shared<P>),
) -> Contender {
    let (runtime, program) = (runtime.clone(), program.clone());
    Contender::new(name, move |operations| {
        // The program first: making it takes long, and a runtime would sleep by then.
        let mut program = program.get();
        turn(&mut *runtime.get(), &mut *program, (name, case), operations)
    })
}

/// The runtimes with so many workers.
struct Runtimes {
    workers: usize,
    locksley: Kept<Worker>,
    free: Kept<Free>,
    take_any: Kept<TakeAny>,
    rayon: Kept<Rayon>,
}

impl Runtimes {
    fn new(workers: usize) -> Runtimes {
        Runtimes {
            workers,
            locksley: Kept::new(workers),
            free: Kept::new(workers),
            take_any: Kept::new(workers),
            rayon: Kept::new(workers),
        }
    }

    fn contenders<P: Program + 'static>(
        &self,
        (case, name): (&'static str, &'static str),
        program: &Shared<P>,
        quick: bool,
    ) -> Vec<Contender> {
        let (serial, workers) = (Kept::<Serial>::new(1), self.workers);
        vec![
            contender(Serial::NAME, name, (&serial, program)),
            contender(Worker::NAME, name, (&self.locksley, program)),
            contender(Free::NAME, name, (&self.free, program)),
            contender(Rayon::NAME, name, (&self.rayon, program)),
            Guest::contender(Chili::NAME, case, (workers, quick)),
            Guest::contender(Forte::NAME, case, (workers, quick)),
        ]
    }
}

/// Makes the workloads.
pub(super) struct Maker {
    quick: bool,
    one: Runtimes,
    two: Runtimes,
    crowd: Kept<Worker>,
    /// The workloads, and how long each is.
    pub(super) workloads: Vec<(Workload, usize)>,
    /// What is kept to the end: a tree that is built from the remains of another does not lie in
    /// memory in the order in which it was allocated.
    pub(super) programs: Vec<Rc<dyn Any>>,
}

impl Maker {
    pub(super) fn new(quick: bool) -> Maker {
        Maker {
            quick,
            one: Runtimes::new(1),
            two: Runtimes::new(2),
            crowd: Kept::new(CROWD),
            workloads: Vec::new(),
            programs: Vec::new(),
        }
    }

    fn push(&mut self, case: &Case, name: &'static str, contenders: Vec<Contender>) {
        let workload = Workload {
            name,
            about: case.about,
            reference: Serial::NAME,
            note: Some("processor ns"),
            contenders,
        };
        self.workloads.push((workload, case.length));
    }
}

impl Visitor for Maker {
    fn visit<P: Program + 'static>(&mut self, case: Case, make: impl Fn() -> P + 'static) {
        let program = Shared::new(make);
        self.programs.push(program.0.clone());
        if case.alone {
            let names = (case.name, case.one);
            let contenders = self.one.contenders(names, &program, self.quick);
            self.push(&case, case.one, contenders);
        }
        let names = (case.name, case.two);
        let mut contenders = self.two.contenders(names, &program, self.quick);
        contenders.extend([
            contender(TakeAny::NAME, case.two, (&self.two.take_any, &program)),
            contender(CROWDED, case.two, (&self.crowd, &program)),
        ]);
        self.push(&case, case.two, contenders);
    }
}
