//! The data that a worker's lock protects: its stack, and its row and column of the matrix.

use std::collections::VecDeque;

use locksley_queue::pcb::Process;

use super::matrix::{Matrix, PeerState};
use crate::{GroupId, Job};

/// A worker's stack, and the buffers from and to it.
pub(super) struct Inbox<J: Job> {
    /// The jobs that the worker has dealt to itself or fetched, oldest first.
    pub(super) stack: VecDeque<J>,
    /// The worker's row and column of buffers, if it has buffers.
    pub(super) process: Option<Process<J>>,
}

impl<J: Job> Inbox<J> {
    pub(super) fn new(process: Option<Process<J>>) -> Inbox<J> {
        Inbox {
            stack: VecDeque::new(),
            process,
        }
    }

    /// Pushes a job on the stack.
    #[inline]
    pub(super) fn push(&mut self, job: J, state: &PeerState<J>) {
        self.stack.push_back(job);
        state.set_stacked(self.stack.len());
        if job.is_near() {
            state.set_near(state.near() + 1);
        }
    }

    /// Pops the newest job of the stack.
    #[inline]
    pub(super) fn pop(&mut self, state: &PeerState<J>) -> Option<J> {
        let job = self.stack.pop_back()?;
        self.popped(job, state);
        Some(job)
    }

    #[inline]
    fn popped(&self, job: J, state: &PeerState<J>) {
        state.set_stacked(self.stack.len());
        if job.is_near() {
            state.set_near(state.near() - 1);
        }
    }

    /// Takes the oldest job of the stack, if it fits.
    pub(super) fn pop_oldest(
        &mut self,
        state: &PeerState<J>,
        fits: impl FnOnce(J) -> bool,
    ) -> Option<J> {
        if !fits(*self.stack.front()?) {
            return None;
        }
        let job = self.stack.pop_front()?;
        self.popped(job, state);
        Some(job)
    }

    /// Links a job into the buffer to another worker. That worker and `me` must have buffers.
    #[inline]
    pub(super) fn produce(&mut self, matrix: &Matrix<J>, me: usize, to: usize, job: J) {
        matrix.count_dealt(me, to, job.is_near());
        let process = self.process.as_mut();
        let process = process.expect("who deals has a process");
        let produced = process.produce(to, job);
        assert!(produced.is_ok(), "all who are dealt to are in the matrix");
    }

    /// Takes the oldest job that `from` has dealt to `me`, whose inbox this is.
    #[inline]
    pub(super) fn consume(&mut self, matrix: &Matrix<J>, me: usize, from: usize) -> Option<J> {
        let job = self.process.as_mut()?.consume_from(from)?;
        matrix.count_taken(me, from, job.is_near());
        Some(job)
    }

    /// Returns the oldest job that `from` has dealt to this inbox.
    fn peek(&self, from: usize) -> Option<J> {
        let word = self.process.as_ref()?.peek_from(from)?;
        // SAFETY: the word is that of a job in the buffer, and `J` is `Copy`. `consume` decides
        // which thread takes the job.
        Some(unsafe { J::from_word(word) })
    }

    /// Takes the oldest job that `from` has dealt to this inbox, if it is one of this group.
    pub(super) fn consume_of(
        &mut self,
        matrix: &Matrix<J>,
        me: usize,
        from: usize,
        group: GroupId,
    ) -> Option<J> {
        let oldest = self.peek(from)?;
        // SAFETY: a job in a buffer has not been executed, and no other worker can take it.
        let fits = unsafe { oldest.group() } == group;
        fits.then(|| self.consume(matrix, me, from)).flatten()
    }

    /// For another worker: takes the jobs that fit from the fullest buffer to `me`, whose inbox
    /// this is, up to half of them, and up to `most`.
    pub(super) fn give_dealt(
        &mut self,
        matrix: &Matrix<J>,
        me: usize,
        most: usize,
        fits: impl Fn(J) -> bool,
    ) -> Vec<J> {
        let others = (0..matrix.members()).filter(|&from| self.peek(from).is_some_and(&fits));
        let fullest = others.max_by_key(|&from| matrix.pending(from, me));
        let Some(from) = fullest else {
            return Vec::new();
        };
        let most = matrix.pending(from, me).div_ceil(2).clamp(1, most);
        self.give_back(matrix, [me, from], most, fits)
    }

    /// For a waiter: takes the oldest jobs of this inbox, which is that of `me`, from the buffers
    /// and from the stack, up to `most`.
    pub(super) fn give_any(
        &mut self,
        matrix: &Matrix<J>,
        me: usize,
        most: usize,
        state: &PeerState<J>,
    ) -> Vec<J> {
        let mut jobs = Vec::new();
        for from in 0..matrix.members() {
            let room = most - jobs.len();
            jobs.extend(std::iter::from_fn(|| self.consume(matrix, me, from)).take(room));
        }
        let room = most - jobs.len();
        jobs.extend(std::iter::from_fn(|| self.pop_oldest(state, |_| true)).take(room));
        jobs
    }

    /// Takes jobs out of the buffer from `dealer` to `me`, whose inbox this is, as long as they
    /// fit, and up to `most`.
    pub(super) fn give_back(
        &mut self,
        matrix: &Matrix<J>,
        [me, dealer]: [usize; 2],
        most: usize,
        fits: impl Fn(J) -> bool,
    ) -> Vec<J> {
        let next = || {
            self.peek(dealer).filter(|&next| fits(next))?;
            self.consume(matrix, me, dealer)
        };
        std::iter::from_fn(next).take(most).collect()
    }
}
