//! Loops that split on request: data parallelism without a grain size.
//!
//! ```
//! use locksley::prelude::*;
//!
//! let numbers: Vec<u64> = (0..100_000).collect();
//! let sum: u64 = numbers.par().map(|n| n * n).filter(|n| n % 3 == 0).sum();
//! let twin: u64 = numbers.iter().map(|n| n * n).filter(|n| n % 3 == 0).sum();
//! assert_eq!(sum, twin);
//! ```
//!
//! A worker runs its loop as the plain sequential iterator, block by block, and looks between blocks
//! whether another worker is out of work. Only then does it fork: what is left is split in two, one
//! half for the other worker. So there is no chunk size to choose, a loop without helpers forks
//! nothing, and a loop that is too small to share is not shared. The private module `drive` has the
//! rule and its constants.
//!
//! # What there is
//!
//! | | |
//! |---|---|
//! | to begin | [`par`](AsPar::par), [`par_mut`](ParSlice::par_mut), [`into_par`](IntoPar::into_par), [`par_chunks`](ParSlice::par_chunks), [`par_windows`](ParSlice::par_windows) |
//! | sources | ranges of integers, slices, vectors, and what implements [`Split`] |
//! | adaptors | [`map`](Par::map), [`map_init`](Par::map_init), [`filter`](Par::filter), [`filter_map`](Par::filter_map), [`flat_map`](Par::flat_map), [`inspect`](Par::inspect), [`copied`](Par::copied), [`cloned`](Par::cloned), [`zip`](Par::zip), [`enumerate`](Par::enumerate), [`chain`](Par::chain) |
//! | ends | [`for_each`](Par::for_each), [`fold`](Par::fold), [`reduce`](Par::reduce), [`sum`](Par::sum), [`min`](Par::min), [`max`](Par::max), [`count`](Par::count), [`collect`](Par::collect), [`partition`](Par::partition), [`unzip`](Par::unzip) |
//! | ends that stop early | [`any`](Par::any), [`all`](Par::all), [`find_any`](Par::find_any), [`find_first`](Par::find_first), [`position`](Par::position), [`try_for_each`](Par::try_for_each), [`for_each_until`](Par::for_each_until) |
//! | algorithms | [`par_sort`](ParSort::par_sort), [`par_sort_unstable`](ParSort::par_sort_unstable), [`par_scan`](ParSort::par_scan), [`par_scan_exclusive`](ParSort::par_scan_exclusive), [`merge`], [`par_retain`](ParVec::par_retain), [`histogram`](Par::histogram), [`top_k`](Par::top_k) |
//!
//! # Where a loop runs
//!
//! On a worker, in its pool. Elsewhere the calling thread begins by itself, and what is left after
//! some ten microseconds goes to the global pool, if it is worth it. Loops nest, in each other and in
//! [`join`](crate::join()) and [`scope`](crate::scope()), and borrow from their callers.
//!
//! # Order
//!
//! Items run in any order; results come in theirs. What two pieces of a loop gave is put together
//! left to right, so an operation need be associative, not commutative.
//!
//! # Panics
//!
//! A panic reaches the caller. The other pieces of the loop stop at the end of their block, and
//! what was collected is dropped.

mod chunks;
mod clock;
mod collect;
mod compose;
mod convert;
pub(crate) mod demand;
mod drive;
mod ends;
mod iter;
mod order;
mod pipe;
mod scan;
mod sort;
mod source;
mod split;

pub use chunks::{Chunks, ChunksExact, ChunksMut, Windows};
pub use compose::{Chain, Enumerate, Zip};
pub use convert::{AsPar, IntoPar, ParSlice};
pub use iter::Par;
pub use order::{ParSort, ParVec, merge};
pub use pipe::{
    Both, Cloned, Copied, Filter, FilterMap, FlatMap, Inspect, Map, MapInit, OneToOne, Pipe, Same,
};
pub use source::{VecBlock, VecPiece};
pub use split::Split;
