//! The batches: total time, waiting time and steals by the number of threads.

use super::axis::Axis;
use super::lines::{Joined, Line, Plot};
use super::palette::series;
use super::{Chart, Key, Marker, Swatch, Trouble, twice};
use crate::{Arrival, Batch, DequeKind, Experiment, Load, Summary};

/// What is plotted.
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

/// Whether a line of this chart says anything: without stealing, there are no steals to count.
fn applies(quantity: Quantity, batch: &Batch) -> bool {
    quantity != Quantity::Steals || batch.stealing
}

/// One quantity of all batches with one kind of load, a line for each variant; `None` if there are none.
pub(crate) fn experiment(
    experiment: &Experiment,
    (load, arrival): (Load, Arrival),
    quantity: Quantity,
) -> Result<Option<Chart>, Trouble> {
    let batches: Vec<&Batch> = experiment
        .batches
        .iter()
        .filter(|batch| batch.load == load && batch.arrival == arrival && applies(quantity, batch))
        .collect();
    let (mut lines, mut legend) = (Vec::new(), Vec::new());
    let variants = [
        (true, DequeKind::Unbounded),
        (true, DequeKind::Bounded),
        (false, DequeKind::Unbounded),
        (false, DequeKind::Bounded),
    ];
    for (number, (stealing, deque)) in variants.into_iter().enumerate() {
        let own = batches
            .iter()
            .filter(|batch| batch.stealing == stealing && batch.deque == deque);
        let point = |batch: &&&Batch| {
            let summary = quantity.of(batch)?;
            Some((
                batch.threads as f64,
                summary.median,
                Some((summary.lower, summary.upper)),
            ))
        };
        let mut points: Vec<_> = own.clone().filter_map(|batch| point(&batch)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(batch) = own.clone().next().filter(|_| !points.is_empty()) {
            let (ink, marker) = (series(number), Marker::series(number));
            lines.push(Line::new(ink, Joined::Line, Some(marker), points));
            legend.push(Key::new(batch.series(), Swatch::Line(ink, Some(marker))));
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let threads: Vec<usize> = batches.iter().map(|batch| batch.threads).collect();
    let most = batches
        .iter()
        .filter_map(|batch| quantity.of(batch))
        .map(|summary| summary.upper)
        .fold(0.0, f64::max);
    let title = format!(
        "{}, {load} load, {arrival}: {}",
        experiment.name,
        quantity.name()
    );
    let pictures = twice(&title, |width| {
        let x = Axis::workers("threads N", &threads, 8);
        let mut plot = Plot::new(x, quantity.axis(most), 280.0);
        plot.lines = lines.clone();
        plot.draw(width)
    })?;
    Ok(Some(Chart {
        title,
        pictures,
        legend,
    }))
}
