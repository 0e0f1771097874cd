//! Counts how often each word of a text occurs: map and reduce with hash tables.
//!
//! The text is halved, at white space, down to pieces that are counted serially. Two tables are
//! merged by adding the smaller one to the larger one. As in natural texts a few words are very
//! frequent and most are rare, so the tables of large pieces have much in common, and the last
//! steps of the reduction are the largest.

use std::collections::HashMap;

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};
use crate::random::{below, split_mix};

/// Pieces of up to this many bytes are counted serially: some ten microseconds.
const GRAIN: usize = 4096;

/// Counts the words of a generated text. An operation is a word of it.
///
/// ```
/// use locksley_workload::{Program, Serial, Task, Words};
///
/// let mut words = Words::new(10_000, 100, 7);
/// let counts = words.task().run(Serial);
/// assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 10_000);
/// assert_eq!(words.check(counts), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Words {
    text: String,
    words: u64,
    /// The counts, from when the text was generated.
    expected: Vec<(String, u64)>,
}

impl Words {
    /// Creates a pseudo-random text of `words` words from a vocabulary of `vocabulary` words, at
    /// least one. The word of rank r occurs about in proportion to 1/r (Zipf's law).
    pub fn new(words: u64, vocabulary: u32, seed: u64) -> Words {
        let mut state = seed;
        let vocabulary = invent(vocabulary.max(1) as usize, &mut state);
        let mut counts = vec![0; vocabulary.len()];
        let mut text = String::new();
        for _ in 0..words {
            let rank = rank(vocabulary.len(), &mut state);
            counts[rank] += 1;
            text.push_str(&vocabulary[rank]);
            // Sometimes two spaces, or the end of a line.
            text.push_str(["  ", "\n", " ", " ", " "][below(5, &mut state) as usize]);
        }
        let counted = vocabulary.into_iter().zip(counts);
        let mut expected: Vec<(String, u64)> = counted.filter(|(_, count)| *count > 0).collect();
        expected.sort_unstable();
        Words {
            text,
            words,
            expected,
        }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Creates a vocabulary of different words of a few syllables.
fn invent(vocabulary: usize, state: &mut u64) -> Vec<String> {
    const FIRST: &[u8] = b"bdfghklmnprstvwz";
    const SECOND: &[u8] = b"aeiou";
    (0..vocabulary)
        .map(|mut number| {
            let mut word = String::new();
            // The number in base `syllables`, so that no two words are equal.
            let syllables = FIRST.len() * SECOND.len();
            loop {
                let syllable = number % syllables;
                word.push(char::from(FIRST[syllable / SECOND.len()]));
                word.push(char::from(SECOND[syllable % SECOND.len()]));
                number /= syllables;
                if number == 0 {
                    break;
                }
            }
            // Endings vary the lengths; none of them is a syllable.
            word.push_str(["", "x", "xx", "xxx"][(split_mix(state) >> 62) as usize]);
            word
        })
        .collect()
}

/// Returns a rank below the size of the vocabulary, small ones more often: the inverse of Zipf's
/// distribution, approximately.
fn rank(vocabulary: usize, state: &mut u64) -> usize {
    let unit = (split_mix(state) >> 11) as f64 / (1_u64 << 53) as f64;
    let rank = (vocabulary as f64 + 1.0).powf(unit) as usize;
    rank.saturating_sub(1).min(vocabulary - 1)
}

impl Program for Words {
    type Task<'p> = WordsTask<'p>;
    type Output = Vec<(String, u64)>;

    fn operations(&self) -> u64 {
        self.words
    }

    fn task(&mut self) -> WordsTask<'_> {
        WordsTask(&self.text)
    }

    fn check(&self, output: Vec<(String, u64)>) -> Result<(), Mismatch> {
        let wrong = (self.expected.iter().zip(&output)).find(|(want, got)| want != got);
        if let Some((want, got)) = wrong {
            return expect(want, got);
        }
        let words = |counts: &[_]| format!("{} different words", counts.len());
        expect(words(&self.expected), words(&output))
    }
}

/// Counts the words of a text, and sorts them.
///
/// ```
/// use locksley_workload::{Program, Serial, Task, Words, WordsTask};
///
/// let mut words = Words::new(100, 3, 7);
/// let task: WordsTask = words.task();
/// assert_eq!(task.run(Serial).len(), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WordsTask<'t>(&'t str);

impl Task for WordsTask<'_> {
    type Output = Vec<(String, u64)>;

    fn run<F: Fork>(self, fork: F) -> Vec<(String, u64)> {
        let counts = Count(self.0).run(fork);
        let owned = counts
            .into_iter()
            .map(|(word, count)| (word.to_owned(), count));
        let mut counts: Vec<(String, u64)> = owned.collect();
        counts.sort_unstable();
        counts
    }
}

/// Counts the words of a piece of text.
struct Count<'t>(&'t str);

impl<'t> Task for Count<'t> {
    type Output = HashMap<&'t str, u64>;

    fn run<F: Fork>(self, fork: F) -> HashMap<&'t str, u64> {
        let Count(text) = self;
        let Some((left, right)) = halves(text) else {
            let mut counts = HashMap::new();
            for word in text.split_ascii_whitespace() {
                *counts.entry(word).or_insert(0) += 1;
            }
            return counts;
        };
        let (mut counts, mut others) = fork.fork(Count(left), Count(right));
        if counts.len() < others.len() {
            std::mem::swap(&mut counts, &mut others);
        }
        for (word, count) in others {
            *counts.entry(word).or_insert(0) += count;
        }
        counts
    }
}

/// Cuts a text at the first white space from its middle on. Returns `None` if the text is short or
/// there is no such place.
fn halves(text: &str) -> Option<(&str, &str)> {
    if text.len() <= GRAIN {
        return None;
    }
    let middle = text.len() / 2;
    let second = text.as_bytes().get(middle..)?;
    let space = second.iter().position(u8::is_ascii_whitespace)?;
    text.split_at_checked(middle + space)
        .filter(|(left, right)| !left.is_empty() && !right.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn texts_of_every_length_are_counted() {
        for words in [0, 1, 10, 3000, 20_000] {
            for vocabulary in [1, 2, 1000] {
                let mut words = Words::new(words, vocabulary, 42);
                let counts = words.task().run(Serial);
                assert_eq!(words.check(counts), Ok(()));
            }
        }
    }

    #[test]
    fn words_differ_and_the_first_is_the_most_frequent() {
        let mut state = 7;
        let words = invent(10_000, &mut state);
        let mut sorted = words.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 10_000);
        let mut counts = [0; 100];
        for _ in 0..10_000 {
            counts[rank(100, &mut state)] += 1;
        }
        assert!(counts[0] > counts[1] && counts[1] > counts[10] && counts[10] > counts[99]);
    }

    #[test]
    fn a_word_that_is_counted_twice_or_not_is_found_out() {
        let mut words = Words::new(1000, 50, 42);
        let counts = words.task().run(Serial);
        let mut more = counts.clone();
        more[3].1 += 1;
        assert!(words.check(more).is_err());
        let (_, fewer) = counts.split_last().unwrap();
        assert!(words.check(fewer.to_vec()).is_err());
        assert!(words.check(Vec::new()).is_err());
    }
}
