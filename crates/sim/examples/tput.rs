//! Throughput.
use locksley_sim::dag::*;
use locksley_sim::*;
use std::time::Instant;
struct Go<'a>(&'a Setup);
impl Visitor for Go<'_> {
    type Output = (Report, f64);
    fn visit<C: Computation>(self, mut c: C) -> (Report, f64) {
        let t = Instant::now();
        let r = simulate(&mut c, self.0).unwrap();
        (r, t.elapsed().as_secs_f64())
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let dag: Dag = a[1].parse().unwrap();
    let p: usize = a[2].parse().unwrap();
    let s: Strategy = a
        .get(3)
        .map_or("lock-free", |s| s.as_str())
        .parse()
        .unwrap();
    let setup = Setup::new(p, s);
    let (r, t) = dag.build(Go(&setup)).unwrap();
    println!(
        "{dag} P={p} {s}: {:.1} M nodes/s, {:.3} s, makespan {} T1/P {:.0} Tinf {} idle {} stolen {} aborted {} steals/(P Tinf) {:.3}",
        r.tally.executed as f64 / t / 1e6,
        t,
        r.makespan,
        r.size.work as f64 / p as f64,
        r.size.span,
        r.tally.idle_iterations,
        r.tally.stolen,
        r.tally.aborted,
        r.tally.stolen as f64 / (p as f64 * r.size.span as f64)
    );
    println!("{:?}", r.tally);
    let m = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", m.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
