//! A computation that never ends.

use crate::dag::{Computation, Enabled, Size};

/// A computation in which every node enables two more, so that it never ends. It keeps a scheduler
/// under constant load.
///
/// ```
/// use locksley_sim::dag::{Computation, Enabled};
/// use locksley_sim::rounds::Endless;
///
/// assert_eq!(Endless.execute(()), Enabled::Two((), ()));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Endless;

impl Computation for Endless {
    type Node = ();

    const NESTED: bool = true;

    fn start(&mut self) {}

    fn execute(&mut self, (): ()) -> Enabled<()> {
        Enabled::Two((), ())
    }

    /// Returns the largest possible size.
    fn size(&self) -> Size {
        Size {
            work: u64::MAX,
            span: u64::MAX,
        }
    }
}
