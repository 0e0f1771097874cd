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
fn sfib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = (sfib(n - 1), sfib(n - 2));
    a + b
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: u64 = a[1].parse().unwrap();
    let p: usize = a[2].parse().unwrap();
    let strat: Strategy = a.get(4).map_or(Strategy::default(), |s| s.parse().unwrap());
    let pool = Pool::builder().workers(p).strategy(strat).build().unwrap();
    for _ in 0..a[3].parse().unwrap() {
        let t = std::time::Instant::now();
        let r = sfib(std::hint::black_box(n));
        println!("serial {r} {:?}", t.elapsed());
        let t = std::time::Instant::now();
        let r = pool.run(|w| fib(w, n));
        println!("worker {r} {:?}", t.elapsed());
        let t = std::time::Instant::now();
        let r = pool.install(|| ffib(n));
        println!("free {r} {:?}", t.elapsed());
    }
}
