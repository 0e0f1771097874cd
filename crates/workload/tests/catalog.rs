//! Tests of every program of the catalogue at a small size on several runtimes, and of the text
//! form.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley_workload::catalog::{self, Scale, Spec, SpecError, Values, Visitor};
use locksley_workload::{Affine, Fork, Integral, Mismatch, Program, Serial, Size, Spawned, Task};

/// Texts of each program at a size that takes milliseconds without optimisation.
const SMALL: &[&str] = &[
    "fib:n=16",
    "integrate:9",
    "queens:n=7",
    "uts:T1",
    "uts-own:binomial,branching=50,q=0.2,m=4",
    "uts-own:geometric,shape=linear,depth=5,branching=3",
    "uts-own:geometric,shape=exponential,depth=3,branching=2",
    "uts-own:hybrid,shape=cyclic,depth=4,branching=1.5,q=0.1,m=4",
    "sort:n=9000",
    "sort:n=9000,merge=parallel",
    "quicksort:n=9000",
    "matrix:n=64",
    "strassen:n=256",
    "lu:n=128",
    "heat:rows=50,columns=40,sweeps=7,block=4",
    "knapsack:n=22",
    "tree:layers=10",
    "tree:layers=10,layout=postorder",
    "mandelbrot:n=50,limit=100",
    "rays:n=40,spheres=10,bounces=4",
    "words:n=9000,vocabulary=300",
    "batch:even,threads=3,tasks=5,heavy=4",
    "batch:skewed,threads=4,tasks=5,heavy=10",
    "batch:equal,threads=3,tasks=1,heavy=10",
    "loop:equal,n=1000,work=3",
    "loop:triangular,n=777,work=100",
    "loop:costly-front,n=1000,work=1",
    "loop:costly-end,n=1000,work=1",
    "loop:costly-random,n=1000,work=1",
    "generator:tasks=300,gap=5,grain=50",
    "chain:periods=50,serial=90,parallel=10",
    "heat:rows=50,columns=40,sweeps=7,block=4,by=spawn",
    "heat:rows=50,columns=40,sweeps=7,block=4,by=near",
    "batch:even,threads=3,tasks=5,heavy=4,by=spawn",
    "generator:tasks=300,gap=5,grain=50,by=spawn",
    "phases:blocks=9,length=20,phases=5",
    "phases:blocks=9,length=20,phases=5,by=near",
    "mark:random,objects=20000",
    "mark:lists,objects=20000",
    "mark:arrays,objects=20000",
    "skynet:3",
    "primes:n=20000",
    "scan:n=20000",
    "fold:n=20000",
    "nbody:n=50,steps=3",
    "pi:intervals=20000",
];

/// Returns the specs in `SMALL`, without trees of the literature if they would take too long
/// without optimisation.
fn small() -> impl Iterator<Item = Spec> {
    let fit = |text: &&&str| !text.starts_with("uts:T") || cfg!(not(debug_assertions));
    SMALL
        .iter()
        .filter(fit)
        .map(|text| Spec::parse(text, Scale::Quick).unwrap())
}

#[test]
fn every_program_has_a_small_size() {
    for entry in catalog::all() {
        let of = |text: &&&str| text.split(':').next() == Some(entry.name);
        assert!(SMALL.iter().any(|text| of(&text)), "{}", entry.name);
    }
}

/// Runs a program twice.
struct Run<R>(R);

trait Runtime {
    fn run<T: Task>(&self, task: T) -> T::Output;
}

impl<R: Runtime> Visitor for Run<R> {
    type Output = Result<(), Mismatch>;

    fn visit<P: Program>(self, mut program: P) -> Self::Output {
        assert!(program.operations() > 0);
        for _ in 0..2 {
            let output = self.0.run(program.task());
            program.check(output)?;
        }
        Ok(())
    }
}

struct OnThisThread;

impl Runtime for OnThisThread {
    fn run<T: Task>(&self, task: T) -> T::Output {
        task.run(Serial)
    }
}

#[test]
fn every_program_is_right_in_series() {
    for spec in small() {
        assert_eq!(spec.visit(Run(OnThisThread)).unwrap(), Ok(()), "{spec}");
    }
}

/// A fork that starts a thread, as long as there are not too many.
#[derive(Clone, Copy)]
struct Threads<'a>(&'a AtomicUsize);

impl<'c> Fork for Threads<'c> {
    type Reborrowed<'a>
        = Threads<'c>
    where
        Self: 'a;

    fn reborrow(&mut self) -> Threads<'c> {
        *self
    }

    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        const MOST: usize = 8;
        if self.0.load(Ordering::Relaxed) >= MOST {
            let a = a.run(self);
            return (a, b.run(self));
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        let outputs = std::thread::scope(|scope| {
            let b = scope.spawn(move || b.run(self));
            (a.run(self), b.join().unwrap())
        });
        self.0.fetch_sub(1, Ordering::Relaxed);
        outputs
    }
}

