//! What a strategy knows of a job.

use locksley_queue::Word;

/// The identity of something that can be waited for: the address of a join's job or of a scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GroupId(pub usize);

impl GroupId {
    /// The group of a task that has no waiter.
    pub const NONE: GroupId = GroupId(0);

    /// Returns the group that is known by the address of `thing`.
    pub fn of<T>(thing: &T) -> GroupId {
        GroupId(std::ptr::from_ref(thing).addr())
    }
}

/// A reference to a job: one word, with tags that say something about it.
pub trait Job: Word + Copy + Send + 'static {
    /// Returns `true` if the word is that of a job that was spawned, and not forked by a join,
    /// whatever has become of the job.
    fn is_spawned_word(word: *mut ()) -> bool;

    /// Returns `true` if it was spawned, and not forked by a join.
    #[inline]
    fn is_spawned(self) -> bool {
        Self::is_spawned_word(self.into_word())
    }

    /// Returns `true` if it was dealt.
    fn is_dealt(self) -> bool;

    /// Returns `true` if it was dealt to its preferred worker.
    fn is_near(self) -> bool;

    /// Tags the job as dealt; `near` if it goes to its preferred worker.
    fn dealt(self, near: bool) -> Self;

    /// The same job, wherever it had better run.
    fn anywhere(self) -> Self;

    /// What this job is part of: the scope it was spawned in, or itself.
    ///
    /// # Safety
    ///
    /// This reference has not been executed.
    unsafe fn group(self) -> GroupId;

    /// Returns `true` if the job has run or is running, on behalf of its handle.
    ///
    /// # Safety
    ///
    /// The reference is in a queue, or was taken out of one, and was not executed.
    unsafe fn is_ghost(self) -> bool;
}

/// A job, and the worker in whose queue it was pushed first.
#[derive(Clone, Copy)]
pub struct QueuedJob<J> {
    /// The job.
    pub job: J,
    /// Whom to wake when it is done, should that one wait for it; [`UNKNOWN_OWNER`] if that is not
    /// known.
    pub owner: usize,
}

impl<J: Job> QueuedJob<J> {
    /// Returns `true` if it is a spawned job of this group.
    pub fn is_spawned_in(&self, group: GroupId) -> bool {
        // SAFETY: the caller has it, and has not executed it.
        self.job.is_spawned() && unsafe { self.job.group() } == group
    }
}

/// The owner of a job that has gone from one queue to another: it is looked for when it must be
/// woken.
pub const UNKNOWN_OWNER: usize = usize::MAX;
