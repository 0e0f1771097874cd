//! Programs from their parameters.

use super::demand::{MOST_BRANCHES, MOST_LEVELS, MOST_NODES};
use super::{Spec, SpecError, Value};
use crate::{
    Batch, Chain, Generator, Heat, Integrate, Knapsack, Layout, Lu, Mandelbrot, Merge,
    Multiplication, Quicksort, Rays, Shape, Sort, Strassen, Tree, Uts, UtsTree, Words,
};

/// Reading parameters: their types and ranges were checked when the spec was made.
impl Spec {
    pub(super) fn long(&self, parameter: &str) -> u64 {
        self.number(parameter).unwrap_or_default()
    }

    pub(super) fn size(&self, parameter: &str) -> usize {
        self.long(parameter) as usize
    }

    pub(super) fn short(&self, parameter: &str) -> u32 {
        self.long(parameter) as u32
    }

    fn decimal(&self, parameter: &str) -> f64 {
        match self.value(parameter) {
            Some(Value::Decimal(number)) => number,
            _ => 0.0,
        }
    }

    fn too_much(&self, what: &'static str, limit: u64) -> SpecError {
        SpecError::TooMuch {
            spec: self.to_string(),
            what,
            needs: limit.saturating_add(1),
            limit,
        }
    }
}

/// The programs.
impl Spec {
    pub(super) fn integrate(&self) -> Integrate {
        Integrate::new(self.short("digits"))
    }

    /// The words of the parameter are the names of the published trees.
    pub(super) fn uts(&self) -> Uts {
        let tree = self.word("tree").and_then(UtsTree::published);
        let (tree, size) = tree.unwrap_or(UtsTree::SMALLEST);
        Uts::known(tree, size)
    }

    pub(super) fn own_uts(&self) -> Result<Uts, SpecError> {
        let shape = match self.word("shape") {
            Some("linear") => Shape::Linear,
            Some("exponential") => Shape::Exponential,
            Some("cyclic") => Shape::Cyclic,
            _ => Shape::Fixed,
        };
        let (depth, branching) = (self.short("depth"), self.decimal("branching"));
        let (q, m, seed) = (self.decimal("q"), self.short("m"), self.short("seed"));
        let tree = match self.word("type") {
            Some("binomial") => UtsTree::binomial(branching, q, m, seed),
            Some("hybrid") => UtsTree::hybrid(shape, depth, branching, q, m, seed),
            _ => UtsTree::geometric(shape, depth, branching, seed),
        };
        let (uts, ended) = Uts::within(tree, MOST_NODES, MOST_LEVELS);
        if ended {
            return Ok(uts);
        }
        Err(match uts.size().depth > MOST_LEVELS {
            true => self.too_much("levels", MOST_LEVELS.into()),
            false => self.too_much("nodes", MOST_NODES),
        })
    }

    pub(super) fn sort(&self) -> Sort {
        let merge = match self.word("merge") {
            Some("parallel") => Merge::Parallel,
            _ => Merge::Serial,
        };
        Sort::with_merge(self.size("n"), self.long("seed"), merge)
    }

    pub(super) fn quicksort(&self) -> Quicksort {
        Quicksort::new(self.size("n"), self.long("seed"))
    }

    pub(super) fn matrix(&self) -> Multiplication {
        Multiplication::new(self.size("n"))
    }

    pub(super) fn strassen(&self) -> Strassen {
        Strassen::new(self.size("n"))
    }

    pub(super) fn lu(&self) -> Lu {
        Lu::new(self.size("n"), self.long("seed"))
    }

    pub(super) fn heat(&self) -> Heat {
        let (rows, columns) = (self.size("rows"), self.size("columns"));
        Heat::new(rows, columns, self.short("sweeps"), self.size("block"))
    }

    pub(super) fn knapsack(&self) -> Result<Knapsack, SpecError> {
        match Knapsack::within(self.size("n"), self.long("seed"), MOST_BRANCHES) {
            (knapsack, true) => Ok(knapsack),
            (_, false) => Err(self.too_much("branches", MOST_BRANCHES)),
        }
    }

    pub(super) fn tree(&self) -> Tree {
        let layout = match self.word("layout") {
            Some("postorder") => Layout::Postorder,
            _ => Layout::Preorder,
        };
        Tree::new(self.short("layers"), layout)
    }

    pub(super) fn mandelbrot(&self) -> Mandelbrot {
        Mandelbrot::new(self.size("n"), self.short("limit"))
    }

    pub(super) fn rays(&self) -> Rays {
        let (spheres, bounces) = (self.size("spheres"), self.short("bounces"));
        Rays::new(self.size("n"), spheres, bounces, self.long("seed"))
    }

    pub(super) fn words(&self) -> Words {
        Words::new(self.long("n"), self.short("vocabulary"), self.long("seed"))
    }

    pub(super) fn batch(&self) -> Batch {
        let tasks = self.size("threads") * self.size("tasks");
        let heavy = self.long("heavy");
        match self.word("load") {
            Some("even") => Batch::random(tasks, heavy..=heavy + 4, self.long("seed")),
            Some("equal") => Batch::even(tasks, heavy),
            _ => Batch::skewed(tasks, heavy),
        }
    }

    pub(super) fn generator(&self) -> Generator {
        let (gap, grain) = (self.short("gap"), self.short("grain"));
        Generator::new(self.short("tasks"), gap, grain, self.long("seed"))
    }

    pub(super) fn chain(&self) -> Chain {
        let (serial, parallel) = (self.short("serial"), self.short("parallel"));
        Chain::new(self.short("periods"), serial, parallel, self.long("seed"))
    }
}
