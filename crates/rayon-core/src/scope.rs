//! Scopes: tasks that may borrow, and are done when the scope ends.

use std::fmt;

use crate::broadcast::BroadcastContext;
use crate::global::{global, inside};

/// A scope into which tasks can be spawned. See [`scope`].
#[repr(transparent)]
pub struct Scope<'scope>(locksley::Scope<'scope>);

/// A scope whose tasks begin in the order in which a thread spawned them. See [`scope_fifo`].
#[repr(transparent)]
pub struct ScopeFifo<'scope>(locksley::ScopeFifo<'scope>);

impl<'scope> Scope<'scope> {
    pub(crate) fn of<'a>(scope: &'a locksley::Scope<'scope>) -> &'a Scope<'scope> {
        // SAFETY: a `Scope` is a `locksley::Scope` and nothing else (`repr(transparent)`).
        unsafe { &*std::ptr::from_ref(scope).cast() }
    }

    /// Spawns a task, which may spawn more into the same scope.
    ///
    /// ```
    /// let (mut a, mut b) = (0, 0);
    /// rayon_core::scope(|s| {
    ///     s.spawn(|s| {
    ///         s.spawn(|_| a = 1);
    ///         b = 2;
    ///     });
    /// });
    /// assert_eq!((a, b), (1, 2));
    /// ```
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.0.spawn(move |scope| body(Scope::of(scope)));
    }

    /// Spawns a task in every thread of the pool.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let runs = AtomicUsize::new(0);
    /// rayon_core::scope(|s| s.spawn_broadcast(|_, _| { runs.fetch_add(1, Ordering::Relaxed); }));
    /// assert_eq!(runs.into_inner(), rayon_core::current_num_threads());
    /// ```
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.0.spawn_broadcast(move |scope, context| {
            body(Scope::of(scope), BroadcastContext::new(context));
        });
    }
}

impl<'scope> ScopeFifo<'scope> {
    pub(crate) fn of<'a>(scope: &'a locksley::ScopeFifo<'scope>) -> &'a ScopeFifo<'scope> {
        // SAFETY: a `ScopeFifo` is a `locksley::ScopeFifo` and nothing else (`repr(transparent)`).
        unsafe { &*std::ptr::from_ref(scope).cast() }
    }

    /// Spawns a task, which may spawn more into the same scope.
    ///
    /// ```
    /// let mut value = 0;
    /// rayon_core::scope_fifo(|s| s.spawn_fifo(|_| value = 7));
    /// assert_eq!(value, 7);
    /// ```
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        self.0.spawn_fifo(move |scope| body(ScopeFifo::of(scope)));
    }

    /// Spawns a task in every thread of the pool.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let runs = AtomicUsize::new(0);
    /// rayon_core::scope_fifo(|s| {
    ///     s.spawn_broadcast(|_, _| {
    ///         runs.fetch_add(1, Ordering::Relaxed);
    ///     })
    /// });
    /// assert_eq!(runs.into_inner(), rayon_core::current_num_threads());
    /// ```
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.0.spawn_broadcast(move |scope, context| {
            body(ScopeFifo::of(scope), BroadcastContext::new(context));
        });
    }
}

/// Runs `op` in the calling thread's pool, or in the global one, with a scope into which it can
/// spawn tasks that borrow from the caller. Returns when all of them are done.
///
/// If `op` or a task panics, `scope` panics when everything is done.
///
/// ```
/// let mut squares = [0; 4];
/// rayon_core::scope(|s| {
///     for (i, square) in squares.iter_mut().enumerate() {
///         s.spawn(move |_| *square = i * i);
///     }
/// });
/// assert_eq!(squares, [0, 1, 4, 9]);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    if inside() {
        locksley::scope(|scope| op(Scope::of(scope)))
    } else {
        global().scope(op)
    }
}

/// Like [`scope`], but tasks begin in the order in which a thread spawned them.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let order = std::sync::Mutex::new(Vec::new());
/// pool.scope_fifo(|s| {
///     for task in 0..3 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(task));
///     }
/// });
/// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
/// ```
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    if inside() {
        locksley::scope_fifo(|scope| op(ScopeFifo::of(scope)))
    } else {
        global().scope_fifo(op)
    }
}

/// Like [`scope`], but `op` runs on the calling thread, even outside of the pool. Only the tasks
/// run in the pool.
///
/// ```
/// let here = std::thread::current().id();
/// let mut value = 0;
/// rayon_core::in_place_scope(|s| {
///     assert_eq!(std::thread::current().id(), here);
///     s.spawn(|_| value = 7);
/// });
/// assert_eq!(value, 7);
/// ```
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    if inside() {
        locksley::in_place_scope(|scope| op(Scope::of(scope)))
    } else {
        global().in_place_scope(op)
    }
}

/// Like [`scope_fifo`], but `op` runs on the calling thread, even outside of the pool.
///
/// ```
/// let mut value = 0;
/// rayon_core::in_place_scope_fifo(|s| s.spawn_fifo(|_| value = 7));
/// assert_eq!(value, 7);
/// ```
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    if inside() {
        locksley::in_place_scope_fifo(|scope| op(ScopeFifo::of(scope)))
    } else {
        global().in_place_scope_fifo(op)
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
