//! A scope: tasks that borrow from the caller and spawn further tasks. Counts the words of texts.
//!
//! ```sh
//! cargo run --release -p locksley --example scope
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::Scope;

/// Counts the words of a text. Halves a long text, and spawns a task for the second half.
fn count<'scope>(text: &'scope str, words: &'scope AtomicUsize, scope: &Scope<'scope>) {
    let mut text = text;
    while text.len() > 1000 {
        let Some(space) = text[..text.len() / 2].rfind(' ') else {
            break;
        };
        let (first, second) = text.split_at(space);
        scope.spawn(move |scope| count(second, words, scope));
        text = first;
    }
    words.fetch_add(text.split_whitespace().count(), Ordering::Relaxed);
}

fn main() {
    let verse = "Lythe and listin, gentilmen, that be of frebore blode; \
                 I shall you tel of a gode yeman, his name was Robyn Hode. ";
    let texts: Vec<String> = (1..=5).map(|n| verse.repeat(n * 1000)).collect();
    let counts: Vec<AtomicUsize> = texts.iter().map(|_| AtomicUsize::new(0)).collect();

    locksley::scope(|scope| {
        for (text, words) in texts.iter().zip(&counts) {
            scope.spawn(move |scope| count(text, words, scope));
        }
    });

    for (number, words) in counts.iter().enumerate() {
        println!(
            "text {}: {:>6} words",
            number + 1,
            words.load(Ordering::Relaxed)
        );
    }
    assert_eq!(
        counts[0].load(Ordering::Relaxed),
        1000 * verse.split_whitespace().count()
    );
}
