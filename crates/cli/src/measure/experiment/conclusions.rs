//! Checks whether the measurements support the conclusions of the report.
//!
//! In a round all variants have the same tasks, so two of them are compared round by round. They
//! differ *clearly* if the quartiles of the differences are on the same side of zero; otherwise the
//! comparison is undecided. A conclusion holds if most of its comparisons are clear in its favour;
//! its contrary holds if most are clear against it.

use locksley_report::{Arrival, Batch, DequeKind, Experiment, Load, Repetition, Summary};

use crate::render::units::digits;

/// Smallest number of rounds for a clear difference.
const ROUNDS: usize = 3;

/// Returns sentences on each conclusion of the report, for measurements on `processors`.
pub(crate) fn conclusions(experiment: &Experiment, processors: usize) -> Vec<String> {
    let mut sentences = Vec::new();
    for arrival in [Arrival::Batch, Arrival::Running] {
        let measured = Measured {
            batches: experiment
                .batches
                .iter()
                .filter(|batch| batch.arrival == arrival)
                .collect(),
            arrival,
        };
        let all = [
            measured.stealing(Load::Skewed, Quantity::Time),
            measured.stealing(Load::Skewed, Quantity::Waiting),
            measured.crowding(processors),
            measured.stealing(Load::Even, Quantity::Time),
            measured.steals(),
            measured.deques(),
        ];
        sentences.extend(all.into_iter().flatten());
    }
    sentences
}

/// A quantity that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Time,
    Waiting,
    Steals,
}

impl Quantity {
    /// Returns the quantity in every round.
    fn of(self, batch: &Batch) -> Vec<f64> {
        let of = |once: &Repetition| match self {
            Quantity::Time => once.seconds,
            Quantity::Waiting => once.waiting,
            Quantity::Steals => once.steals as f64,
        };
        batch.repetitions.iter().map(of).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Quantity::Time => "total time",
            Quantity::Waiting => "average waiting time",
            Quantity::Steals => "number of steals",
        }
    }
}

/// Number of pairs of variants whose first was clearly less, clearly more, or neither.
#[derive(Clone, Debug, Default)]
struct Tally {
    less: usize,
    more: usize,
    neither: usize,
    /// For each pair, the median over the rounds of the second divided by the first.
    gains: Vec<f64>,
}

impl Tally {
    fn of(pairs: impl Iterator<Item = (Vec<f64>, Vec<f64>)>) -> Tally {
        let mut tally = Tally::default();
        for (first, second) in pairs {
            tally.add(&first, &second);
        }
        tally
    }

    /// Compares two variants round by round. The last round of one may be missing if the run was
    /// interrupted.
    fn add(&mut self, first: &[f64], second: &[f64]) {
        let rounds = || first.iter().zip(second);
        let differences: Vec<f64> = rounds().map(|(first, second)| second - first).collect();
        let Some(differences) = Summary::of(&differences) else {
            return;
        };
        match differences {
            Summary { count, .. } if count < ROUNDS => self.neither += 1,
            Summary { lower, .. } if lower > 0.0 => self.less += 1,
            Summary { upper, .. } if upper < 0.0 => self.more += 1,
            _ => self.neither += 1,
        }
        let ratios: Vec<f64> = rounds().map(|(first, second)| second / first).collect();
        self.gains
            .extend(Summary::of(&ratios).map(|ratios| ratios.median));
    }

    fn all(&self) -> usize {
        self.less + self.more + self.neither
    }

    fn verdict(&self) -> &'static str {
        match self.all() {
            all if 2 * self.less > all => "holds here",
            all if 2 * self.more > all => "does not hold here: the contrary does",
            _ => "is not confirmed here",
        }
    }

    /// Returns `2 of 3, the contrary in 1; 0 undecided`.
    fn counts(&self) -> String {
        let Tally {
            less,
            more,
            neither,
            ..
        } = self;
        format!(
            "{less} of {}, the contrary in {more}; {neither} undecided",
            self.all()
        )
    }

    fn range(&self) -> String {
        Summary::of(&self.gains).map_or_else(String::new, |gains| {
            format!(
                "{} to {}, median {}",
                digits(gains.least),
                digits(gains.most),
                digits(gains.median)
            )
        })
    }
}

