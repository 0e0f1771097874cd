//! Jobs for tests, which are never run.

use std::ptr::NonNull;

use locksley_queue::Word;

use crate::{GroupId, Job};

const SPAWNED: usize = 1;
const DEALT: usize = 2;
const NEAR: usize = 4;

/// Target of a reference: the group of a spawned job.
#[repr(align(8))]
pub(crate) struct Dummy(GroupId);

/// A reference to a dummy, with tags like those of the runtime's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DummyRef(NonNull<Dummy>);

// SAFETY: a dummy is only read.
unsafe impl Send for DummyRef {}

// SAFETY: only the pointer's type changes on the way.
unsafe impl Word for DummyRef {
    fn into_word(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller guarantees that the word comes from a `DummyRef`.
        DummyRef(unsafe { NonNull::new_unchecked(word.cast()) })
    }
}

impl DummyRef {
    /// Creates a spawned job of this group, and leaks it.
    #[cfg(not(loom))]
    pub(crate) fn spawned_in(group: GroupId) -> DummyRef {
        DummyRef(NonNull::from(Box::leak(Box::new(Dummy(group))))).with(SPAWNED)
    }

    fn with(self, tags: usize) -> DummyRef {
        DummyRef(self.0.map_addr(|addr| addr | tags))
    }

    fn without(self, tags: usize) -> DummyRef {
        let clear = |addr: std::num::NonZero<usize>| {
            (addr.get() & !tags)
                .try_into()
                .expect("aligned, so not null")
        };
        DummyRef(self.0.map_addr(clear))
    }

    fn target(self) -> NonNull<Dummy> {
        self.without(SPAWNED | DEALT | NEAR).0
    }

    fn has(self, tag: usize) -> bool {
        self.into_word().addr() & tag != 0
    }
}

impl Job for DummyRef {
    fn is_spawned_word(word: *mut ()) -> bool {
        word.addr() & SPAWNED != 0
    }

    fn is_dealt(self) -> bool {
        self.has(DEALT)
    }

    fn is_near(self) -> bool {
        self.has(NEAR)
    }

    fn dealt(self, near: bool) -> Self {
        self.with(if near { DEALT | NEAR } else { DEALT })
    }

    fn anywhere(self) -> Self {
        self.without(NEAR)
    }

    unsafe fn group(self) -> GroupId {
        if self.is_spawned() {
            // SAFETY: dummies outlive the queues of their test.
            unsafe { self.target().as_ref() }.0
        } else {
            GroupId(self.target().addr().get())
        }
    }

    unsafe fn is_ghost(self) -> bool {
        false
    }
}

/// Numbered jobs.
pub(crate) struct Dummies(Vec<Dummy>);

impl Dummies {
    pub(crate) fn new(count: usize) -> Dummies {
        Dummies((0..count).map(|_| Dummy(GroupId::NONE)).collect())
    }

    pub(crate) fn job(&self, number: usize) -> DummyRef {
        DummyRef(NonNull::from(&self.0[number]))
    }

    /// Returns the job with this number, as a spawned one.
    #[cfg(not(loom))]
    pub(crate) fn as_spawned(&self, number: usize) -> DummyRef {
        self.job(number).with(SPAWNED)
    }

    /// Returns the number of a job, whatever its tags.
    pub(crate) fn number(&self, job: DummyRef) -> usize {
        let mut jobs = (0..self.0.len()).map(|number| self.job(number));
        let place = jobs.position(|dummy| dummy.target() == job.target());
        place.expect("one of these")
    }
}
