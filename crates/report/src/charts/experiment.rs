//! Charts of batches: total time, waiting time and steals by the number of threads.

use super::axis::Axis;
use super::lines::{Drawing, Joined, Line, Point};
use super::palette::series;
use super::{Chart, Key, Marker, Swatch, Trouble};
use crate::{Arrival, Batch, DequeKind, Experiment, Load, Summary};

/// A plotted quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Time,
    Waiting,
    Steals,
}

impl Quantity {
    pub(crate) const ALL: [Quantity; 3] = [Quantity::Time, Quantity::Waiting, Quantity::Steals];

    fn name(self) -> &'static str {
        match self {
            Quantity::Time => "total time",
            Quantity::Waiting => "average waiting time",
            Quantity::Steals => "steals",
        }
    }

    fn of(self, batch: &Batch) -> Option<Summary> {
        match self {
            Quantity::Time => batch.seconds(),
            Quantity::Waiting => batch.waiting(),
            Quantity::Steals => batch.steals(),
        }
    }

    fn axis(self, most: f64) -> Axis {
        match self {
            Quantity::Steals => Axis::counts("stolen tasks", most, 5),
            _ => Axis::seconds(self.name(), most, 5),
        }
    }
}

/// Returns `true` if the quantity exists for a batch: without stealing there are no steals.
fn applies(quantity: Quantity, batch: &Batch) -> bool {
    quantity != Quantity::Steals || batch.stealing
}

/// The lines of a plot.
const VARIANTS: [(bool, DequeKind); 4] = [
    (true, DequeKind::Unbounded),
    (true, DequeKind::Bounded),
    (false, DequeKind::Unbounded),
    (false, DequeKind::Bounded),
];

/// Draws one quantity of all batches with one kind of load and of arrival, a line for each variant.
/// Returns `None` if there are none.
pub(crate) fn experiment(
    experiment: &Experiment,
    (load, arrival): (Load, Arrival),
    quantity: Quantity,
) -> Result<Option<Chart>, Trouble> {
    let fits = |batch: &&Batch| batch.load == load && batch.arrival == arrival;
    let batches = experiment.batches.iter().filter(fits);
    let batches: Vec<&Batch> = batches.filter(|batch| applies(quantity, batch)).collect();
    let mut drawing = Drawing::default();
    for (number, (stealing, deque)) in VARIANTS.into_iter().enumerate() {
        let own = batches
            .iter()
            .filter(|batch| batch.stealing == stealing && batch.deque == deque);
        let mut points: Vec<Point> = own
            .clone()
            .filter_map(|batch| point(batch, quantity))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(batch) = own.clone().next().filter(|_| !points.is_empty()) {
            let (ink, marker) = (series(number), Some(Marker::series(number)));
            drawing
                .lines
                .push(Line::new(ink, Joined::Line, marker, points));
            drawing
                .legend
                .push(Key::new(batch.series(), Swatch::Line(ink, marker)));
        }
    }
    if drawing.lines.is_empty() {
        return Ok(None);
    }
    let when = match arrival {
        Arrival::Batch => "all tasks there at the start",
        Arrival::Running => "tasks arriving while others run",
    };
    let title = format!("{load} load, {when}: {}", quantity.name());
    let threads: Vec<usize> = batches.iter().map(|batch| batch.threads).collect();
    let (_, most) = drawing.extent();
    let axes = |_| (Axis::workers("threads N", &threads, 8), quantity.axis(most));
    drawing.finish(title, 280.0, axes).map(Some)
}

fn point(batch: &Batch, quantity: Quantity) -> Option<Point> {
    let summary = quantity.of(batch)?;
    Some((
        batch.threads as f64,
        summary.median,
        Some((summary.lower, summary.upper)),
    ))
}
