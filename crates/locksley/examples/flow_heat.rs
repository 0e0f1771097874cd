//! Heat in a bar, in tiles of two buffers: each step computes one from the other. A tile waits for the tiles that it
//! reads, and for those who still read what it overwrites, so some tiles may be steps ahead of others.
//!
//!     cargo run --release -p locksley --example flow_heat

use locksley::flow::flow;

const CELLS: usize = 1 << 14;
const TILE: usize = 1 << 10;
const STEPS: usize = 100;

/// The next state of some cells, between two others.
fn step(left: f64, own: &[f64], right: f64) -> impl Fn(usize) -> f64 {
    move |n| {
        let before = if n == 0 { left } else { own[n - 1] };
        let after = own.get(n + 1).copied().unwrap_or(right);
        own[n] + 0.25 * (before - 2.0 * own[n] + after)
    }
}

fn serially(mut bar: Vec<f64>) -> Vec<f64> {
    for _ in 0..STEPS {
        bar = (0..CELLS).map(step(1.0, &bar, 0.0)).collect();
    }
    bar
}

fn main() {
    let start: Vec<f64> = (0..CELLS).map(|n| (n % 17) as f64 / 17.0).collect();
    let (mut bar, mut other) = (start.clone(), vec![0.0; CELLS]);
    flow(|f| {
        let mut from = f.tiles(&mut bar, TILE);
        let mut to = f.tiles(&mut other, TILE);
        let last = from.len() - 1;
        for _ in 0..STEPS {
            for (n, tile) in to.iter().enumerate() {
                let (before, after) = (from[n.saturating_sub(1)], from[(n + 1).min(last)]);
                let accesses = (before.read(), from[n].read(), after.read(), tile.write());
                f.fork(accesses, move |(before, own, after, mut new)| {
                    let left = if n == 0 { 1.0 } else { before[TILE - 1] };
                    let right = if n == last { 0.0 } else { after[0] };
                    new.fill_with(step(left, own, right));
                });
            }
            std::mem::swap(&mut from, &mut to);
        }
    });
    // An even number of steps ends where it began.
    assert_eq!(bar, serially(start));
    println!("after {STEPS} steps the middle is at {:.3}", bar[CELLS / 2]);
}
