//! Search for a linearization: Wing and Gong's algorithm with Lowe's memory of failed states.
//!
//! The relaxed semantics of a deque: each invocation that does not abort takes effect at one
//! moment between its beginning and its completion, and the results are those of a serial run in
//! the order of these moments; and for each steal that aborts there is another invocation that
//! removed the topmost item at a moment within the steal.
//!
//! *Memory.* Each thread's invocations are in order, so what has been linearized is one index for
//! each thread; and as all items differ, that determines what is in the deque.
//!
//! *Aborts.* An abort is placed directly behind the removal that justifies it. The removal's
//! moment then lies within the removal and within every abort placed behind it, so the search
//! keeps the intersection of these intervals, and it must not become empty. Conversely, if it is
//! not empty, there is such a moment: intervals on a line that overlap pairwise have a point in
//! common, and the order of linearization ensures that no earlier invocation begins too late.

use std::collections::{HashSet, VecDeque};

/// An invocation's method and result. Items are numbered in the order of the pushes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Push(u32),
    /// A push that found no room; `same` is set if it returned the item that was pushed.
    Refused {
        same: bool,
    },
    Pop(Option<u32>),
    /// The owner took this item back, from wherever it was, or found that it was gone.
    TakeBack {
        item: u32,
        taken: bool,
    },
    /// A successful steal: the topmost item or items, from the top.
    Steal(Vec<u32>),
    /// A steal that returned `Empty`.
    Empty,
    /// A steal that returned `Private`.
    Private,
    /// A steal that returned `Retry`.
    Abort,
}

impl Op {
    fn is_theft(&self) -> bool {
        matches!(self, Op::Steal(_) | Op::Empty | Op::Private | Op::Abort)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) begun: u64,
    pub(crate) completed: u64,
    pub(crate) op: Op,
}

impl Invocation {
    fn overlaps(&self, other: &Invocation) -> bool {
        self.begun <= other.completed && other.begun <= self.completed
    }
}

/// The invocations of each thread.
pub(crate) type History = Vec<Vec<Invocation>>;

/// When a steal may abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "for structures that document weaker aborts")]
pub(crate) enum Aborts {
    /// If another invocation removed the topmost item during the steal.
    Justified,
    /// Also while another steal is under way.
    DuringSteals,
    /// At any time.
    Always,
}

/// Searches for a linearization. The error describes how far the search got.
pub(crate) fn check(history: &History, aborts: Aborts) -> Result<(), String> {
    let history = without_excused(history, aborts);
    let mut search = Search {
        next: vec![0; history.len()],
        history: &history,
        deque: VecDeque::new(),
        failed: HashSet::new(),
        deepest: (Vec::new(), VecDeque::new()),
    };
    if search.run(None) {
        Ok(())
    } else {
        Err(search.stuck())
    }
}

/// Returns the history without the aborts that need no justification.
fn without_excused(history: &History, aborts: Aborts) -> History {
    let excused = |thread: usize, abort: &Invocation| match aborts {
        Aborts::Justified => false,
        Aborts::Always => true,
        Aborts::DuringSteals => history.iter().enumerate().any(|(other, invocations)| {
            other != thread
                && invocations
                    .iter()
                    .any(|i| i.op.is_theft() && i.overlaps(abort))
        }),
    };
    let kept = |(thread, invocations): (usize, &Vec<Invocation>)| {
        let keep = |i: &&Invocation| i.op != Op::Abort || !excused(thread, i);
        invocations.iter().filter(keep).cloned().collect()
    };
    history.iter().enumerate().map(kept).collect()
}

/// The interval in which the last removal took effect, if the last invocation was the removal of
/// the topmost item or an abort behind one.
type Removal = Option<(u64, u64)>;

struct Search<'a> {
    history: &'a History,
    /// The next invocation of each thread.
    next: Vec<usize>,
    deque: VecDeque<u32>,
    failed: HashSet<(Vec<usize>, Removal)>,
    deepest: (Vec<usize>, VecDeque<u32>),
}

