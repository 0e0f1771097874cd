//! The n x n buffers of work dealing, and the recycling scheme RS between them.

use std::array;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ptr;

use super::ProduceError;
use super::item::{Item, link, unlink};
use super::pool::Pool;
use crate::sync::{Arc, Ordering, UnsafeCell};
use crate::traits::Consumer;
use crate::word::Word;

/// A process's ends of its two buffers with another process: the tail of the buffer to that
/// process, and the head (the dummy) of the buffer from it. Both are private; the processes share
/// nothing but the items.
#[derive(Clone, Copy)]
struct Peer {
    tail: *mut Item,
    head: *mut Item,
}

const LINE: usize = 128;
const PER_LINE: usize = LINE / size_of::<Peer>();

/// As many peers as fill a cache line, so that no process's ends share one with another's.
#[repr(align(128))]
struct Line([Peer; PER_LINE]);

const _: () = assert!(size_of::<Line>() == LINE);

type Peers = Box<[Line]>;

/// The part of the matrix that all processes share.
struct Matrix<T: Word> {
    pool: Pool,
    /// The peers of dropped processes, by process. Each entry is written by its process only.
    parked: Box<[UnsafeCell<Peers>]>,
    /// Makes the type invariant in `T`: an item that one handle puts in, another takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: the processes pass items from one thread to another, for which `T: Send` is enough; an
// entry of `parked` is written by one process, in its destructor, and read when all processes were
// dropped.
unsafe impl<T: Word + Send> Send for Matrix<T> {}
// SAFETY: as above; no `&T` is ever given out.
unsafe impl<T: Word + Send> Sync for Matrix<T> {}

impl<T: Word> Drop for Matrix<T> {
    fn drop(&mut self) {
        for parked in &self.parked {
            // SAFETY: all processes were dropped, so no other thread accesses the parked peers.
            let peers = parked.with_mut(|peers| mem::take(unsafe { &mut *peers }));
            for peer in peers.iter().flat_map(|line| line.0) {
                // SAFETY: all processes were dropped, so this is the only consumer of every buffer.
                unsafe { drain::<T>(peer.head) };
            }
        }
    }
}

/// Drops the items in a buffer.
///
/// # Safety
///
/// `head` is null, or the dummy of a buffer of `T`s in a living arena; the caller is the buffer's
/// only consumer, and no process consumes from that buffer afterwards.
unsafe fn drain<T: Word>(mut head: *mut Item) {
    if head.is_null() {
        return;
    }
    // SAFETY: `head` is the dummy, and the caller the only consumer.
    while let Some((next, word)) = unsafe { unlink(head) } {
        head = next;
        // SAFETY: the word was linked by `produce` and is behind the dummy: not yet taken.
        drop(unsafe { T::from_word(word) });
    }
}

/// A process's handle of a [`matrix`]: its row of producer's ends, its column of consumer's ends,
/// its produceList and its consumeList.
// Aligned so that processes that lie side by side in a `Vec` do not share cache lines.
#[repr(align(128))]
///
/// An item that one handle puts in, another takes out, so the handles are invariant in `T`:
///
/// ```compile_fail
/// use locksley_queue::pcb::Process;
///
/// fn shorten<'a>(long: Process<&'static u8>) -> Process<&'a u8> {
///     long
/// }
/// ```
pub struct Process<T: Word> {
    /// Unused items, linked by `next`; null if there is none.
    produce_list: *mut Item,
    /// Items to give back, linked by `next`; null if there is none.
    consume_list: *mut Item,
    /// Number of items that the consumeList lacks to be complete.
    missing: usize,
    /// The process whose buffer `consume` looks at first.
    cursor: usize,
    /// Number of items that `consume` may still take from that buffer.
    burst: usize,
    peers: Peers,
    processes: usize,
    id: usize,
    matrix: Arc<Matrix<T>>,
}

// SAFETY: the pointers are to items of the arena. The process uses them alone, or shares them with
// its peers under the rules on `Record`'s fields, on whatever thread it is.
unsafe impl<T: Word + Send> Send for Process<T> {}

/// Creates the n x n matrix of buffers for `processes` processes, and returns a handle for each.
///
/// `granularity` is the number of items that move through the pool at a time, clamped to
/// 1..=[`MAX_GRANULARITY`](super::MAX_GRANULARITY); [`GRANULARITY`](super::GRANULARITY) is a good
/// choice.
///
/// ```
/// use locksley_queue::{Consumer, pcb};
///
/// let mut team = pcb::matrix(2, pcb::GRANULARITY);
/// let mut marian = team.pop().unwrap();
/// let mut robin = team.pop().unwrap();
/// robin.produce(marian.id(), 1_u32).unwrap();
/// marian.produce(marian.id(), 2).unwrap();
/// assert_eq!(marian.consume_from(robin.id()), Some(1));
/// assert_eq!(marian.consume(), Some(2)); // from any buffer that has something
/// assert_eq!(marian.consume(), None);
/// ```
pub fn matrix<T: Word>(processes: usize, granularity: usize) -> Vec<Process<T>> {
    matrix_starting_at(processes, granularity, 0)
}

/// Creates a [`matrix`] as in the paper: all items are allocated at the beginning, in `lists` lists
/// of `granularity` items each (its LISTS_NUM), in addition to the n^2 dummies.
/// [`Process::produce`] allocates none: if no item is left, it returns the value.
///
/// ```
/// use locksley_queue::pcb;
///
/// let mut process = pcb::bounded_matrix(1, 2, 3).pop().unwrap();
/// let produced = (0..99_u32).take_while(|&number| process.produce(0, number).is_ok());
/// assert_eq!(produced.count(), 6 + 1, "three lists of two, and what the dummy left of its own");
/// assert_eq!(process.allocated(), 8);
/// assert_eq!(process.consume_from(0), Some(0));
/// ```
pub fn bounded_matrix<T: Word>(
    processes: usize,
    granularity: usize,
    lists: usize,
) -> Vec<Process<T>> {
    let team = matrix_starting_at(processes, granularity, 0);
    if let Some(first) = team.first() {
        let pool = &first.matrix.pool;
        for _ in 0..lists {
            // SAFETY: the list was just allocated in the arena, and no other process has it.
            unsafe { pool.push(pool.arena().grow()) };
        }
        pool.bound();
    }
    team
}

/// Creates a [`matrix`] whose pool starts with a given tag, to test the wrap-around.
#[doc(hidden)]
pub fn matrix_starting_at<T: Word>(
    processes: usize,
    granularity: usize,
    tag: u32,
) -> Vec<Process<T>> {
    let pool = Pool::new(granularity, tag);
    let granularity = pool.arena().granularity();
    let mut unused: *mut Item = ptr::null_mut();
    // dummies[p * n + q] is the dummy of the buffer from process p to process q.
    let dummies: Vec<*mut Item> = (0..processes * processes)
        .map(|_| {
            if unused.is_null() {
                unused = pool.arena().grow();
            }
            // SAFETY: the list was allocated here, and is not empty.
            let dummy = unsafe { take_first(&mut unused) };
            // SAFETY: an item of the arena; nothing is linked behind it yet.
            unsafe { &*dummy }
                .next
                .store(ptr::null_mut(), Ordering::Relaxed);
            dummy
        })
        .collect();
    let parked = (0..processes)
        .map(|_| UnsafeCell::new(Peers::default()))
        .collect();
    let matrix = Arc::new(Matrix {
        pool,
        parked,
        items: PhantomData,
    });
    let peer = |id: usize, other: usize| {
        if other < processes {
            Peer {
                tail: dummies[id * processes + other],
                head: dummies[other * processes + id],
            }
        } else {
            Peer {
                tail: ptr::null_mut(),
                head: ptr::null_mut(),
            }
        }
    };
    (0..processes)
        .map(|id| Process {
            // Process 0 gets the items that the dummies left of their last chunk.
            produce_list: mem::replace(&mut unused, ptr::null_mut()),
            consume_list: ptr::null_mut(),
            missing: granularity,
            cursor: id,
            burst: processes,
            peers: (0..processes.div_ceil(PER_LINE))
                .map(|line| Line(array::from_fn(|nth| peer(id, line * PER_LINE + nth))))
                .collect(),
            processes,
            id,
            matrix: matrix.clone(),
        })
        .collect()
}

/// Takes the first item off a list.
///
/// # Safety
///
/// The list belongs to the caller, is not empty, and consists of items of a living arena.
#[inline]
unsafe fn take_first(list: &mut *mut Item) -> *mut Item {
    let item = *list;
    // SAFETY: the caller guarantees that the list has a first item, which is alive.
    *list = unsafe { &*item }.next.load(Ordering::Relaxed);
    item
}

impl<T: Word> Process<T> {
    /// Returns the number of this process, counted from 0.
    pub fn id(&self) -> usize {
        self.id
    }

