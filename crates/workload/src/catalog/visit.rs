//! Building a program and passing it to a visitor.

use super::entries::Kind;
use super::{Spec, SpecError};
use crate::{Fib, Fold, NBody, Pi, Primes, Program, Queens, Scan, Skynet};

/// An operation on a program of any type.
///
/// ```
/// use locksley_workload::Program;
/// use locksley_workload::catalog::{Scale, Spec, Visitor};
///
/// /// How many operations a run has.
/// struct Operations;
///
/// impl Visitor for Operations {
///     type Output = u64;
///
///     fn visit<P: Program>(self, program: P) -> u64 {
///         program.operations()
///     }
/// }
///
/// let spec = Spec::parse("sort:n=1234", Scale::Quick)?;
/// assert_eq!(spec.visit(Operations)?, 1234);
/// # Ok::<(), locksley_workload::catalog::SpecError>(())
/// ```
pub trait Visitor {
    /// Result of the operation.
    type Output;

    /// Performs the operation on a program.
    fn visit<P: Program>(self, program: P) -> Self::Output;
}

impl Spec {
    /// Builds the program, its input and the expected result, and passes it to the visitor. For
    /// some programs this takes as long as a serial run.
    ///
    /// # Errors
    ///
    /// If the program turns out to be too large while it is built.
    pub fn visit<V: Visitor>(&self, visitor: V) -> Result<V::Output, SpecError> {
        self.is_affordable()?;
        Ok(match self.entry().kind {
            Kind::Fib => visitor.visit(Fib::new(self.long("n"))),
            Kind::Integrate => visitor.visit(self.integrate()),
            Kind::Queens => visitor.visit(Queens::new(self.short("n"))),
            Kind::Uts => visitor.visit(self.uts()),
            Kind::OwnUts => visitor.visit(self.own_uts()?),
            Kind::Sort => visitor.visit(self.sort()),
            Kind::Quicksort => visitor.visit(self.quicksort()),
            Kind::Matrix => visitor.visit(self.matrix()),
            Kind::Strassen => visitor.visit(self.strassen()),
            Kind::Lu => visitor.visit(self.lu()),
            Kind::Heat => visitor.visit(self.heat()),
            Kind::Knapsack => visitor.visit(self.knapsack()?),
            Kind::Tree => visitor.visit(self.tree()),
            Kind::Mandelbrot => visitor.visit(self.mandelbrot()),
            Kind::Rays => visitor.visit(self.rays()),
            Kind::Words => visitor.visit(self.words()),
            Kind::Batch => visitor.visit(self.batch()),
            Kind::Loop => visitor.visit(self.r#loop()),
            Kind::Generator => visitor.visit(self.generator()),
            Kind::Chain => visitor.visit(self.chain()),
            Kind::Phases => visitor.visit(self.phases()),
            Kind::Mark => visitor.visit(self.mark()),
            Kind::Skynet => visitor.visit(Skynet::new(self.short("levels"))),
            Kind::Primes => visitor.visit(Primes::new(self.long("n"))),
            Kind::Scan => visitor.visit(Scan::new(self.size("n"), self.long("seed"))),
            Kind::Fold => visitor.visit(Fold::new(self.size("n"), self.long("seed"))),
            Kind::NBody => {
                let (n, steps) = (self.size("n"), self.short("steps"));
                visitor.visit(NBody::new(n, steps, self.long("seed")))
            }
            Kind::Pi => visitor.visit(Pi::new(self.long("intervals"))),
        })
    }
}
