//! Files of numbers, and references to them.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// A file, and data by which a reader can check it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reference {
    pub(crate) path: PathBuf,
    pub(crate) numbers: u64,
    /// Wrapping sum of all numbers.
    pub(crate) sum: u64,
}

impl Reference {
    /// Returns the numbers in a range.
    fn read(&self, from: u64, to: u64) -> io::Result<impl Iterator<Item = io::Result<u64>>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(8 * from))?;
        let mut file = BufReader::with_capacity(1 << 16, file);
        Ok((from..to).map(move |_| {
            let mut bytes = [0; 8];
            file.read_exact(&mut bytes)?;
            Ok(u64::from_le_bytes(bytes))
        }))
    }

    /// Checks that this file has the numbers of another one, in order.
    pub(crate) fn check(&self, of: &Reference) -> io::Result<()> {
        let (mut last, mut sum) = (0, 0_u64);
        for number in self.read(0, self.numbers)? {
            let number = number?;
            if number < last {
                return Err(io::Error::other("it is not sorted"));
            }
            (last, sum) = (number, sum.wrapping_add(number));
        }
        if (self.numbers, sum) != (of.numbers, of.sum) {
            return Err(io::Error::other("it has other numbers"));
        }
        Ok(())
    }
}

/// Writes a file atomically. Another process that writes the same file writes the same numbers.
fn write(path: &Path, numbers: impl Iterator<Item = io::Result<u64>>) -> io::Result<Reference> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let unique = format!(
        "tmp-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let part = path.with_extension(unique);
    let mut file = BufWriter::with_capacity(1 << 16, File::create(&part)?);
    let (mut count, mut sum) = (0, 0_u64);
    for number in numbers {
        let number = number?;
        file.write_all(&number.to_le_bytes())?;
        (count, sum) = (count + 1, sum.wrapping_add(number));
    }
    file.into_inner()
        .map_err(|error| error.into_error())?
        .sync_all()?;
    fs::rename(&part, path)?;
    Ok(Reference {
        path: path.to_owned(),
        numbers: count,
        sum,
    })
}

/// Creates a file with this many unsorted numbers.
pub(crate) fn made(folder: &Path, numbers: u64) -> io::Result<Reference> {
    fs::create_dir_all(folder)?;
    let disorder = |number: u64| {
        (number + 1)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
    };
    write(
        &folder.join(format!("numbers-{numbers}")),
        (0..numbers).map(|number| Ok(disorder(number))),
    )
}

/// Sorts a piece of a file into a file of its own, named after the range.
pub(crate) fn sort_piece(file: &Reference, from: u64, to: u64) -> io::Result<Reference> {
    let mut numbers = file.read(from, to)?.collect::<io::Result<Vec<u64>>>()?;
    numbers.sort_unstable();
    let path = file.path.with_extension(format!("{from}-{to}"));
    write(&path, numbers.into_iter().map(Ok))
}

/// Merges sorted files of neighbouring pieces into one.
pub(crate) fn merge(inputs: &[Reference]) -> io::Result<Reference> {
    let [left, right] = inputs else {
        return Err(io::Error::other("two files are merged at a time"));
    };
    let (mut a, mut b) = (
        left.read(0, left.numbers)?.peekable(),
        right.read(0, right.numbers)?.peekable(),
    );
    let merged = std::iter::from_fn(|| match (a.peek(), b.peek()) {
        (Some(Ok(x)), Some(Ok(y))) if y < x => b.next(),
        (Some(_), _) => a.next(),
        (None, _) => b.next(),
    });
    let end = |path: &Path| path.extension()?.to_str().map(str::to_owned);
    let name = match (end(&left.path), end(&right.path)) {
        (Some(left), Some(right)) => {
            let (from, _) = left.split_once('-').unwrap_or_default();
            let (_, to) = right.split_once('-').unwrap_or_default();
            format!("{from}-{to}")
        }
        _ => return Err(io::Error::other("these are no pieces")),
    };
    let merged = write(&left.path.with_extension(name), merged)?;
    if merged.sum != left.sum.wrapping_add(right.sum) {
        return Err(io::Error::other("an input was changed on its way"));
    }
    Ok(merged)
}

/// Deletes all files of a folder except these.
pub(crate) fn clean(folder: &Path, but: &[&Reference]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let ours = name.is_some_and(|name| name.starts_with("numbers-"));
        if ours && but.iter().all(|kept| kept.path != path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
