//! What the tests with a server need, and whether it is there. The unit tests use this file, too.

use std::net::TcpListener;
use std::process::Command;

/// Returns `true` if missing prerequisites make the tests fail instead of skipping them.
pub(crate) fn demanded() -> bool {
    std::env::var_os("LOCKSLEY_TEST_REDIS").is_some_and(|value| value != "0")
}

/// Returns `true` if a program exists that a test needs. If not, the test is skipped with a
/// message, or fails if `LOCKSLEY_TEST_REDIS` is set. All tests are skipped if that is 0.
pub(crate) fn there_is(program: &str) -> bool {
    if std::env::var_os("LOCKSLEY_TEST_REDIS").is_some_and(|value| value == "0") {
        eprintln!("skipped: LOCKSLEY_TEST_REDIS is 0");
        return false;
    }
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        assert!(
            !demanded(),
            "LOCKSLEY_TEST_REDIS is set, and there is no {program}"
        );
        eprintln!("skipped: there is no {program}; LOCKSLEY_TEST_REDIS=1 makes this an error");
    }
    found
}

/// Returns the program of the server: `redis-server`, or a compatible one such as Valkey's, which
/// `LOCKSLEY_TEST_SERVER` names.
pub(crate) fn program() -> String {
    std::env::var("LOCKSLEY_TEST_SERVER").unwrap_or_else(|_| "redis-server".to_owned())
}

/// Returns a free port.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    listener.local_addr().expect("it has an address").port()
}
