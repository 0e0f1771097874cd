//! Random programs over random objects: whatever the schedule, the result of a flow is that of the
//! sequential program.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};

use locksley::flow::{Cumulative, Flow, Object, Reduce, Write, flow};
use locksley_policy::{Random, Source};

use crate::everywhere;

/// The type of all objects: matrices, whose product is associative but not commutative.
type Matrix = [u64; 4];

#[derive(Clone, Copy)]
struct Product;

impl Reduce<Matrix> for Product {
    fn combine(&self, into: &mut Matrix, m: Matrix) {
        let [a, b, c, d] = *into;
        let entry = |x: u64, y: u64, i, j| {
            let left = x.wrapping_mul(m[i]);
            left.wrapping_add(y.wrapping_mul(m[j]))
        };
        *into = [
            entry(a, b, 0, 2),
            entry(a, b, 1, 3),
            entry(c, d, 0, 2),
            entry(c, d, 1, 3),
        ];
    }
}

fn mix(seed: u64, values: &[Matrix]) -> u64 {
    values.iter().flatten().fold(seed, |hash, &value| {
        (hash ^ value)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
    })
}

fn matrix(hash: u64) -> Matrix {
    std::array::from_fn(|place| hash.rotate_left(16 * place as u32) | 1)
}

/// A task: the numbers of the objects that it accesses in each mode.
#[derive(Debug, Default)]
struct Task {
    seed: u64,
    reads: Vec<usize>,
    writes: Vec<usize>,
    updates: Vec<usize>,
    cumulates: Vec<usize>,
    renews: Vec<usize>,
    panics: bool,
    waits: u32,
    /// A nested program over the objects that the task updates and two of its own.
    inside: Option<Vec<Task>>,
}

fn program(random: &mut Random, objects: usize, size: usize, depth: u32) -> Vec<Task> {
    (0..size).map(|_| task(random, objects, depth)).collect()
}

fn task(random: &mut Random, objects: usize, depth: u32) -> Task {
    let mut task = Task {
        seed: random.next(),
        panics: random.below(40) == 0,
        waits: random.below(3) as u32,
        ..Task::default()
    };
    for object in 0..objects {
        if random.below(objects) >= 3 {
            continue;
        }
        match random.below(10) {
            0..4 => task.reads.push(object),
            4 => task.writes.push(object),
            5..7 => task.updates.push(object),
            7..9 => task.cumulates.push(object),
            _ => {
                task.renews.push(object);
                if random.below(2) == 0 {
                    task.reads.push(object);
                }
            }
        }
    }
    if depth > 0 && random.below(4) == 0 {
        let objects = task.updates.len() + 2;
        let size = random.below(6);
        task.inside = Some(program(random, objects, size, depth - 1));
    }
    task
}

/// The tasks that have run, as the sum of their seeds.
#[derive(Default)]
struct Ran(AtomicU64);

impl Ran {
    fn note(&self, task: &Task) {
        self.0.fetch_add(task.seed, Ordering::Relaxed);
    }
}

/// An object of the sequential program.
#[derive(Clone, Debug, PartialEq)]
struct Variable {
    value: Matrix,
    failed: bool,
}

/// Runs the tasks one after the other. Returns the seed of the first one that panics.
fn run_sequentially(tasks: &[Task], objects: &mut [Variable], ran: &Ran) -> Option<u64> {
    let mut panic = None;
    for task in tasks {
        let read: Vec<Variable> = task.reads.iter().map(|&o| objects[o].clone()).collect();
        for &object in &task.renews {
            objects[object] = Variable {
                value: [0; 4],
                failed: false,
            };
        }
        let needed = task.writes.iter().chain(&task.updates);
        let stopped =
            read.iter().any(|v| v.failed) || needed.clone().any(|&object| objects[object].failed);
        let thrown = if stopped {
            None
        } else {
            step(task, &read, objects, ran)
        };
        if stopped || thrown.is_some() {
            let written = needed.chain(&task.cumulates).chain(&task.renews);
            written.for_each(|&object| objects[object].failed = true);
        }
        panic = panic.or(thrown);
    }
    panic
}

fn step(task: &Task, read: &[Variable], objects: &mut [Variable], ran: &Ran) -> Option<u64> {
    ran.note(task);
    if task.panics {
        return Some(task.seed);
    }
    let mut values: Vec<Matrix> = read.iter().map(|v| v.value).collect();
    values.extend(task.updates.iter().map(|&object| objects[object].value));
    let hash = mix(task.seed, &values);
    for &object in task.writes.iter().chain(&task.updates).chain(&task.renews) {
        objects[object].value = matrix(hash);
    }
    for &object in &task.cumulates {
        Product.combine(&mut objects[object].value, matrix(hash));
        Product.combine(&mut objects[object].value, matrix(!hash));
    }
    let inside = task.inside.as_ref()?;
    let own = Variable {
        value: matrix(hash),
        failed: false,
    };
    let held = task.updates.iter().map(|&o| objects[o].clone());
    let mut within: Vec<Variable> = held.chain([own.clone(), own]).collect();
    let panic = run_sequentially(inside, &mut within, ran);
    for (&object, variable) in task.updates.iter().zip(within) {
        objects[object].value = variable.value;
    }
    panic
}

