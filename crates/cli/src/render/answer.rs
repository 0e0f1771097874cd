//! Describes the result of a program.

use std::any::Any;
use std::fmt::Debug;

use locksley_workload::{Affine, Integral, Size};
use serde_json::{Value, json};

use crate::render::units::count;

/// The result of a run, as text and as JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) value: Value,
}

/// Describes the output of the workload `name`. For workloads that compute in place and have no
/// output, describes how much was computed, in operations.
pub(crate) fn of<O: Debug + 'static>(name: &str, output: &O, operations: u64) -> Answer {
    let any: &dyn Any = output;
    if let Some(number) = any.downcast_ref::<u64>() {
        return Answer {
            text: number_text(name, *number),
            value: json!(number),
        };
    }
    if let Some(size) = any.downcast_ref::<Size>() {
        return Answer {
            text: format!(
                "{} nodes, {} of them leaves, depth {}",
                count(size.nodes),
                count(size.leaves),
                size.depth
            ),
            value: json!({ "nodes": size.nodes, "leaves": size.leaves, "depth": size.depth }),
        };
    }
    if let Some(integral) = any.downcast_ref::<Integral>() {
        return Answer {
            text: format!(
                "integral {:.9} over {} intervals",
                integral.area,
                count(integral.intervals)
            ),
            value: json!({ "integral": integral.area, "intervals": integral.intervals }),
        };
    }
    if let Some(words) = any.downcast_ref::<Vec<(String, u64)>>() {
        let all: u64 = words.iter().map(|(_, times)| times).sum();
        return Answer {
            text: format!(
                "{} words, {} of them different",
                count(all),
                count(words.len() as u64)
            ),
            value: json!({ "words": all, "different": words.len() }),
        };
    }
    if let Some(number) = any.downcast_ref::<f64>() {
        return Answer {
            text: format!("{name} {number:.12}"),
            value: json!(number),
        };
    }
    if let Some(Affine { slope, offset }) = any.downcast_ref::<Affine>() {
        return Answer {
            text: format!("x -> {} x + {}", count(*slope), count(*offset)),
            value: json!({ "slope": slope, "offset": offset }),
        };
    }
    in_place(name, operations)
}

fn number_text(name: &str, number: u64) -> String {
    let number = count(number);
    match name {
        "fib" => format!("Fibonacci number {number}"),
        "queens" => format!("{number} solutions"),
        "knapsack" => format!("best value {number}"),
        "tree" => format!("sum of all nodes {number}"),
        "skynet" => format!("sum of all leaves {number}"),
        "primes" => format!("{number} primes"),
        _ => format!("checksum {number}"),
    }
}

/// Describes what a program computed that leaves its result in an array.
fn in_place(name: &str, operations: u64) -> Answer {
    let what = match name {
        "sort" | "quicksort" => "numbers in order",
        "mandelbrot" | "rays" => "pixels",
        "heat" => "cells updated",
        "matrix" | "strassen" => "products of the schoolbook method, a matrix",
        "lu" => "updates, two factors",
        "mark" => "objects marked",
        "nbody" => "pairs of bodies, all moved",
        "phases" => "numbers of blocks updated",
        "scan" => "prefix sums",
        _ => "operations",
    };
    Answer {
        text: format!("{} {what}", count(operations)),
        value: json!({ "operations": operations }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_output_has_words() {
        assert_eq!(of("queens", &92_u64, 1).text, "92 solutions");
        assert_eq!(of("batch", &5_u64, 1).text, "checksum 5");
        let size = Size {
            nodes: 4_130_071,
            depth: 10,
            leaves: 3_305_118,
        };
        assert_eq!(
            of("uts", &size, 1).text,
            "4 130 071 nodes, 3 305 118 of them leaves, depth 10"
        );
        let words = vec![("a".to_owned(), 3_u64), ("b".to_owned(), 1)];
        assert_eq!(of("words", &words, 4).text, "4 words, 2 of them different");
        assert_eq!(of("sort", &(), 1000).text, "1 000 numbers in order");
        assert_eq!(of("pi", &3.2_f64, 1).text, "pi 3.200000000000");
        let (slope, offset) = (3, 1000);
        let map = of("fold", &Affine { slope, offset }, 1).text;
        assert_eq!(map, "x -> 3 x + 1 000");
    }
}
