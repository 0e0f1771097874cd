//! Findings of a comparison: outputs, exit codes, times and memory of both programs.

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::path::Path;

use locksley_measure::table::{Style, Table};
use locksley_report::{self as report, Results, Summary};
use serde::Serialize;
use serde_json::{Value, json};

use super::build::Variant;
use super::child::Usage;
use crate::error::Error;
use crate::render::units::{bytes, digits, several, time};

/// Hashes of a run's standard output: of the whole, and of its lines in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Printed {
    whole: u64,
    lines: u64,
}

impl Printed {
    /// Reads the standard output of a run from its file.
    pub(super) fn read(path: &Path) -> Result<Printed, Error> {
        let file = File::open(path).map_err(|error| Error::file("read", path, &error))?;
        let mut reader = BufReader::new(file);
        let (mut whole, mut lines, mut line) = (DefaultHasher::new(), 0_u64, Vec::new());
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line);
            if read.map_err(|error| Error::file("read", path, &error))? == 0 {
                break;
            }
            line.hash(&mut whole);
            let mut one = DefaultHasher::new();
            line.hash(&mut one);
            lines = lines.wrapping_add(one.finish());
        }
        Ok(Printed {
            whole: whole.finish(),
            lines,
        })
    }
}

/// The runs of one program with one number of threads.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) variant: Variant,
    /// Value of `RAYON_NUM_THREADS`; `None` if the comparison did not set it.
    pub(super) threads: Option<usize>,
    pub(super) runs: Vec<Usage>,
    pub(super) printed: BTreeSet<Printed>,
    pub(super) ends: BTreeSet<String>,
}

impl Series {
    pub(super) fn new(variant: Variant, threads: Option<usize>) -> Series {
        Series {
            variant,
            threads,
            runs: Vec::new(),
            printed: BTreeSet::new(),
            ends: BTreeSet::new(),
        }
    }

    fn samples(&self, measure: Measure) -> Vec<f64> {
        self.runs.iter().map(|run| measure.of(run)).collect()
    }
}

/// A quantity that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Wall,
    Cpu,
    Memory,
}

impl Measure {
    const ALL: [Measure; 3] = [Measure::Wall, Measure::Cpu, Measure::Memory];

    fn name(self) -> &'static str {
        match self {
            Measure::Wall => "wall time",
            Measure::Cpu => "processor time",
            Measure::Memory => "peak memory",
        }
    }

    fn of(self, run: &Usage) -> f64 {
        match self {
            Measure::Wall => run.seconds,
            Measure::Cpu => run.cpu_seconds,
            Measure::Memory => run.peak_bytes as f64,
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Measure::Wall | Measure::Cpu => time(value),
            Measure::Memory => bytes(value as u64),
        }
    }
}

/// How far the outputs of both programs agree, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Agreement {
    /// Every run printed the same.
    Same,
    /// Every run printed the same lines, in an order that varies.
    SameLines,
    /// The output changes from run to run with rayon alone.
    Unstable,
    /// The outputs differ.
    Different,
}

/// Everything that a comparison found.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    pub(super) program: String,
    pub(super) command: String,
    /// The version of rayon-core that the project uses.
    pub(super) rayon: String,
    pub(super) rounds: usize,
    /// Both programs for each number of threads, rayon first.
    pub(super) series: Vec<Series>,
    pub(super) interrupted: bool,
}

/// Medians of both programs, and a summary of their ratios in each round.
struct Ratio {
    threads: Option<usize>,
    measure: Measure,
    rayon: f64,
    locksley: f64,
    ratio: Summary,
}

impl Ratio {
    fn verdict(&self) -> String {
        let percent = 100.0 * (self.ratio.median - 1.0);
        match self.ratio {
            Summary { lower, upper, .. } if lower <= 1.0 && upper >= 1.0 => "about the same".into(),
            _ if percent.abs() < 0.5 => "about the same".into(),
            _ if percent < 0.0 => format!("{:.0}% less on Locksley", -percent),
            _ => format!("{percent:.0}% more on Locksley"),
        }
    }
}

