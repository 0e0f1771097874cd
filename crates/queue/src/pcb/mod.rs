//! Producer-consumer buffers (PCB) and work dealing.
//!
//! A PCB is an unbounded queue for one producer and one consumer, whose operations are a few loads
//! and stores. Work dealing gives n processes a matrix of n x n PCBs, so that each can pass work to
//! each without a compare-and-swap. Items are recycled through a shared pool, in lists, so that a
//! compare-and-swap is paid once for G items. [`matrix`] creates such a matrix; [`channel`] creates
//! a single PCB. From Hendler and Shavit, *Work dealing* (SPAA 2002).
//!
//! ```text
//!          consumer's                          producer's
//!             head                                tail
//!              |                                   |
//!              v                                   v
//!          [ dummy ] --next--> [ a ] --next--> [ b ] --next--> null        one PCB
//!
//!
//!   produceList of p --> PCB p->0, ..., PCB p->n-1 --> consumeList of the consumer
//!          ^                                                   |
//!          |   a list, when empty           a list of G items  |
//!          +------------- pool of lists <----------------------+
//!          ^        (tag, top) -> list -> list -> 0
//!          +-- allocation, when the pool is empty
//! ```
//!
//! # Invariant
//!
//! * The PCB's items are those behind the dummy, oldest first; it is empty if and only if the
//!   dummy's `next` is null. The producer accesses no item but the tail and the one it links; the
//!   consumer none but the dummy and the one behind it. Head and tail are private to the consumer
//!   and to the producer.
//! * Every item of a matrix is in exactly one place: it is the dummy of a PCB, behind a dummy, in a
//!   produceList, in a consumeList, in a list in the pool, or held by one process that moves it
//!   between two of these. A produceList has at most G items, a consumeList less than G between
//!   operations, a list in the pool exactly G.
//! * A [`channel`] is one chain: the items that the consumer has passed, the dummy, the items
//!   behind it. The producer reuses those before the dummy.
//!
//! # Operations
//!
//! * *produce*: take an item off the produceList, store the value in it, and link it to the tail's
//!   `next`; it becomes the tail. An empty produceList is first replaced by a list from the pool,
//!   or by a newly allocated one.
//! * *consume*: if the dummy's `next` is not null, that item is the new dummy; take its value and
//!   put the old dummy in the consumeList. A consumeList of G items goes to the pool.
//! * [`Process::consume`](crate::Consumer::consume) visits the n PCBs in turn and takes at most n
//!   items from one before it moves on. So the scan of empty PCBs is spread over n items, and
//!   an item at the front of its PCB waits for at most n(n - 1) others.
//! * The *pool* is a stack. Its head is one word, of a tag and the *name* of the first item of the
//!   topmost list; that item holds the name of the list below. Items are never freed before the
//!   matrix, and a name leads to its item by a table that grows without moving.
//! * In a [`channel`] the consumer publishes its dummy, and the producer reads that when it has
//!   used up the items before the last dummy it knew of. There is no pool and no compare-and-swap.
//!
//! The pool is safe from ABA: a popper that saw list X on top and Y below it must not succeed
//! when X is on top again with another list below. X gets on top again only by a push, or by pops
//! of lists pushed above it since, and each push takes a new tag. The tag has 32 bits: a popper
//! would have to be suspended for exactly a multiple of 2^32 pushes, that is of 2^32 G consumed
//! items.
//!
//! Layout: items are padded to cache lines, because items that are neighbours in memory are dealt
//! to different processes and come back in any order. The ends of the PCBs are private, and packed
//! into cache lines of one process each, so an idle scan reads n / 8 lines of its own besides the
//! n dummies.
//!
//! # Theorems
//!
//! * *No overflow, little overhead* (Theorem 2 of the paper, with the dummies): in a matrix of n
//!   processes with granularity G, of which at most M items hold values at any one time, at most
//!   M + (2n + 1)G + n^2 items are ever allocated. Proof: an item is allocated only at a moment
//!   when the pool is empty; then each item holds a value, or is one of n^2 dummies, or is in one
//!   of 2n lists of at most G. (A list that a process has just allocated counts as its
//!   produceList.)
//! * *Theorem 1*: the matrix is a non-blocking pool of items. Moreover, produce and consume are
//!   wait-free except for the pool's compare-and-swap, which fails only if another thread's
//!   succeeds.
//! * A channel allocates at most M + 1 items, rounded up to a chunk.
//!
//! # Deviations from the paper
//!
//! * Fig. 4 keeps using the consumeList after it was put into the pool, so that the list grows
//!   inside the pool: here the process forgets it.
//! * Fig. 4 takes a list from the pool without checking whether there is one: here the producer
//!   allocates a list if the pool is empty, so M need not be known beforehand. In a
//!   [`bounded_matrix`], whose lists are all allocated at the beginning, [`Process::produce`]
//!   returns the value instead.
//! * The paper does not specify the pool and suggests a queue; here it is a stack, whose lists are
//!   more likely to be in a cache, and an item is its list's descriptor.
//! * Theorem 2 omits the n^2 dummies. They come from the same chunks, and process 0 starts with the
//!   items that they leave of the last one.
//! * The get-oracle of the simple policy drains one PCB until it is empty, which starves the others
//!   while that PCB's producer keeps up: here the turn passes on after n items.
//! * Head and tail of a PCB are fields of the processes, not of a shared record.
//! * The caller provides the oracles, and the termination that they report.
//!
//! # Orderings
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | O1 | `link`: store of the tail's `next` | Release | O2 | the consumer would not see the value, or the item's own null `next` | `pcb_channel_hands_over_in_order` |
//! | O2 | `unlink`: load of the dummy's `next` | Acquire | O1 | as O1 | `pcb_channel_hands_over_in_order` |
//! | O3 | `Arena::segment`: load of the segment | Acquire | O4 | the entries of the segment would be uninitialised | `pcb_matrix_two_processes_allocate` |
//! | O4 | `Arena::segment`: installing exchange | Release | O3, O5 | as O3 | `pcb_matrix_two_processes_allocate` |
//! | O5 | `Arena::segment`: the same, failed | Acquire | O4 | as O3, for the slower of two | `pcb_matrix_two_processes_allocate` |
//! | O6 | `Pool::push`: exchange of the head | Release | O7, O8 | the popper would see stale links in the list, and write a value that the consumer is still reading | `pcb_matrix_recycles_through_the_pool` |
//! | O7 | `Pool::pop`: load of the head | Acquire | O6 | as O6; and `below` could be of an earlier push | `pcb_matrix_recycles_through_the_pool` |
//! | O8 | `Pool::pop`: exchange of the head, failed | Acquire | O6 | as O7, for the next attempt | `pcb_pool_withstands_aba` |
//! | O9 | channel's `consume`: store of the dummy | Release | O10 | the producer could overwrite an item that is still being read | `pcb_channel_reuses_what_was_consumed` |
//! | O10 | channel's `refill`: load of the dummy | Acquire | O9 | as O9 | `pcb_channel_reuses_what_was_consumed` |
//!
//! All other accesses are Relaxed. The pop's successful exchange may be Relaxed, because it reads
//! the very value that O7 or O8 read (until the tag wraps, no pair of tag and name is written
//! twice), and because every change of the head is a read-modify-write, so each earlier Release
//! heads a release sequence that reaches the current value. The links in a list, and the arena's
//! table entry for a name, are ordered by the operation that passed on the list or the item.

