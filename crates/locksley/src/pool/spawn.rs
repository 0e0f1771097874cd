//! Spawning tasks into a pool.

use std::hash::Hash;

use super::Pool;
use crate::task::affinity::worker_for;
use crate::task::broadcast::{BroadcastContext, spawn_broadcast_in};
use crate::task::spawn::{JoinHandle, SpawnMode, spawn_detached_in, spawn_in};

impl Pool {
    /// [`spawn`](crate::spawn()) into this pool.
    pub fn spawn<F, T>(&self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_in(&self.registry, SpawnMode::Newest, task)
    }

    /// [`spawn_fifo`](crate::spawn_fifo) into this pool.
    pub fn spawn_fifo<F, T>(&self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_in(&self.registry, SpawnMode::InOrder, task)
    }

    /// [`spawn_detached`](crate::spawn_detached) into this pool.
    pub fn spawn_detached<F>(&self, task: F)
    where
        F: FnOnce() + Send + 'static,
    {
        spawn_detached_in(&self.registry, SpawnMode::Newest, task);
    }

    /// [`spawn_fifo_detached`](crate::spawn_fifo_detached) into this pool.
    pub fn spawn_fifo_detached<F>(&self, task: F)
    where
        F: FnOnce() + Send + 'static,
    {
        spawn_detached_in(&self.registry, SpawnMode::InOrder, task);
    }

    /// [`spawn_near`](crate::spawn_near) into this pool.
    pub fn spawn_near<F, T>(&self, worker: usize, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_in(&self.registry, SpawnMode::Near(worker), task)
    }

    /// [`worker_for_key`](crate::worker_for_key) of this pool.
    pub fn worker_for_key<K: Hash + ?Sized>(&self, key: &K) -> usize {
        worker_for(self.registry.size(), key)
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) to this pool's workers.
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(&self.registry, f);
    }
}
