//! Thumbnails of all images below a folder, in another folder.
//!
//! ```text
//!   photos/                      small/
//!     oak.jpg          ->          oak.jpg        the same names in the same folders
//!     oak.png          ->          oak.png
//!     1193/major.jpeg  ->          1193/major.jpeg
//!     notes.txt                                   ignored: neither .jpg nor .jpeg nor .png
//! ```
//!
//! A [`Folders`] task lists folders and those below them, and spawns [`Files`] tasks for their
//! images. Both split where tasks are [wanted](locksley_cluster::Tasks::wanted). The folders are on
//! a file system that all hosts share, under the same paths.
//!
//! **Resumable.** A thumbnail that exists, is not older than its image, and has the right size, is
//! left as it is. So an interrupted run can be started again, and continues; and a task that runs
//! twice, or on two hosts at once, does no harm.
//!
//! **Never half a thumbnail.** A thumbnail is written under another name (`.locksley-*.part`),
//! flushed to the disk, and renamed. A later run removes such files of killed processes when they
//! are an hour old.
//!
//! **One bad image is not the end.** Files that cannot be read as images are named in the result
//! ([`Made::broken`]), and so are thumbnails that could not be written ([`Made::unwritten`]). After
//! a failed write the rest of the task is left, since the next write would hardly succeed.
//!
//! Links to images are followed. Links to folders are not, since they may form cycles. Names with a
//! leading dot are ignored.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use locksley_cluster::{Program, Task, Tasks};

use crate::made::Made;
use crate::picture::{self, Done, PictureError};

/// Number of images, or most folders, of a task when it is spawned: some kilobytes with names of
/// common length.
const CHUNK: usize = 256;

/// Most tasks for the images of a folder: tasks of a huge folder have more images instead.
const MOST_CHUNKS: usize = 1024;

/// The largest thumbnail, in pixels: larger than any screen.
pub(crate) const LARGEST: u32 = 16_384;

/// Age at which a partial file is certainly not being written any more.
const STALE: Duration = Duration::from_secs(3600);

/// The parameters of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batch {
    // `OsString` and not `PathBuf`, since serde serialises only paths in UTF-8.
    input: OsString,
    output: OsString,
    size: u32,
}

/// The error for parameters that are refused.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum Refused {
    /// The input folder cannot be read.
    Input(PathBuf, io::Error),
    /// The output folder does not exist and cannot be created, or cannot be written to.
    Output(PathBuf, io::Error),
    /// One of the folders is inside the other one.
    Nested(PathBuf, PathBuf),
    /// The size is out of range.
    Size(u32),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Input(path, error) => {
                write!(f, "cannot read the folder {}: {error}", path.display())
            }
            Refused::Output(path, error) => {
                let path = path.display();
                write!(f, "cannot write to the folder {path}: {error}")
            }
            Refused::Nested(outer, inner) => {
                let (outer, inner) = (outer.display(), inner.display());
                write!(
                    f,
                    "{inner} is inside {outer}: thumbnails would mix with images; use separate folders"
                )
            }
            Refused::Size(size) => {
                write!(f, "a thumbnail has 1 to {LARGEST} pixels, and not {size}")
            }
        }
    }
}

impl std::error::Error for Refused {}

impl Batch {
    /// Creates a batch that makes thumbnails of all images below a folder, each at most `size`
    /// pixels wide and high. The output folder is created if need be.
    ///
    /// # Errors
    ///
    /// If the input cannot be read, the output cannot be written, or one is inside the other.
    pub(crate) fn new(input: &Path, output: &Path, size: u32) -> Result<Batch, Refused> {
        if !(1..=LARGEST).contains(&size) {
            return Err(Refused::Size(size));
        }
        let unread = |error| Refused::Input(input.to_owned(), error);
        fs::read_dir(input).map_err(unread)?;
        let from = fs::canonicalize(input).map_err(unread)?;
        let unwritten = |error| Refused::Output(output.to_owned(), error);
        // Checked before anything is created.
        let target = std::path::absolute(output).map_err(unwritten)?;
        let to = fs::canonicalize(nearest_there(&target)).map_err(unwritten)?;
        if to.starts_with(&from) {
            return Err(Refused::Nested(input.to_owned(), output.to_owned()));
        }
        fs::create_dir_all(output).map_err(unwritten)?;
        let to = fs::canonicalize(output).map_err(unwritten)?;
        if from.starts_with(&to) {
            return Err(Refused::Nested(output.to_owned(), input.to_owned()));
        }
        picture::try_to_write(&to).map_err(unwritten)?;
        Ok(Batch {
            input: std::path::absolute(input).map_err(unread)?.into(),
            output: target.into(),
            size,
        })
    }

    /// Returns the first task.
    pub(crate) fn whole(&self) -> Folders {
        Folders {
            batch: self.clone(),
            paths: vec![OsString::new()],
        }
    }

    /// Returns the folder of the thumbnails of a folder, which is created if need be.
    fn target(&self, path: &Path) -> io::Result<PathBuf> {
        let folder = Path::new(&self.output).join(path);
        fs::create_dir_all(&folder)?;
        let (to, from) = (fs::canonicalize(&folder)?, fs::canonicalize(&self.input)?);
        if to.starts_with(from) {
            let why = "a link in the output folder leads back to the images, which would be overwritten: remove it";
            return Err(io::Error::other(why));
        }
        Ok(folder)
    }
}

