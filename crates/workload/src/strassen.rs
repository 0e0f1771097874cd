//! Strassen's multiplication of matrices: seven products of half the side instead of eight.
//!
//! ```text
//!   M1 = (A11 + A22)(B11 + B22)     M5 = (A11 + A12) B22          C11 = M1 + M4 - M5 + M7
//!   M2 = (A21 + A22) B11            M6 = (A21 - A11)(B11 + B12)   C12 = M3 + M5
//!   M3 = A11 (B12 - B22)            M7 = (A12 - A22)(B21 + B22)   C21 = M2 + M4
//!   M4 = A22 (B21 - B11)                                          C22 = M1 - M2 + M3 + M6
//! ```
//!
//! The seven products run in parallel. Each allocates its operands and its result when it starts,
//! so memory in use is proportional to the number of products that are running, not to that of all
//! products.

use crate::fork::{Fork, Task};
use crate::matrix::{Matrix, Product, product_check, quadrants, whole};
use crate::program::{Mismatch, Program};

/// Matrices up to this side are multiplied by [`Product`]: the additions would cost more than the
/// product that is saved.
pub(crate) const BASE: usize = 128;

/// Multiplies two matrices by Strassen's method. The elements are small whole numbers, so the
/// result is exact. An operation is a multiplication with an addition of the plain method.
///
/// ```
/// use locksley_workload::{Program, Serial, Strassen, Task};
///
/// let mut strassen = Strassen::new(256);
/// strassen.task().run(Serial);
/// assert_eq!(strassen.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Strassen {
    a: Matrix,
    b: Matrix,
    c: Matrix,
}

impl Strassen {
    /// Creates the multiplication of two matrices of this side, rounded up as for [`Matrix::zero`].
    pub fn new(side: usize) -> Strassen {
        Strassen {
            a: whole(side, 1),
            b: whole(side, 2),
            c: Matrix::zero(side),
        }
    }

    /// Returns the product, after a run.
    ///
    /// ```
    /// use locksley_workload::{Multiplication, Program, Serial, Strassen, Task};
    ///
    /// let (mut one, mut other) = (Strassen::new(256), Multiplication::new(256));
    /// one.task().run(Serial);
    /// other.task().run(Serial);
    /// assert_eq!(one.product(), other.product());
    /// ```
    pub fn product(&self) -> &Matrix {
        &self.c
    }
}

impl Program for Strassen {
    type Task<'p> = StrassenTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        (self.c.side() as u64).pow(3)
    }

    fn task(&mut self) -> StrassenTask<'_> {
        let out = self.c.cells_mut();
        out.fill(0.0);
        StrassenTask {
            a: self.a.cells(),
            b: self.b.cells(),
            out,
        }
    }

    /// Freivalds' check, as for [`Multiplication`](crate::Multiplication).
    fn check(&self, (): ()) -> Result<(), Mismatch> {
        product_check(&self.a, &self.b, &self.c)
    }
}

/// Writes the product of two matrices into a third one, which must hold zeros.
///
/// ```
/// use locksley_workload::{Program, Serial, Strassen, StrassenTask, Task};
///
/// let mut strassen = Strassen::new(32);
/// let task: StrassenTask = strassen.task();
/// task.run(Serial);
/// ```
#[derive(Debug)]
pub struct StrassenTask<'m> {
    a: &'m [f64],
    b: &'m [f64],
    out: &'m mut [f64],
}

impl Task for StrassenTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        let StrassenTask { a, b, out } = self;
        if out.len() <= BASE * BASE {
            return Product::new(a, b, out).run(fork);
        }
        let ([a11, a12, a21, a22], [b11, b12, b21, b22]) = (quadrants(a), quadrants(b));
        use Operand::{Difference, Plain, Sum};
        let mut products = [
            (Sum(a11, a22), Sum(b11, b22)),
            (Sum(a21, a22), Plain(b11)),
            (Plain(a11), Difference(b12, b22)),
            (Plain(a22), Difference(b21, b11)),
            (Sum(a11, a12), Plain(b22)),
            (Difference(a21, a11), Sum(b11, b12)),
            (Difference(a12, a22), Sum(b21, b22)),
        ]
        .map(|(left, right)| Factor {
            left,
            right,
            product: Vec::new(),
        });
        Factors(&mut products).run(fork.reborrow());
        combine(&products.map(|factor| factor.product), out);
    }
}

/// Combines the seven products into the quadrants of the result.
fn combine([m1, m2, m3, m4, m5, m6, m7]: &[Vec<f64>; 7], out: &mut [f64]) {
    let quarter = out.len() / 4;
    let (upper, lower) = out.split_at_mut(2 * quarter);
    let ((c11, c12), (c21, c22)) = (upper.split_at_mut(quarter), lower.split_at_mut(quarter));
    for i in 0..quarter {
        c11[i] = m1[i] + m4[i] - m5[i] + m7[i];
        c12[i] = m3[i] + m5[i];
        c21[i] = m2[i] + m4[i];
        c22[i] = m1[i] - m2[i] + m3[i] + m6[i];
    }
}

/// An operand of a product.
#[derive(Clone, Copy)]
enum Operand<'m> {
    Plain(&'m [f64]),
    Sum(&'m [f64], &'m [f64]),
    Difference(&'m [f64], &'m [f64]),
}

impl<'m> Operand<'m> {
    /// Returns the cells of the operand; computed ones are put into `buffer`.
    fn cells<'b>(self, buffer: &'b mut Vec<f64>) -> &'b [f64]
    where
        'm: 'b,
    {
        match self {
            Operand::Plain(cells) => return cells,
            Operand::Sum(a, b) => buffer.extend(a.iter().zip(b).map(|(a, b)| a + b)),
            Operand::Difference(a, b) => buffer.extend(a.iter().zip(b).map(|(a, b)| a - b)),
        }
        buffer
    }
}

/// One of the seven products.
struct Factor<'m> {
    left: Operand<'m>,
    right: Operand<'m>,
    product: Vec<f64>,
}

/// Computes some of the seven products, halving their number until one is left.
struct Factors<'f, 'm>(&'f mut [Factor<'m>]);

impl Task for Factors<'_, '_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        match self.0 {
            [] => {}
            [
                Factor {
                    left,
                    right,
                    product,
                },
            ] => {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                let (a, b) = (left.cells(&mut a), right.cells(&mut b));
                product.resize(a.len(), 0.0);
                StrassenTask { a, b, out: product }.run(fork);
            }
            several => {
                let (first, second) = several.split_at_mut(several.len().div_ceil(2));
                fork.fork(Factors(first), Factors(second));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Multiplication, Serial};

    #[test]
    fn the_product_is_that_of_the_plain_method() {
        for side in [32, 128, 256] {
            let (mut one, mut other) = (Strassen::new(side), Multiplication::new(side));
            one.task().run(Serial);
            other.task().run(Serial);
            assert_eq!(one.check(()), Ok(()), "{side}");
            assert_eq!(one.product(), other.product(), "{side}");
        }
    }

    #[test]
    fn one_wrong_element_is_found_out() {
        let mut strassen = Strassen::new(256);
        strassen.task().run(Serial);
        strassen.c.cells_mut()[4321] -= 1.0;
        assert!(strassen.check(()).is_err());
    }
}