impl<'a> Search<'a> {
    fn run(&mut self, removal: Removal) -> bool {
        let mut candidates = self.candidates();
        if candidates.is_empty() {
            return true;
        }
        if !self.failed.insert((self.next.clone(), removal)) {
            return false;
        }
        self.note_depth();
        // An abort changes nothing, so it is tried first.
        candidates.sort_by_key(|(_, i)| (i.op != Op::Abort, i.begun));
        for (thread, invocation) in candidates {
            if let Some(removal) = self.apply(invocation, removal) {
                self.next[thread] += 1;
                if self.run(removal) {
                    return true;
                }
                self.next[thread] -= 1;
                self.undo(&invocation.op);
            }
        }
        false
    }

    /// Returns the invocations that may be linearized next: no other one had completed before they
    /// began.
    fn candidates(&self) -> Vec<(usize, &'a Invocation)> {
        let heads = self.heads();
        let first_completed = heads.iter().map(|(_, i)| i.completed).min().unwrap_or(0);
        heads
            .into_iter()
            .filter(|(_, i)| i.begun <= first_completed)
            .collect()
    }

    fn heads(&self) -> Vec<(usize, &'a Invocation)> {
        let threads = self.history.iter().zip(&self.next).enumerate();
        threads
            .filter_map(|(thread, (invocations, &next))| Some((thread, invocations.get(next)?)))
            .collect()
    }

    /// Applies an invocation, if its result fits the state.
    fn apply(&mut self, i: &Invocation, removal: Removal) -> Option<Removal> {
        let now = Some((i.begun, i.completed));
        match &i.op {
            Op::Push(item) => {
                self.deque.push_back(*item);
                Some(None)
            }
            Op::Pop(Some(item)) if self.deque.back() == Some(item) => {
                self.deque.pop_back();
                Some(if self.deque.is_empty() { now } else { None })
            }
            Op::Steal(items)
                if self.deque.iter().zip(items).filter(|(a, b)| a == b).count() == items.len() =>
            {
                self.deque.drain(..items.len());
                Some(now)
            }
            Op::TakeBack { item, taken } => {
                let at = self.deque.binary_search(item);
                if let (Ok(at), true) = (at, taken) {
                    self.deque.remove(at);
                }
                // Who removed the topmost item does not matter where there are take-backs.
                (at.is_ok() == *taken).then_some(None)
            }
            Op::Pop(None) | Op::Empty if self.deque.is_empty() => Some(None),
            Op::Private if !self.deque.is_empty() => Some(None),
            Op::Refused { same: true } => Some(None),
            Op::Abort => {
                let (from, to) = removal?;
                let (from, to) = (from.max(i.begun), to.min(i.completed));
                (from <= to).then_some(Some((from, to)))
            }
            _ => None,
        }
    }

    fn undo(&mut self, op: &Op) {
        match op {
            Op::Push(_) => drop(self.deque.pop_back()),
            Op::Pop(Some(item)) => self.deque.push_back(*item),
            Op::Steal(items) => items
                .iter()
                .rev()
                .for_each(|item| self.deque.push_front(*item)),
            Op::TakeBack { item, taken: true } => {
                // Items are numbered in the order of the pushes, so the deque is sorted.
                let at = self.deque.partition_point(|other| other < item);
                self.deque.insert(at, *item);
            }
            _ => {}
        }
    }

    fn note_depth(&mut self) {
        let depth: usize = self.next.iter().sum();
        let deepest: usize = self.deepest.0.iter().sum();
        if depth >= deepest {
            self.deepest = (self.next.clone(), self.deque.clone());
        }
    }

    /// Describes where the search got stuck.
    fn stuck(mut self) -> String {
        (self.next, self.deque) = self.deepest.clone();
        let (next, inside, pending) = (&self.next, &self.deque, self.heads());
        format!("after {next:?} invocations, with {inside:?} inside, none fits of {pending:?}")
    }
}