impl Findings {
    fn ends(&self, variant: Variant) -> BTreeSet<&str> {
        let series = self
            .series
            .iter()
            .filter(|series| series.variant == variant);
        series
            .flat_map(|series| series.ends.iter().map(String::as_str))
            .collect()
    }

    /// Compares the outputs with the same number of threads: a program may print that number.
    pub(super) fn agreement(&self) -> Agreement {
        let pairs = self.series.chunks_exact(2);
        let each = pairs.map(|pair| agreement(&pair[0].printed, &pair[1].printed));
        each.max().unwrap_or(Agreement::Same)
    }

    /// Returns `true` if both programs print the same and end alike, as far as that can be told.
    pub(super) fn is_correct(&self) -> bool {
        self.agreement() != Agreement::Different
            && self.ends(Variant::Rayon) == self.ends(Variant::Locksley)
    }

    fn runs(&self) -> usize {
        self.series.iter().map(|series| series.runs.len()).sum()
    }

    fn ratios(&self) -> Vec<Ratio> {
        let mut ratios = Vec::new();
        for pair in self.series.chunks_exact(2) {
            for measure in Measure::ALL {
                let [rayon, ours] = [&pair[0], &pair[1]].map(|series| series.samples(measure));
                let each: Vec<f64> = ours.iter().zip(&rayon).map(|(a, b)| a / b).collect();
                let summaries = [&rayon, &ours, &each].map(|samples| Summary::of(samples));
                if let [Some(rayon), Some(ours), Some(ratio)] = summaries {
                    ratios.push(Ratio {
                        threads: pair[0].threads,
                        measure,
                        rayon: rayon.median,
                        locksley: ours.median,
                        ratio,
                    });
                }
            }
        }
        ratios
    }

    /// Describes how far the outputs agree.
    fn output_text(&self) -> String {
        let runs = several(self.runs(), "run");
        match self.agreement() {
            Agreement::Same => format!("the same in all {runs}"),
            Agreement::SameLines => format!("the same lines in all {runs}, in varying order"),
            Agreement::Unstable => {
                "changes from run to run with rayon alone, and is not compared".to_owned()
            }
            Agreement::Different => "DIFFERENT with rayon and on Locksley".to_owned(),
        }
    }

    fn ends_text(&self) -> String {
        let [rayon, ours] = Variant::BOTH.map(|variant| self.ends(variant));
        let text = |ends: &BTreeSet<&str>| ends.iter().copied().collect::<Vec<_>>().join(", ");
        if rayon == ours {
            format!("{} with both", text(&rayon))
        } else {
            format!(
                "DIFFERENT: {} with rayon, {} on Locksley",
                text(&rayon),
                text(&ours)
            )
        }
    }

    /// Returns the comparison as text.
    pub(super) fn text(&self) -> String {
        let stopped = if self.interrupted {
            "interrupted: these are the results until then\n"
        } else {
            ""
        };
        let rounds = self.series.first().map_or(0, |series| series.runs.len());
        let title = format!(
            "{}: rayon-core {} and Locksley in turn, {} of {}\n  output      {}\n  exit codes  \
             {}\n",
            self.command,
            self.rayon,
            several(rounds.min(self.rounds), "round"),
            self.rounds,
            self.output_text(),
            self.ends_text()
        );
        let header = ["threads", "", "rayon", "Locksley", "ratio", "quartiles", ""];
        let mut table = Table::new(title, &header);
        for ratio in self.ratios() {
            let Summary {
                median,
                lower,
                upper,
                ..
            } = ratio.ratio;
            table.row(vec![
                threads_text(ratio.threads),
                ratio.measure.name().to_owned(),
                ratio.measure.text(ratio.rayon),
                ratio.measure.text(ratio.locksley),
                digits(median),
                format!("{} to {}", digits(lower), digits(upper)),
                format!("{:<24}", ratio.verdict()),
            ]);
        }
        format!("{stopped}{}", table.render(Style::Plain))
    }

