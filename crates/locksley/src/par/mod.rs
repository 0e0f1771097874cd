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
//! A worker runs its loop as a plain sequential iterator, block by block, and checks between blocks
//! whether another worker is out of work. Only then does it fork: it splits the remaining items in
//! two, one half for the other worker. So there is no chunk size to choose, a loop without helpers
//! forks nothing, and a loop that is too small to share is not shared. The private module `pace`
//! has the rule and its constants.
//!
//! # Overview
//!
//! | | |
//! |---|---|
//! | begin a loop | [`par`], [`par_mut`], [`into_par`] |
//! | parts of slices | [`par_chunks`] and its variants, [`par_windows`] |
//! | two dimensions | [`tiles()`], [`par_tiles_mut`] |
//! | strings | [`par_lines`], [`par_bytes`] |
//! | sources | ranges of integers, slices, vectors, and any type that implements [`Split`] |
//! | adaptors | [`map`], [`map_init`], [`filter`], [`filter_map`], [`flat_map`], [`inspect`] |
//! |  | [`copied`], [`cloned`] |
//! | by position | [`zip`], [`enumerate`], [`take`], [`skip`], [`chain`], [`rev`], [`step_by`] |
//! | up to an item | [`take_while`], [`map_while`] |
//! | control splitting | [`split_where`], [`deterministic`] |
//! | ends | [`for_each`], [`fold`], [`reduce`], [`sum`], [`product`], [`min`], [`max`], [`count`] |
//! | collect | [`collect`], [`partition`], [`unzip`] |
//! | stop early | [`any`], [`all`], [`find_any`], [`find_first`], [`position`] |
//! |  | [`try_for_each`], [`for_each_until`] |
//! | summarise | [`histogram`], [`top_k`] |
//! | sort, select | [`par_sort`], [`par_sort_unstable`], [`par_select_nth_unstable`] |
//! |  | [`par_partition_unstable`], [`merge()`] |
//! | prefix sums | [`par_scan`], [`par_scan_exclusive`] |
//! | compact | [`par_retain`], [`par_dedup`] |
//!
//! The [guide](crate::guide::from_rayon_iterators) lists rayon's names for these methods, and what
//! is missing.
//!
//! # Iterators of other crates
//!
//! With the feature `paralight`, a `&Pool` is a pool of paralight's iterators
//! (`with_thread_pool(&pool)`): they run as loops that split on request. With `orx-parallel`, a
//! pool is one of orx-parallel's (`Runner::adaptive_with_pool(&pool)`). rayon's iterators run on
//! the drop-in `rayon-core`.
//!
//! # Where a loop runs
//!
//! A loop on a worker runs in its pool. Elsewhere the calling thread begins on its own, and passes
//! the remaining items to the global pool after some microseconds, if that is worthwhile. Loops
//! nest, in each other and in [`join`](crate::join()) and [`scope`](crate::scope()), and borrow
//! from their callers.
//!
//! # Order
//!
//! Items run in any order, but results are in the order of the items. The results of two pieces of
//! a loop are combined left to right, so an operation must be associative, but need not be
//! commutative. If it is only approximately associative, like the addition of floating-point
//! numbers, [`deterministic`](Par::deterministic) fixes the splits.
//!
//! # Panics
//!
//! A panic reaches the caller. The other pieces of the loop stop at the end of their block, and
//! collected items are dropped.
//!
//! # What does not compile
//!
//! A closure is shared by all workers, so it cannot change what it borrows:
//!
//! ```compile_fail,E0594
//! use locksley::prelude::*;
//! let mut sum = 0;
//! (0..10_u32).par().for_each(|n| sum += n);
//! ```
//!
//! nor use a value that is not [`Sync`]:
//!
//! ```compile_fail,E0277
//! use locksley::prelude::*;
//! let count = std::cell::Cell::new(0);
//! (0..10_u32).par().for_each(|_| count.set(1));
//! ```
//!
//! Items that are not [`Send`] stay on their thread:
//!
//! ```compile_fail,E0277
//! use locksley::prelude::*;
//! let all: Vec<std::rc::Rc<u32>> = (0..10_u32).par().map(std::rc::Rc::new).collect();
//! ```
//!
//! ```compile_fail,E0277
//! use locksley::prelude::*;
//! vec![std::rc::Rc::new(1)].into_par().for_each(drop);
//! ```
//!
//! After a `filter`, the positions of the items are unknown:
//!
//! ```compile_fail,E0277
//! use locksley::prelude::*;
//! (0..10_u32).par().filter(|n| n % 2 == 0).enumerate().count();
//! ```
//!
//! ```compile_fail,E0277
//! use locksley::prelude::*;
//! (0..10_u32).par().zip((0..10_u32).par().filter(|n| n % 2 == 0)).count();
//! ```
//!
//! A loop is reversed before it is mapped:
//!
//! ```compile_fail,E0599
//! use locksley::prelude::*;
//! (0..10_u32).par().map(|n| n + 1).rev().count();
//! ```
//!
//! A slice that a loop changes cannot be borrowed again:
//!
//! ```compile_fail,E0502
//! use locksley::prelude::*;
//! let mut numbers = vec![1, 2, 3];
//! numbers.par_mut().for_each(|n| *n += numbers[0]);
//! ```
//!
//! and what a loop borrows must outlive its results:
//!
//! ```compile_fail,E0597
//! use locksley::prelude::*;
//! let longest = {
//!     let words = vec!["a".to_owned()];
//!     words.par().max()
//! };
//! assert!(longest.is_some());
//! ```
//!
//! The rows of a tile can be borrowed only once at a time:
//!
//! ```compile_fail,E0499
//! use locksley::prelude::*;
//! let mut picture = vec![0; 4];
//! picture.par_tiles_mut(2, (2, 2)).for_each(|mut tile| {
//!     let (a, b) = (tile.rows_mut(), tile.rows_mut());
//!     a.zip(b).count();
//! });
//! ```
//!
//! [`all`]: Par::all
//! [`any`]: Par::any
//! [`chain`]: Par::chain
//! [`cloned`]: Par::cloned
//! [`collect`]: Par::collect
//! [`copied`]: Par::copied
//! [`count`]: Par::count
//! [`deterministic`]: Par::deterministic
//! [`enumerate`]: Par::enumerate
//! [`filter`]: Par::filter
//! [`filter_map`]: Par::filter_map
//! [`find_any`]: Par::find_any
//! [`find_first`]: Par::find_first
//! [`flat_map`]: Par::flat_map
//! [`fold`]: Par::fold
//! [`for_each`]: Par::for_each
//! [`for_each_until`]: Par::for_each_until
//! [`histogram`]: Par::histogram
//! [`inspect`]: Par::inspect
//! [`into_par`]: IntoPar::into_par
//! [`map`]: Par::map
//! [`map_init`]: Par::map_init
//! [`map_while`]: Par::map_while
//! [`max`]: Par::max
//! [`min`]: Par::min
//! [`par`]: AsPar::par
//! [`par_bytes`]: ParStr::par_bytes
//! [`par_chunks`]: ParSlice::par_chunks
//! [`par_dedup`]: ParVec::par_dedup
//! [`par_lines`]: ParStr::par_lines
//! [`par_mut`]: ParSlice::par_mut
//! [`par_partition_unstable`]: ParSort::par_partition_unstable
//! [`par_retain`]: ParVec::par_retain
//! [`par_scan`]: ParSort::par_scan
//! [`par_scan_exclusive`]: ParSort::par_scan_exclusive
//! [`par_select_nth_unstable`]: ParSort::par_select_nth_unstable
//! [`par_sort`]: ParSort::par_sort
//! [`par_sort_unstable`]: ParSort::par_sort_unstable
//! [`par_tiles_mut`]: ParSlice::par_tiles_mut
//! [`par_windows`]: ParSlice::par_windows
//! [`partition`]: Par::partition
//! [`position`]: Par::position
//! [`product`]: Par::product
//! [`reduce`]: Par::reduce
//! [`rev`]: Par::rev
//! [`skip`]: Par::skip
//! [`split_where`]: Par::split_where
//! [`step_by`]: Par::step_by
//! [`sum`]: Par::sum
//! [`take`]: Par::take
//! [`take_while`]: Par::take_while
//! [`top_k`]: Par::top_k
//! [`try_for_each`]: Par::try_for_each
//! [`unzip`]: Par::unzip
//! [`zip`]: Par::zip

#[cfg(any(feature = "orx-parallel", feature = "paralight"))]
mod adapters;
mod chunks;
mod clock;
mod collect;
mod compose;
mod convert;
pub(crate) mod demand;
mod drive;
mod ends;
mod folds;
mod iter;
mod order;
mod pace;
mod pipe;
mod scan;
mod searches;
mod select;
mod sort;
mod source;
mod split;
mod statistics;
mod text;
mod tiles;
mod until;
mod vec;

pub use chunks::{Chunks, ChunksExact, ChunksExactMut, ChunksMut, Windows};
pub use compose::{Chain, Rev, SplitWhere, StepBy, Zip};
pub use convert::{AsPar, IntoPar, ParSlice};
pub use iter::Par;
pub use order::{ParSort, ParVec, merge};
pub use pipe::{
    Cloned, Copied, Filter, FilterMap, FlatMap, Inspect, Map, MapInit, OneToOne, Pipe, Same,
    ZipPipe,
};
pub use split::{Split, SplitBack};
pub use text::{BandBlock, Bands, ParStr};
pub use tiles::{TileIter, TileMut, TileMutIter, TileRange, Tiles, TilesMut, tiles};
pub use until::MapWhile;
pub use vec::{VecBlock, VecPiece};
