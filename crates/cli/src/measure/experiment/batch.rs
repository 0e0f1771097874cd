//! Measures all variants of the batch, which take turns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use locksley_queue::{abp, chase_lev};
use locksley_report::{Arrival, Batch, DequeKind, Experiment, Load, Repetition};
use locksley_workload as workload;
use locksley_workload::Fib;

use super::threads::Setting;
use crate::error::Error;

/// Load of the processors if tasks arrive while others run. At 1 the queues would grow without
/// bound; far below 1 no task would wait.
const UTILISATION: f64 = 0.8;

/// Tasks of the even load compute `fib(heavy)` to `fib(heavy + EVEN)`.
const EVEN: u64 = 4;

/// Variants and parameters of the experiment.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) loads: Vec<Load>,
    pub(crate) arrivals: Vec<Arrival>,
    /// Numbers of threads, N.
    pub(crate) threads: Vec<usize>,
    /// Number of tasks of each thread, K.
    pub(crate) tasks: usize,
    /// Index of the Fibonacci number that a heavy task computes.
    pub(crate) heavy: u64,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
    pub(crate) processors: usize,
}

impl Plan {
    /// Returns the experiment with all variants, without measurements.
    pub(crate) fn experiment(&self) -> Experiment {
        let mut experiment = Experiment::new("batch", self.tasks);
        let parameters = [
            ("heavy", format!("fib({})", self.heavy)),
            (
                "even",
                format!("fib({}) to fib({})", self.heavy, self.heavy + EVEN),
            ),
            ("rounds", self.rounds.to_string()),
            ("seed", self.seed.to_string()),
        ];
        let owned = parameters.map(|(name, value)| (name.to_owned(), value));
        experiment.parameters = owned.into_iter().collect();
        if self.arrivals.contains(&Arrival::Running) {
            let utilisation = format!("{:.0}% of the processors", UTILISATION * 100.0);
            let parameters = &mut experiment.parameters;
            parameters.insert("arriving load".into(), utilisation);
        }
        experiment.batches = self.variants().collect();
        experiment
    }

    fn variants(&self) -> impl Iterator<Item = Batch> {
        let mut batches = Vec::new();
        for &load in &self.loads {
            for &arrival in &self.arrivals {
                for &threads in &self.threads {
                    for deque in [DequeKind::Bounded, DequeKind::Unbounded] {
                        for stealing in [true, false] {
                            batches.push(Batch {
                                load,
                                arrival,
                                stealing,
                                deque,
                                threads,
                                repetitions: Vec::new(),
                            });
                        }
                    }
                }
            }
        }
        batches.into_iter()
    }

    /// Returns the number of repetitions of all variants together.
    pub(crate) fn steps(&self) -> usize {
        self.rounds * self.variants().count()
    }

    /// Estimates the time of the whole experiment from the time of a heavy task.
    pub(crate) fn estimate(&self, heavy: Duration) -> Duration {
        let once = |batch: &Batch| {
            let mean = match batch.load {
                Load::Skewed => (calls(self.heavy) + calls(1)) / 2.0,
                Load::Even => {
                    let range = self.heavy..=self.heavy + EVEN;
                    range.map(calls).sum::<f64>() / (EVEN + 1) as f64
                }
            };
            let tasks = (batch.threads * self.tasks) as f64;
            let work = tasks * mean / calls(self.heavy) * heavy.as_secs_f64();
            work / self.processors.min(batch.threads).max(1) as f64
        };
        let round: f64 = self.variants().map(|batch| once(&batch)).sum();
        Duration::try_from_secs_f64(round * self.rounds as f64).unwrap_or(Duration::MAX)
    }

    /// Returns the tasks of a round, which are the same for all variants with this load and number
    /// of threads.
    fn pieces(&self, batch: &Batch, round: usize) -> Vec<u64> {
        let tasks = batch.threads * self.tasks;
        let batch = match batch.load {
            Load::Skewed => workload::Batch::skewed(tasks, self.heavy),
            Load::Even => {
                let range = self.heavy..=self.heavy + EVEN;
                workload::Batch::random(tasks, range, self.seed.wrapping_add(round as u64))
            }
        };
        batch.pieces().to_vec()
    }

    /// Measures all variants: in a round each has one repetition, in an order that is shuffled for
    /// each round. Calls `watch` with the index of the variant and the repetition.
    pub(crate) fn measure(
        &self,
        heavy: Duration,
        mut watch: impl FnMut(usize, Repetition),
    ) -> Result<(), Error> {
        let variants: Vec<Batch> = self.variants().collect();
        let mut order: Vec<usize> = (0..variants.len()).collect();
        let mut random = fastrand::Rng::with_seed(self.seed);
        for round in 0..self.rounds {
            random.shuffle(&mut order);
            for &variant in &order {
                watch(variant, self.once(&variants[variant], round, heavy)?);
            }
        }
        Ok(())
    }

