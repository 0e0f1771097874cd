//! Builds programs from their parameters.

use super::demand::{MOST_BRANCHES, MOST_LEVELS, MOST_NODES};
use super::{Spec, SpecError, Value};
use crate::{
    Batch, Chain, Costs, Generator, Heap, Heat, Integrate, Knapsack, Layout, Lu, Mandelbrot, Mark,
    Merge, Multiplication, ParallelLoop, Phases, Quicksort, Rays, Shape, Sort, SpawnMode, Strassen,
    Tree, Uts, UtsTree, Words,
};

/// Access to parameters, whose types and ranges were checked when the spec was made.
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

/// Constructors of the programs.
impl Spec {
    pub(super) fn integrate(&self) -> Integrate {
        Integrate::new(self.short("digits"))
    }

    /// The valid words of the parameter are the names of the published trees.
    pub(super) fn uts(&self) -> Uts {
        let tree = self.word("tree").and_then(UtsTree::published_with_size);
        let (tree, size) = tree.unwrap_or(UtsTree::SMALLEST);
        Uts::with_size(tree, size)
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
        let (uts, ended) = Uts::limited(tree, MOST_NODES, MOST_LEVELS);
        if ended {
            return Ok(uts);
        }
        Err(if uts.size().depth > MOST_LEVELS {
            self.too_much("levels", MOST_LEVELS.into())
        } else {
            self.too_much("nodes", MOST_NODES)
        })
    }

    pub(super) fn sort(&self) -> Sort {
        let merge = match self.word("merge") {
            Some("parallel") => Merge::Parallel,
            Some("path") => Merge::Path,
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
        Heat::new(rows, columns, self.short("sweeps"), self.size("block")).by(self.mode())
    }

    fn mode(&self) -> SpawnMode {
        match self.word("by") {
            Some("spawn") => SpawnMode::Spawn,
            Some("near") => SpawnMode::Near,
            _ => SpawnMode::Fork,
        }
    }

    pub(super) fn phases(&self) -> Phases {
        let (blocks, length) = (self.size("blocks"), self.size("length"));
        let (mode, seed) = (self.mode(), self.long("seed"));
        Phases::new(blocks, length, self.short("phases"), mode, seed)
    }

    pub(super) fn mark(&self) -> Mark {
        let heap = match self.word("heap") {
            Some("lists") => Heap::Lists,
            Some("arrays") => Heap::Arrays,
            _ => Heap::Random,
        };
        Mark::new(heap, self.short("objects"), self.long("seed"))
    }

    pub(super) fn knapsack(&self) -> Result<Knapsack, SpecError> {
        match Knapsack::limited(self.size("n"), self.long("seed"), MOST_BRANCHES) {
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

    /// The word is the name of the distribution.
    pub(super) fn costs(&self) -> Costs {
        match self.word("costs") {
            Some("triangular") => Costs::Triangular,
            Some("costly-front") => Costs::CostlyFront,
            Some("costly-end") => Costs::CostlyEnd,
            Some("costly-random") => Costs::CostlyRandom,
            _ => Costs::Equal,
        }
    }

    pub(super) fn r#loop(&self) -> ParallelLoop {
        ParallelLoop::new(self.long("n"), self.long("work"), self.costs())
    }

    pub(super) fn batch(&self) -> Batch {
        let tasks = self.size("threads") * self.size("tasks");
        let heavy = self.long("heavy");
        let batch = match self.word("load") {
            Some("even") => Batch::random(tasks, heavy..=heavy + 4, self.long("seed")),
            Some("equal") => Batch::even(tasks, heavy),
            _ => Batch::skewed(tasks, heavy),
        };
        match self.mode() {
            SpawnMode::Fork => batch,
            _ => batch.spawned(),
        }
    }

    pub(super) fn generator(&self) -> Generator {
        let (gap, grain) = (self.short("gap"), self.short("grain"));
        let generator = Generator::new(self.short("tasks"), gap, grain, self.long("seed"));
        match self.mode() {
            SpawnMode::Fork => generator,
            _ => generator.spawned(),
        }
    }

    pub(super) fn chain(&self) -> Chain {
        let (serial, parallel) = (self.short("serial"), self.short("parallel"));
        Chain::new(self.short("periods"), serial, parallel, self.long("seed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Scale;

    fn spec(text: &str) -> Spec {
        Spec::parse(text, Scale::Quick).unwrap()
    }

    #[test]
    fn each_type_of_tree_is_built() {
        let size = |kind: &str| {
            let text =
                format!("uts-own:type={kind},shape=linear,depth=6,branching=4,q=0.2,m=4,seed=1");
            spec(&text).own_uts().unwrap().size()
        };
        let binomial = Uts::new(UtsTree::binomial(4.0, 0.2, 4, 1)).size();
        let geometric = Uts::new(UtsTree::geometric(Shape::Linear, 6, 4.0, 1)).size();
        let hybrid = Uts::new(UtsTree::hybrid(Shape::Linear, 6, 4.0, 0.2, 4, 1)).size();
        assert_eq!(size("binomial"), binomial);
        assert_eq!(size("geometric"), geometric);
        assert_eq!(size("hybrid"), hybrid);
        assert!(binomial != geometric && geometric != hybrid && hybrid != binomial);
    }

    #[test]
    fn each_shape_of_tree_is_built() {
        let shapes = [
            ("linear", Shape::Linear),
            ("exponential", Shape::Exponential),
            ("cyclic", Shape::Cyclic),
            ("fixed", Shape::Fixed),
        ];
        let sizes = shapes.map(|(name, shape)| {
            let text = format!("uts-own:geometric,shape={name},depth=4,branching=2,seed=1");
            let size = spec(&text).own_uts().unwrap().size();
            let expected = Uts::new(UtsTree::geometric(shape, 4, 2.0, 1)).size();
            assert_eq!(size, expected, "{name}");
            size
        });
        assert!(
            (1..4).all(|at| !sizes[..at].contains(&sizes[at])),
            "{sizes:?}"
        );
    }

    #[test]
    fn a_tree_that_is_too_large_says_in_what() {
        let what = |text: &str| match spec(text).own_uts() {
            Err(SpecError::TooMuch { what, .. }) => what,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(what("uts-own:binomial,branching=1,q=1,m=1"), "levels");
    }

    #[test]
    fn a_published_tree_has_its_published_size() {
        assert_eq!(spec("uts:T1").uts().size().nodes, 4_130_071);
    }

    #[test]
    fn batches_are_even_equal_or_skewed() {
        let batch = |load: &str| format!("{:?}", spec(&format!("batch:load={load}")).batch());
        let spec = spec("batch:load=equal");
        let tasks = spec.size("threads") * spec.size("tasks");
        let (heavy, seed) = (spec.long("heavy"), spec.long("seed"));
        let of = |batch: Batch| format!("{batch:?}");
        assert_eq!(batch("equal"), of(Batch::even(tasks, heavy)));
        assert_eq!(batch("skewed"), of(Batch::skewed(tasks, heavy)));
        assert_eq!(
            batch("even"),
            of(Batch::random(tasks, heavy..=heavy + 4, seed))
        );
        assert!(batch("equal") != batch("skewed") && batch("skewed") != batch("even"));
    }
}
