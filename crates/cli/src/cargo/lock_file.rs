//! Saves and restores the project's `Cargo.lock`, which cargo changes when it applies a patch.
//!
//! Cargo updates the lock file of a workspace in place, and stable cargo has no option for another
//! path. So a session saves a copy of the file below the target folder, lets cargo change the file,
//! and restores it at the end, also after an error or Ctrl-C. If the process is killed, the copy
//! remains, and the next session restores it first.
//!
//! ```text
//!   target/locksley/lock/original   the project's file, during a session
//!   target/locksley/lock/absent     exists instead if the project has no lock file
//!   target/locksley/lock/owner      process id of the session
//!   target/locksley/lock/patched    the lock file with the drop-in, kept for the next session
//!   target/locksley/lock/basis      the project's file that `patched` was made from
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::interrupt;

/// A session in which cargo may write the lock file. Restores the project's file when dropped.
#[derive(Debug)]
pub(super) struct LockFile(Paths);

#[derive(Clone, Debug)]
struct Paths {
    lock: PathBuf,
    folder: PathBuf,
}

impl LockFile {
    /// Starts a session: saves a copy of the lock file of `workspace` below `folder`.
    pub(super) fn keep(workspace: &Path, folder: &Path) -> Result<LockFile, Error> {
        let paths = Paths {
            lock: workspace.join("Cargo.lock"),
            folder: folder.join("lock"),
        };
        fs::create_dir_all(&paths.folder)
            .map_err(|error| Error::file("create the folder", &paths.folder, &error))?;
        paths.refuse_second_session()?;
        paths.restore()?;
        paths.save()?;
        let restored = paths.clone();
        interrupt::at_end(move || drop(restored.restore()));
        Ok(LockFile(paths))
    }

    /// Installs the lock file with the drop-in that an earlier session kept, unless the project's
    /// own has changed since.
    pub(super) fn use_patched(&self) -> Result<(), Error> {
        let basis = fs::read(self.0.file("basis")).ok();
        let original = fs::read(self.0.file("original")).ok();
        if basis.is_some() && basis == original {
            copy(&self.0.file("patched"), &self.0.lock)?;
        }
        Ok(())
    }

    /// Keeps the current lock file, with the drop-in, for the next session.
    pub(super) fn keep_patched(&self) -> Result<(), Error> {
        let original = self.0.file("original");
        if original.is_file() && self.0.lock.is_file() {
            copy(&self.0.lock, &self.0.file("patched"))?;
            copy(&original, &self.0.file("basis"))?;
        }
        Ok(())
    }

    /// Installs the project's lock file for a build without the drop-in.
    pub(super) fn use_original(&self) -> Result<(), Error> {
        self.0.put_back()
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        interrupt::at_end(|| ());
        if let Err(error) = self.0.restore() {
            eprintln!("error: the lock file is not restored: {error}");
        }
    }
}

impl Paths {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns an error while another session of this project is running.
    fn refuse_second_session(&self) -> Result<(), Error> {
        let owner = fs::read_to_string(self.file("owner")).ok();
        let owner = owner.and_then(|text| text.trim().parse::<u32>().ok());
        match owner.filter(|owner| *owner != std::process::id() && is_running(*owner)) {
            None => Ok(()),
            Some(owner) => Err(Error::System(format!(
                "another `cargo locksley` (process {owner}) is running in this project: wait until \
                 it has ended, or remove {}",
                self.file("owner").display()
            ))),
        }
    }

    fn save(&self) -> Result<(), Error> {
        if self.lock.is_file() {
            copy(&self.lock, &self.file("original"))?;
        } else {
            write(&self.file("absent"), "")?;
        }
        write(&self.file("owner"), &std::process::id().to_string())
    }

    /// Restores the saved file and ends the session. Does nothing without a session.
    fn restore(&self) -> Result<(), Error> {
        self.put_back()?;
        for name in ["original", "absent", "owner"] {
            let _ = fs::remove_file(self.file(name));
        }
        Ok(())
    }

    fn put_back(&self) -> Result<(), Error> {
        let original = self.file("original");
        if original.is_file() {
            let saved = fs::read(&original).map_err(|e| Error::file("read", &original, &e))?;
            if fs::read(&self.lock).ok().as_ref() != Some(&saved) {
                copy(&original, &self.lock)?;
            }
        } else if self.file("absent").is_file() {
            let _ = fs::remove_file(&self.lock);
        }
        Ok(())
    }
}

/// Copies a file and its modification time.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::copy(from, to).map_err(|error| Error::file("write", to, &error))?;
    let modified = fs::metadata(from).and_then(|file| file.modified());
    let file = fs::OpenOptions::new().append(true).open(to);
    if let (Ok(modified), Ok(file)) = (modified, file) {
        let _ = file.set_modified(modified);
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|error| Error::file("write", path, &error))
}

/// Returns `true` if a process with this id exists. Elsewhere than on Linux this is always `false`:
/// there, other sessions are not detected.
fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, removed when the test ends.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("the folder is created");
            Folder(path)
        }

        fn lock(&self) -> Option<String> {
            fs::read_to_string(self.0.join("Cargo.lock")).ok()
        }

        fn set(&self, text: &str) {
            fs::write(self.0.join("Cargo.lock"), text).expect("the file is written");
        }

        fn session(&self) -> LockFile {
            LockFile::keep(&self.0, &self.0.join("target")).expect("no other session")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_lock_file_is_as_it_was() {
        let folder = Folder::new("locksley-lock");
        let session = folder.session();
        folder.set("made by cargo");
        drop(session);
        assert_eq!(folder.lock(), None, "the project had none");
        folder.set("original");
        let session = folder.session();
        folder.set("patched");
        session.keep_patched().unwrap();
        session.use_original().unwrap();
        assert_eq!(folder.lock().as_deref(), Some("original"));
        session.use_patched().unwrap();
        assert_eq!(folder.lock().as_deref(), Some("patched"));
        drop(session);
        assert_eq!(folder.lock().as_deref(), Some("original"));
        folder.set("edited");
        let session = folder.session();
        session.use_patched().unwrap();
        assert_eq!(
            folder.lock().as_deref(),
            Some("edited"),
            "the kept file was made from another one"
        );
    }

    #[test]
    fn a_killed_session_is_mended_by_the_next() {
        let folder = Folder::new("locksley-lock-killed");
        folder.set("original");
        std::mem::forget(folder.session());
        folder.set("patched");
        // No process has this id: Linux assigns smaller ones.
        fs::write(folder.0.join("target/lock/owner"), u32::MAX.to_string()).unwrap();
        drop(folder.session());
        assert_eq!(folder.lock().as_deref(), Some("original"));
    }
}
