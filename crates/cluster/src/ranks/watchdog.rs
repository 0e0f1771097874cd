//! A watchdog thread, which kills the process if the messaging thread is stuck.
//!
//! The calls of the MPI library that are used here should return at once. If a link is cut or a
//! daemon is gone they may not, and neither may `MPI_Abort` itself. So another thread must watch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Time between two checks of the watchdog.
const TICK: Duration = Duration::from_millis(100);

/// Watches one thread. Time is counted in checks, so that a process that was stopped as a whole is
/// not considered stuck.
pub(super) struct Watchdog {
    shared: Arc<Shared>,
}

struct Shared {
    /// Number of calls of `feed`.
    fed: AtomicU64,
    /// Whether the watchdog thread should end.
    over: AtomicBool,
    /// The operation of the watched thread, and the number of checks that it may take.
    doing: Mutex<(&'static str, u32)>,
}

impl Watchdog {
    /// Starts to watch. If the watched thread does not call [`feed`](Watchdog::feed) in time,
    /// `bite` is called with the name of its operation. If the system refuses to start the watchdog
    /// thread, nothing is watched.
    pub(super) fn start(bite: impl Fn(&str) + Send + 'static) -> Watchdog {
        let shared = Arc::new(Shared {
            fed: AtomicU64::new(0),
            over: AtomicBool::new(false),
            doing: Mutex::new(("start", u32::MAX)),
        });
        let watched = shared.clone();
        let builder = thread::Builder::new().name("watchdog".to_owned());
        drop(builder.spawn(move || watch(&watched, &bite)));
        Watchdog { shared }
    }

    /// Notes that the watched thread begins the operation `doing`, and must call `feed` within that
    /// time.
    pub(super) fn expect(&self, doing: &'static str, within: Duration) {
        self.feed();
        let looks = within.as_millis().div_ceil(TICK.as_millis());
        let looks = u32::try_from(looks).unwrap_or(u32::MAX);
        *lock(&self.shared.doing) = (doing, looks);
    }

    /// Suspends the watch until the next `expect`.
    pub(super) fn rest(&self) {
        self.expect("", Duration::MAX);
    }

    /// Notes that the watched thread makes progress.
    pub(super) fn feed(&self) {
        self.shared.fed.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(shared: &Shared, bite: &impl Fn(&str)) {
    let (mut seen, mut looks) = (0, 0);
    while !shared.over.load(Ordering::Relaxed) {
        thread::sleep(TICK);
        // The order matters: if this reads a new `doing`, it also sees the `feed` of that `expect`.
        // Otherwise the checks during a long rest would count.
        let (doing, most) = *lock(&shared.doing);
        let fed = shared.fed.load(Ordering::Relaxed);
        looks = if fed == seen { looks + 1 } else { 0 };
        seen = fed;
        if looks > most {
            bite(doing);
            return;
        }
    }
}

/// Kills this process at once: no handler runs that could hang.
pub(super) fn end_by_force() -> ! {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpid, kill_process};
        let _ = kill_process(getpid(), Signal::KILL);
    }
    std::process::abort()
}

/// Names of the programs of Open MPI and MPICH that start ranks.
const LAUNCHERS: [&str; 6] = [
    "mpirun",
    "mpiexec",
    "orted",
    "prted",
    "mpiexec.hydra",
    "hydra_pmi_proxy",
];

/// Starts a helper that kills the parent process, if that is a launcher of ranks and still exists
/// when the job should have ended long ago. The helper outlives this process.
pub(super) fn end_parent_soon() {
    #[cfg(unix)]
    {
        use std::os::unix::process::{CommandExt, parent_id};
        use std::process::{Command, Stdio};
        let parent = parent_id();
        let name = |process: u32| std::fs::read_to_string(format!("/proc/{process}/comm"));
        let Some(launcher) = name(parent)
            .ok()
            .filter(|name| LAUNCHERS.contains(&name.trim()))
        else {
            return;
        };
        let launcher = launcher.trim();
        // The script checks that the process still has the same name.
        let script = format!(
            "sleep {GRACE}; read -r name < /proc/{parent}/comm && [ \"$name\" = {launcher} ] && kill -9 {parent}"
        );
        let mut helper = Command::new("sh");
        helper.arg("-c").arg(script).process_group(0);
        let null = Stdio::null;
        // If the helper cannot be started, the launcher is left alone.
        let _ = helper.stdin(null()).stdout(null()).stderr(null()).spawn();
    }
}

/// Seconds that a launcher has to end a job.
#[cfg(unix)]
const GRACE: u32 = 3;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_dog_that_is_not_fed_bites_and_says_why() {
        let (bitten, bites) = mpsc::channel();
        let dog = Watchdog::start(move |doing| bitten.send(doing.to_owned()).unwrap());
        dog.expect("sleep", Duration::from_millis(1));
        assert_eq!(bites.recv().unwrap(), "sleep");
    }

    #[test]
    fn a_dog_whose_master_has_gone_leaves() {
        let (bitten, bites) = mpsc::channel::<()>();
        let dog = Watchdog::start(move |_| bitten.send(()).unwrap());
        dog.expect("leave", Duration::from_secs(3600));
        drop(dog);
        assert!(bites.recv().is_err(), "its thread has ended without a bite");
    }
}