/// Returns the longest part of a path that exists.
fn nearest_there(path: &Path) -> &Path {
    let there = |path: &&Path| fs::symlink_metadata(path).is_ok();
    path.ancestors().find(there).unwrap_or(path)
}

/// Lists folders, and those below them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Folders {
    batch: Batch,
    /// Relative to the input folder.
    paths: Vec<OsString>,
}

/// Makes thumbnails of some images of a folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Files {
    batch: Batch,
    /// Relative to the input folder.
    path: OsString,
    /// Names in reverse order: the task pops them from the end.
    names: Vec<OsString>,
}

impl Task for Folders {
    const KIND: &'static str = "thumbnails/folders";
    type Output = Made;

    fn run(self, tasks: &Tasks<Made>) -> Made {
        let Folders { batch, mut paths } = self;
        let mut made = Made::default();
        while !tasks.cancelled() {
            if paths.len() > 1 && tasks.wanted() {
                // No more than fit into a message, however many there are.
                let half = paths.len().div_ceil(2).min(CHUNK);
                tasks.spawn(Folders {
                    batch: batch.clone(),
                    paths: paths.drain(..half).collect(),
                });
            }
            let Some(path) = paths.pop() else {
                break;
            };
            let listing = Listing::of(&batch, Path::new(&path), &mut made);
            sweep(&Path::new(&batch.output).join(&path));
            paths.extend(listing.folders);
            let chunk = listing.names.len().div_ceil(MOST_CHUNKS).max(CHUNK);
            for names in listing.names.chunks(chunk) {
                tasks.spawn(Files {
                    batch: batch.clone(),
                    path: path.clone(),
                    names: names.to_vec(),
                });
            }
        }
        made
    }
}

/// The content of a folder.
#[derive(Default)]
struct Listing {
    /// Folders relative to the input folder, in order.
    folders: Vec<OsString>,
    /// Names of images, in reverse order.
    names: Vec<OsString>,
}

impl Listing {
    fn of(batch: &Batch, path: &Path, made: &mut Made) -> Listing {
        let folder = Path::new(&batch.input).join(path);
        let mut listing = Listing::default();
        let entries = fs::read_dir(&folder);
        let listed = entries
            .and_then(|mut entries| entries.try_for_each(|entry| listing.add(path, &entry?, made)));
        if let Err(error) = listed {
            made.broken.add(&folder, error);
        }
        listing.folders.sort_unstable();
        listing.names.sort_unstable_by(|a, b| b.cmp(a));
        listing
    }

    fn add(&mut self, path: &Path, entry: &fs::DirEntry, made: &mut Made) -> io::Result<()> {
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if name.as_encoded_bytes().starts_with(b".") {
            made.ignored += 1;
        } else if kind.is_dir() {
            self.folders.push(path.join(&name).into());
        } else if !picture::is_named_so(Path::new(&name)) {
            made.ignored += 1;
        } else {
            // The target of a link is examined, and entries that are not files, such as pipes, are
            // not opened.
            match fs::metadata(entry.path()) {
                Ok(end) if end.is_file() => self.names.push(name),
                Ok(_) => made.ignored += 1,
                Err(error) => made.broken.add(&entry.path(), error),
            }
        }
        Ok(())
    }
}

/// Removes files that killed processes left in an output folder.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if picture::is_part(&entry.file_name()) && age.is_some_and(|age| age > STALE) {
            // If removal fails, only space is lost.
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Task for Files {
    const KIND: &'static str = "thumbnails/files";
    type Output = Made;

    fn run(mut self, tasks: &Tasks<Made>) -> Made {
        let mut made = Made::default();
        let from = Path::new(&self.batch.input).join(&self.path);
        let to = match self.batch.target(Path::new(&self.path)) {
            Ok(folder) => folder,
            Err(error) => {
                let folder = Path::new(&self.batch.output).join(&self.path);
                made.unwritten.add(&folder, error);
                made.left += self.names.len() as u64;
                return made;
            }
        };
        while !tasks.cancelled() {
            if self.names.len() > 1 && tasks.wanted() {
                tasks.spawn(self.split());
            }
            let Some(name) = self.names.pop() else {
                break;
            };
            match picture::make(&from.join(&name), &to.join(&name), self.batch.size) {
                Ok(Done::Made) => made.made += 1,
                Ok(Done::There) => made.there += 1,
                Err(PictureError::Broken(why)) => made.broken.add(&from.join(&name), why),
                Err(PictureError::Unwritten(why)) => {
                    made.unwritten.add(&to.join(&name), why);
                    made.left += 1 + self.names.len() as u64;
                    break;
                }
            }
        }
        made
    }
}

impl Files {
    /// Splits off the half that would be processed last.
    fn split(&mut self) -> Files {
        let half = self.names.len() / 2;
        Files {
            batch: self.batch.clone(),
            path: self.path.clone(),
            names: self.names.drain(..half).collect(),
        }
    }
}

/// Returns the program, which has the kinds `Folders` and `Files`.
pub(crate) fn program() -> Program<Made> {
    Program::new("thumbnails").with::<Folders>().with::<Files>()
}
