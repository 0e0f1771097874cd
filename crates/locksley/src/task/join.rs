//! Fork and join.

use std::panic;

use locksley_queue::split::{PushToken, TakenBack};

use crate::scheduler::worker::Worker;
use crate::task::job::{Job, Payload, StackJob, catch, discard, drop_caught};

/// The argument of a closure of [`join_context`].
#[derive(Clone, Copy, Debug)]
pub struct FnContext {
    migrated: bool,
}

impl FnContext {
    #[inline]
    pub(crate) fn new(migrated: bool) -> FnContext {
        FnContext { migrated }
    }

    /// Returns `true` if the closure runs on a different thread from the caller of the join.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs two closures, if possible in parallel, and returns both results.
///
/// The first closure runs at once on the calling worker. Other workers can steal the second one
/// meanwhile; if none does, it runs on the calling worker too. Outside of a pool, both run in the
/// global pool.
///
/// A panic in either closure is propagated to the caller when both are done.
#[cfg_attr(doc, doc = include_str!("../../docs/examples/join.md"))]
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::current() {
        Some(worker) => worker.fork(|_, _| a(), |_, _| b()),
        None => fork_outside(|_, _| a(), |_, _| b()),
    }
}

/// Forks for a thread that is not a worker, in the global pool. A separate function, so that `join`
/// needs no larger frame than its fast path does.
#[cold]
#[inline(never)]
fn fork_outside<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(&Worker, bool) -> RA + Send,
    B: FnOnce(&Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    crate::pool::global().run(|worker| worker.fork(a, b))
}

/// [`join`] whose closures are told whether they run on another thread than the caller's.
#[inline]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::current() {
        Some(worker) => worker.join_context(a, b),
        None => fork_outside(
            |_, _| a(FnContext::new(true)),
            |_, _| b(FnContext::new(true)),
        ),
    }
}

/// Joins any number of closures: `join!(|| a(), || b(), || c())` returns their results as a tuple.
///
/// The first closure runs on the calling worker. The others can be stolen together meanwhile, and
/// are joined in the same way. As with [`join`](crate::join()), a panic is propagated to the caller
/// when all are done.
///
/// ```
/// let mut parts = [1, 2, 3, 4];
/// let [a, b, c, d] = &mut parts;
/// let results = locksley::join!(|| *a *= 10, || *b + 1, || "three", move || *d);
/// assert_eq!(results, ((), 3, "three", 4));
/// assert_eq!(*c, 3);
/// assert_eq!(locksley::join!(|| 1), (1,));
/// ```
#[macro_export]
macro_rules! join {
    // One step for each closure: `f` and `r` are new names each time.
    (@name [$($named:tt)*] $closure:expr, $($rest:expr,)*) => {
        $crate::join!(@name [$($named)* (f r $closure)] $($rest,)*)
    };
    (@name [$(($f:ident $r:ident $closure:expr))+]) => {{
        $(let $f = $closure;)+
        let $crate::join!(@pattern $($r)+) = $crate::join!(@fork $($f)+);
        ($($r,)+)
    }};
    (@fork $f:ident) => { $f() };
    (@fork $a:ident $b:ident) => { $crate::join($a, $b) };
    (@fork $f:ident $($rest:ident)+) => { $crate::join($f, || $crate::join!(@fork $($rest)+)) };
    (@pattern $r:ident) => { $r };
    (@pattern $r:ident $($rest:ident)+) => { ($r, $crate::join!(@pattern $($rest)+)) };
    ($($closure:expr),+ $(,)?) => { $crate::join!(@name [] $($closure,)+) };
}

/// A type-erased closure of a fork. It is called once, and stores its result for its creator.
pub(crate) type Erased<'f> = dyn FnMut(&Worker, bool) + 'f;

