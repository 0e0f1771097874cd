//! A deque and a channel behind a lock: obviously correct, unless a fault is injected.
//!
//! The batteries run on these too, and must find every [`Fault`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use locksley_queue::{Consumer, Full, Owner, Producer, Steal, Thief, Word};

/// Fault that is injected into a reference structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No fault.
    None,
    /// Sometimes loses an item that it should return.
    Loses,
    /// Sometimes returns an item and keeps it too.
    Duplicates,
    /// Drops the items that it returns.
    DropsTwice,
    /// Does not drop its items when it is dropped itself.
    Leaks,
    /// Sometimes returns the second item instead of the first.
    Disorders,
    /// Sometimes tells a thief to retry for no reason.
    Aborting,
    /// Sometimes tells a thief that it is empty although it is not.
    FeignsEmpty,
    /// Never lets any handle but the first steal.
    Starves,
    /// Refuses a push although there is room.
    Refuses,
}

/// Properties of a reference structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) capacity: usize,
    /// Set if thieves may take only the items that the owner has exposed.
    pub(crate) private: bool,
    pub(crate) fault: Fault,
}

/// An unbounded, public, faultless structure.
pub(crate) const SOUND: Kind = Kind {
    capacity: usize::MAX,
    private: false,
    fault: Fault::None,
};

/// Number of operations in which an intermittent fault shows once.
const NOW_AND_THEN: u64 = 16;

struct State<T: Word> {
    kind: Kind,
    items: VecDeque<T>,
    /// Number of items, from the top, that thieves may take.
    open: usize,
    asked: bool,
    takes: u64,
    handles: usize,
}

impl<T: Word> State<T> {
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        let refused = self.kind.fault == Fault::Refuses && self.items.len() == 1;
        if refused || self.items.len() == self.kind.capacity {
            return Err(Full(item));
        }
        self.items.push_back(item);
        Ok(())
    }

    /// Takes an item with `take`, subject to the fault.
    fn take(&mut self, take: impl Fn(&mut VecDeque<T>) -> Option<T>) -> Option<T> {
        self.takes += 1;
        let now = self.takes % NOW_AND_THEN == 0;
        let item = take(&mut self.items)?;
        match self.kind.fault {
            Fault::Loses if now => {
                std::mem::forget(item);
                take(&mut self.items)
            }
            Fault::Duplicates if now => {
                let (item, copy) = twice(item);
                self.items.push_front(copy);
                Some(item)
            }
            Fault::DropsTwice => {
                let (item, copy) = twice(item);
                drop(copy);
                Some(item)
            }
            Fault::Disorders if now => match take(&mut self.items) {
                Some(second) => {
                    self.items.push_front(item);
                    Some(second)
                }
                None => Some(item),
            },
            _ => Some(item),
        }
    }

    /// Returns the result for a thief that is turned away before it takes an item.
    fn turned_away(&mut self, handle: usize) -> Option<Steal<T>> {
        if self.items.is_empty() {
            return Some(Steal::Empty);
        }
        if self.kind.private && self.open == 0 {
            return Some(Steal::Private);
        }
        let now = (self.takes + 1) % NOW_AND_THEN == 0;
        match self.kind.fault {
            Fault::Aborting if now => {
                self.takes += 1;
                Some(Steal::Retry)
            }
            Fault::FeignsEmpty if now => {
                self.takes += 1;
                Some(Steal::Empty)
            }
            Fault::Starves if handle > 0 => Some(Steal::Retry),
            _ => None,
        }
    }
}

/// Duplicates an item, which is not sound for items that own memory.
fn twice<T: Word>(item: T) -> (T, T) {
    let word = item.into_word();
    // SAFETY: deliberately none: the word is turned back twice. The tests that ask for this use
    // integers and `Item`s, which own nothing.
    unsafe { (T::from_word(word), T::from_word(word)) }
}

impl<T: Word> Drop for State<T> {
    fn drop(&mut self) {
        if self.kind.fault == Fault::Leaks {
            self.items.drain(..).for_each(std::mem::forget);
        }
    }
}

