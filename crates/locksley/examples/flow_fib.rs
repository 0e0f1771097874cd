//! fib as in Danjean's lecture "Work Stealing": every call is a task, and so is every sum; the tasks say what they
//! write and read, and the sum waits for what it adds up.
//!
//!     cargo run --release -p locksley --example flow_fib

use locksley::flow::{Flow, Write, drawn, flow};

fn fib<'f>(f: &'f Flow<'f, '_>, n: u64, mut result: Write<'f, u64>) {
    if n < 2 {
        return result.set(n);
    }
    let (x, y, result) = (f.value(0), f.value(0), f.value(result));
    f.label(format!("fib({})", n - 1))
        .fork_nested(x.write(), move |f, x| fib(f, n - 1, x));
    f.label(format!("fib({})", n - 2))
        .fork_nested(y.write(), move |f, y| fib(f, n - 2, y));
    f.label("sum")
        .fork((x.read(), y.read(), result.update()), |(x, y, result)| {
            result.set(x + y);
        });
}

fn main() {
    let (mut before, mut expected) = (1_u64, 0);
    for _ in 0..25 {
        (before, expected) = (expected, before + expected);
    }
    let mut result = 0;
    flow(|f| {
        let result = f.object(&mut result);
        f.fork_nested(result.write(), |f, result| fib(f, 25, result));
    });
    assert_eq!(result, expected);
    println!("fib(25) = {result}");

    let mut small = 0;
    let ((), picture) = drawn(|f| {
        let small = f.object(&mut small);
        f.label("fib(4)")
            .fork_nested(small.write(), |f, small| fib(f, 4, small));
    });
    assert_eq!(small, 3);
    println!("fib(4) as a graph, for `dot -Tsvg`:\n{picture}");
}
