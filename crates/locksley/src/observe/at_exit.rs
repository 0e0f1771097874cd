//! Output when the program ends: statistics, timeline, profile, recording.
//!
//! Every pool that is built leaves an observer here, if an environment variable asks for output.
//! When the process exits, by returning from `main` or by `exit`, the C library calls back, and the
//! results are written. A program that is killed or aborts writes nothing.

use std::ffi::{OsString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use locksley_trace::recording::Recording;
use locksley_trace::{Profile, Trace};

use crate::error::report;
use crate::observe::record::Recorder;
use crate::observe::stats::Observer;
use crate::observe::trace::Tracing;
use crate::pool::config::Config;
use crate::pool::environment::Outputs;
use crate::pool::process::PerProcess;
use crate::sync::statics::{AtomicBool, AtomicUsize, Ordering};

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
unsafe extern "C" {
    /// The C standard library's. Returns 0 if `handler` will be called at exit.
    fn atexit(handler: extern "C" fn()) -> c_int;
}

/// A WebAssembly module without a system interface has no exit, and no environment that asks for
/// output.
///
/// # Safety
///
/// None: the handler is not called.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
unsafe fn atexit(_handler: extern "C" fn()) -> c_int {
    1
}

/// Maximum number of pools that are kept, since an observer keeps its pool in memory.
const MOST: usize = 16;

/// Number of entries of each worker in a timeline: 2 MiB.
const ENTRIES: usize = 1 << 17;

/// Length of a step of a recorded graph.
const STEP: Duration = Duration::from_nanos(200);

/// A forked process reports its own pools only.
static POOLS: PerProcess<Mutex<Pools>> = PerProcess::new();

/// Set once [`write_all`] is registered with the C library.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Number of the process that has registered it.
static FIRST: AtomicUsize = AtomicUsize::new(0);

#[derive(Default)]
struct Pools {
    outputs: Outputs,
    kept: Vec<(String, Observer)>,
    others: usize,
}

/// Makes a pool note what is to be written at the end, unless it does so already.
pub(crate) fn prepare(config: &mut Config) {
    let outputs = Outputs::wanted();
    if outputs.trace.is_some() && config.tracing.is_none() {
        config.tracing = Some(Tracing::new(ENTRIES));
    }
    if outputs.records() && config.recorder.is_none() {
        config.recorder = Some(Recorder::default());
    }
}

/// Keeps a pool for the report, if there is to be one.
pub(crate) fn keep(pool: &crate::Pool) {
    let outputs = Outputs::wanted();
    if outputs.are_none() {
        return;
    }
    let Ok(mut pools) = POOLS.get_or_init(Mutex::default).lock() else {
        return;
    };
    pools.outputs = outputs;
    if pools.kept.len() == MOST {
        pools.others += 1;
        return;
    }
    // A forked process inherits its parent's handlers.
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        FIRST.store(std::process::id() as usize, Ordering::Relaxed);
        // SAFETY: the function does not unwind, and is there as long as the process: a library that
        // is unloaded before unregisters its functions.
        unsafe { atexit(write_all) };
    }
    let name = format!("locksley: pool {}: {pool:?}", pools.kept.len() + 1);
    pools.kept.push((name, pool.observer()));
}

/// Writes what was asked for. It does not unwind, and thread-local variables may be gone.
extern "C" fn write_all() {
    // A thread that builds a pool while the process ends may hold the lock for ever.
    let Some(Ok(pools)) = POOLS.get().map(Mutex::try_lock) else {
        return;
    };
    // The payload of a panic here is a message, which has been printed.
    let _ = catch_unwind(AssertUnwindSafe(|| pools.write()));
}

impl Pools {
    fn write(&self) {
        if self.outputs.stats {
            self.print_stats();
        }
        if let Some(file) = &self.outputs.trace {
            save("LOCKSLEY_TRACE", file, &self.trace().to_rounded_json());
        }
        if !self.outputs.records() {
            return;
        }
        let Some(recording) = self.recording() else {
            report(format_args!(
                "nothing was recorded: no pool ran a join, a scope or a loop"
            ));
            return;
        };
        if let Some(file) = &self.outputs.profile {
            let profile = recording.profile(Profile::BURDEN, recording.strand_cost());
            save("LOCKSLEY_PROFILE", file, &profile.to_json());
        }
        if let Some(file) = &self.outputs.record {
            save("LOCKSLEY_RECORD", file, &recording.to_json(STEP));
        }
    }

    fn print_stats(&self) {
        use std::io::Write;

        let mut text = String::new();
        for (name, observer) in &self.kept {
            text += &format!("{name}\n{}\n", observer.stats());
        }
        if self.others > 0 {
            text += &format!("locksley: and {} more pools\n", self.others);
        }
        // Standard error may be closed.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// The timelines of all pools, each as a process of its own.
    fn trace(&self) -> Trace {
        let traces = self.kept.iter().map(|(_, one)| one.take_trace());
        let whole = traces.reduce(|mut all, one| {
            all.merge(one);
            all
        });
        whole.unwrap_or_else(Trace::new)
    }

    /// What all pools ran, one after the other.
    fn recording(&self) -> Option<Recording> {
        let recordings = self.kept.iter().filter_map(|(_, one)| one.take_recording());
        recordings.reduce(|mut all, one| {
            all.append(one);
            all
        })
    }
}

/// Writes a file, or says why it could not be written.
fn save(variable: &str, file: &OsString, text: &str) {
    let process = std::process::id();
    let (id, mut path) = (process.to_string(), file.clone());
    if let Some(numbered) = file.to_str().and_then(|name| with_number(name, &id)) {
        path = numbered.into();
    } else if process as usize != FIRST.load(Ordering::Relaxed) {
        // A forked process leaves its parent's file alone.
        path.push(".");
        path.push(&id);
    }
    if let Err(error) = std::fs::write(&path, text) {
        let path = std::path::Path::new(&path).display();
        report(format_args!(
            "{variable}: {path} cannot be written: {error}"
        ));
    }
}

/// Returns the name of a file with each `%p` replaced by a number, if there is one. Searching for a
/// character takes much less code than searching for a string.
fn with_number(name: &str, number: &str) -> Option<String> {
    let mut parts = name.split('%');
    let (mut numbered, mut found) = (parts.next()?.to_owned(), false);
    for part in parts {
        let rest = part.strip_prefix('p');
        found |= rest.is_some();
        numbered += if rest.is_some() { number } else { "%" };
        numbered += rest.unwrap_or(part);
    }
    found.then_some(numbered)
}

#[cfg(test)]
#[path = "../../tests/unit/observe/at_exit.rs"]
mod tests;