type Shared<T> = Arc<Mutex<State<T>>>;

fn shared<T: Word>(kind: Kind) -> Shared<T> {
    let items = VecDeque::new();
    Arc::new(Mutex::new(State {
        kind,
        items,
        open: 0,
        asked: false,
        takes: 0,
        handles: 0,
    }))
}

fn lock<T: Word>(shared: &Shared<T>) -> MutexGuard<'_, State<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The owner's side of the reference deque.
pub(crate) struct Deque<T: Word>(Shared<T>);

/// The thief's side of the reference deque.
pub(crate) struct Stealer<T: Word> {
    shared: Shared<T>,
    handle: usize,
}

impl<T: Word> Deque<T> {
    pub(crate) fn of(kind: Kind) -> Self {
        Deque(shared(kind))
    }

    /// Exposes one item if a thief asked.
    pub(crate) fn poll(&mut self) {
        let mut state = lock(&self.0);
        if std::mem::take(&mut state.asked) && state.open < state.items.len() {
            state.open += 1;
        }
    }
}

impl<T: Word> Stealer<T> {
    pub(crate) fn ask(&self) {
        lock(&self.shared).asked = true;
    }

    pub(crate) fn steal_half(&self, own: &mut Deque<T>) -> Steal<T> {
        // Not both locks at once: two thieves may be robbing each other.
        let room = {
            let own = lock(&own.0);
            own.kind.capacity - own.items.len()
        };
        let mut victim = lock(&self.shared);
        if let Some(answer) = victim.turned_away(self.handle) {
            return answer;
        }
        let n = victim.items.len().div_ceil(2).min(room.saturating_add(1));
        let batch: Vec<_> = (1..n)
            .filter_map(|_| victim.take(VecDeque::pop_front))
            .collect();
        let newest = victim.take(VecDeque::pop_front);
        drop(victim);
        lock(&own.0).items.extend(batch);
        newest.map_or(Steal::Empty, Steal::Success)
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        lock(&self.0).push(item)
    }

    fn pop(&mut self) -> Option<T> {
        let mut state = lock(&self.0);
        let item = state.take(VecDeque::pop_back);
        state.open = state.open.min(state.items.len());
        item
    }

    fn len(&self) -> usize {
        lock(&self.0).items.len()
    }

    fn thief(&self) -> Stealer<T> {
        let handle = lock(&self.0).handles;
        lock(&self.0).handles += 1;
        Stealer {
            shared: self.0.clone(),
            handle,
        }
    }
}

impl<T: Word> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        let handle = lock(&self.shared).handles;
        lock(&self.shared).handles += 1;
        Stealer {
            shared: self.shared.clone(),
            handle,
        }
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        let mut state = lock(&self.shared);
        if let Some(answer) = state.turned_away(self.handle) {
            return answer;
        }
        let item = state.take(VecDeque::pop_front);
        state.open = state.open.saturating_sub(1).min(state.items.len());
        item.map_or(Steal::Empty, Steal::Success)
    }

    fn len(&self) -> usize {
        lock(&self.shared).items.len()
    }
}

/// A producer of the reference channel.
pub(crate) struct Sender<T: Word>(Shared<T>);

/// The consumer of the reference channel.
pub(crate) struct Receiver<T: Word>(Shared<T>);

/// Creates a reference channel with this number of producers.
pub(crate) fn channel<T: Word>(kind: Kind, producers: usize) -> (Vec<Sender<T>>, Receiver<T>) {
    let shared = shared(kind);
    (
        (0..producers).map(|_| Sender(shared.clone())).collect(),
        Receiver(shared),
    )
}

impl<T: Word> Producer for Sender<T> {
    type Item = T;

    fn produce(&mut self, item: T) -> Result<(), Full<T>> {
        lock(&self.0).push(item)
    }
}

impl<T: Word> Consumer for Receiver<T> {
    type Item = T;

    fn consume(&mut self) -> Option<T> {
        lock(&self.0).take(VecDeque::pop_front)
    }
}