struct OnThreads;

impl Runtime for OnThreads {
    fn run<T: Task>(&self, task: T) -> T::Output {
        task.run(Threads(&AtomicUsize::new(0)))
    }
}

#[test]
fn every_program_is_right_on_threads() {
    for spec in small() {
        assert_eq!(spec.visit(Run(OnThreads)).unwrap(), Ok(()), "{spec}");
    }
}

#[derive(Clone, Copy)]
struct OnWorker<'w>(&'w locksley::Worker);

impl<'w> Fork for OnWorker<'w> {
    type Reborrowed<'a>
        = OnWorker<'a>
    where
        Self: 'a;

    fn reborrow(&mut self) -> OnWorker<'_> {
        *self
    }

    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        self.0
            .join(move |w| a.run(OnWorker(w)), move |w| b.run(OnWorker(w)))
    }

    fn workers(&self) -> usize {
        self.0.num_workers()
    }

    fn spawn_each<T, I>(self, tasks: I)
    where
        T: Task<Output = ()>,
        I: Iterator<Item = Spawned<T>> + Send,
    {
        locksley::scope(|scope| {
            for Spawned { task, near } in tasks {
                let run = move |_: &locksley::Scope<'_>| {
                    locksley::Worker::with_current(|worker| task.run(OnWorker(worker.unwrap())));
                };
                match near {
                    Some(worker) => scope.spawn_near(worker, run),
                    None => scope.spawn(run),
                }
            }
        });
    }
}

struct InPool<'p>(&'p locksley::Pool);

impl Runtime for InPool<'_> {
    fn run<T: Task>(&self, task: T) -> T::Output {
        self.0.run(|worker| task.run(OnWorker(worker)))
    }
}

#[test]
fn every_program_is_right_in_a_pool() {
    for spec in small() {
        for strategy in ["stealing", "sharing", "dealing:locality,l=3"] {
            let pool = locksley::Pool::builder()
                .workers(3)
                .strategy(strategy.parse().unwrap())
                .stack_size(spec.stack());
            let pool = pool.build().unwrap();
            let right = spec.visit(Run(InPool(&pool))).unwrap();
            assert_eq!(right, Ok(()), "{spec} under {strategy}");
        }
    }
}

/// Checks a wrong result. If the result is a value, it is changed; if it is in the program, the
/// task is not run.
struct Wrong;

impl Visitor for Wrong {
    type Output = Result<(), Mismatch>;

    fn visit<P: Program>(self, mut program: P) -> Self::Output {
        let mut output = program.task().run(Serial);
        if !spoil(&mut output) {
            drop(program.task());
        }
        program.check(output)
    }
}

/// Changes a value slightly. Returns `false` if there is no value.
fn spoil(output: &mut dyn Any) -> bool {
    if let Some(number) = output.downcast_mut::<u64>() {
        *number ^= 1;
    } else if let Some(size) = output.downcast_mut::<Size>() {
        size.leaves -= 1;
    } else if let Some(integral) = output.downcast_mut::<Integral>() {
        integral.area *= 1.0 + 1e-5;
    } else if let Some(number) = output.downcast_mut::<f64>() {
        *number *= 1.0 + 1e-5;
    } else if let Some(map) = output.downcast_mut::<Affine>() {
        map.offset ^= 1;
    } else if let Some(counts) = output.downcast_mut::<Vec<(String, u64)>>() {
        counts[0].1 += 1;
    } else {
        assert!(output.is::<()>(), "how is this result made wrong?");
        return false;
    }
    true
}

#[test]
fn every_wrong_result_is_found_out() {
    for spec in small() {
        assert!(spec.visit(Wrong).unwrap().is_err(), "{spec}");
    }
}

#[test]
fn texts_are_read_and_written_back() {
    for entry in catalog::all() {
        assert!(!entry.about.is_empty() && !entry.source.is_empty());
        for scale in [Scale::Quick, Scale::Full] {
            let spec = Spec::default_of(entry, scale);
            assert_eq!(Spec::parse(entry.name, scale), Ok(spec.clone()));
            for other in [Scale::Quick, Scale::Full] {
                assert_eq!(Spec::parse(&spec.to_string(), other), Ok(spec.clone()));
            }
        }
    }
}

#[test]
fn defaults_are_possible_values() {
    for entry in catalog::all() {
        for parameter in entry.parameters {
            assert!(!parameter.meaning.is_empty());
            for scale in [Scale::Quick, Scale::Full] {
                let default = parameter.default(scale);
                let read = parameter.values.read(&default.to_string());
                assert_eq!(read, Some(default), "{} {}", entry.name, parameter.name);
            }
        }
    }
}

