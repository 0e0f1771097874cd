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
//! [`Folders`] are listed, with those below them, and spawn [`Files`] for their images. Both split
//! where tasks are [wanted](locksley_cluster::Tasks::wanted). The folders are those of a file
//! system that all hosts share, under the same paths.
//!
//! **Resumable.** A thumbnail that is there, not older than its image, and of the right size, is
//! left as it is. So a run that was cut off is started again, and goes on; and a task that runs
//! twice, or on two hosts at once, does no harm.
//!
//! **Never half a thumbnail.** It is written under another name (`.locksley-*.part`), flushed to
//! the disk, and renamed. What a killed process left under such a name is removed by a later run,
//! when it is an hour old.
//!
//! **One bad image is not the end.** What cannot be read as an image is named in the result
//! ([`Made::broken`]), and so is what could not be written ([`Made::unwritten`]): of that the rest
//! of the task is left, since the next one would hardly fare better.
//!
//! Links to images are followed, links to folders are not, since these may lead round in circles.
//! Names with a dot in front are ignored.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use locksley_cluster::{Program, Task, Tasks};

use crate::made::Made;
use crate::picture::{self, Done, Trouble};

/// How many images, or folders, a task has when it is spawned: with names of common length, some
/// kilobytes.
const CHUNK: usize = 256;

/// How many tasks a folder's images become at most: those of a huge folder have more images
/// instead.
const MOST_CHUNKS: usize = 1024;

/// The largest thumbnail, in pixels: larger than any screen.
pub(crate) const LARGEST: u32 = 16_384;

/// When a file that was being written is certainly not being written any more.
const STALE: Duration = Duration::from_secs(3600);

/// What is to be done: from where to where, and how large.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batch {
    // Not paths: of these only those in UTF-8 can be serialised.
    input: OsString,
    output: OsString,
    size: u32,
}

/// Why there can be no such batch.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum Refused {
    /// There is no folder to read.
    Input(PathBuf, io::Error),
    /// There is no folder to write to, and none can be made.
    Output(PathBuf, io::Error),
    /// One of the folders lies in the other one.
    Nested(PathBuf, PathBuf),
    /// The size makes no sense.
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
                    "{inner} lies in {outer}, and thumbnails would mix with images: give folders apart"
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
    /// Thumbnails of all images below a folder, each at most `size` pixels wide and high. The
    /// output folder is made if need be.
    ///
    /// # Errors
    ///
    /// If there is nothing to read from, or nowhere to write to, or the one lies in the other.
    pub(crate) fn new(input: &Path, output: &Path, size: u32) -> Result<Batch, Refused> {
        if !(1..=LARGEST).contains(&size) {
            return Err(Refused::Size(size));
        }
        let unread = |error| Refused::Input(input.to_owned(), error);
        fs::read_dir(input).map_err(unread)?;
        let from = fs::canonicalize(input).map_err(unread)?;
        let unwritten = |error| Refused::Output(output.to_owned(), error);
        // Looked at before anything is made.
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

    /// The task to begin with.
    pub(crate) fn whole(&self) -> Folders {
        Folders {
            batch: self.clone(),
            paths: vec![OsString::new()],
        }
    }

    /// Where the thumbnails of a folder go: it is made if need be.
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

/// The part of a path that exists.
fn nearest_there(path: &Path) -> &Path {
    let there = |path: &&Path| fs::symlink_metadata(path).is_ok();
    path.ancestors().find(there).unwrap_or(path)
}

/// Lists folders, and those below them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Folders {
    batch: Batch,
    /// Below the input folder.
    paths: Vec<OsString>,
}

/// Makes thumbnails of some images of a folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Files {
    batch: Batch,
    /// Below the input folder.
    path: OsString,
    /// The last one comes first.
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
                // Not more than fit into a message, however many there are.
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

/// What is in a folder.
#[derive(Default)]
struct Listing {
    /// Below the input folder, in order.
    folders: Vec<OsString>,
    /// Of images, in reverse order.
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
            // A link's end is looked at, and what is neither file nor link, such as a pipe, is not
            // opened.
            match fs::metadata(entry.path()) {
                Ok(end) if end.is_file() => self.names.push(name),
                Ok(_) => made.ignored += 1,
                Err(error) => made.broken.add(&entry.path(), error),
            }
        }
        Ok(())
    }
}

/// Removes what processes that were killed left in an output folder.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if picture::is_part(&entry.file_name()) && age.is_some_and(|age| age > STALE) {
            // If it fails, nothing is lost but the space.
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
                Err(Trouble::Broken(why)) => made.broken.add(&from.join(&name), why),
                Err(Trouble::Unwritten(why)) => {
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
    /// Takes the half off that would come last.
    fn split(&mut self) -> Files {
        let half = self.names.len() / 2;
        Files {
            batch: self.batch.clone(),
            path: self.path.clone(),
            names: self.names.drain(..half).collect(),
        }
    }
}

/// The program: folders and files.
pub(crate) fn program() -> Program<Made> {
    Program::new("thumbnails").with::<Folders>().with::<Files>()
}
