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
    /// Number of calls of `progress`.
    progress: AtomicU64,
    /// Whether the watchdog thread should end.
    over: AtomicBool,
    /// The operation of the watched thread, and the number of checks that it may take.
    doing: Mutex<(&'static str, u32)>,
}

impl Watchdog {
    /// Starts to watch. If the watched thread does not call [`progress`](Watchdog::progress) in
    /// time, `on_stuck` is called with the name of its operation. If the system refuses to start
    /// the watchdog thread, nothing is watched.
    pub(super) fn start(on_stuck: impl Fn(&str) + Send + 'static) -> Watchdog {
        let shared = Arc::new(Shared {
            progress: AtomicU64::new(0),
            over: AtomicBool::new(false),
            doing: Mutex::new(("start", u32::MAX)),
        });
        let watched = shared.clone();
        let builder = thread::Builder::new().name("watchdog".to_owned());
        drop(builder.spawn(move || watch(&watched, &on_stuck)));
        Watchdog { shared }
    }

    /// Notes that the watched thread begins the operation `doing`, and must call `progress` within
    /// that time.
    pub(super) fn expect(&self, doing: &'static str, within: Duration) {
        self.progress();
        let looks = within.as_millis().div_ceil(TICK.as_millis());
        let looks = u32::try_from(looks).unwrap_or(u32::MAX);
        *lock(&self.shared.doing) = (doing, looks);
    }

    /// Suspends the watch until the next `expect`.
    pub(super) fn suspend(&self) {
        self.expect("", Duration::MAX);
    }

    /// Notes that the watched thread makes progress.
    pub(super) fn progress(&self) {
        self.shared.progress.fetch_add(1, Ordering::Relaxed);
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

fn watch(shared: &Shared, on_stuck: &impl Fn(&str)) {
    let (mut seen, mut looks) = (0, 0);
    while !shared.over.load(Ordering::Relaxed) {
        thread::sleep(TICK);
        // The order matters: if this reads a new `doing`, it also sees the `progress` of that
        // `expect`. Otherwise the checks during a suspension would count.
        let (doing, most) = *lock(&shared.doing);
        let progress = shared.progress.load(Ordering::Relaxed);
        looks = if progress == seen { looks + 1 } else { 0 };
        seen = progress;
        if looks > most {
            on_stuck(doing);
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
        let parent = std::os::unix::process::parent_id();
        // If the helper cannot be started, the launcher is left alone.
        if let Some((name, start)) = name_and_start(parent)
            && LAUNCHERS.contains(&name.as_str())
        {
            let _ = killer(parent, &start, GRACE).spawn();
        }
    }
}

/// Returns the name of a process, and when it started: with its number, which is used again later,
/// the start identifies a process.
#[cfg(unix)]
fn name_and_start(process: u32) -> Option<(String, String)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // `number (name) state ...`: the name may contain spaces and brackets, the rest does not.
    let (front, rest) = stat.rsplit_once(") ")?;
    let (_, name) = front.split_once('(')?;
    Some((name.to_owned(), rest.split(' ').nth(19)?.to_owned()))
}

/// Returns a command that kills a process after `grace` seconds, if it is still the one that
/// started at `start`.
#[cfg(unix)]
fn killer(process: u32, start: &str, grace: u32) -> std::process::Command {
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;
    let script = format!(
        "sleep {grace}; read -r stat < /proc/{process}/stat && set -- ${{stat##*) }} && \
         [ \"${{20}}\" = {start} ] && kill -9 {process}"
    );
    let mut helper = std::process::Command::new("sh");
    helper.arg("-c").arg(script).process_group(0);
    let null = Stdio::null;
    helper.stdin(null()).stdout(null()).stderr(null());
    helper
}

/// Seconds that a launcher has to end a job.
#[cfg(unix)]
const GRACE: u32 = 3;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn without_progress_the_stuck_operation_is_reported() {
        let (report, reports) = mpsc::channel();
        let watchdog = Watchdog::start(move |doing| report.send(doing.to_owned()).unwrap());
        watchdog.expect("sleep", Duration::from_millis(1));
        assert_eq!(reports.recv().unwrap(), "sleep");
    }

    #[test]
    fn the_thread_ends_with_its_watchdog() {
        let (report, reports) = mpsc::channel::<()>();
        let watchdog = Watchdog::start(move |_| report.send(()).unwrap());
        watchdog.expect("leave", Duration::from_secs(3600));
        drop(watchdog);
        assert!(
            reports.recv().is_err(),
            "its thread has ended without a report"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_the_process_that_was_meant_is_killed() {
        use std::os::unix::process::ExitStatusExt;
        use std::process::Command;
        let mut victim = Command::new("sleep").arg("3600").spawn().unwrap();
        let (name, start) = loop {
            // It has the name of the test until it runs its own program.
            let found = name_and_start(victim.id()).unwrap();
            if found.0 == "sleep" {
                break found;
            }
            thread::yield_now();
        };
        assert_eq!(name, "sleep");
        assert_eq!(
            LAUNCHERS.iter().map(|name| name.len()).max(),
            Some(15),
            "no name is cut off"
        );
        let other = start.parse::<u64>().unwrap() + 1;
        let spared = killer(victim.id(), &other.to_string(), 0).status().unwrap();
        assert!(!spared.success(), "another process has its number");
        assert!(victim.try_wait().unwrap().is_none());
        assert!(killer(victim.id(), &start, 0).status().unwrap().success());
        assert_eq!(victim.wait().unwrap().signal(), Some(9));
    }
}
