//! A wavefront: the score of the best local alignment of two sequences (Smith and Waterman), tile
//! by tile.
//!
//! A tile depends on the one above it and the one to its left, and passes on its lower and right
//! edges. With barriers all tiles of an antidiagonal are spawned, and the next one begins when they
//! are done.

use std::sync::{Arc, Mutex};

use locksley::flow::{Object, flow};

use super::SERIAL;
use super::versions::Versions;
use crate::harness::{Workload, verify};

pub(super) const NAME: &str = "flow wavefront P=2";

const MATCH: i32 = 2;
const MISMATCH: i32 = -1;
const GAP: i32 = -1;

/// Two sequences, and the side of a tile.
pub(super) struct Problem {
    a: Vec<u8>,
    b: Vec<u8>,
    side: usize,
}

/// The data that tiles pass on: the last row and column, the corner before the row, and the best
/// score.
#[derive(Clone, Debug, Default)]
struct Edge {
    row: Vec<i32>,
    column: Vec<i32>,
    corner: i32,
    best: i32,
}

impl Problem {
    pub(super) fn new(length: usize, side: usize) -> Problem {
        let mut state = 7_u64;
        let mut letter = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            b"ACGT"[(state >> 62) as usize]
        };
        let a = (0..length).map(|_| letter()).collect();
        let b = (0..length).map(|_| letter()).collect();
        Problem { a, b, side }
    }

    fn tiles(&self) -> usize {
        self.a.len().div_ceil(self.side)
    }

    fn cells(&self) -> u64 {
        (self.a.len() * self.b.len()) as u64
    }

    /// Computes the whole matrix cell by cell.
    pub(super) fn score_directly(&self) -> i32 {
        let mut before = vec![0; self.b.len() + 1];
        let mut best = 0;
        for &x in &self.a {
            let mut row = vec![0; self.b.len() + 1];
            for (place, &y) in self.b.iter().enumerate() {
                let pair = before[place] + if x == y { MATCH } else { MISMATCH };
                let gap = row[place].max(before[place + 1]) + GAP;
                row[place + 1] = pair.max(gap).max(0);
                best = best.max(row[place + 1]);
            }
            before = row;
        }
        best
    }

    /// Computes a tile from the edges of its neighbours above and to the left.
    fn tile(
        &self,
        (i, j): (usize, usize),
        above: Option<&Edge>,
        left: Option<&Edge>,
        edge: &mut Edge,
    ) {
        let range = |n: usize, length: usize| n * self.side..((n + 1) * self.side).min(length);
        let (a, b) = (
            &self.a[range(i, self.a.len())],
            &self.b[range(j, self.b.len())],
        );
        let mut row: Vec<i32> = above.map_or_else(|| vec![0; b.len()], |above| above.row.clone());
        // The cell before the first one of the row above.
        let mut corner = match (above, left) {
            (Some(above), Some(_)) => above.corner,
            _ => 0,
        };
        let first_corner = left.map_or(0, |left| *left.row.last().expect("tiles are not empty"));
        let mut best = 0;
        edge.column.clear();
        for (place, &x) in a.iter().enumerate() {
            let start = left.map_or(0, |left| left.column[place]);
            let (mut diagonal, mut west) = (corner, start);
            for (cell, &y) in row.iter_mut().zip(b) {
                let pair = diagonal + if x == y { MATCH } else { MISMATCH };
                diagonal = *cell;
                *cell = pair.max(west.max(diagonal) + GAP).max(0);
                west = *cell;
                best = best.max(west);
            }
            edge.column.push(west);
            corner = start;
        }
        edge.row = row;
        edge.corner = first_corner;
        edge.best = best;
    }

    fn best(edges: &[Edge]) -> i32 {
        edges.iter().map(|edge| edge.best).max().unwrap_or(0)
    }

    pub(super) fn serial(&self) -> i32 {
        let n = self.tiles();
        let mut edges = vec![Edge::default(); n * n];
        for i in 0..n {
            for j in 0..n {
                let (before, own) = edges.split_at_mut(i * n + j);
                let above = i.checked_sub(1).map(|i| &before[i * n + j]);
                let left = j.checked_sub(1).map(|j| &before[i * n + j]);
                self.tile((i, j), above, left, &mut own[0]);
            }
        }
        Problem::best(&edges)
    }

    pub(super) fn flow(&self) -> i32 {
        let n = self.tiles();
        let mut edges = vec![Edge::default(); n * n];
        flow(|f| {
            let edges: Vec<Object<'_, Edge>> =
                edges.iter_mut().map(|edge| f.object(edge)).collect();
            for i in 0..n {
                for j in 0..n {
                    let above = i.checked_sub(1).map(|i| edges[i * n + j].read());
                    let left = j.checked_sub(1).map(|j| edges[i * n + j].read());
                    let (has_above, has_left) = (above.is_some(), left.is_some());
                    let before: Vec<_> = above.into_iter().chain(left).collect();
                    f.fork((before, edges[i * n + j].update()), move |(before, own)| {
                        let above = has_above.then(|| before[0]);
                        let left = has_left.then(|| before[before.len() - 1]);
                        self.tile((i, j), above, left, own);
                    });
                }
            }
        });
        Problem::best(&edges)
    }

    /// Runs all tiles of an antidiagonal in a scope, then those of the next one.
    pub(super) fn barrier(&self) -> i32 {
        let n = self.tiles();
        let edges: Vec<Mutex<Edge>> = (0..n * n).map(|_| Mutex::default()).collect();
        for diagonal in 0..2 * n - 1 {
            locksley::scope(|s| {
                for i in diagonal.saturating_sub(n - 1)..n.min(diagonal + 1) {
                    let edges = &edges;
                    s.spawn(move |_| self.locked_tile(edges, (i, diagonal - i)));
                }
            });
        }
        Problem::collect(edges)
    }

    /// Runs one quarter, then two quarters in parallel, then the last quarter, recursively.
    pub(super) fn fork_join(&self) -> i32 {
        let n = self.tiles();
        let edges: Vec<Mutex<Edge>> = (0..n * n).map(|_| Mutex::default()).collect();
        self.quarters(&edges, (0, 0), (n, n));
        Problem::collect(edges)
    }

    fn quarters(
        &self,
        edges: &[Mutex<Edge>],
        (i, j): (usize, usize),
        (rows, columns): (usize, usize),
    ) {
        match (rows, columns) {
            (0, _) | (_, 0) => {}
            (1, 1) => self.locked_tile(edges, (i, j)),
            _ => {
                let (top, left) = (rows.div_ceil(2), columns.div_ceil(2));
                let (bottom, right) = (rows - top, columns - left);
                self.quarters(edges, (i, j), (top, left));
                locksley::join(
                    || self.quarters(edges, (i, j + left), (top, right)),
                    || self.quarters(edges, (i + top, j), (bottom, left)),
                );
                self.quarters(edges, (i + top, j + left), (bottom, right));
            }
        }
    }

    /// Computes a tile whose neighbours are done. That is not known to the type system, so there
    /// are locks, which are never contended.
    fn locked_tile(&self, edges: &[Mutex<Edge>], (i, j): (usize, usize)) {
        let n = self.tiles();
        let lock = |i: usize, j: usize| edges[i * n + j].lock().expect("no task panics");
        let mut own = lock(i, j);
        let above = i.checked_sub(1).map(|i| lock(i, j));
        let left = j.checked_sub(1).map(|j| lock(i, j));
        self.tile((i, j), above.as_deref(), left.as_deref(), &mut own);
    }

    fn collect(edges: Vec<Mutex<Edge>>) -> i32 {
        let edges: Vec<Edge> = edges
            .into_iter()
            .map(|edge| edge.into_inner().expect("no task panics"))
            .collect();
        Problem::best(&edges)
    }
}

pub(super) fn workload(quick: bool) -> Workload {
    let problem = if quick {
        Problem::new(200, 32)
    } else {
        Problem::new(2000, 100)
    };
    let expected = problem.score_directly();
    let program = Versions {
        name: NAME,
        about: "Smith-Waterman on two sequences of 2000, tiles of 100 by 100; one operation is one \
                cell",
        operations: problem.cells(),
        oracle: verify(SERIAL, "score", expected, problem.serial()),
        input: Arc::new(problem),
        expected,
        serial: |problem| problem.serial(),
        barrier: |problem| problem.barrier(),
        fork_join: |problem| problem.fork_join(),
        flow: |problem| problem.flow(),
    };
    program.workload()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_finds_the_same_score() {
        let problem = Problem::new(301, 32);
        let expected = problem.score_directly();
        assert!(expected > 50);
        for score in [
            Problem::serial,
            Problem::barrier,
            Problem::fork_join,
            Problem::flow,
        ] {
            assert_eq!(score(&problem), expected);
        }
    }
}
