//! scratch
use locksley::*;
fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
    a + b
}
fn ffib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(move || ffib(n - 1), move || ffib(n - 2));
    a + b
}
#[inline(never)]
fn sfib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = (sfib(n - 1), sfib(n - 2));
    a + b
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: u64 = a[2].parse().unwrap();
    let pool = Pool::builder().workers(1).build().unwrap();
    let r = match a[1].as_str() {
        "w" => pool.run(|w| fib(w, n)),
        "f" => pool.install(|| ffib(n)),
        _ => pool.install(|| sfib(std::hint::black_box(n))),
    };
    println!("{r}");
}
