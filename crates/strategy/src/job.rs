//! The interface of a job to a strategy.

use locksley_queue::Word;

/// The identity of something that can be waited for: the address of a join's job or of a scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct GroupId(pub usize);

impl GroupId {
    /// The group of a task that has no waiter.
    pub const NONE: GroupId = GroupId(0);

    /// Returns the group that is identified by the address of `thing`.
    pub fn of<T>(thing: &T) -> GroupId {
        GroupId(std::ptr::from_ref(thing).addr())
    }
}

/// A reference to a job: one word, with tags.
pub trait Job: Word + Copy + Send + 'static {
    /// Returns `true` if the word is that of a job that was spawned, and not forked by a join.
    /// Reads only the word, so the job may have been taken or executed.
    fn is_spawned_word(word: *mut ()) -> bool;

    /// Returns `true` if the job was spawned, and not forked by a join.
    #[inline]
    fn is_spawned(self) -> bool {
        Self::is_spawned_word(self.into_word())
    }

    /// Returns `true` if the job was dealt.
    fn is_dealt(self) -> bool;

    /// Returns `true` if the job was dealt to its preferred worker.
    fn is_near(self) -> bool;

    /// Tags the job as dealt; `near` if it goes to its preferred worker.
    fn dealt(self, near: bool) -> Self;

    /// Returns the job without the `near` tag, so that any worker may run it.
    fn anywhere(self) -> Self;

    /// Returns the job's group: the scope in which it was spawned, or the job itself.
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
    /// The worker to wake when the job is done, if it waits for the job; [`UNKNOWN_OWNER`] if it is
    /// not known.
    pub owner: usize,
}

impl<J: Job> QueuedJob<J> {
    /// Returns `true` if this is a spawned job of `group`.
    pub fn is_spawned_in(&self, group: GroupId) -> bool {
        // SAFETY: the caller has the job, and has not executed it.
        self.job.is_spawned() && unsafe { self.job.group() } == group
    }
}

/// The owner of a job that was moved from one queue to another. The runtime searches for the owner
/// when it must be woken.
pub const UNKNOWN_OWNER: usize = usize::MAX;
