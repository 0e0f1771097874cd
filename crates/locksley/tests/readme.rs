//! The project's README has the same example as the crate's, which is a doctest.

use std::fs;
use std::path::Path;

/// Returns the first Rust example of a text.
fn example(text: &str) -> &str {
    let (_, rest) = text.split_once("```rust\n").expect("it has an example");
    rest.split_once("```").expect("the example ends").0
}

#[test]
fn the_project_shows_the_example_of_the_crate() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    // A package of the crate alone has no project README.
    if let Ok(project) = fs::read_to_string(project) {
        assert_eq!(example(&project), example(include_str!("../README.md")));
    }
}