    /// Returns the number of processes of the matrix.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// Returns the number of items that the whole matrix has allocated: in use, dummies, and in
    /// lists.
    pub fn allocated(&self) -> usize {
        self.matrix.pool.arena().allocated()
    }

    /// Returns the ends of the buffers shared with process `id`, which must exist.
    #[inline]
    fn peer(&mut self, id: usize) -> &mut Peer {
        &mut self.peers[id / PER_LINE].0[id % PER_LINE]
    }

    /// Puts an item into the buffer to process `target`, which may be this process.
    ///
    /// # Errors
    ///
    /// If there is no process `target`, or no item is left in a [`bounded_matrix`], returns the
    /// value.
    #[inline]
    pub fn produce(&mut self, target: usize, item: T) -> Result<(), ProduceError<T>> {
        if target >= self.processes {
            return Err(ProduceError::NoSuchProcess(item));
        }
        if !self.reserve() {
            return Err(ProduceError::NoItems(item));
        }
        // SAFETY: the list is the process's own, and not empty.
        let new = unsafe { take_first(&mut self.produce_list) };
        let peer = self.peer(target);
        let tail = mem::replace(&mut peer.tail, new);
        // SAFETY: `tail` is the last item of the buffer to `target`, whose only producer this
        // process is, and `new` was just taken from its own list.
        unsafe { link(tail, new, item.into_word()) };
        Ok(())
    }