/// The batches with one kind of arrival.
struct Measured<'e> {
    batches: Vec<&'e Batch>,
    arrival: Arrival,
}

impl Measured<'_> {
    /// Compares each batch that satisfies `from` with the one that `change` turns it into.
    fn pairs(
        &self,
        quantity: Quantity,
        from: impl Fn(&Batch) -> bool,
        change: impl Fn(&mut Batch),
    ) -> Tally {
        let first = self.batches.iter().filter(|batch| from(batch));
        Tally::of(first.filter_map(|batch| {
            let mut changed = Batch {
                repetitions: Vec::new(),
                ..(*batch).clone()
            };
            change(&mut changed);
            let mut others = self.batches.iter();
            let other = others.find(|other| {
                let key = |batch: &Batch| (batch.load, batch.stealing, batch.deque, batch.threads);
                key(other) == key(&changed)
            })?;
            Some((quantity.of(batch), quantity.of(other)))
        }))
    }

    fn head(&self, claim: &str, tally: &Tally) -> Option<String> {
        let arrival = match self.arrival {
            Arrival::Batch => "Batch",
            Arrival::Running => "Arriving tasks",
        };
        (tally.all() > 0).then(|| format!("{arrival}: \"{claim}\" {}", tally.verdict()))
    }

    /// "Stealing hugely benefits uneven distributions"; also for even ones.
    fn stealing(&self, load: Load, quantity: Quantity) -> Option<String> {
        let chosen = |batch: &Batch| batch.load == load && batch.stealing;
        let tally = self.pairs(quantity, chosen, |batch| batch.stealing = false);
        let name = quantity.name();
        let claim = format!("stealing shortens the {name} of {load} loads");
        let head = self.head(&claim, &tally)?;
        let (counts, range) = (tally.counts(), tally.range());
        Some(format!(
            "{head}: so in {counts}. The {name} without stealing is {range} times that with it."
        ))
    }

    /// Compares the gain by stealing with as many busy threads as processors, where it can help
    /// little, and with fewer.
    fn crowding(&self, processors: usize) -> Option<String> {
        let gain = |crowded: bool| {
            let chosen = |batch: &Batch| {
                let busy = batch.threads / 2 >= processors;
                batch.load == Load::Skewed && batch.stealing && busy == crowded
            };
            let tally = self.pairs(Quantity::Time, chosen, |batch| batch.stealing = false);
            Summary::of(&tally.gains).map(|gains| digits(gains.median))
        };
        let crowded = gain(true)?;
        let elsewhere = match gain(false) {
            Some(gain) => format!("with fewer threads it is {gain}"),
            None => "fewer threads were not measured".to_owned(),
        };
        Some(format!(
            "Of skewed loads, half of the threads have the work. Where these are at least as many \
             as the {processors} processors, the system can keep all of them busy without \
             stealing: the median gain by stealing is {crowded} there; {elsewhere}."
        ))
    }

    /// "In an evenly distributed system there is less chance of stealing".
    fn steals(&self) -> Option<String> {
        let chosen = |batch: &Batch| batch.load == Load::Even && batch.stealing;
        let tally = self.pairs(Quantity::Steals, chosen, |batch| batch.load = Load::Skewed);
        let head = self.head("even loads have fewer steals than skewed ones", &tally)?;
        Some(format!("{head}: so in {}.", tally.counts()))
    }

    /// "Bounded deques almost always perform better than unbounded ones".
    fn deques(&self) -> Option<String> {
        let chosen = |batch: &Batch| batch.stealing && batch.deque == DequeKind::Bounded;
        let change = |batch: &mut Batch| batch.deque = DequeKind::Unbounded;
        let tally = self.pairs(Quantity::Time, chosen, change);
        let head = self.head(
            "with stealing, bounded deques are faster than unbounded ones",
            &tally,
        )?;
        let (counts, range) = (tally.counts(), tally.range());
        Some(format!(
            "{head}: so in {counts}. The total time with unbounded ones is {range} times that with \
             bounded ones. (The report says \"almost always\", but its own tables show it in 4 of \
             10 cases.)"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(load: Load, stealing: bool, deque: DequeKind, seconds: f64, steals: u64) -> Batch {
        let once = |factor: f64| Repetition {
            seconds: seconds * factor,
            waiting: seconds * factor / 2.0,
            steals,
        };
        Batch {
            load,
            arrival: Arrival::Batch,
            stealing,
            deque,
            threads: 4,
            repetitions: [0.99, 1.0, 1.01].map(once).to_vec(),
        }
    }

    fn experiment(skewed: [f64; 2]) -> Experiment {
        use DequeKind::{Bounded, Unbounded};
        let mut experiment = Experiment::new("batch", 100);
        for deque in [Bounded, Unbounded] {
            experiment
                .batches
                .push(batch(Load::Skewed, true, deque, skewed[0], 90));
            experiment
                .batches
                .push(batch(Load::Skewed, false, deque, skewed[1], 0));
            experiment
                .batches
                .push(batch(Load::Even, true, deque, 1.0, 9));
            experiment
                .batches
                .push(batch(Load::Even, false, deque, 1.0, 0));
        }
        experiment
    }

    fn said(sentences: &[String], about: &str) -> String {
        let sentence = sentences.iter().find(|sentence| sentence.contains(about));
        sentence
            .unwrap_or_else(|| panic!("{about}: {sentences:#?}"))
            .clone()
    }

    #[test]
    fn what_the_data_say_is_said() {
        let sentences = conclusions(&experiment([1.0, 2.0]), 2);
        let time = said(&sentences, "total time of skewed");
        assert!(
            time.contains("holds here: so in 2 of 2, the contrary in 0; 0 undecided"),
            "{time}"
        );
        assert!(
            time.contains("is 2.00 to 2.00, median 2.00 times that with it"),
            "{time}"
        );
        assert!(said(&sentences, "total time of even").contains("is not confirmed here"));
        assert!(said(&sentences, "fewer steals").contains("holds here: so in 2 of 2"));
        assert!(said(&sentences, "bounded deques").contains("is not confirmed here: so in 0 of 2"));
        assert!(said(&sentences, "2 processors").contains("stealing is 2.00 there"));
    }

    #[test]
    fn the_contrary_is_said_too() {
        let sentences = conclusions(&experiment([3.0, 2.0]), 8);
        let time = said(&sentences, "total time of skewed");
        assert!(
            time.contains("does not hold here: the contrary does: so in 0 of 2"),
            "{time}"
        );
        assert!(
            !sentences
                .iter()
                .any(|sentence| sentence.contains("8 processors"))
        );
    }

    #[test]
    fn variants_are_compared_round_by_round() {
        // Rounds differ much more than variants, as with random tasks.
        let mut tally = Tally::default();
        tally.add(&[1.0, 5.0, 9.0], &[1.1, 5.5, 9.9]);
        tally.add(&[1.0, 5.0, 9.0], &[1.1, 4.5, 9.9]);
        tally.add(&[1.0, 5.0, 9.0], &[0.9, 4.5, 8.1]);
        tally.add(&[1.0, 1.0], &[2.0, 2.0]);
        tally.add(&[0.0], &[]);
        assert_eq!((tally.less, tally.neither, tally.more), (1, 2, 1));
        assert!((tally.gains[0] - 1.1).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_said_of_what_was_not_measured() {
        assert!(conclusions(&Experiment::new("batch", 100), 2).is_empty());
    }
}
