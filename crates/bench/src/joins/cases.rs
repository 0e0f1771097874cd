//! The programs that the runtimes run, and their sizes.

use locksley_workload::{
    Batch, Fib, Layout, Multiplication, Program, Queens, Sort, Tree, Uts, UtsTree,
};

/// A program.
pub(crate) struct Case {
    /// Name in a hidden subcommand.
    pub(crate) name: &'static str,
    /// Names in tables, bars and JSON, with one worker and with two.
    pub(crate) one: &'static str,
    pub(crate) two: &'static str,
    pub(crate) about: &'static str,
    /// Set if the program is measured with one worker as well.
    pub(crate) alone: bool,
    /// Divisor of the plan's rounds, for programs that take long.
    pub(crate) length: usize,
}

/// An operation on every program.
pub(crate) trait Visitor {
    fn visit<P: Program + 'static>(&mut self, case: Case, make: impl Fn() -> P + 'static);
}

macro_rules! case {
    ($name:literal, $about:literal, length $length:literal $(, $alone:ident)?) => {
        Case {
            name: $name,
            one: concat!($name, " P=1"),
            two: concat!($name, " P=2"),
            about: $about,
            alone: case!(@alone $($alone)?),
            length: $length,
        }
    };
    (@alone alone) => { true };
    (@alone) => { false };
}

/// Visits all programs, in the order of the report. They are small in a quick run.
pub(crate) fn visit(quick: bool, visitor: &mut impl Visitor) {
    let pick = move |small: u64, full: u64| if quick { small } else { full };
    let layers = pick(10, 23) as u32;
    visitor.visit(
        case!("fib", "fib(32) by recursion, per join", length 2, alone),
        move || Fib::new(pick(16, 32)),
    );
    visitor.visit(
        case!("tree preorder", "the sum of 2^23 boxed nodes allocated in preorder, per node",
            length 3, alone),
        move || Tree::new(layers, Layout::Preorder),
    );
    visitor.visit(
        case!("tree postorder", "the sum of 2^23 boxed nodes allocated in postorder, per node",
            length 3, alone),
        move || Tree::new(layers, Layout::Postorder),
    );
    visitor.visit(
        case!("queens", "12 queens, a join between any two squares, per run", length 2),
        move || Queens::new(pick(7, 12) as u32),
    );
    visitor.visit(
        case!("uts T1", "the search of a geometric tree, per node", length 6),
        move || Uts::new(uts(quick, "T1")),
    );
    visitor.visit(
        case!("uts T3", "the search of an extremely unbalanced tree, per node", length 6),
        move || Uts::new(uts(quick, "T3")),
    );
    visitor.visit(
        case!("sort", "merge sort of 10^7 u64, halves in parallel, serial merge, per number",
            length 8),
        move || Sort::new(pick(10_000, 10_000_000) as usize, 7),
    );
    visitor.visit(
        case!("matrix", "1024 x 1024 by recursive halving, per multiplication", length 5),
        move || Multiplication::new(pick(64, 1024) as usize),
    );
    visitor.visit(
        case!("skewed",
            "200 pieces: the first half fib(25), the second fib(1), by halving, per piece",
            length 3),
        move || Batch::skewed(200, pick(10, 25)),
    );
    visitor.visit(
        case!("four large", "4 equal pieces, by halving, per piece", length 3),
        move || Batch::even(4, pick(10, 31)),
    );
    visitor.visit(
        case!("three large", "3 equal pieces, by halving, per piece", length 3),
        move || Batch::even(3, pick(10, 31)),
    );
}

fn uts(quick: bool, name: &str) -> UtsTree {
    if quick {
        return UtsTree::binomial(50.0, 0.2, 4, 42);
    }
    UtsTree::published(name).expect("a tree of the literature")
}
