//! Building a program and handing it over.

use super::entries::Kind;
use super::{Spec, SpecError};
use crate::{Batch, Fib, Layout, Merge, Multiplication, Program, Queens, Sort, Tree, Uts, UtsTree};

/// What is done with a program, whichever it is.
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
    /// What comes of it.
    type Output;

    /// Is handed the program.
    fn visit<P: Program>(self, program: P) -> Self::Output;
}

impl Spec {
    /// Builds the program, its input and what must come out, and hands it to the visitor.
    ///
    /// # Errors
    ///
    /// If the program turns out to be too large while it is built.
    pub fn visit<V: Visitor>(&self, visitor: V) -> Result<V::Output, SpecError> {
        self.is_affordable()?;
        let number = |parameter| self.number(parameter).unwrap_or_default();
        let word = |parameter| self.word(parameter).unwrap_or_default();
        Ok(match self.entry().kind {
            Kind::Fib => visitor.visit(Fib::new(number("n"))),
            Kind::Queens => visitor.visit(Queens::new(number("n") as u32)),
            Kind::Uts => {
                // The words of the parameter are the names of the published trees.
                let tree = UtsTree::published(word("tree")).unwrap_or(UtsTree::SMALLEST);
                visitor.visit(Uts::known(tree.0, tree.1))
            }
            Kind::Sort => {
                let merge = match word("merge") {
                    "parallel" => Merge::Parallel,
                    _ => Merge::Serial,
                };
                visitor.visit(Sort::with_merge(
                    number("n") as usize,
                    number("seed"),
                    merge,
                ))
            }
            Kind::Matrix => visitor.visit(Multiplication::new(number("n") as usize)),
            Kind::Tree => {
                let layout = match word("layout") {
                    "postorder" => Layout::Postorder,
                    _ => Layout::Preorder,
                };
                visitor.visit(Tree::new(number("layers") as u32, layout))
            }
            Kind::Batch => visitor.visit(self.batch()),
        })
    }

    fn batch(&self) -> Batch {
        let number = |parameter| self.number(parameter).unwrap_or_default();
        let tasks = (number("threads") * number("tasks")) as usize;
        let heavy = number("heavy");
        match self.word("load") {
            Some("even") => Batch::random(tasks, heavy..=heavy + 4, number("seed")),
            Some("equal") => Batch::even(tasks, heavy),
            _ => Batch::skewed(tasks, heavy),
        }
    }
}
