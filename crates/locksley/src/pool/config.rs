//! The configuration of a pool, as its builder was told.

use std::any::Any;
use std::io::Write;
use std::sync::{Arc, OnceLock};

use locksley_policy::{Balancer, Donor, Victims};

use crate::machine::pinning::{Pinning, PinningError};
use crate::observe::record::Recorder;
use crate::observe::trace::Tracing;
use crate::scheduler::idle::counts::MOST;
use crate::scheduler::registry::Registry;
use crate::strategy::{Idle, Strategy, Waiting};
use crate::task::job::{Payload, catch, discard};

/// The maximum number of workers of a pool. An idle worker takes a few kilobytes.
pub(crate) const MOST_WORKERS: usize = 1 << 12;

/// The minimum of the default number of spares. Each allows one task that is blocked within
/// another, for example if two pools call into each other. A spare costs nothing until it is first
/// needed.
const SPARES: usize = 64;

type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;
type PanicHandler = Box<dyn Fn(Payload) + Send + Sync>;

/// Creates the policy of the worker with this index.
type MakePolicy<P> = Box<dyn Fn(usize) -> Box<P> + Send + Sync>;

/// How workers are pinned.
pub(crate) struct Pinner {
    /// The CPU of each worker.
    pub(super) cpus: fn(&Pinning, usize) -> Result<Vec<usize>, PinningError>,
    /// Sets the workers' orders of victims, by distance.
    pub(crate) set_orders: fn(&Registry),
}

/// How a pool is configured. `Builder::default` has the defaults.
#[derive(Default)]
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) strategy: Strategy,
    pub(crate) waiting: Waiting,
    pub(super) spares: Option<usize>,
    pub(crate) breadth_first: bool,
    pub(crate) use_current_thread: bool,
    pub(crate) idle: Idle,
    /// The number of processors, if the builder was told.
    pub(crate) processors: Option<usize>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) seed: u64,
    /// Set if loops split by their length alone.
    pub(crate) deterministic: bool,
    /// Keeps the recorded runs, if runs are recorded.
    pub(crate) recorder: Option<Recorder>,
    /// The workers' timelines, if they are traced.
    pub(crate) tracing: Option<Tracing>,
    pub(crate) depth_limit: usize,
    pub(super) victims: Option<Victims>,
    /// A user-defined choice of victims.
    pub(crate) balancer: Option<MakePolicy<dyn Balancer + Send>>,
    /// A user-defined choice of when and to whom to give.
    pub(crate) donor: Option<MakePolicy<dyn Donor + Send>>,
    /// State that the workers share: `Peers` under the strategy `sharing`, a `Matrix` under
    /// `dealing`. Created with the first worker.
    pub(crate) shared: OnceLock<Arc<dyn Any + Send + Sync>>,
    pub(super) pinning: Pinning,
    /// The code that pins workers, if the builder was told to: a program that does not pin does not
    /// contain it.
    pub(crate) pinner: Option<Pinner>,
    /// The CPU of each worker; empty if they are not pinned.
    pub(crate) pinned_cpus: Vec<usize>,
    pub(super) thread_name: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
    pub(super) start: Option<IndexHandler>,
    pub(super) exit: Option<IndexHandler>,
    pub(super) panic: Option<PanicHandler>,
}

impl Config {
    /// Returns the maximum number of spares.
    pub(crate) fn spares(&self) -> usize {
        match self.waiting {
            Waiting::Leapfrog => {
                let spares = self.spares.unwrap_or(self.workers.max(SPARES));
                spares.min(MOST - MOST_WORKERS)
            }
            Waiting::Own | Waiting::TakeAny => 0,
        }
    }

    /// Returns how victims are chosen, if the builder or the strategy says so.
    pub(crate) fn victims(&self) -> Option<Victims> {
        match self.strategy {
            Strategy::Flexible(policy) => self.victims.or(Some(policy.victims)),
            _ => self.victims,
        }
    }

    pub(crate) fn thread_name(&self, index: usize) -> String {
        match &self.thread_name {
            Some(name) => name(index),
            None => format!("locksley-{index}"),
        }
    }

    /// Runs the start or the exit handler, if there is one.
    pub(super) fn run_handler(&self, handler: Option<&IndexHandler>, index: usize) {
        if let Some(handler) = handler {
            self.guard(|| handler(index));
        }
    }

    pub(crate) fn has_panic_handler(&self) -> bool {
        self.panic.is_some()
    }

    /// Calls user code. A panic goes to the panic handler.
    pub(crate) fn guard<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        catch(f).map_err(|payload| self.handle_panic(payload)).ok()
    }

    /// Passes a panic that reaches no caller to the handler. Without a handler it is dropped, since
    /// it has printed its message. Panics of tasks: see `task::panics`.
    pub(crate) fn handle_panic(&self, payload: Payload) {
        let Some(handler) = &self.panic else {
            return discard(payload);
        };
        if let Err(payload) = catch(|| handler(payload)) {
            // Standard error may be closed, which is no reason to panic.
            let _ = writeln!(std::io::stderr(), "locksley: the panic handler panicked");
            discard(payload);
        }
    }
}
