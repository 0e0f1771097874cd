//! A thread that ends the process by force if the one that talks to other ranks is stuck.
//!
//! A call of the MPI library should return at once, the way it is used here. If a link is cut or a
//! daemon is gone it may not, and nor may `MPI_Abort` itself. So another thread must watch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the dog looks.
const TICK: Duration = Duration::from_millis(100);

/// Watches one thread. Time is counted in looks of the dog, so that a process that was stopped as a
/// whole is not blamed for it.
pub(super) struct Watchdog {
    shared: Arc<Shared>,
}

struct Shared {
    /// How often the dog was fed.
    fed: AtomicU64,
    /// Whether there is nothing to watch any more.
    over: AtomicBool,
    /// What the watched one is about to do, and how many looks it may take.
    doing: Mutex<(&'static str, u32)>,
}

impl Watchdog {
    /// Starts to watch. When the watched one has not [fed](Watchdog::feed) the dog for too long,
    /// `bite` is called with what it was doing. Without a thread for it, which the system may
    /// refuse, no thread watches.
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

    /// From now on the watched one does this, and must feed the dog in time.
    pub(super) fn expect(&self, doing: &'static str, within: Duration) {
        self.feed();
        let looks = within.as_millis().div_ceil(TICK.as_millis());
        let looks = u32::try_from(looks).unwrap_or(u32::MAX);
        *lock(&self.shared.doing) = (doing, looks);
    }

    /// The watched one does something else for as long as it likes.
    pub(super) fn rest(&self) {
        self.expect("", Duration::MAX);
    }

    /// The watched one is well.
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
        // In this order: a thread that sees what is expected now sees that the dog was fed for it.
        // Else the looks of a long rest would count.
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

/// Ends this process at once: no handler runs that could hang.
pub(super) fn end_by_force() -> ! {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpid, kill_process};
        let _ = kill_process(getpid(), Signal::KILL);
    }
    std::process::abort()
}

/// What starts ranks, by name: those of Open MPI and of MPICH.
const LAUNCHERS: [&str; 6] = [
    "mpirun",
    "mpiexec",
    "orted",
    "prted",
    "mpiexec.hydra",
    "hydra_pmi_proxy",
];

/// If the process that has started this one starts ranks, and is still there when the job should
/// have ended long ago, a helper ends it. The helper outlives this process.
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
        // Only if it is still the same.
        let script = format!(
            "sleep {GRACE}; read -r name < /proc/{parent}/comm && [ \"$name\" = {launcher} ] && kill -9 {parent}"
        );
        let mut helper = Command::new("sh");
        helper.arg("-c").arg(script).process_group(0);
        let null = Stdio::null;
        // If it cannot be started, no thread sees to it.
        let _ = helper.stdin(null()).stdout(null()).stderr(null()).spawn();
    }
}

/// How many seconds a launcher has to end a job.
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