    /// Reserves an item for the next value. Returns `true` if there is one: the next
    /// [`produce`](Self::produce) finds room.
    #[inline]
    pub fn reserve(&mut self) -> bool {
        if self.produce_list.is_null() {
            self.produce_list = self.matrix.pool.pop_or_grow();
            return !self.produce_list.is_null();
        }
        true
    }

    /// Returns the word of the oldest item from process `source`, if there is one (and such a
    /// process). The item stays in its buffer.
    ///
    /// ```
    /// use locksley_queue::{Word, pcb};
    ///
    /// let mut process = pcb::matrix(1, pcb::GRANULARITY).pop().unwrap();
    /// assert_eq!(process.peek_from(0), None);
    /// process.produce(0, 7_u32).unwrap();
    /// assert_eq!(process.peek_from(0), Some(7_u32.into_word()));
    /// assert_eq!(process.consume_from(0), Some(7));
    /// ```
    #[inline]
    pub fn peek_from(&self, source: usize) -> Option<*mut ()> {
        if source >= self.processes {
            return None;
        }
        let peer = &self.peers[source / PER_LINE].0[source % PER_LINE];
        // SAFETY: `head` is the dummy of the buffer from `source`, whose only consumer this process
        // is; it stays the dummy, and the word is not taken.
        unsafe { unlink(peer.head) }.map(|(_, word)| word)
    }

    /// Takes the oldest item from process `source`, if there is one (and such a process).
    #[inline]
    pub fn consume_from(&mut self, source: usize) -> Option<T> {
        if source >= self.processes {
            return None;
        }
        let peer = self.peer(source);
        let dummy = peer.head;
        // SAFETY: `head` is the dummy of the buffer from `source`, whose only consumer this process
        // is.
        let (next, word) = unsafe { unlink(dummy) }?;
        peer.head = next;
        self.recycle(dummy);
        // SAFETY: the word was linked by `produce`, and the dummy has moved past it, so it is taken
        // only once.
        Some(unsafe { T::from_word(word) })
    }

    /// Puts an item that was removed from its buffer into the consumeList.
    #[inline]
    fn recycle(&mut self, item: *mut Item) {
        // SAFETY: an item of the arena.
        unsafe { &*item }
            .next
            .store(self.consume_list, Ordering::Relaxed);
        self.consume_list = item;
        self.missing -= 1;
        if self.missing == 0 {
            let list = mem::replace(&mut self.consume_list, ptr::null_mut());
            self.missing = self.matrix.pool.arena().granularity();
            // SAFETY: the list has `granularity` items, which belonged to this process alone, and
            // the process has no pointer to it any more.
            unsafe { self.matrix.pool.push(list) };
        }
    }
}

impl<T: Word> Consumer for Process<T> {
    type Item = T;