impl Worker {
    /// [`join`](crate::join()) on this worker: each closure gets the worker that runs it.
    ///
    /// The first closure always runs here, so neither it nor its result need be `Send`.
    #[inline]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        self.fork(|worker, _| a(worker), |worker, _| b(worker))
    }

    /// [`join_context`](crate::join_context) on this worker.
    #[inline]
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(FnContext) -> RA,
        B: FnOnce(FnContext) -> RB + Send,
        RB: Send,
    {
        self.fork_in_place(
            |_, migrated| a(FnContext::new(migrated)),
            |_, migrated| b(FnContext::new(migrated)),
        )
    }

    /// Forks in a function that is not inlined: a recursion through it has one small frame for each
    /// level.
    #[inline(never)]
    pub(crate) fn fork<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker, bool) -> RA,
        B: FnOnce(&Worker, bool) -> RB,
    {
        self.fork_in_place(a, b)
    }

    /// Pushes the second closure, runs the first, then takes the second back or waits for it.
    ///
    /// If this is inlined, the closures are built in their final place. That pays if they are
    /// large: a copy that reads in large pieces what was just written in small ones makes the
    /// processor wait for the writes.
    #[inline(always)]
    fn fork_in_place<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker, bool) -> RA,
        B: FnOnce(&Worker, bool) -> RB,
    {
        let job = StackJob::new(b);
        // SAFETY: only the owner's thread has a `&Worker`. Before the next push, `attend_fork`
        // attends to what this one asks for, or takes its job back.
        let (token, attention) = unsafe { self.deque.push(job.as_ref()) };
        if attention && !self.attend_fork(token) {
            return self.fork_slowly(a, &job);
        }
        let ra = match catch(|| a(self, false)) {
            Ok(ra) => ra,
            Err(payload) => self.unwind(&job, Some(token), payload),
        };
        let mut back = TakenBack::No;
        if !job.latch().seems_set() {
            // SAFETY: as above. A job that was popped was executed by this very thread, so that its
            // latch is set; and what was pushed on top of it was marked.
            back = unsafe { self.deque.take_back(token) };
            if back == TakenBack::Yes {
                // SAFETY: the job is out of the deque, and was not stolen.
                let b = unsafe { job.take() };
                return (ra, b(self, false));
            }
        }
        (ra, self.complete_second(&job, back))
    }

    /// Attends to what the push of a fork has asked for. Returns `false` if the job is out of the
    /// deque again, because this worker forks the slow way.
    #[cold]
    #[inline(never)]
    fn attend_fork(&self, token: PushToken) -> bool {
        // The request stands, so the next fork comes here too.
        // SAFETY: only the owner's thread has a `&Worker`, and nothing was pushed since.
        if self.forks_slowly() && unsafe { self.deque.take_back(token) } == TakenBack::Yes {
            return false;
        }
        self.attend();
        true
    }

    /// Returns `true` if forks go to the strategy's own queue, or the worker is recorded.
    fn forks_slowly(&self) -> bool {
        self.is_recorded() || self.has_reference_queue() || self.gives_newest()
    }

    /// Forks for a strategy with its own queue, or while the worker is recorded.
    #[inline(never)]
    fn fork_slowly<A, B, RA, RB>(&self, a: A, job: &StackJob<B, RB>) -> (RA, RB)
    where
        A: FnOnce(&Worker, bool) -> RA,
        B: FnOnce(&Worker, bool) -> RB,
    {
        // SAFETY: the job is in no queue.
        let b = unsafe { job.take() };
        let (mut a, mut b) = (Some(a), Some(b));
        let (mut ra, mut rb) = (None, None);
        let both = catch(|| {
            self.fork_erased(
                &mut |worker, migrated| ra = a.take().map(|a| a(worker, migrated)),
                &mut |worker, migrated| rb = b.take().map(|b| b(worker, migrated)),
            );
        });
        if let Err(payload) = both {
            drop_caught(rb);
            panic::resume_unwind(payload)
        }
        match (ra, rb) {
            (Some(ra), Some(rb)) => (ra, rb),
            _ => unreachable!("each closure has run"),
        }
    }

    /// [`fork_slowly`](Worker::fork_slowly) of type-erased closures: a program has one copy of it,
    /// not one for each fork.
    #[inline(never)]
    fn fork_erased(&self, a: &mut Erased<'_>, b: &mut Erased<'_>) {
        if self.is_recorded() {
            return self.fork_recorded(a, b);
        }
        let job = StackJob::new(|worker: &Worker, migrated| b(worker, migrated));
        self.fork_pushed(|worker: &Worker, migrated| a(worker, migrated), &job);
    }

    /// Forks, and pushes the job the slow way.
    #[inline]
    pub(crate) fn fork_pushed<A, B, RA, RB>(&self, a: A, job: &StackJob<B, RB>) -> (RA, RB)
    where
        A: FnOnce(&Worker, bool) -> RA,
        B: FnOnce(&Worker, bool) -> RB,
    {
        let Ok(token) = self.push_forked(job.as_ref()) else {
            // SAFETY: the job is in no queue.
            let b = unsafe { job.take() };
            return self.run_both(a, b);
        };
        let ra = match catch(|| a(self, false)) {
            Ok(ra) => ra,
            Err(payload) => self.unwind(job, token, payload),
        };
        (ra, self.complete_second(job, self.regain(job, token)))
    }

    /// Runs one closure after the other: both, even if the first one panics.
    fn run_both<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker, bool) -> RA,
        B: FnOnce(&Worker, bool) -> RB,
    {
        let payload = match catch(|| a(self, false)) {
            Ok(ra) => return (ra, b(self, false)),
            Err(payload) => payload,
        };
        if let Err(second) = catch(|| drop(b(self, false))) {
            discard(second);
        }
        panic::resume_unwind(payload)
    }

    /// Runs a job that was taken back, or waits for one that was not. Resumes its panic.
    #[cold]
    #[inline(never)]
    fn complete_second<B, RB>(&self, job: &StackJob<B, RB>, back: TakenBack) -> RB
    where
        B: FnOnce(&Worker, bool) -> RB,
    {
        self.poll_requests();
        if back != TakenBack::No {
            // SAFETY: the job is out of its queue, and was not stolen.
            let b = unsafe { job.take() };
            return b(self, false);
        }
        // If the latch is set already, this worker has run the job in between.
        if !job.latch().probe() {
            self.wait_for_job(job.latch(), job.group());
        }
        // The thief is likely to come back, so the next fork is made public at once.
        self.deque.request_attention();
        // SAFETY: the latch is set, and every frame completes once.
        let result = unsafe { job.take_result() };
        result.unwrap_or_else(|payload| panic::resume_unwind(payload))
    }

    /// Takes a job out of the worker's queue, if it is still there. Jobs that were spawned since
    /// are on top of it, and stay. `token` is the deque's, if it was pushed there.
    fn regain<B, RB>(&self, job: &StackJob<B, RB>, token: Option<PushToken>) -> TakenBack
    where
        B: FnOnce(&Worker, bool) -> RB,
    {
        if job.latch().probe() {
            return TakenBack::No;
        }
        if let Some(token) = token {
            // SAFETY: only the owner's thread has a `&Worker`. A job that was popped has its latch
            // set, and what was pushed on top of it was marked.
            return unsafe { self.deque.take_back(token) };
        }
        let wanted = job.as_ref();
        let mut above = Vec::new();
        let found = loop {
            match self.pop_newest() {
                Some(popped) if popped == wanted => break TakenBack::Yes,
                Some(popped) => {
                    above.push(popped);
                    // The job of an enclosing join: the wanted job would have been above it.
                    if !popped.is_spawned() {
                        break TakenBack::No;
                    }
                }
                None => break TakenBack::No,
            }
        };
        for job in above.into_iter().rev() {
            self.push_spawned(job);
        }
        found
    }

    /// Handles a panic of the first closure: finishes the second one, then resumes the panic. The
    /// second closure can run here as usual, since the panic was caught.
    #[cold]
    #[inline(never)]
    fn unwind<B, RB>(&self, job: &StackJob<B, RB>, token: Option<PushToken>, payload: Payload) -> !
    where
        B: FnOnce(&Worker, bool) -> RB,
    {
        // The caller gets the first closure's panic.
        if let Err(second) = catch(|| drop(self.complete_second(job, self.regain(job, token)))) {
            discard(second);
        }
        panic::resume_unwind(payload)
    }
}
