//! Shared code of programs with tiles: cutting tiles from a matrix, and parallel loops that end
//! with a barrier.

use std::sync::RwLock;

/// A tile of a matrix, row by row.
pub(super) type Tile = Vec<f64>;

/// Largest difference between the results of two programs that round differently.
pub(super) const CLOSE: f64 = 1e-9;

/// Returns the tile (i, j) of a matrix that is given by its elements.
pub(super) fn cut(
    (i, j): (usize, usize),
    side: usize,
    element: impl Fn(usize, usize) -> f64,
) -> Tile {
    let place = |n: usize| (i * side + n / side, j * side + n % side);
    let places = (0..side * side).map(place);
    places.map(|(row, column)| element(row, column)).collect()
}

/// Tiles that tasks of one loop share. No task writes a tile that another one accesses, which the
/// type system cannot know, so the locks are never contended.
pub(super) struct Shared(Vec<RwLock<Tile>>);

impl Shared {
    pub(super) fn new(tiles: Vec<Tile>) -> Shared {
        Shared(tiles.into_iter().map(RwLock::new).collect())
    }

    pub(super) fn read(&self, number: usize) -> impl std::ops::Deref<Target = Tile> + '_ {
        self.0[number].read().expect("no task panics")
    }

    pub(super) fn write(&self, number: usize) -> impl std::ops::DerefMut<Target = Tile> + '_ {
        self.0[number].write().expect("no task panics")
    }

    pub(super) fn into_tiles(self) -> Vec<Tile> {
        let tiles = self.0.into_iter();
        tiles
            .map(|tile| tile.into_inner().expect("no task panics"))
            .collect()
    }
}

/// The body of a parallel loop.
pub(super) type Work<'a, T> = &'a (dyn Fn(&mut T) + Sync);

/// A parallel loop over items.
pub(super) type Loop<T> = fn(Work<'_, T>, &mut [T]);

/// Runs a parallel loop as a scope with a task for each item.
pub(super) fn by_scope<T: Send>(work: Work<'_, T>, items: &mut [T]) {
    locksley::scope(|s| {
        for item in items {
            s.spawn(move |_| work(item));
        }
    });
}

/// Runs a parallel loop with joins that halve it.
pub(super) fn by_halves<T: Send>(work: Work<'_, T>, items: &mut [T]) {
    match items {
        [] => {}
        [item] => work(item),
        _ => {
            let (left, right) = items.split_at_mut(items.len() / 2);
            locksley::join(|| by_halves(work, left), || by_halves(work, right));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_has_the_elements_of_its_place() {
        let tile = cut((1, 2), 2, |row, column| (10 * row + column) as f64);
        assert_eq!(tile, [24.0, 25.0, 34.0, 35.0]);
    }

    #[test]
    fn loops_do_everything_once() {
        let mut items: Vec<usize> = (0..37).collect();
        by_scope(&|item| *item += 1, &mut items);
        by_halves(&|item| *item *= 2, &mut items);
        assert!(items.into_iter().eq((1..38).map(|n| 2 * n)));
    }
}
