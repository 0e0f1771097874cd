//! One producer-consumer buffer by itself, with its own recycling.

use std::fmt;
use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use super::item::{Arena, Item, link, unlink};
use crate::pile::{self, Full};
use crate::sync::{Arc, AtomicPtr, Ordering};
use crate::word::Word;

/// What both ends of the buffer see.
struct Shared<T: Word> {
    /// The dummy. Stored by the consumer. The items before it are the producer's.
    head: CachePadded<AtomicPtr<Item>>,
    arena: Arena,
    items: PhantomData<T>,
}

// SAFETY: the ends hand the items from one thread to another, for which `T: Send` is enough; what
// else is shared is atomic, or handed over with the item that holds it.
unsafe impl<T: Word + Send> Send for Shared<T> {}
// SAFETY: as above; no `&T` is ever given out.
unsafe impl<T: Word + Send> Sync for Shared<T> {}

impl<T: Word> Drop for Shared<T> {
    fn drop(&mut self) {
        let mut head = self.head.load(Ordering::Relaxed);
        // SAFETY: both ends are gone, so we are the one consumer, and `head` is the dummy.
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
pub struct Producer<T: Word> {
    /// The oldest item of the chain.
    first: *mut Item,
    /// A dummy of some time ago: the items from `first` up to it are unused.
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

// SAFETY: the pointers are to items of the arena, which any thread may hold an end of.
unsafe impl<T: Word + Send> Send for Producer<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Send for Consumer<T> {}

/// An unbounded buffer for one producer and one consumer.
///
/// Neither end ever waits, and no operation has a read-modify-write or a fence, except that the
/// producer counts each chunk of [`GRANULARITY`](super::GRANULARITY) items that it has to
/// allocate. Dropping one end leaves the items to the other; dropping both drops them.
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

/// A [`channel`] that allocates chunks of `granularity` items
/// (at least 1, at most [`MAX_GRANULARITY`](super::MAX_GRANULARITY)).
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
    let shared = Arc::new(Shared { head, arena, items: PhantomData });
    let producer = Producer { first, limit: tail, tail, shared: shared.clone() };
    (producer, Consumer { head: tail, shared })
}

impl<T: Word> Producer<T> {
    /// An item to use.
    #[inline]
    fn new_item(&mut self) -> *mut Item {
        if self.first == self.limit {
            self.refill();
        }
        let item = self.first;
        // SAFETY: `first` is an item of our arena; it is not `limit`, so it is unused, and ours.
        self.first = unsafe { &*item }.next.load(Ordering::Relaxed);
        item
    }

    /// Makes `first` differ from `limit`: by what the consumer has given up, or else by a chunk.
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

    /// How many items there are, in use or not.
    pub fn allocated(&self) -> usize {
        self.shared.arena.allocated()
    }
}

impl<T: Word> pile::Producer for Producer<T> {
    type Item = T;

    /// Always has room.
    #[inline]
    fn produce(&mut self, item: T) -> Result<(), Full<T>> {
        let new = self.new_item();
        // SAFETY: `tail` is the last item, we are the one producer, and `new` is ours and was just
        // taken off the front of the chain.
        unsafe { link(self.tail, new, item.into_word()) };
        self.tail = new;
        Ok(())
    }
}

impl<T: Word> Consumer<T> {
    /// Is nothing there? The producer may add something at any moment.
    pub fn is_empty(&self) -> bool {
        // SAFETY: the dummy is an item of our arena.
        unsafe { &*self.head }.next.load(Ordering::Relaxed).is_null()
    }
}

impl<T: Word> pile::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn consume(&mut self) -> Option<T> {
        // SAFETY: `head` is the dummy and we are the one consumer.
        let (next, word) = unsafe { unlink(self.head) }?;
        self.head = next;
        self.shared.head.store(next, Ordering::Release); // [O9]
        // SAFETY: the word was linked by `produce`, and the dummy has moved past it: it is taken
        // this once.
        Some(unsafe { T::from_word(word) })
    }
}

impl<T: Word> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("allocated", &self.allocated()).finish_non_exhaustive()
    }
}

impl<T: Word> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}
