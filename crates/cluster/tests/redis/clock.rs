//! A clock for a server, which a test can set while the server runs.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The offset from the machine's clock, in a file that the server has mapped (`clock.c`).
pub(crate) struct Clock {
    file: PathBuf,
    ahead: i64,
}

impl Clock {
    /// Creates a clock that equals the machine's until it is set.
    pub(crate) fn new(folder: &Path) -> Clock {
        let clock = Clock {
            file: folder.join("clock"),
            ahead: 0,
        };
        clock.write();
        clock
    }

    /// Makes a server use this clock.
    pub(crate) fn applies_to(&self, server: &mut Command) {
        server.env("LD_PRELOAD", library());
        server.env("LOCKSLEY_CLOCK_FILE", &self.file);
    }

    /// Sets the clock ahead by this many milliseconds, or back.
    pub(crate) fn step(&mut self, millis: i64) {
        self.ahead += millis;
        self.write();
    }

    /// Writes the offset in place, since the file is mapped.
    fn write(&self) {
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.file);
        let mut file = opened.expect("there is room for a file");
        let bytes = self.ahead.to_ne_bytes();
        std::io::Write::write_all(&mut file, &bytes).expect("there is room");
    }
}

/// Returns the library that replaces the system's clock, which is built once.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let name = format!("clock-{}.so", std::process::id());
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/redis/clock.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]);
        let built = compiler.arg(&library).arg(source).status();
        assert!(built.is_ok_and(|status| status.success()), "cc builds it");
        library
    })
}
