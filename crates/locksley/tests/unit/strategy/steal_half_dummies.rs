#[cfg(not(loom))]
use locksley_queue::Word;

use super::*;
use crate::scheduler::worker::Worker;
use crate::task::job::StackJob;

type Dummy = StackJob<fn(&Worker, bool), ()>;

/// Jobs that are never run.
pub(crate) struct Dummies(Vec<Dummy>);

impl Dummies {
    pub(crate) fn new(count: usize) -> Dummies {
        let dummy = || StackJob::new((|_, _| ()) as fn(&Worker, bool));
        Dummies((0..count).map(|_| dummy()).collect())
    }

    pub(crate) fn job(&self, number: usize) -> JobRef {
        self.0[number].as_ref()
    }

    /// One that looks as if it had been spawned.
    #[cfg(not(loom))]
    pub(crate) fn as_spawned(&self, number: usize) -> JobRef {
        let word = self.job(number).into_word();
        let word = word.map_addr(|addr| addr | 1);
        // SAFETY: the word is not null, and the job is not run.
        let job = unsafe { JobRef::from_word(word) };
        assert!(job.is_spawned());
        job
    }

    #[cfg(not(loom))]
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Which one it is.
    pub(crate) fn number(&self, job: JobRef) -> usize {
        let mut jobs = self.0.iter();
        let place = jobs.position(|dummy| dummy.as_ref() == job);
        place.expect("one of these")
    }
}