#[test]
fn the_ends_of_every_range_are_an_answer_or_a_clear_error() {
    for entry in catalog::all() {
        for parameter in entry.parameters {
            let ends = match parameter.values {
                Values::Numbers { from, to } => [from.to_string(), to.to_string()],
                Values::Decimals { from, to } => [from.to_string(), to.to_string()],
                _ => continue,
            };
            for end in ends {
                let text = format!("{}:{}={end}", entry.name, parameter.name);
                match Spec::parse(&text, Scale::Full) {
                    Ok(spec) => assert!(spec.stack() >= 1 << 20),
                    Err(error) => assert!(matches!(error, SpecError::TooMuch { .. }), "{error}"),
                }
            }
        }
    }
}

fn error(text: &str) -> String {
    Spec::parse(text, Scale::Quick).unwrap_err().to_string()
}

#[test]
fn errors_say_where_and_what_is_possible() {
    assert!(error("").starts_with("the program's name is missing: the programs are fib, "));
    assert!(error("fibb:n=3").starts_with("there is no program `fibb`: did you mean `fib`?"));
    let parameter = error("sort:n=5,merg=serial");
    assert!(parameter.contains("sort has no parameter `merg` (character 10 of"));
    assert!(parameter.ends_with("did you mean `merge`? its parameters are n, merge, seed"));
    assert!(error("uts:tree=T9").ends_with("T1L, T2L, T3L or T1XL"));
    assert!(error("fib:n=").contains("give a whole number from 0 to 50"));
    assert!(error("fib:n=-3").contains("`n=-3` (character 5 of"));
    assert!(error("fib:n=1000000").contains("give a whole number from 0 to 50"));
    assert!(error("fib:n=3,n=4").contains("`n` is given twice (character 9 of"));
    assert!(error("fib:3,4").contains("fib has no parameter `4`"));
}

struct Nothing;

impl Visitor for Nothing {
    type Output = ();

    fn visit<P: Program>(self, _: P) {}
}

#[test]
fn a_tree_without_end_is_refused_when_it_is_built() {
    let spec = Spec::parse("uts-own:binomial,q=1", Scale::Quick).unwrap();
    let refused = spec.visit(Nothing).unwrap_err();
    assert!(
        matches!(refused, SpecError::TooMuch { what: "levels", .. }),
        "{refused}"
    );
}

#[test]
fn what_would_take_years_or_all_memory_is_refused() {
    let batch = "batch:equal,threads=10000,tasks=10000,heavy=40";
    let spawned = "batch:equal,threads=10000,tasks=5000,heavy=1,by=spawn";
    assert!(Spec::parse(&spawned.replace("spawn", "fork"), Scale::Quick).is_ok());
    let strassen = "strassen:n=4096";
    for text in [
        "sort:n=100000000",
        "matrix:n=8192",
        batch,
        spawned,
        strassen,
    ] {
        let refused = Spec::parse(text, Scale::Quick);
        assert!(matches!(refused, Err(SpecError::TooMuch { .. })), "{text}");
        assert!(error(text).ends_with("give smaller parameters"));
    }
}

/// Returns the number of operations.
struct Operations;

impl Visitor for Operations {
    type Output = u64;

    fn visit<P: Program>(self, program: P) -> u64 {
        program.operations()
    }
}

#[test]
fn operations_are_what_each_program_says_they_are() {
    let cases = [
        ("fib:n=16", 1596),
        ("integrate:9", 60_010),
        ("sort:n=9000", 9000),
        ("quicksort:n=9000", 9000),
        ("matrix:n=64", 64 * 64 * 64),
        ("strassen:n=256", 256 * 256 * 256),
        ("lu:n=128", 699_050),
        ("heat:rows=50,columns=40,sweeps=7,block=4", 50 * 40 * 7),
        ("tree:layers=10", 1023),
        ("mandelbrot:n=50,limit=100", 50 * 50),
        ("rays:n=40,spheres=10,bounces=4", 40 * 40),
        ("words:n=9000,vocabulary=300", 9000),
        ("batch:even,threads=3,tasks=5,heavy=4", 3 * 5),
        ("loop:triangular,n=777,work=100", 777),
        ("generator:tasks=300,gap=5,grain=50", 300),
        ("chain:periods=50,serial=90,parallel=10", 50),
        ("phases:blocks=9,length=20,phases=5", 9 * 20 * 5),
        ("skynet:3", 1000),
        ("primes:n=20000", 20_001),
        ("scan:n=20000", 20_000),
        ("fold:n=20000", 20_000),
        ("nbody:n=50,steps=3", 50 * 50 * 3),
        ("pi:intervals=20000", 20_000),
    ];
    for (text, operations) in cases {
        let spec = Spec::parse(text, Scale::Quick).unwrap();
        assert_eq!(spec.visit(Operations).unwrap(), operations, "{text}");
    }
}
