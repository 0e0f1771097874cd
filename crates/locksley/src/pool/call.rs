//! Calls into a pool, which return when what they run is done.

use super::{Pool, run_in};
use crate::flow::Flow;
use crate::scheduler::worker::Worker;
use crate::task::broadcast::{BroadcastContext, broadcast_in};
use crate::task::join::FnContext;
use crate::task::scope::{Scope, in_place_scope_in, scope_here};
use crate::task::scope_fifo::{ScopeFifo, in_place_scope_fifo_in, scope_fifo};
use crate::task::yield_now::Yield;

impl Pool {
    /// Runs `f` in the pool and returns its result. Whatever `f` forks or spawns through the free
    /// functions stays in this pool.
    #[cfg_attr(doc, doc = include_str!("../../docs/examples/pool.md"))]
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.run(|_| f())
    }

    /// [`install`](Pool::install) that passes `f` its worker.
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        run_in(&self.registry, f)
    }

    /// [`join`](crate::join()) in this pool.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.run(|worker| worker.join(|_| a(), |_| b()))
    }

    /// [`join_context`](crate::join_context) in this pool. If the calling thread is not one of its
    /// workers, both closures have migrated.
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(FnContext) -> RA + Send,
        B: FnOnce(FnContext) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let outside = Worker::current_in(&self.registry).is_none();
        self.run(|worker| {
            worker.fork(
                |_, migrated| a(FnContext::new(migrated || outside)),
                |_, migrated| b(FnContext::new(migrated || outside)),
            )
        })
    }

    /// [`scope`](crate::scope()) in this pool.
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.run(|worker| scope_here(worker, body))
    }

    /// [`flow`](crate::flow()) in this pool.
    pub fn flow<'env, F, R>(&self, body: F) -> R
    where
        F: for<'f> FnOnce(&'f Flow<'f, 'env>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::flow::flow(body))
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
    pub fn scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(body))
    }

    /// [`in_place_scope`](crate::in_place_scope) whose tasks run in this pool.
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(&self.registry, body)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo) whose tasks run in this pool.
    pub fn in_place_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        in_place_scope_fifo_in(&self.registry, body)
    }

    /// [`broadcast`](crate::broadcast) to this pool's workers.
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(&self.registry, f)
    }

    /// [`yield_now`](crate::yield_now), if the calling thread is one of this pool's workers.
    pub fn yield_now(&self) -> Option<Yield> {
        let worker = Worker::current_in(&self.registry)?;
        Some(worker.yield_to(Worker::take_anything))
    }

    /// [`yield_local`](crate::yield_local), if the calling thread is one of this pool's workers.
    pub fn yield_local(&self) -> Option<Yield> {
        let worker = Worker::current_in(&self.registry)?;
        Some(worker.yield_to(Worker::take_own))
    }
}
