//! What the builder was told, and how a pool asks for it.

use std::any::Any;
use std::io::Write;
use std::sync::{Arc, OnceLock};

use locksley_policy::{Balancer, Donor, Theta, Victims};

use crate::machine::pinning::{Pinning, PinningError};
use crate::observe::record::Recorder;
use crate::observe::trace::Tracing;
use crate::scheduler::idle::counts::MOST;
use crate::scheduler::registry::Registry;
use crate::strategy::{Idle, Strategy, Waiting};
use crate::task::job::{Payload, catch, discard};

/// The most workers that a pool can have. An idle worker takes a few kilobytes.
pub(crate) const MOST_WORKERS: usize = 1 << 12;

/// The fewest spares of a pool by default. Each allows one task that is blocked within another, as
/// where two pools call into each other. A spare costs nothing until it is first needed.
const SPARES: usize = 64;

type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;
type PanicHandler = Box<dyn Fn(Payload) + Send + Sync>;

/// A user's choice of victims: how often it is asked, and how each worker's is created.
pub(crate) struct OwnBalancer {
    pub(crate) theta: Theta,
    pub(crate) make: Box<dyn Fn(usize) -> Box<dyn Balancer + Send> + Send + Sync>,
}

/// How workers are pinned.
pub(crate) struct Pinner {
    /// The CPU of each worker.
    pub(super) cpus: fn(&Pinning, usize) -> Result<Vec<usize>, PinningError>,
    /// Tells the workers who is near whom.
    pub(crate) settle: fn(&Registry),
}

/// Creates the donor of the worker with this index.
type MakeDonor = Box<dyn Fn(usize) -> Box<dyn Donor + Send> + Send + Sync>;

/// How a pool is configured.
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
    /// Whether loops split by their length alone.
    pub(crate) deterministic: bool,
    /// Keeps the recorded runs, if runs are recorded.
    pub(crate) recorder: Option<Recorder>,
    /// The workers' timelines, if they are traced.
    pub(crate) tracing: Option<Tracing>,
    pub(crate) depth_limit: usize,
    pub(super) victims: Option<Victims>,
    pub(crate) balancer: Option<OwnBalancer>,
    /// A user's choice of when and to whom to give.
    pub(crate) donor: Option<MakeDonor>,
    /// What the workers know of each other: `Peers` under the strategy `sharing`, a `Table` under
    /// `dealing`. Created with the first worker.
    pub(crate) shared: OnceLock<Arc<dyn Any + Send + Sync>>,
    pub(super) pinning: Pinning,
    /// What it takes to pin, if the builder was told to: a program that does not is smaller by it.
    pub(crate) pinner: Option<Pinner>,
    /// The CPU of each worker; empty if they are not pinned.
    pub(crate) pinned_cpus: Vec<usize>,
    pub(super) thread_name: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
    pub(super) start: Option<IndexHandler>,
    pub(super) exit: Option<IndexHandler>,
    pub(super) panic: Option<PanicHandler>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            workers: 0,
            strategy: Strategy::default(),
            waiting: Waiting::default(),
            spares: None,
            breadth_first: false,
            use_current_thread: false,
            idle: Idle::default(),
            processors: None,
            stack_size: None,
            seed: 0x5eed,
            deterministic: false,
            recorder: None,
            tracing: None,
            depth_limit: 128,
            victims: None,
            shared: OnceLock::new(),
            balancer: None,
            donor: None,
            pinning: Pinning::None,
            pinner: None,
            pinned_cpus: Vec::new(),
            thread_name: None,
            start: None,
            exit: None,
            panic: None,
        }
    }
}

impl Config {
    /// The number of spares that there may be.
    pub(crate) fn spares(&self) -> usize {
        match self.waiting {
            Waiting::Leapfrog => {
                let spares = self.spares.unwrap_or(self.workers.max(SPARES));
                spares.min(MOST - MOST_WORKERS)
            }
            Waiting::Own | Waiting::TakeAny => 0,
        }
    }

    /// How victims are chosen, if the builder or the strategy says so.
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

    pub(crate) fn has_start_handler(&self) -> bool {
        self.start.is_some()
    }

    pub(crate) fn run_start_handler(&self, index: usize) {
        if let Some(handler) = &self.start {
            handler(index);
        }
    }

    pub(crate) fn run_exit_handler(&self, index: usize) {
        if let Some(handler) = &self.exit {
            handler(index);
        }
    }

    pub(crate) fn has_panic_handler(&self) -> bool {
        self.panic.is_some()
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
