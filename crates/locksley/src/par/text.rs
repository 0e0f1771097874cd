//! Strings: their bytes, and their lines.
//!
//! How many lines a string has is known only at its end, so the source behind
//! [`par_lines`](ParStr::par_lines) is the string in bands of [`BAND`] bytes. A band has the lines
//! that begin in it, and each of them whole; a band inside of a long line has none.

use std::str;

use crate::par::iter::Par;
use crate::par::pipe::{Copied, FlatMap, Same};
use crate::par::split::Split;

/// How many bytes a band has: some hundred nanoseconds of work, if lines are cheap.
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
    /// Begins a loop over the lines, as [`str::lines`] has them.
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
    /// Returns where the first line begins that does so in this band or behind it.
    fn start_of(&self, band: usize) -> usize {
        let Some(before) = (band * BAND).checked_sub(1) else {
            return 0;
        };
        let rest = self.text.as_bytes().get(before..).unwrap_or_default();
        let newline = rest.iter().position(|&byte| byte == b'\n');
        newline.map_or(self.text.len(), |at| before + at + 1)
    }

    /// The lines that begin in these bands.
    fn lines(&self, first: usize, count: usize) -> &'s str {
        &self.text[self.start_of(first)..self.start_of(first + count)]
    }
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

    /// The bands of a block are one string, and the others of its length are empty.
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