    /// Returns the verdicts as sentences, for the page.
    pub(super) fn verdicts(&self) -> Vec<String> {
        let mut sentences = vec![
            format!("Standard output: {}.", self.output_text()),
            format!("Exit codes: {}.", self.ends_text()),
        ];
        for ratio in self.ratios() {
            sentences.push(format!(
                "{}, {}: {} with rayon, {} on Locksley, {}.",
                threads_text(ratio.threads),
                ratio.measure.name(),
                ratio.measure.text(ratio.rayon),
                ratio.measure.text(ratio.locksley),
                ratio.verdict()
            ));
        }
        sentences
    }

    /// Returns the comparison as JSON.
    pub(super) fn document(&self) -> Value {
        let series = self.series.iter().map(|series| {
            json!({
                "rayon_core": series.variant.name(),
                "threads": series.threads,
                "runs": series.runs,
            })
        });
        let ratios = self.ratios().into_iter().map(|ratio| {
            json!({
                "threads": ratio.threads,
                "measure": ratio.measure.name(),
                "rayon": ratio.rayon,
                "locksley": ratio.locksley,
                "ratio": ratio.ratio.median,
                "quartiles": [ratio.ratio.lower, ratio.ratio.upper],
                "verdict": ratio.verdict(),
            })
        });
        json!({
            "format": "locksley-drop-in-comparison/1",
            "program": self.program,
            "command": self.command,
            "rayon_core": self.rayon,
            "interrupted": self.interrupted,
            "output": self.agreement(),
            "correct": self.is_correct(),
            "series": series.collect::<Vec<_>>(),
            "ratios": ratios.collect::<Vec<_>>(),
        })
    }

    /// Returns wall and processor times as results, for the page.
    pub(super) fn results(&self, machine: report::Machine) -> Results {
        let title = format!("{}: rayon and Locksley", self.program);
        let mut results = Results::new(title, machine);
        results.command.clone_from(&self.command);
        results.interrupted = self.interrupted;
        results.notes = self.verdicts();
        for measure in [Measure::Wall, Measure::Cpu] {
            let mut comparison =
                report::Comparison::new(&self.program).with("time", measure.name());
            comparison.about = match measure {
                Measure::Wall => "from start to end",
                _ => "of all threads together, in the program and in the system",
            }
            .to_owned();
            for series in &self.series {
                let contender = match series.variant {
                    Variant::Rayon => report::Contender::rival("rayon"),
                    Variant::Locksley => report::Contender::strategy("locksley"),
                };
                let workers = series
                    .threads
                    .unwrap_or_else(|| locksley::available_cpus().count());
                let mut row = report::Row::new(contender, workers, series.samples(measure));
                row.verified = self.is_correct();
                comparison.rows.push(row);
            }
            results.comparisons.push(comparison);
        }
        results
    }
}

fn agreement(rayon: &BTreeSet<Printed>, ours: &BTreeSet<Printed>) -> Agreement {
    let lines = |set: &BTreeSet<Printed>| -> BTreeSet<u64> {
        set.iter().map(|printed| printed.lines).collect()
    };
    let (rayon_lines, our_lines) = (lines(rayon), lines(ours));
    if rayon == ours && rayon.len() <= 1 {
        Agreement::Same
    } else if rayon_lines == our_lines && rayon_lines.len() <= 1 {
        Agreement::SameLines
    } else if rayon_lines.len() > 1 {
        Agreement::Unstable
    } else {
        Agreement::Different
    }
}

