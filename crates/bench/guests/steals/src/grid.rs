//! The grid: numbers and lengths of tasks, four ways to fork them, and three callers.
//!
//! The name of a cell has all parameters: `scope/in/100x0.5us`.

use rayon::prelude::*;

use crate::spin::{Rate, spin};
use crate::{Caller, Case};

/// Time that the caller of `after` works before each call, in microseconds.
const WORK: u32 = 100;

/// Returns the cell with this name.
pub(crate) fn find(name: &str, rate: Rate) -> Option<(Caller, Box<dyn Case>)> {
    let mut parts = name.split('/');
    let (means, caller, size) = (parts.next()?, parts.next()?, parts.next()?);
    let (tasks, length) = size.strip_suffix("us")?.split_once('x')?;
    let (tasks, length): (u64, f64) = (tasks.parse().ok()?, length.parse().ok()?);
    let caller = match caller {
        "in" => Caller::BackToBack,
        "after" => Caller::AfterWork(WORK),
        "out" => Caller::Outside,
        _ => return None,
    };
    let steps = rate.steps(length);
    let call: Box<dyn FnMut() -> u64 + Send> = match means {
        "scope" => {
            let mut results = vec![0; tasks as usize];
            Box::new(move || scope(&mut results, steps))
        }
        "join" => Box::new(move || join(0, tasks, steps)),
        "par_iter" => {
            let seeds: Vec<u64> = (0..tasks).collect();
            let task = move |&seed: &u64| spin(steps, seed);
            Box::new(move || seeds.par_iter().map(task).reduce(|| 0, u64::wrapping_add))
        }
        "par_bridge" => {
            let task = move |seed| spin(steps, seed);
            Box::new(move || {
                let results = (0..tasks).par_bridge().map(task);
                results.reduce(|| 0, u64::wrapping_add)
            })
        }
        _ => return None,
    };
    let expected = (0..tasks).fold(0_u64, |sum, seed| sum.wrapping_add(spin(steps, seed)));
    Some((caller, summed(expected, call)))
}

fn scope(results: &mut [u64], steps: u64) -> u64 {
    rayon::scope(|scope| {
        for (seed, result) in (0..).zip(results.iter_mut()) {
            scope.spawn(move |_| *result = spin(steps, seed));
        }
    });
    // Resets the results, so that they cannot pass for those of the next call.
    let results = results.iter_mut().map(std::mem::take);
    results.fold(0, u64::wrapping_add)
}

fn join(first: u64, end: u64, steps: u64) -> u64 {
    if end - first == 1 {
        return spin(steps, first);
    }
    let middle = first.midpoint(end);
    let (a, b) = rayon::join(|| join(first, middle, steps), || join(middle, end, steps));
    a.wrapping_add(b)
}

/// Calls that all have the same result. The sum of the results is checked.
struct Summed {
    expected: u64,
    /// Expected and actual sum of the results since the last check.
    sums: [u64; 2],
    call: Box<dyn FnMut() -> u64 + Send>,
}

pub(crate) fn summed(expected: u64, call: impl FnMut() -> u64 + Send + 'static) -> Box<dyn Case> {
    Box::new(Summed {
        expected,
        sums: [0; 2],
        call: Box::new(call),
    })
}

impl Case for Summed {
    fn call(&mut self) {
        let result = (self.call)();
        let [expected, got] = &mut self.sums;
        *expected = expected.wrapping_add(self.expected);
        *got = got.wrapping_add(result);
    }

    fn check(&mut self) -> Result<(), String> {
        match std::mem::take(&mut self.sums) {
            [expected, got] if expected == got => Ok(()),
            [expected, got] => Err(format!("expected {expected}, got {got}")),
        }
    }
}