use std::error::Error;
use std::fmt;

mod channel;
mod item;
mod matrix;
mod pool;

pub use channel::{Consumer, Producer, channel, channel_with};
#[doc(hidden)]
pub use matrix::matrix_starting_at;
pub use matrix::{Process, bounded_matrix, matrix};

/// A granularity for [`matrix`] that makes the pool's cost negligible: at 64, two uncontended
/// compare-and-swaps of about 7 ns each are 0.2 ns per item, and a produceList and a consumeList
/// together, at 128 bytes an item, are half of a first-level cache of 32 KiB.
pub const GRANULARITY: usize = 64;

/// The largest granularity, to which larger ones are clamped.
pub const MAX_GRANULARITY: usize = 1 << 16;

/// Error of a [`Process::produce`]. Returns the item.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProduceError<T> {
    /// The matrix does not have this process.
    NoSuchProcess(T),
    /// All items of a [`bounded_matrix`] are in use.
    NoItems(T),
}

impl<T> ProduceError<T> {
    /// Returns the item that was refused.
    pub fn into_inner(self) -> T {
        let (ProduceError::NoSuchProcess(item) | ProduceError::NoItems(item)) = self;
        item
    }
}

impl<T> fmt::Debug for ProduceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProduceError::NoSuchProcess(_) => "NoSuchProcess(..)",
            ProduceError::NoItems(_) => "NoItems(..)",
        })
    }
}

impl<T> fmt::Display for ProduceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProduceError::NoSuchProcess(_) => {
                "no such process in the matrix: deal to one below `processes()`"
            }
            ProduceError::NoItems(_) => {
                "no item is left in the bounded matrix: keep the value and deal it later"
            }
        })
    }
}

impl<T> Error for ProduceError<T> {}
