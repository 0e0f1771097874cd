//! Building a program and passing it to a visitor.

use super::entries::ProgramKind;
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
        self.check_demand()?;
        Ok(match self.entry().kind {
            ProgramKind::Fib => visitor.visit(Fib::new(self.long("n"))),
            ProgramKind::Integrate => visitor.visit(self.integrate()),
            ProgramKind::Queens => visitor.visit(Queens::new(self.short("n"))),
            ProgramKind::Uts => visitor.visit(self.uts()),
            ProgramKind::OwnUts => visitor.visit(self.own_uts()?),
            ProgramKind::Sort => visitor.visit(self.sort()),
            ProgramKind::Quicksort => visitor.visit(self.quicksort()),
            ProgramKind::Matrix => visitor.visit(self.matrix()),
            ProgramKind::Strassen => visitor.visit(self.strassen()),
            ProgramKind::Lu => visitor.visit(self.lu()),
            ProgramKind::Heat => visitor.visit(self.heat()),
            ProgramKind::Knapsack => visitor.visit(self.knapsack()?),
            ProgramKind::Tree => visitor.visit(self.tree()),
            ProgramKind::Mandelbrot => visitor.visit(self.mandelbrot()),
            ProgramKind::Rays => visitor.visit(self.rays()),
            ProgramKind::Words => visitor.visit(self.words()),
            ProgramKind::Batch => visitor.visit(self.batch()),
            ProgramKind::Loop => visitor.visit(self.r#loop()),
            ProgramKind::Generator => visitor.visit(self.generator()),
            ProgramKind::Chain => visitor.visit(self.chain()),
            ProgramKind::Phases => visitor.visit(self.phases()),
            ProgramKind::Mark => visitor.visit(self.mark()),
            ProgramKind::Skynet => visitor.visit(Skynet::new(self.short("levels"))),
            ProgramKind::Primes => visitor.visit(Primes::new(self.long("n"))),
            ProgramKind::Scan => visitor.visit(Scan::new(self.size("n"), self.long("seed"))),
            ProgramKind::Fold => visitor.visit(Fold::new(self.size("n"), self.long("seed"))),
            ProgramKind::NBody => {
                let (n, steps) = (self.size("n"), self.short("steps"));
                visitor.visit(NBody::new(n, steps, self.long("seed")))
            }
            ProgramKind::Pi => visitor.visit(Pi::new(self.long("intervals"))),
        })
    }
}
