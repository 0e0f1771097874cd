//! Fork-join programs for any runtime, each with a serial oracle.
//!
//! A [`Task`] is a piece of work that may fork. It gets a [`Fork`], which defines how: [`Serial`]
//! runs both sides on the calling thread, a runtime's adapter offers one of them to other threads.
//! Dispatch is static and a fork is passed by value, so an adapter compiles to the runtime's own
//! call, whether the runtime passes a context along (`&Worker`, `&mut Scope`) or finds it itself
//! (then the fork is of size zero).
//!
//! A [`Program`] is a task with its parameters that can be run repeatedly, and an oracle that
//! checks the result. The [`catalog`] has every program by name.
//!
//! ```
//! use locksley_workload::{Fib, Fork, Program, Serial, Task};
//!
//! /// A runtime whose join is a free function.
//! #[derive(Clone, Copy)]
//! struct Threads;
//!
//! impl Fork for Threads {
//!     type Reborrowed<'a> = Threads;
//!
//!     fn reborrow(&mut self) -> Threads {
//!         Threads
//!     }
//!
//!     fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
//!         std::thread::scope(|scope| {
//!             let b = scope.spawn(|| b.run(Threads));
//!             (a.run(Threads), b.join().unwrap())
//!         })
//!     }
//! }
//!
//! let mut fib = Fib::new(5);
//! let answer = fib.task().run(Threads);
//! assert_eq!(answer, 5);
//! assert_eq!(fib.check(answer), Ok(()));
//! assert_eq!(fib.task().run(Serial), 5);
//! ```
//!
//! The programs fork as finely as they can, and run the first side first: on one worker, a tree, an
//! array or a matrix is processed from left to right.

#![forbid(unsafe_code)]

mod batch;
pub mod catalog;
mod chain;
mod fib;
mod fold;
mod fork;
mod generator;
mod heat;
mod integrate;
mod knapsack;
mod loops;
mod lu;
mod mandelbrot;
mod mark;
mod matrix;
mod nbody;
mod phases;
mod pi;
mod primes;
mod program;
mod queens;
mod quicksort;
mod random;
mod rays;
mod scan;
mod skynet;
mod sort;
mod strassen;
mod tree;
mod uts;
mod words;

pub use batch::{Batch, BatchTask, Chunk};
pub use chain::{Chain, ChainTask};
pub use fib::{Fib, FibTask};
pub use fold::{Affine, Fold, FoldTask};
pub use fork::{Fork, Serial, Spawned, Task};
pub use generator::{Generate, Generator, GeneratorLoop, GeneratorTask};
pub use heat::{Heat, HeatTask};
pub use integrate::{Integral, Integrate, IntegrateTask};
pub use knapsack::{Knapsack, KnapsackTask};
pub use loops::{Costs, ParallelLoop, ParallelLoopTask};
pub use lu::{Lu, LuTask};
pub use mandelbrot::{Mandelbrot, MandelbrotTask};
pub use mark::{Heap, Mark, MarkTask};
pub use matrix::{Matrix, Multiplication, Product};
pub use nbody::{NBody, NBodyTask};
pub use phases::{Phases, PhasesTask, SpawnMode};
pub use pi::{Pi, PiTask};
pub use primes::{Primes, PrimesTask};
pub use program::{Mismatch, Program, expect};
pub use queens::{Queens, QueensTask};
pub use quicksort::{Quicksort, QuicksortTask};
pub use rays::{Rays, RaysTask};
pub use scan::{Scan, ScanTask};
pub use skynet::{Skynet, SkynetTask};
pub use sort::{Merge, Sort, SortTask};
pub use strassen::{Strassen, StrassenTask};
pub use tree::{Layout, Sum, Tree};
pub use uts::{Search, Shape, Size, Uts, UtsNode, UtsTree};
pub use words::{Words, WordsTask};
