//! Runs a test in a child process.

use std::io::Read;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::run_again;

/// Environment variable that is set in the child, to the name of its test.
const CHILD: &str = "LOCKSLEY_HANGS_CHILD";
/// Text that the child prints when its program is over.
const OVER: &str = "the program is over";

/// Time limit of a child.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `program` in a child process, and fails if it does not end or panics. `name` is the test's
/// name, with its module.
pub(crate) fn assert_finishes(name: &str, program: impl FnOnce()) {
    assert_finishes_within(LIMIT, name, program);
}

/// [`finishes`] with another limit.
pub(crate) fn assert_finishes_within(limit: Duration, name: &str, program: impl FnOnce()) {
    if std::env::var(CHILD).as_deref() == Ok(name) {
        program();
        println!("{OVER}");
        return;
    }
    let mut child = start(name);
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let (printed, complained) = thread::scope(|threads| {
        let printed = threads.spawn(|| read_all(out.as_mut()));
        let complained = threads.spawn(|| read_all(err.as_mut()));
        let ended = wait(&mut child, limit);
        let texts = (printed.join().unwrap(), complained.join().unwrap());
        assert!(
            ended,
            "{name} hangs: it was killed after {limit:?}\n{}{}",
            texts.0, texts.1
        );
        texts
    });
    let status = child.wait().expect("the child can be waited for");
    assert!(
        status.success() && printed.contains(OVER),
        "{name} failed with {status}\n{printed}{complained}"
    );
    print!("{printed}");
}

fn start(name: &str) -> Child {
    run_again(name)
        .env(CHILD, name)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the test can be started again")
}

/// Waits for a child, and kills it after `limit`. Returns `true` if it ended by itself.
///
/// The limit counts sleeps, not clock time: if the machine is suspended, or a signal stops both
/// processes, the child is not killed.
fn wait(child: &mut Child, limit: Duration) -> bool {
    const TICK: Duration = Duration::from_millis(5);
    for _ in 0..limit.as_millis() / TICK.as_millis() {
        if child.try_wait().expect("the child can be asked").is_some() {
            return true;
        }
        thread::sleep(TICK);
    }
    // The child may have ended in between, which does no harm.
    let _ = child.kill();
    let _ = child.wait();
    false
}

fn read_all(stream: Option<&mut impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // Text that was read before an error is still worth printing.
        let _ = stream.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
