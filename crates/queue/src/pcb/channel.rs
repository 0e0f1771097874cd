//! A single producer-consumer buffer, with its own recycling.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use super::item::{Arena, Item, link, unlink};
use crate::sync::{Arc, AtomicPtr, Ordering};
use crate::traits::{self, Full};
use crate::word::Word;

/// The part of the buffer that both ends share.
struct Shared<T: Word> {
    /// The dummy. Stored by the consumer. The items before it belong to the producer.
    head: CachePadded<AtomicPtr<Item>>,
    arena: Arena,
    /// Makes the type invariant in `T`: an item that one handle puts in, another takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: the ends pass the items from one thread to another, for which `T: Send` is enough; all
// other shared data is atomic, or passed on with the item that holds it.
unsafe impl<T: Word + Send> Send for Shared<T> {}
// SAFETY: as above; no `&T` is ever given out.
unsafe impl<T: Word + Send> Sync for Shared<T> {}

impl<T: Word> Drop for Shared<T> {
    fn drop(&mut self) {
        let mut head = self.head.load(Ordering::Relaxed);
        // SAFETY: both ends were dropped, so this is the only consumer, and `head` is the dummy.
        while let Some((next, word)) = unsafe { unlink(head) } {
            head = next;
            // SAFETY: the word was linked by `produce` and is behind the dummy: not yet taken.
            drop(unsafe { T::from_word(word) });
        }
    }
}

/// The producer's end of a [`channel`].
// Aligned so that the two ends do not share a cache line when they lie side by side.
#[repr(align(128))]
///
/// An item that one handle puts in, another takes out, so the handles are invariant in `T`:
///
/// ```compile_fail
/// use locksley_queue::pcb::Producer;
///
/// fn shorten<'a>(long: Producer<&'static u8>) -> Producer<&'a u8> {
///     long
/// }
/// ```
pub struct Producer<T: Word> {
    /// The oldest item of the chain.
    first: *mut Item,
    /// An earlier dummy, or the current one: the items from `first` up to it are unused.
    limit: *mut Item,
    /// The youngest item of the chain.
    tail: *mut Item,
    shared: Arc<Shared<T>>,
}

/// The consumer's end of a [`channel`].
#[repr(align(128))]
pub struct Consumer<T: Word> {
    /// The dummy.
    head: *mut Item,
    shared: Arc<Shared<T>>,
}

// SAFETY: the pointers are to items of the arena, which the handle keeps alive, and which are not
// bound to a thread.
unsafe impl<T: Word + Send> Send for Producer<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Send for Consumer<T> {}

/// Creates an unbounded buffer for one producer and one consumer.
///
/// Neither end ever waits, and no operation has a read-modify-write or a fence, except that the
/// producer counts each chunk of [`GRANULARITY`](super::GRANULARITY) items that it has to
/// allocate. Items that are left are dropped with the last end.
///
/// ```
/// use locksley_queue::{Consumer, Producer, pcb};
///
/// let (mut producer, mut consumer) = pcb::channel();
/// std::thread::scope(|s| {
///     s.spawn(move || (0..1000_u32).for_each(|task| producer.produce(task).unwrap()));
///     let mut next = 0;
///     while next < 1000 {
///         if let Some(task) = consumer.consume() {
///             assert_eq!(task, next); // in order
///             next += 1;
///         }
///     }
/// });
/// ```
pub fn channel<T: Word>() -> (Producer<T>, Consumer<T>) {
    channel_with(super::GRANULARITY)
}

/// Creates a [`channel`] that allocates chunks of `granularity` items, clamped to
/// 1..=[`MAX_GRANULARITY`](super::MAX_GRANULARITY).
pub fn channel_with<T: Word>(granularity: usize) -> (Producer<T>, Consumer<T>) {
    let arena = Arena::new(granularity);
    let first = arena.grow();
    let mut tail = first;
    loop {
        // SAFETY: `grow` linked the items of the chunk up to a null.
        let next = unsafe { &*tail }.next.load(Ordering::Relaxed);
        if next.is_null() {
            break;
        }
        tail = next;
    }
    // The last item is the dummy; those before it are unused.
    let head = CachePadded::new(AtomicPtr::new(tail));
    let shared = Arc::new(Shared {
        head,
        arena,
        items: PhantomData,
    });
    let producer = Producer {
        first,
        limit: tail,
        tail,
        shared: shared.clone(),
    };
    (producer, Consumer { head: tail, shared })
}

impl<T: Word> Producer<T> {
    /// Returns an unused item.
    #[inline]
    fn new_item(&mut self) -> *mut Item {
        if self.first == self.limit {
            self.refill();
        }
        let item = self.first;
        // SAFETY: `first` is an item of the arena; it is not `limit`, so it is unused, and belongs
        // to the producer.
        self.first = unsafe { &*item }.next.load(Ordering::Relaxed);
        item
    }

