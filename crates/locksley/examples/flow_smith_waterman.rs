//! A wavefront: the best local alignment of two sequences (Smith and Waterman), in tiles of one matrix. A tile waits for
//! the three that it reads from, and no barrier separates the antidiagonals.
//!
//!     cargo run --release -p locksley --example flow_smith_waterman

use locksley::flow::{Tile, flow};

const SIDE: usize = 64;

fn letters(count: usize, mut state: u64) -> Vec<u8> {
    let next = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        b"ACGT"[(state >> 62) as usize]
    });
    next.take(count).collect()
}

fn score(diagonal: i32, above: i32, left: i32, same: bool) -> i32 {
    let pair = diagonal + if same { 2 } else { -1 };
    pair.max(above - 1).max(left - 1).max(0)
}

/// Fills a tile. The cells around it are the last ones of its neighbours, or nought at the edges of the matrix.
fn fill(
    own: &mut Tile<'_, i32>,
    above: Option<&Tile<'_, i32>>,
    left: Option<&Tile<'_, i32>>,
    corner: Option<&Tile<'_, i32>>,
    (a, b): (&[u8], &[u8]),
) {
    let last = |tile: &Tile<'_, i32>| (tile.rows() - 1, tile.columns() - 1);
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            let north = match i {
                0 => above.map_or(0, |tile| tile[(last(tile).0, j)]),
                _ => own[(i - 1, j)],
            };
            let west = match j {
                0 => left.map_or(0, |tile| tile[(i, last(tile).1)]),
                _ => own[(i, j - 1)],
            };
            let diagonal = match (i, j) {
                (0, 0) => corner.map_or(0, |tile| tile[last(tile)]),
                (0, _) => above.map_or(0, |tile| tile[(last(tile).0, j - 1)]),
                (_, 0) => left.map_or(0, |tile| tile[(i - 1, last(tile).1)]),
                _ => own[(i - 1, j - 1)],
            };
            own[(i, j)] = score(diagonal, north, west, x == y);
        }
    }
}

fn serially(a: &[u8], b: &[u8]) -> Vec<i32> {
    let mut matrix = vec![0; a.len() * b.len()];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            let at = |up: usize, back: usize| match i >= up && j >= back {
                true => matrix[(i - up) * b.len() + j - back],
                false => 0,
            };
            matrix[i * b.len() + j] = score(at(1, 1), at(1, 0), at(0, 1), x == y);
        }
    }
    matrix
}

fn main() {
    let (a, b) = (letters(1000, 1), letters(900, 2));
    let mut matrix = vec![0; a.len() * b.len()];
    flow(|f| {
        let tiles = f.grid(&mut matrix, b.len(), (SIDE, SIDE));
        for (i, a) in a.chunks(SIDE).enumerate() {
            for (j, b) in b.chunks(SIDE).enumerate() {
                // Those that there are.
                let near = [(1, 0), (0, 1), (1, 1)].map(|(up, back)| i >= up && j >= back);
                let reads = [(1, 0), (0, 1), (1, 1)].into_iter().zip(near);
                let reads = reads.filter(|&(_, there)| there);
                let reads: Vec<_> = reads
                    .map(|((up, back), _)| tiles.at(i - up, j - back).read())
                    .collect();
                f.fork((reads, tiles.at(i, j).update()), move |(around, own)| {
                    let mut around = around.into_iter();
                    let [above, left, corner] =
                        near.map(|there| if there { around.next() } else { None });
                    fill(own, above, left, corner, (a, b));
                });
            }
        }
    });
    assert_eq!(matrix, serially(&a, &b));
    println!("the best score is {}", matrix.iter().max().unwrap_or(&0));
}
