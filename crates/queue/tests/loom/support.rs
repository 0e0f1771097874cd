//! Items and helpers that the models share.

use locksley_queue::{Owner, Steal, Thief, Word};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// An item whose content loom guards: reading it without having synchronised with its writer
/// is reported as a data race.
pub(crate) struct Payload(Box<UnsafeCell<usize>>);

impl Payload {
    pub(crate) fn new(value: usize) -> Self {
        Payload(Box::new(UnsafeCell::new(value)))
    }

    /// Reads and overwrites the content: a second taker of the same item would race with it.
    pub(crate) fn open(self) -> usize {
        self.0.with_mut(|p| {
            // SAFETY: loom checks that no other thread is here.
            unsafe { std::mem::replace(&mut *p, usize::MAX) }
        })
    }
}

// SAFETY: the box's own conversion.
unsafe impl Word for Payload {
    fn into_word(self) -> *mut () {
        self.0.into_word()
    }

    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller's obligations are those of the box.
        Payload(unsafe { Word::from_word(word) })
    }
}

/// A cell for each of the items 0, 1, .. of a queue of integers, so that a missing edge is a data
/// race on the cell.
pub(crate) struct Cells(Vec<UnsafeCell<u32>>);

// SAFETY: loom checks that the accesses do not race, which is the purpose of the tests.
unsafe impl Sync for Cells {}

impl Cells {
    const WRITTEN: u32 = 1;
    const TAKEN: u32 = 2;

    pub(crate) fn new(n: usize) -> Arc<Cells> {
        Arc::new(Cells((0..n).map(|_| UnsafeCell::new(0)).collect()))
    }

    /// Writes the cell of an item that is about to be put into the queue.
    pub(crate) fn write(&self, item: usize) {
        // SAFETY: the item is not in the queue yet, so no other thread touches its cell.
        self.0[item].with_mut(|cell| unsafe { *cell = Cells::WRITTEN });
    }

    /// Reads the cell of an item that was taken out of the queue, if any. Returns the number of
    /// items.
    pub(crate) fn take(&self, item: Option<usize>) -> usize {
        let Some(item) = item else { return 0 };
        self.0[item].with_mut(|cell| {
            // SAFETY: the item was taken by this thread alone, if the queue is correct.
            unsafe {
                assert_eq!(*cell, Cells::WRITTEN, "item {item} was taken twice");
                *cell = Cells::TAKEN;
            }
        });
        1
    }
}

/// Runs a large model with one preemption less than the others: two in CI, three in the deep check.
pub(crate) fn deep(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder
        .preemption_bound
        .map(|bound| bound.saturating_sub(1));
    builder.check(model);
}

/// Tries to steal `tries` times and opens the stolen items.
pub(crate) fn steal_times(thief: &impl Thief<Item = Payload>, tries: usize) -> Vec<usize> {
    let mut stolen = Vec::new();
    for _ in 0..tries {
        if let Steal::Success(item) = thief.steal() {
            stolen.push(item.open());
        }
    }
    stolen
}

/// Asserts that every item from 0 up to `count` was seen exactly once.
pub(crate) fn assert_each_once(mut seen: Vec<usize>, count: usize) {
    seen.sort_unstable();
    assert_eq!(seen, (0..count).collect::<Vec<_>>());
}

/// Pops once and opens the item.
pub(crate) fn pop(deque: &mut impl Owner<Item = Payload>, seen: &mut Vec<usize>) {
    seen.extend(deque.pop().map(Payload::open));
}

/// Pushes the item with this number.
pub(crate) fn push(deque: &mut impl Owner<Item = Payload>, value: usize) {
    assert!(
        deque.push(Payload::new(value)).is_ok(),
        "the model overfills the deque"
    );
}

/// Runs a race: the owner pushes items 0 up to `pushes`; then each of `thieves` thieves tries to
/// steal once while the owner runs `owner`. In the end it drains the deque, and each of `total`
/// items must have been seen once.
pub(crate) fn race<D>(
    make: fn() -> D,
    pushes: usize,
    thieves: usize,
    owner: fn(&mut D, &mut Vec<usize>),
    total: usize,
) where
    D: Owner<Item = Payload> + 'static,
    D::Thief: Send + 'static,
{
    loom::model(move || {
        let mut deque = make();
        for value in 0..pushes {
            push(&mut deque, value);
        }
        let thieves: Vec<_> = (0..thieves)
            .map(|_| {
                let thief = deque.thief();
                thread::spawn(move || steal_times(&thief, 1))
            })
            .collect();
        let mut seen = Vec::new();
        owner(&mut deque, &mut seen);
        for thief_thread in thieves {
            seen.extend(thief_thread.join().unwrap());
        }
        while let Some(item) = deque.pop() {
            seen.push(item.open());
        }
        assert_each_once(seen, total);
    });
}

/// Without a push, an empty deque stays empty: a thief that got `Empty` must not find an item
/// afterwards. `make` returns a deque with two items that can be stolen.
pub(crate) fn empty_stays_empty<D>(make: fn() -> D)
where
    D: Owner<Item = Payload> + 'static,
    D::Thief: Send + 'static,
{
    loom::model(move || {
        let mut deque = make();
        let (one, two) = (deque.thief(), deque.thief());
        let first = thread::spawn(move || one.steal().is_success());
        let second = thread::spawn(move || (two.steal().is_empty(), two.steal().is_success()));
        deque.pop();
        first.join().unwrap();
        let (empty, found) = second.join().unwrap();
        assert!(!(empty && found), "empty, and then not");
    });
}
