//! A pipeline over a stream: numbers are read, factored, counted and printed. Each stage is a task for each item.
//! Factoring needs nothing but the item, so it runs for many items at the same time. Counting and printing keep the order of
//! the stream, because they write to the same object each time: nobody has said so.
//!
//!     cargo run --release -p locksley --example flow_pipeline

use std::collections::BTreeMap;

use locksley::flow::flow;

struct Item {
    number: u64,
    factors: Vec<u64>,
}

fn factor(mut number: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut divisor = 2;
    while divisor * divisor <= number {
        while number.is_multiple_of(divisor) {
            factors.push(divisor);
            number /= divisor;
        }
        divisor += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}

fn main() {
    let stream = (0..2000).map(|n| 1_000_003 + 977 * n);
    let (mut counts, mut lines) = (BTreeMap::new(), Vec::new());
    flow(|f| {
        let (counts, lines) = (f.object(&mut counts), f.object(&mut lines));
        for number in stream.clone() {
            let item = f.value(Item {
                number,
                factors: Vec::new(),
            });
            f.fork(item.update(), |item| item.factors = factor(item.number));
            f.fork((item.read(), counts.update()), |(item, counts)| {
                *counts.entry(item.factors.len()).or_insert(0) += 1;
            });
            f.fork((item.read(), lines.update()), |(item, lines)| {
                lines.push(format!("{} = {:?}", item.number, item.factors));
            });
        }
    });
    let expected: Vec<String> = stream
        .map(|number| format!("{number} = {:?}", factor(number)))
        .collect();
    assert_eq!(lines, expected, "in the order of the stream");
    assert_eq!(counts.values().sum::<i32>(), 2000);
    println!("{}\n{}\n...", lines[0], lines[1]);
    for (factors, numbers) in counts {
        println!("{numbers} numbers have {factors} prime factors");
    }
}