/// Forks the tasks into a flow.
fn unfold<'f>(
    f: &'f Flow<'f, '_>,
    tasks: &'f [Task],
    objects: &[Object<'f, Matrix, Product>],
    ran: &'f Ran,
) {
    for task in tasks {
        let some = |numbers: &[usize]| -> Vec<_> { numbers.iter().map(|&o| objects[o]).collect() };
        let accesses = (
            some(&task.reads)
                .into_iter()
                .map(Object::read)
                .collect::<Vec<_>>(),
            some(&task.writes)
                .into_iter()
                .map(Object::write)
                .collect::<Vec<_>>(),
            some(&task.updates)
                .into_iter()
                .map(Object::update)
                .collect::<Vec<_>>(),
            some(&task.cumulates)
                .into_iter()
                .map(Object::cumulate)
                .collect::<Vec<_>>(),
            some(&task.renews)
                .into_iter()
                .map(|o| o.write_new([0; 4]))
                .collect::<Vec<_>>(),
        );
        if task.inside.is_none() {
            f.fork(
                accesses,
                |(reads, writes, mut updates, cumulates, renews)| {
                    ran.note(task);
                    act(task, &reads, writes, &mut updates, cumulates, renews);
                },
            );
        } else {
            f.fork_nested(
                accesses,
                |f, (reads, writes, mut updates, cumulates, renews)| {
                    ran.note(task);
                    let hash = act(task, &reads, writes, &mut updates, cumulates, renews);
                    let held = updates.into_iter().map(|data| f.cumulative(data, Product));
                    let own = [(); 2].map(|()| f.cumulative_value(matrix(hash), Product));
                    let objects: Vec<_> = held.chain(own).collect();
                    unfold(f, task.inside.as_ref().unwrap(), &objects, ran);
                },
            );
        }
    }
}

fn act(
    task: &Task,
    reads: &[&Matrix],
    writes: Vec<Write<'_, Matrix>>,
    updates: &mut [&mut Matrix],
    cumulates: Vec<Cumulative<'_, Matrix, Product>>,
    renews: Vec<&mut Matrix>,
) -> u64 {
    for _ in 0..task.waits {
        std::thread::yield_now();
    }
    if task.panics {
        // Not `panic!`, whose hook would print.
        panic::resume_unwind(Box::new(task.seed));
    }
    let mut values: Vec<Matrix> = reads.iter().map(|&&value| value).collect();
    values.extend(updates.iter().map(|value| **value));
    let hash = mix(task.seed, &values);
    writes
        .into_iter()
        .for_each(|mut write| write.set(matrix(hash)));
    updates.iter_mut().for_each(|value| **value = matrix(hash));
    renews.into_iter().for_each(|value| *value = matrix(hash));
    for mut sum in cumulates {
        sum.add(matrix(hash));
        sum.add(matrix(!hash));
    }
    hash
}

/// Runs a random program as a flow and sequentially, and compares the results.
fn check(seed: u64) {
    let mut random = Random::new(seed, 0);
    let count = 2 + random.below(6);
    let size = 1 + random.below(40);
    let tasks = program(&mut random, count, size, 2);
    let first: Vec<Variable> = (0..count as u64)
        .map(|number| Variable {
            value: matrix(number + 2),
            failed: false,
        })
        .collect();
    let mut expected = first.clone();
    let (expected_ran, ran) = (Ran::default(), Ran::default());
    let panic = run_sequentially(&tasks, &mut expected, &expected_ran);
    let mut got: Vec<Matrix> = first.iter().map(|variable| variable.value).collect();
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        flow(|f| {
            let data = got.iter_mut();
            let objects: Vec<_> = data.map(|data| f.cumulative(data, Product)).collect();
            unfold(f, &tasks, &objects, &ran);
        });
    }));
    let thrown = result
        .err()
        .map(|payload| *payload.downcast::<u64>().unwrap());
    assert_eq!(
        ran.0.into_inner(),
        expected_ran.0.into_inner(),
        "seed {seed}: other tasks have run"
    );
    assert_eq!(thrown, panic, "seed {seed}: {tasks:#?}");
    for (number, (got, expected)) in got.iter().zip(&expected).enumerate() {
        if !expected.failed {
            assert_eq!(
                got, &expected.value,
                "seed {seed}, object {number}: {tasks:#?}"
            );
        }
    }
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_flow_gives_what_the_sequential_program_gives() {
    let seed = AtomicU64::new(1);
    everywhere(|pool| {
        pool.install(|| {
            for _ in 0..80 {
                check(seed.fetch_add(1, Ordering::Relaxed));
            }
        });
    });
    assert!(seed.into_inner() > 4000, "thousands of programs");
}