    /// Takes the oldest item of the next buffer in turn. At most n items come from one buffer
    /// before the turn passes on, and at most n + 1 buffers are looked at.
    #[inline]
    fn consume(&mut self) -> Option<T> {
        for _ in 0..=self.processes {
            if self.burst > 0 {
                if let Some(item) = self.consume_from(self.cursor) {
                    self.burst -= 1;
                    return Some(item);
                }
            }
            self.cursor = if self.cursor + 1 < self.processes {
                self.cursor + 1
            } else {
                0
            };
            self.burst = self.processes;
        }
        None
    }
}

impl<T: Word> Drop for Process<T> {
    fn drop(&mut self) {
        let peers = mem::take(&mut self.peers);
        // SAFETY: this entry belongs to this process, and is read only after all processes were
        // dropped.
        self.matrix.parked[self.id].with_mut(|parked| unsafe { *parked = peers });
    }
}

impl<T: Word> fmt::Debug for Process<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("id", &self.id)
            .field("processes", &self.processes)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_processes_has_its_own_buffer() {
        // More processes than one line of peers holds.
        let n = PER_LINE + 3;
        let mut team = matrix(n, 4);
        for (id, process) in team.iter_mut().enumerate() {
            for target in 0..n {
                process.produce(target, id * n + target).unwrap();
                process.produce(target, id * n + target + n * n).unwrap();
            }
        }
        for (id, process) in team.iter_mut().enumerate() {
            assert_eq!(process.id(), id);
            for source in 0..n {
                assert_eq!(process.consume_from(source), Some(source * n + id));
                assert_eq!(process.consume_from(source), Some(source * n + id + n * n));
                assert_eq!(process.consume_from(source), None);
            }
            assert_eq!(process.consume(), None);
        }
    }

    #[test]
    fn strangers_get_nothing_and_give_nothing() {
        let mut team = matrix(3, 1);
        assert_eq!(
            team[0].produce(3, 7_u8),
            Err(ProduceError::NoSuchProcess(7))
        );
        assert_eq!(
            team[0].produce(usize::MAX, 8),
            Err(ProduceError::NoSuchProcess(8))
        );
        assert_eq!(team[0].consume_from(3), None);
        assert_eq!(team[0].allocated(), 9);
        assert!(matrix::<u8>(0, 1).is_empty());
    }

    #[test]
    fn a_bounded_matrix_allocates_nothing() {
        let mut process = bounded_matrix(1, 1, 2).pop().unwrap();
        assert_eq!(process.produce(0, 1), Ok(()));
        assert!(process.reserve());
        assert_eq!(process.produce(0, 2), Ok(()));
        assert!(!process.reserve());
        assert_eq!(process.produce(0, 3), Err(ProduceError::NoItems(3)));
        assert_eq!(process.allocated(), 3);
        assert_eq!(process.consume(), Some(1));
        assert_eq!(process.produce(0, 3), Ok(()));
    }

    #[test]
    fn the_dummies_are_counted_and_their_last_chunk_is_used_up() {
        let mut team = matrix(3, 4);
        assert_eq!(team[0].allocated(), 12);
        for item in 0..3_u32 {
            team[0].produce(1, item).unwrap();
        }
        assert_eq!(team[0].allocated(), 12);
        team[0].produce(1, 3).unwrap();
        assert_eq!(team[0].allocated(), 16);
    }

    #[test]
    fn the_tag_wraps() {
        let mut process = matrix_starting_at(1, 1, u32::MAX - 5).pop().unwrap();
        for item in 0..100_u32 {
            process.produce(0, item).unwrap();
            assert_eq!(process.consume(), Some(item));
        }
        assert_eq!(process.allocated(), 2);
    }

    #[test]
    fn processes_may_go_in_any_order() {
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            let item = std::sync::Arc::new(());
            let mut team: Vec<_> = matrix(3, 2).into_iter().map(Some).collect();
            for gone in order {
                for process in team.iter_mut().flatten() {
                    for target in 0..3 {
                        process.produce(target, item.clone()).unwrap();
                    }
                    process.consume().unwrap();
                }
                team[gone] = None;
            }
            assert_eq!(std::sync::Arc::strong_count(&item), 1);
        }
    }
}
