//! Items that keep count of themselves.
//!
//! An [`Item`] is a pointer into a [`Ledger`], which notes how often each item was taken out of a
//! structure and how often it was dropped. Items own no memory, so a structure that hands one out
//! twice is found out by the count, not by a crash.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use locksley_queue::Word;

struct Entry {
    id: u32,
    taken: AtomicU32,
    dropped: AtomicU32,
    garbled: AtomicBool,
    // Written before the item goes in, read after it came out, without atomics: a race detector
    // sees here whether the structure orders the two.
    payload: UnsafeCell<u64>,
}

// SAFETY: the payload is written before the item is pushed, and read by the thread that took the
// item; all other fields are atomic.
unsafe impl Sync for Entry {}

/// Counts the items of one test. Must outlive the items.
pub(crate) struct Ledger {
    entries: Box<[Entry]>,
}

impl Ledger {
    /// Creates a ledger for items `0..count`, none of which exists yet.
    ///
    /// The ledger lives as long as the process. It is reachable from a static, so leak checkers do
    /// not report it.
    pub(crate) fn new(count: usize) -> &'static Ledger {
        static ALL: std::sync::Mutex<Vec<&'static Ledger>> = std::sync::Mutex::new(Vec::new());
        let entry = |id| Entry {
            id,
            taken: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
            garbled: AtomicBool::new(false),
            payload: UnsafeCell::new(0),
        };
        let count = u32::try_from(count).expect("so many items fit");
        let ledger = Box::leak(Box::new(Ledger {
            entries: (0..count).map(entry).collect(),
        }));
        ALL.lock().expect("no thread panics here").push(ledger);
        ledger
    }

    /// Returns the number of items.
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Creates item `id`. To be called once for each.
    pub(crate) fn item(&'static self, id: usize) -> Item {
        let entry = &self.entries[id];
        // SAFETY: the item does not exist yet, so no thread reads its payload.
        unsafe { *entry.payload.get() = u64::from(entry.id) ^ MARK };
        Item(entry)
    }

    /// Returns how often item `id` was taken.
    pub(crate) fn taken(&self, id: usize) -> u32 {
        self.entries[id].taken.load(Ordering::Acquire)
    }

    /// Asserts that every item was taken once and dropped once.
    pub(crate) fn assert_each_taken_once(&self) {
        self.assert_each_dropped_once();
        for entry in &self.entries {
            let taken = entry.taken.load(Ordering::Acquire);
            assert!(taken == 1, "item {} was taken {taken} times", entry.id);
        }
    }

    /// Asserts that every item was dropped once, whether or not it was taken before.
    pub(crate) fn assert_each_dropped_once(&self) {
        for entry in &self.entries {
            let garbled = entry.garbled.load(Ordering::Acquire);
            assert!(!garbled, "item {} came without its contents", entry.id);
            let dropped = entry.dropped.load(Ordering::Acquire);
            let taken = entry.taken.load(Ordering::Acquire);
            assert!(
                dropped > 0,
                "item {} was lost (taken {taken} times)",
                entry.id
            );
            assert!(
                dropped == 1,
                "item {} was dropped more than once: {dropped} times",
                entry.id
            );
        }
    }
}

const MARK: u64 = 0xb0b5_1ed5_0000_0000;

/// An item of a [`Ledger`].
pub(crate) struct Item(&'static Entry);

impl Item {
    /// Notes that the item came out of a structure, and drops it. Returns its number.
    pub(crate) fn take(self) -> usize {
        let Item(entry) = &self;
        // SAFETY: the payload was written before the push, and only the taker of the item reads it.
        let payload = unsafe { *entry.payload.get() };
        if payload != u64::from(entry.id) ^ MARK {
            entry.garbled.store(true, Ordering::Release);
        }
        entry.taken.fetch_add(1, Ordering::AcqRel);
        entry.id as usize
    }

    /// Returns the item's number.
    pub(crate) fn id(&self) -> usize {
        self.0.id as usize
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::AcqRel);
    }
}

// SAFETY: only the type of the pointer changes on the way. Ledgers are never freed.
unsafe impl Word for Item {
    fn into_word(self) -> *mut () {
        <&'static Entry>::into_word(std::mem::ManuallyDrop::new(self).0)
    }

    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller guarantees that the word comes from `into_word`.
        Item(unsafe { <&'static Entry>::from_word(word) })
    }
}