    /// Makes `first` differ from `limit`: with the items that the consumer has passed, or else with
    /// a new chunk.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        self.limit = self.shared.head.load(Ordering::Acquire); // [O10]
        if self.first == self.limit {
            let chunk = self.shared.arena.grow();
            let mut last = chunk;
            loop {
                // SAFETY: `grow` linked the items of the chunk up to a null.
                let next = &unsafe { &*last }.next;
                last = next.load(Ordering::Relaxed);
                if last.is_null() {
                    next.store(self.first, Ordering::Relaxed);
                    break;
                }
            }
            self.first = chunk;
        }
    }

    /// Returns the number of allocated items, in use or not.
    pub fn allocated(&self) -> usize {
        self.shared.arena.allocated()
    }
}

impl<T: Word> traits::Producer for Producer<T> {
    type Item = T;

    /// Always has room.
    #[inline]
    fn produce(&mut self, item: T) -> Result<(), Full<T>> {
        let new = self.new_item();
        // SAFETY: `tail` is the last item, this is the only producer, and `new` belongs to it and
        // was just taken off the front of the chain.
        unsafe { link(self.tail, new, item.into_word()) };
        self.tail = new;
        Ok(())
    }
}

impl<T: Word> Consumer<T> {
    /// Returns `true` if the buffer is empty. The producer may add an item at any moment.
    pub fn is_empty(&self) -> bool {
        // SAFETY: the dummy is an item of the arena.
        unsafe { &*self.head }
            .next
            .load(Ordering::Relaxed)
            .is_null()
    }
}

impl<T: Word> traits::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn consume(&mut self) -> Option<T> {
        // SAFETY: `head` is the dummy, and this is the only consumer.
        let (next, word) = unsafe { unlink(self.head) }?;
        self.head = next;
        self.shared.head.store(next, Ordering::Release); // [O9]
        // SAFETY: the word was linked by `produce`, and the dummy has moved past it, so it is taken
        // only once.
        Some(unsafe { T::from_word(word) })
    }
}

impl<T: Word> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("allocated", &self.allocated())
            .finish_non_exhaustive()
    }
}

impl<T: Word> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("is_empty", &self.is_empty())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::traits::{Consumer as _, Producer as _};

    #[test]
    fn first_in_first_out_through_growth_and_reuse() {
        for granularity in [1, 2, 3, 64] {
            let (mut producer, mut consumer) = channel_with(granularity);
            let (mut produced, mut consumed) = (0_u32, 0_u32);
            for burst in [1, 5, 2, 100, 3, 1] {
                for _ in 0..burst {
                    producer.produce(produced).unwrap();
                    produced += 1;
                }
                for _ in 0..burst.min(7) {
                    assert_eq!(consumer.consume(), Some(consumed));
                    consumed += 1;
                }
            }
            while let Some(item) = consumer.consume() {
                assert_eq!(item, consumed);
                consumed += 1;
            }
            assert_eq!(consumed, produced);
            assert!(consumer.is_empty());
        }
    }

    #[test]
    fn one_item_at_a_time_needs_one_chunk() {
        let (mut producer, mut consumer) = channel_with(2);
        for item in 0..1_000_u32 {
            producer.produce(item).unwrap();
            assert_eq!(consumer.consume(), Some(item));
        }
        assert_eq!(producer.allocated(), 2);
    }

    #[test]
    fn either_end_may_go_first() {
        for producer_first in [true, false] {
            let item = std::sync::Arc::new(());
            let (mut producer, mut consumer) = channel_with(4);
            for _ in 0..10 {
                producer.produce(item.clone()).unwrap();
            }
            drop((consumer.consume(), consumer.consume()));
            assert_eq!(std::sync::Arc::strong_count(&item), 9);
            if producer_first {
                drop(producer);
                consumer.consume().unwrap();
                drop(consumer);
            } else {
                drop(consumer);
                producer.produce(item.clone()).unwrap();
                drop(producer);
            }
            assert_eq!(std::sync::Arc::strong_count(&item), 1);
        }
    }
}