    fn once(&self, batch: &Batch, round: usize, heavy: Duration) -> Result<Repetition, Error> {
        let tasks = self.pieces(batch, round);
        let seed = self.seed.wrapping_add(round as u64);
        let schedule = (batch.arrival == Arrival::Running)
            .then(|| self.schedule(&tasks, batch.threads, heavy, seed));
        let name = format!("{} threads, {}", batch.threads, batch.series());
        let setting = Setting {
            name: &name,
            tasks: &tasks,
            threads: batch.threads,
            stealing: batch.stealing,
            schedule: schedule.as_deref(),
            seed,
        };
        match batch.deque {
            DequeKind::Bounded => setting.run(abp::Deque::with_capacity),
            // Starts with the smallest capacity, so that it has to grow.
            DequeKind::Unbounded => setting.run(|_| chase_lev::Deque::new()),
        }
    }

    /// Returns the arrival times of all tasks: in random order and at random distances, at
    /// [`UTILISATION`] of the rate that the processors can sustain.
    fn schedule(
        &self,
        tasks: &[u64],
        threads: usize,
        heavy: Duration,
        seed: u64,
    ) -> Vec<(Duration, usize)> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        random.shuffle(&mut order);
        let processors = self.processors.min(threads).max(1) as f64;
        let all = total(tasks, self.heavy, heavy) / processors / UTILISATION;
        let mean = all / tasks.len().max(1) as f64;
        let mut now = 0.0;
        let arrivals = order.into_iter().map(|task| {
            // Distances of independent arrivals are exponentially distributed.
            now -= mean * (1.0 - random.f64()).ln();
            (Duration::try_from_secs_f64(now).unwrap_or_default(), task)
        });
        arrivals.collect()
    }
}

/// Returns the number of calls of a task, to which its time is proportional.
fn calls(n: u64) -> f64 {
    2.0 * Fib::number(n + 1) as f64 - 1.0
}

/// Returns the seconds that all tasks take on one processor if a heavy one takes `time`.
fn total(tasks: &[u64], heavy: u64, time: Duration) -> f64 {
    let most = tasks.iter().copied().max().unwrap_or(0);
    let calls: Vec<f64> = (0..=most.max(heavy)).map(calls).collect();
    let all: f64 = tasks.iter().map(|&n| calls[n as usize]).sum();
    all / calls[heavy as usize] * time.as_secs_f64()
}

/// Estimates the time of a heavy task on this machine from the shortest of several runs of a
/// moderate one.
pub(crate) fn calibrate(heavy: u64) -> Duration {
    let moderate = heavy.min(25);
    let once = |_| {
        let start = Instant::now();
        black_box(workload::Batch::piece(black_box(moderate)));
        start.elapsed()
    };
    let shortest = (0..20).map(once).min().unwrap_or_default();
    shortest.mul_f64(calls(heavy) / calls(moderate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            loads: vec![Load::Even, Load::Skewed],
            arrivals: vec![Arrival::Batch, Arrival::Running],
            threads: vec![2, 3],
            tasks: 5,
            heavy: 8,
            rounds: 2,
            seed: 7,
            processors: 2,
        }
    }

    #[test]
    fn every_variant_is_measured_in_every_round() {
        let plan = plan();
        let mut experiment = plan.experiment();
        assert_eq!(experiment.batches.len(), 2 * 2 * 2 * 4);
        let heavy = calibrate(plan.heavy);
        plan.measure(heavy, |variant, once| {
            experiment.batches[variant].repetitions.push(once);
        })
        .unwrap();
        assert!(
            experiment
                .batches
                .iter()
                .all(|batch| batch.repetitions.len() == 2)
        );
        assert_eq!(plan.steps(), 2 * experiment.batches.len());
    }

    #[test]
    fn loads_are_those_of_the_report() {
        let plan = plan();
        let batch = |load| {
            let mut variants = plan.variants();
            variants.find(|batch| batch.load == load).unwrap()
        };
        let even = plan.pieces(&batch(Load::Even), 0);
        assert!(even.len() == 10 && even.iter().all(|n| (8..=12).contains(n)));
        assert_ne!(even, plan.pieces(&batch(Load::Even), 1));
        let skewed = plan.pieces(&batch(Load::Skewed), 0);
        assert_eq!(skewed, [[8; 5], [1; 5]].concat());
    }

    #[test]
    fn arrivals_take_as_long_as_the_work_and_a_little_more() {
        let plan = plan();
        let tasks = vec![8; 4000];
        let heavy = Duration::from_micros(100);
        let schedule = plan.schedule(&tasks, 3, heavy, 1);
        let (end, _) = schedule.last().unwrap();
        let ideal = 4000.0 * 100e-6 / 2.0;
        let ratio = end.as_secs_f64() / ideal;
        assert!((1.15..1.35).contains(&ratio), "{ratio}");
        let mut tasks: Vec<usize> = schedule.iter().map(|(_, task)| *task).collect();
        tasks.sort_unstable();
        assert!(tasks.into_iter().eq(0..4000));
    }

    #[test]
    fn the_estimate_is_work_by_processors() {
        let mut plan = plan();
        (plan.loads, plan.arrivals) = (vec![Load::Skewed], vec![Arrival::Batch]);
        (plan.threads, plan.tasks, plan.rounds) = (vec![4], 100, 1);
        let estimate = plan.estimate(Duration::from_millis(1)).as_secs_f64();
        // 200 heavy tasks and 200 of one call, on two processors, four variants.
        assert!((0.4..0.42).contains(&estimate), "{estimate}");
    }
}
