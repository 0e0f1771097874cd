//! The Mandelbrot set: neighbouring pixels may take one step or thousands.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect_each};

/// Number of pixels that are computed serially: some microseconds where they are cheap.
const GRAIN: usize = 64;

/// The part of the plane: [-2, 0.5] times [-1.25, 1.25].
const LEFT: f64 = -2.0;
const BOTTOM: f64 = -1.25;
const SIDE: f64 = 2.5;

/// Computes an image of the set. An operation is a pixel.
///
/// ```
/// use locksley_workload::{Mandelbrot, Program, Serial, Task};
///
/// let mut mandelbrot = Mandelbrot::new(64, 200);
/// mandelbrot.task().run(Serial);
/// assert_eq!(mandelbrot.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Mandelbrot {
    side: usize,
    limit: u32,
    /// Number of steps of each pixel, row by row.
    steps: Vec<u32>,
    expected: Vec<u32>,
}

impl Mandelbrot {
    /// Creates a square image, with at most `limit` steps for a pixel. The expected result is
    /// computed row by row, and only for the upper half: the set is its own mirror image.
    pub fn new(side: usize, limit: u32) -> Mandelbrot {
        let view = View { side, limit };
        let half = side.div_ceil(2);
        let mut expected: Vec<u32> = Vec::with_capacity(side * side);
        for row in 0..half {
            expected.extend((0..side).map(|column| view.steps(row, column)));
        }
        for row in half..side {
            let mirrored = (side - 1 - row) * side;
            expected.extend_from_within(mirrored..mirrored + side);
        }
        Mandelbrot {
            side,
            limit,
            steps: vec![0; side * side],
            expected,
        }
    }

    /// Returns the number of steps of each pixel, row by row. Pixels with `limit` steps are inside
    /// the set.
    pub fn steps(&self) -> &[u32] {
        &self.steps
    }
}

/// Maps pixels to points, and limits their steps.
#[derive(Clone, Copy, Debug)]
struct View {
    side: usize,
    limit: u32,
}

impl View {
    fn steps(self, row: usize, column: usize) -> u32 {
        // A coordinate is computed from the distance to the axis, so that mirror images are exact.
        let (last, twice) = (self.side - 1, 2 * row);
        let distance = last.abs_diff(twice) as f64 / (2 * self.side) as f64;
        let y = if twice < last { -distance } else { distance };
        let x = (2 * column + 1) as f64 / (2 * self.side) as f64;
        let middle = BOTTOM + 0.5 * SIDE;
        escape(LEFT + SIDE * x, middle + SIDE * y, self.limit)
    }
}

/// Returns how many steps of z := z^2 + c keep |z| at most 2, up to the limit.
fn escape(x: f64, y: f64, limit: u32) -> u32 {
    let (mut re, mut im) = (0.0_f64, 0.0_f64);
    for step in 0..limit {
        let (re2, im2) = (re * re, im * im);
        if re2 + im2 > 4.0 {
            return step;
        }
        im = 2.0 * re * im + y;
        re = re2 - im2 + x;
    }
    limit
}

impl Program for Mandelbrot {
    type Task<'p> = MandelbrotTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        self.steps.len() as u64
    }

    fn task(&mut self) -> MandelbrotTask<'_> {
        self.steps.fill(u32::MAX);
        MandelbrotTask {
            view: View {
                side: self.side,
                limit: self.limit,
            },
            first: 0,
            steps: &mut self.steps,
        }
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        expect_each(&self.expected, &self.steps, |at, steps| {
            ((at / self.side, at % self.side), *steps)
        })
    }
}

/// Computes some of the pixels.
///
/// ```
/// use locksley_workload::{Mandelbrot, MandelbrotTask, Program, Serial, Task};
///
/// let mut mandelbrot = Mandelbrot::new(8, 100);
/// let task: MandelbrotTask = mandelbrot.task();
/// task.run(Serial);
/// assert!(mandelbrot.steps().contains(&100));
/// ```
#[derive(Debug)]
pub struct MandelbrotTask<'p> {
    view: View,
    /// Number of the first pixel.
    first: usize,
    steps: &'p mut [u32],
}

impl Task for MandelbrotTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let MandelbrotTask { view, first, steps } = self;
        if steps.len() <= GRAIN {
            for (pixel, steps) in (first..).zip(steps) {
                *steps = view.steps(pixel / view.side, pixel % view.side);
            }
            return;
        }
        let middle = steps.len() / 2;
        let (upper, lower) = steps.split_at_mut(middle);
        let part = |first, steps| MandelbrotTask { view, first, steps };
        fork.fork(part(first, upper), part(first + middle, lower));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn points_that_are_known_escape_when_they_must() {
        let inside = [
            (0.0, 0.0),
            (-1.0, 0.0),
            (-2.0, 0.0),
            (0.25, 0.0),
            (0.0, 1.0),
        ];
        for (x, y) in inside {
            assert_eq!(escape(x, y, 1000), 1000, "{x} {y}");
        }
        // 0, 1, 2, 5: |z| is above 2 after three steps.
        assert_eq!(escape(1.0, 0.0, 1000), 3);
        assert_eq!(escape(3.0, 0.0, 1000), 1);
    }

    #[test]
    fn images_of_every_size_are_their_own_mirror_images() {
        for side in [0, 1, 2, 3, 17, 40] {
            let mut mandelbrot = Mandelbrot::new(side, 100);
            mandelbrot.task().run(Serial);
            assert_eq!(mandelbrot.check(()), Ok(()), "{side}");
        }
    }

    #[test]
    fn the_area_is_about_right() {
        let mut mandelbrot = Mandelbrot::new(300, 300);
        mandelbrot.task().run(Serial);
        let inside = mandelbrot.steps().iter().filter(|steps| **steps == 300);
        let area = inside.count() as f64 * (SIDE / 300.0) * (SIDE / 300.0);
        assert!((1.50..1.56).contains(&area), "{area}");
    }

    #[test]
    fn a_pixel_that_is_left_out_is_found_out() {
        let mut mandelbrot = Mandelbrot::new(20, 100);
        mandelbrot.task().run(Serial);
        mandelbrot.steps[123] = u32::MAX;
        assert!(mandelbrot.check(()).is_err());
    }
}
