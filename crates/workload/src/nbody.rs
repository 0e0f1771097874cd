//! Bodies that all attract each other: much arithmetic over little memory.

use std::array::from_fn;

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};
use crate::random::split_mix;

/// Number of bodies that are moved serially.
const BLOCK: usize = 8;

/// Length of a step in time.
const STEP: f64 = 1.0e-3;

/// Added to squares of distances, so that close bodies do not get huge forces.
const SOFTENING: f64 = 1.0e-2;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Body {
    place: [f64; 3],
    speed: [f64; 3],
    mass: f64,
}

/// Simulates bodies. An operation is a pair of bodies in a step.
///
/// The forces on each body are added in the order of the bodies, so the result does not depend on
/// which worker adds them, to the last bit.
///
/// ```
/// use locksley_workload::{NBody, Program, Serial, Task};
///
/// let mut bodies = NBody::new(20, 3, 7);
/// bodies.task().run(Serial);
/// assert_eq!(bodies.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct NBody {
    steps: u32,
    start: Vec<Body>,
    expected: Vec<Body>,
    bodies: Vec<Body>,
    spare: Vec<Body>,
}

impl NBody {
    /// Creates `n` bodies at pseudo-random places, at rest. Computes the expected result in a loop.
    pub fn new(n: usize, steps: u32, seed: u64) -> NBody {
        let mut state = seed;
        let mut coordinate = || split_mix(&mut state) as f64 / u64::MAX as f64 - 0.5;
        let mut body = |_| Body {
            place: [coordinate(), coordinate(), coordinate()],
            speed: [0.0; 3],
            mass: 1.0 + coordinate(),
        };
        let start: Vec<Body> = (0..n).map(&mut body).collect();
        let mut expected = start.clone();
        for _ in 0..steps {
            expected = expected.iter().map(|body| body.moved(&expected)).collect();
        }
        NBody {
            steps,
            spare: start.clone(),
            bodies: start.clone(),
            expected,
            start,
        }
    }
}

impl Body {
    /// Returns the body after a step, attracted by all bodies.
    fn moved(self, all: &[Body]) -> Body {
        let mut force = [0.0; 3];
        for other in all {
            let away: [f64; 3] = from_fn(|axis| other.place[axis] - self.place[axis]);
            let square = away.iter().fold(SOFTENING, |sum, away| sum + away * away);
            let pull = other.mass / (square * square.sqrt());
            for (force, away) in force.iter_mut().zip(away) {
                *force += pull * away;
            }
        }
        let mut next = self;
        for (axis, force) in force.into_iter().enumerate() {
            next.speed[axis] += STEP * force;
            next.place[axis] += STEP * next.speed[axis];
        }
        next
    }
}

impl Program for NBody {
    type Task<'p> = NBodyTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        (self.start.len() * self.start.len()).max(1) as u64 * u64::from(self.steps.max(1))
    }

    fn task(&mut self) -> NBodyTask<'_> {
        self.bodies.copy_from_slice(&self.start);
        NBodyTask {
            bodies: &mut self.bodies,
            spare: &mut self.spare,
            steps: self.steps,
        }
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        let mut pairs = self.expected.iter().zip(&self.bodies);
        pairs.try_for_each(|(expected, got)| expect(expected, got))
    }
}

/// Runs all steps, one after the other.
///
/// ```
/// use locksley_workload::{NBody, NBodyTask, Program, Serial, Task};
///
/// let mut bodies = NBody::new(2, 1, 7);
/// let task: NBodyTask = bodies.task();
/// task.run(Serial);
/// ```
#[derive(Debug)]
pub struct NBodyTask<'p> {
    bodies: &'p mut Vec<Body>,
    spare: &'p mut Vec<Body>,
    steps: u32,
}

impl Task for NBodyTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        for _ in 0..self.steps {
            let step = Move {
                all: self.bodies,
                first: 0,
                to: self.spare,
            };
            step.run(fork.reborrow());
            std::mem::swap(self.bodies, self.spare);
        }
    }
}

/// Moves some of the bodies by a step.
struct Move<'p> {
    all: &'p [Body],
    first: usize,
    to: &'p mut [Body],
}

impl Task for Move<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let Move { all, first, to } = self;
        if to.len() <= BLOCK {
            for (next, body) in to.iter_mut().zip(&all[first..]) {
                *next = body.moved(all);
            }
            return;
        }
        let half = to.len() / 2;
        let (left, right) = to.split_at_mut(half);
        let part = |first, to| Move { all, first, to };
        fork.fork(part(first, left), part(first + half, right));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn halves_move_as_the_loop_does_and_the_momentum_stays() {
        for n in [0, 1, 2, 9, 70] {
            let mut program = NBody::new(n, 5, 3);
            program.task().run(Serial);
            assert_eq!(program.check(()), Ok(()), "{n}");
            for axis in 0..3 {
                let momentum = |body: &Body| body.mass * body.speed[axis];
                let sum: f64 = program.bodies.iter().map(momentum).sum();
                assert!(sum.abs() < 1e-9, "{sum}");
            }
        }
    }

    #[test]
    fn a_body_that_stood_still_is_found_out() {
        let mut program = NBody::new(30, 5, 3);
        program.task().run(Serial);
        program.bodies[17] = program.start[17];
        assert!(program.check(()).is_err());
    }
}