fn threads_text(threads: Option<usize>) -> String {
    match threads {
        Some(threads) => threads.to_string(),
        None => "default".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(variant: Variant, seconds: [f64; 3], whole: u64, lines: u64) -> Series {
        let mut series = Series::new(variant, Some(2));
        series.runs = seconds
            .iter()
            .map(|&seconds| Usage {
                seconds,
                cpu_seconds: 2.0 * seconds,
                peak_bytes: 5_000_000,
                end: "exit 0".into(),
            })
            .collect();
        series.printed.insert(Printed { whole, lines });
        series.ends.insert("exit 0".into());
        series
    }

    fn findings(rayon: Series, ours: Series) -> Findings {
        Findings {
            program: "tool".into(),
            command: "tool --fast".into(),
            rayon: "1.13.0".into(),
            rounds: 3,
            series: vec![rayon, ours],
            interrupted: false,
        }
    }

    #[test]
    fn ratios_have_verdicts() {
        let rayon = series(Variant::Rayon, [1.0, 1.0, 1.0], 1, 1);
        let ours = series(Variant::Locksley, [0.5, 0.5, 0.5], 1, 1);
        let found = findings(rayon, ours);
        assert!(found.is_correct());
        let text = found.text();
        assert!(text.contains("50% less on Locksley"), "{text}");
        assert!(
            text.contains("about the same"),
            "memory is the same: {text}"
        );
        assert!(text.contains("the same in all 6 runs"), "{text}");
        assert_eq!(found.document()["ratios"][0]["ratio"], 0.5);
        let page = report::page(&found.results(report::Machine::new("x", 2)));
        assert!(
            page.contains("processor time"),
            "both times are on the page"
        );
    }

    #[test]
    fn outputs_are_told_apart() {
        let agreement = |rayon: &[(u64, u64)], ours: &[(u64, u64)]| {
            let make = |variant, printed: &[(u64, u64)]| {
                let mut series = series(variant, [1.0; 3], 0, 0);
                let printed = printed
                    .iter()
                    .map(|&(whole, lines)| Printed { whole, lines });
                series.printed = printed.collect();
                series
            };
            findings(make(Variant::Rayon, rayon), make(Variant::Locksley, ours)).agreement()
        };
        assert_eq!(agreement(&[(1, 1)], &[(1, 1)]), Agreement::Same);
        assert_eq!(agreement(&[(1, 1)], &[(2, 1)]), Agreement::SameLines);
        assert_eq!(
            agreement(&[(1, 1), (2, 1)], &[(1, 1)]),
            Agreement::SameLines
        );
        assert_eq!(agreement(&[(1, 1)], &[(2, 2)]), Agreement::Different);
        assert_eq!(
            agreement(&[(1, 1)], &[(1, 1), (2, 2)]),
            Agreement::Different
        );
        assert_eq!(agreement(&[(1, 1), (2, 2)], &[(3, 3)]), Agreement::Unstable);
    }

    #[test]
    fn outputs_may_depend_on_the_number_of_threads() {
        let mut found = findings(
            series(Variant::Rayon, [1.0; 3], 1, 1),
            series(Variant::Locksley, [1.0; 3], 1, 1),
        );
        let more = findings(
            series(Variant::Rayon, [1.0; 3], 2, 2),
            series(Variant::Locksley, [1.0; 3], 2, 2),
        );
        found.series.extend(more.series);
        assert_eq!(found.agreement(), Agreement::Same);
        found.series[3].printed = BTreeSet::from([Printed { whole: 3, lines: 3 }]);
        assert_eq!(found.agreement(), Agreement::Different);
    }

    #[test]
    fn exit_codes_count() {
        let rayon = series(Variant::Rayon, [1.0; 3], 1, 1);
        let mut ours = series(Variant::Locksley, [1.0; 3], 1, 1);
        ours.ends.insert("signal 6".into());
        let found = findings(rayon, ours);
        assert!(!found.is_correct());
        assert!(found.text().contains("exit 0, signal 6 on Locksley"));
    }
}
