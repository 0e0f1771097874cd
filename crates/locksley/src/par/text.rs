//! Loops over the bytes and the lines of strings.
//!
//! The number of lines of a string is known only at its end, so the source of
//! [`par_lines`](ParStr::par_lines) is the string in bands of [`BAND`] bytes. A band has the lines
//! that begin in it, each of them whole; a band inside of a long line has none.

use std::str;

use crate::par::iter::Par;
use crate::par::pipe::{Copied, FlatMap, Same};
use crate::par::split::Split;

/// Number of bytes in a band: some hundred nanoseconds of work, if lines are cheap.
const BAND: usize = 1024;

/// The stage that turns a band into its lines.
type IntoLines<'s> = FlatMap<Same, fn(&'s str) -> str::Lines<'s>>;

/// Loops over strings.
///
/// ```
/// use locksley::prelude::*;
///
/// assert_eq!("a\nbc".par_lines().count(), 2);
/// ```
pub trait ParStr {
    /// Begins a loop over the lines, which are those of [`str::lines`].
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let text = "one\ntwo\r\n\nfour";
    /// let lengths: Vec<usize> = text.par_lines().map(|line| line.len()).collect();
    /// assert_eq!(lengths, [3, 3, 0, 4]);
    /// ```
    fn par_lines(&self) -> Par<Bands<'_>, IntoLines<'_>>;

    /// Begins a loop over the bytes.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!("a b c".par_bytes().filter(|&byte| byte == b' ').count(), 2);
    /// ```
    fn par_bytes(&self) -> Par<&[u8], Copied<Same>>;
}

impl ParStr for str {
    fn par_lines(&self) -> Par<Bands<'_>, IntoLines<'_>> {
        let bands = Bands {
            text: self,
            first: 0,
            count: self.len().div_ceil(BAND),
        };
        Par::new(bands).flat_map(str::lines as fn(&str) -> str::Lines<'_>)
    }

    fn par_bytes(&self) -> Par<&[u8], Copied<Same>> {
        Par::new(self.as_bytes()).copied()
    }
}

/// A string in bands: see [`ParStr::par_lines`].
#[derive(Clone, Debug)]
pub struct Bands<'s> {
    text: &'s str,
    /// The number of the first band, in the whole text.
    first: usize,
    count: usize,
}

impl<'s> Bands<'s> {
    /// Returns the lines that begin in these bands, as one string.
    ///
    /// The search for the first line stays inside the bands. Only the search for the end of a line
    /// that begins in them goes beyond, so a long line is searched once.
    fn lines(&self, first: usize, count: usize) -> &'s str {
        let bytes = self.text.as_bytes();
        let from = (first * BAND).saturating_sub(1);
        let Some(to) = bytes.len().min((first + count) * BAND).checked_sub(1) else {
            return "";
        };
        let start = if first == 0 {
            Some(0)
        } else {
            bytes.get(from..to).and_then(line_end).map(|at| from + at)
        };
        let Some(start) = start else {
            return "";
        };
        let end = line_end(&bytes[to..]).map_or(bytes.len(), |at| to + at);
        &self.text[start..end]
    }
}

/// Returns where the first newline ends.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let newline = bytes.iter().position(|&byte| byte == b'\n');
    newline.map(|at| at + 1)
}

impl<'s> Split for Bands<'s> {
    type Item = &'s str;
    type Iter<'a>
        = BandBlock<'s>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        self.count
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (text, first) = (self.text, self.first);
        let part = |first, count| Bands { text, first, count };
        (part(first, mid), part(first + mid, self.count - mid))
    }

    /// Returns the bands of a block: the first has the lines of all, and the others are empty.
    #[inline]
    fn block(&mut self, len: usize) -> BandBlock<'s> {
        let lines = self.lines(self.first, len);
        self.first += len;
        self.count -= len;
        BandBlock { lines, len }
    }
}

/// The bands of a block: the first has the lines of all.
#[derive(Clone, Debug)]
pub struct BandBlock<'s> {
    lines: &'s str,
    len: usize,
}

impl<'s> Iterator for BandBlock<'s> {
    type Item = &'s str;

    #[inline]
    fn next(&mut self) -> Option<&'s str> {
        self.len = self.len.checked_sub(1)?;
        Some(std::mem::take(&mut self.lines))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}
