//! A wavefront over a grid.

use super::{Computation, Enabled, Size};

/// A grid of cells. Each cell depends on its upper and its left neighbour, as in dynamic
/// programming or a Gauss-Seidel sweep, and is a strand of `grain` nodes.
///
/// Work rows cols grain, span (rows + cols - 1) grain. Not series-parallel: a cell's last node
/// enables its right neighbour, its lower neighbour, both or none. The cells of a row end in order,
/// so it is enough to count for each row how many have ended.
///
/// ```
/// use locksley_sim::dag::{Computation, Size, Wavefront};
///
/// assert_eq!(Wavefront::new(100, 50, 10).size(), Size { work: 50_000, span: 1490 });
/// ```
#[derive(Clone, Debug)]
pub struct Wavefront {
    rows: u32,
    columns: u32,
    grain: u32,
    /// Number of cells of each row that have ended.
    ended: Vec<u32>,
}

/// A cell with `rest` nodes to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    row: u32,
    column: u32,
    rest: u32,
}

impl Wavefront {
    /// Creates a grid. Each number is at least one; 0 is taken as 1.
    pub fn new(rows: u32, columns: u32, grain: u32) -> Wavefront {
        Wavefront {
            rows: rows.max(1),
            columns: columns.max(1),
            grain: grain.max(1),
            ended: Vec::new(),
        }
    }

    fn cell(&self, row: u32, column: u32) -> Cell {
        Cell {
            row,
            column,
            rest: self.grain,
        }
    }
}

impl Computation for Wavefront {
    type Node = Cell;

    const NESTED: bool = false;

    fn start(&mut self) -> Cell {
        self.ended = vec![0; self.rows as usize];
        self.cell(0, 0)
    }

    fn execute(&mut self, node: Cell) -> Enabled<Cell> {
        let Cell { row, column, rest } = node;
        if rest > 1 {
            return Enabled::One(Cell {
                rest: rest - 1,
                ..node
            });
        }
        let at = row as usize;
        self.ended[at] += 1;
        let (right, below) = (column + 1, row + 1);
        // Only the predecessor that ends last finds that the other one has ended, and enables the
        // cell.
        let enables_right = right < self.columns && (row == 0 || self.ended[at - 1] > right);
        let enables_below = below < self.rows && self.ended[at + 1] == column;
        match (enables_right, enables_below) {
            (true, true) => Enabled::Two(self.cell(row, right), self.cell(below, column)),
            (true, false) => Enabled::One(self.cell(row, right)),
            (false, true) => Enabled::One(self.cell(below, column)),
            (false, false) if right == self.columns && below == self.rows => Enabled::End,
            (false, false) => Enabled::Nothing,
        }
    }

    fn affinity(&self, node: Cell) -> Option<u64> {
        (node.rest == self.grain).then_some(u64::from(node.row))
    }

    fn size(&self) -> Size {
        let [rows, columns, grain] = [self.rows, self.columns, self.grain].map(u64::from);
        Size {
            work: rows * columns * grain,
            span: (rows + columns - 1) * grain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{levels, measure};

    #[test]
    fn formulas_agree_with_the_graph() {
        for (rows, columns, grain) in [(1, 1, 1), (1, 9, 2), (7, 1, 1), (8, 13, 3)] {
            let mut wavefront = Wavefront::new(rows, columns, grain);
            assert_eq!(wavefront.size(), levels(&mut wavefront));
            assert_eq!(wavefront.size().work, measure(&mut wavefront));
        }
    }
}
