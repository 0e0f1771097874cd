//! Lock-free deques and channels from the work-stealing papers, checked with loom.
//!
//! | module | what it is | the owner pays | room |
//! |---|---|---|---|
//! | [`abp`] | the deque of Arora, Blumofe and Plaxton, with a tagged age | a fence a pop | bounded |
//! | [`chase_lev`] | the circular deque of Chase and Lev | a fence a pop | grows and shrinks |
//! | [`split`] | the pool's split deque: thieves ask for exposure, or force it with `membarrier` | no fence, no compare-and-swap until a thief asks | grows and shrinks |
//! | [`semi_private`] | the split deque of Rito's thesis; thieves ask for exposure | no fence, no compare-and-swap | grows and shrinks |
//! | [`steal_half`] | the extended deque of Hendler and Shavit: half of the items with one compare-and-swap | a compare-and-swap at powers of two | bounded |
//! | [`pcb`] | the producer-consumer buffers of work dealing, and their matrix with recycled items | nothing | grows |
//! | [`mailbox`] | many senders, one receiver, never blocks | a compare-and-swap a mail | bounded |
//! | [`offer`] | the aged entries and donation cells of work sharing | a compare-and-swap a shared item | bounded |
//!
//! An item is one word ([`Word`]), so that a thief which reads a slot too late still reads a
//! defined value. The documentation of each module has its algorithm, its invariant, its theorem,
//! its deviations from the paper, and a table of its memory orderings with the test that needs each
//! one.
//!
//! # A worker's search for work
//!
//! ```
//! use locksley_queue::{Owner, Steal, Thief, chase_lev::{Deque, Stealer}};
//!
//! type Task = Box<dyn FnOnce() + Send>; // two words, so boxed once more
//!
//! fn find_task(own: &mut Deque<Box<Task>>, victims: &[Stealer<Box<Task>>]) -> Option<Box<Task>> {
//!     own.pop().or_else(|| {
//!         loop {
//!             let mut contended = false;
//!             for victim in victims {
//!                 match victim.steal() {
//!                     Steal::Success(task) => return Some(task),
//!                     Steal::Retry => contended = true,
//!                     Steal::Empty | Steal::Private => {}
//!                 }
//!             }
//!             if !contended {
//!                 return None;
//!             }
//!         }
//!     })
//! }
//!
//! let mut rich = Deque::new();
//! let mut poor = Deque::new();
//! let victims = [rich.thief()];
//! for number in 0..3 {
//!     let task: Task = Box::new(move || println!("task {number}"));
//!     rich.push(Box::new(task)).unwrap();
//! }
//! let mut done = 0;
//! while let Some(task) = find_task(&mut poor, &victims) {
//!     task();
//!     done += 1;
//! }
//! assert_eq!(done, 3);
//! ```
//!
//! # Features
//!
//! `count`: counts each thread's fences, read-modify-writes and membarriers (module `counts`).
//! Without it the counting compiles to nothing.
//!
//! # Platforms
//!
//! Any target with 64-bit atomics, 32-bit x86, ARM and WebAssembly included: indices and tagged
//! words are 64 bits wide everywhere. On Linux [`split`] and [`steal_half`] use `membarrier`, on
//! Windows `FlushProcessWriteBuffers`; elsewhere they fall back to fences.

mod handle;
mod ring;
mod sync;

pub mod abp;
pub mod chase_lev;
pub mod mailbox;
pub mod offer;
pub mod pcb;
pub mod semi_private;
pub mod split;
pub mod steal_half;
pub mod traits;
pub mod word;

pub use sync::barrier;
pub use traits::{Consumer, Full, Owner, Producer, Steal, StealBatch, Thief};
pub use word::Word;

#[cfg(feature = "count")]
pub use sync::counts;

/// The examples of the crate's README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadMe;
