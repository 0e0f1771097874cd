//! Reads and writes folders of results: any number of JSON files, each written by one command.

use crate::{FORMAT, Results};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Error of reading or writing results. The message says how to remedy it.
///
/// ```
/// let error = locksley_report::read("no/such/folder").unwrap_err();
/// assert!(error.to_string().starts_with("cannot read no/such/folder"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A folder or file could not be read.
    #[error(
        "cannot read {path}: {1}; give a folder that `compare`, `run` or `experiment` wrote",
        path = .0.display()
    )]
    Read(PathBuf, #[source] io::Error),
    /// A folder or file could not be written.
    #[error("cannot write {path}: {1}; choose a folder that you may write to", path = .0.display())]
    Write(PathBuf, #[source] io::Error),
    /// The folder has no file of results.
    #[error(
        "{path} holds no results: no file there ends in .json and has \"format\": \"{FORMAT}\"; \
         give the folder that a command wrote to",
        path = .0.display()
    )]
    Nothing(PathBuf),
    /// A file of results is not valid JSON, or lacks a field.
    #[error("{path} is damaged: {1}; make it again, or move it away", path = .0.display())]
    Malformed(PathBuf, #[source] serde_json::Error),
    /// A file of results has a format that this version does not know.
    #[error(
        "{path} has the format \"{1}\", and this version reads \"{FORMAT}\"; make it again with \
         this version",
        path = .0.display()
    )]
    Format(PathBuf, String),
    /// A file of results contradicts itself.
    #[error("{path}: {1}; make it again, or move it away", path = .0.display())]
    Fault(PathBuf, String),
    /// The name would lead out of the folder.
    #[error("\"{0}\" is no name for a file; use letters, digits, - and _")]
    Name(String),
}

/// Reads a file of results, or all files of results in a folder, merged in the order of their
/// names. Other JSON files, such as traces for Perfetto, are ignored.
///
/// ```
/// use locksley_report::{Comparison, Machine, Results, read, write};
///
/// let folder = std::env::temp_dir().join(format!("locksley-read-{}", std::process::id()));
/// for name in ["fib", "queens"] {
///     let mut results = Results::new("Tour", Machine::new("a laptop", 8));
///     results.comparisons.push(Comparison::new(name));
///     write(&folder, name, &results)?;
/// }
/// assert_eq!(read(&folder)?.comparisons.len(), 2);
/// assert_eq!(read(folder.join("fib.json"))?.comparisons.len(), 1);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), locksley_report::Error>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> Result<Results, Error> {
    let path = path.as_ref();
    let failed = |error| Error::Read(path.to_owned(), error);
    if fs::metadata(path).map_err(failed)?.is_file() {
        return read_file(path)?.ok_or_else(|| Error::Nothing(path.to_owned()));
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "json")
            && file.is_file()
        {
            files.push(file);
        }
    }
    files.sort();
    let mut merged: Option<Results> = None;
    for file in files {
        match (&mut merged, read_file(&file)?) {
            (Some(merged), Some(results)) => merged.merge(results),
            (None, results) => merged = results,
            (_, None) => {}
        }
    }
    merged.ok_or_else(|| Error::Nothing(path.to_owned()))
}

/// Reads a file. Returns `None` if it is not a file of results.
fn read_file(path: &Path) -> Result<Option<Results>, Error> {
    let bytes = fs::read(path).map_err(|error| Error::Read(path.to_owned(), error))?;
    // Files of results begin with the tag, so large files of other tools need not be parsed.
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    if !start.contains("\"locksley-results/") {
        return Ok(None);
    }
    let malformed = |error| Error::Malformed(path.to_owned(), error);
    let tag: Tag = serde_json::from_slice(&bytes).map_err(malformed)?;
    match tag.format.as_deref() {
        Some(FORMAT) => {}
        Some(other) if other.starts_with("locksley-results/") => {
            return Err(Error::Format(path.to_owned(), other.to_owned()));
        }
        _ => return Ok(None),
    }
    let results: Results = serde_json::from_slice(&bytes).map_err(malformed)?;
    match results.fault() {
        Some(fault) => Err(Error::Fault(path.to_owned(), fault)),
        None => Ok(Some(results)),
    }
}

#[derive(serde::Deserialize)]
struct Tag {
    format: Option<String>,
}

/// Writes `<name>.json` and `<name>.csv` into the folder, which is created if necessary. Returns
/// their paths. Each file is complete or absent, even if the program is stopped.
///
/// ```
/// use locksley_report::{Machine, Results, write};
///
/// let folder = std::env::temp_dir().join(format!("locksley-write-{}", std::process::id()));
/// let files = write(&folder, "tour", &Results::new("Tour", Machine::default()))?;
/// assert_eq!(files, [folder.join("tour.json"), folder.join("tour.csv")]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), locksley_report::Error>(())
/// ```
pub fn write(
    folder: impl AsRef<Path>,
    name: &str,
    results: &Results,
) -> Result<[PathBuf; 2], Error> {
    let folder = folder.as_ref();
    if name.is_empty()
        || !name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    {
        return Err(Error::Name(name.to_owned()));
    }
    let [json, csv] = ["json", "csv"].map(|extension| folder.join(format!("{name}.{extension}")));
    if let Some(fault) = results.fault() {
        return Err(Error::Fault(json, fault));
    }
    let text = serde_json::to_string_pretty(results)
        .map_err(|error| Error::Malformed(json.clone(), error))?;
    write_file(&json, &text)?;
    write_file(&csv, &results.to_csv())?;
    Ok([json, csv])
}

/// Writes the [page](crate::page) to a file, and creates its folder if necessary. The file is
/// complete or absent, even if the program is stopped.
///
/// ```
/// use locksley_report::{Machine, Results, write_page};
///
/// let folder = std::env::temp_dir().join(format!("locksley-page-{}", std::process::id()));
/// write_page(folder.join("report.html"), &Results::new("Tour", Machine::default()))?;
/// assert!(folder.join("report.html").is_file());
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), locksley_report::Error>(())
/// ```
pub fn write_page(path: impl AsRef<Path>, results: &Results) -> Result<(), Error> {
    write_file(path.as_ref(), &crate::page(results))
}

/// Writes a temporary file beside the target, and renames it.
fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |error| Error::Write(path.to_owned(), error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    fs::write(&partial, text)
        .and_then(|()| fs::rename(&partial, path))
        .map_err(|error| {
            let _ = fs::remove_file(&partial);
            failed(error)
        })
}
