//! `cargo locksley xray`: shows where the time of a program goes, and predicts it for more
//! processors.
//!
//! The program runs on the drop-in several times: timed with 1, 2 and as many threads as there are
//! processors; once with a timeline (`LOCKSLEY_TRACE`); once with one thread while its forks and
//! joins are recorded (`LOCKSLEY_RECORD`, `LOCKSLEY_PROFILE`). The simulator then runs the
//! recording on 1 to 128 processors. The time that the program spends outside of the pool is its
//! wall time with one thread minus the recorded work; it is added to every prediction.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use locksley::Strategy;
use locksley_report::{self as report, ReplayPoint, Results, SpeedupPoint, Summary};
use locksley_sim::dag::{Computation, Graph};
use locksley_sim::simulate;
use locksley_trace::Trace;

use super::Selection;
use super::build::{self, Variant};
use super::child::{Runner, Usage};
use super::project::Project;
use crate::cli::Options;
use crate::commands::replay::{self, Latencies};
use crate::commands::{profile, trace};
use crate::error::Error;
use crate::measure::progress::Progress;
use crate::measure::recorder::{self, Loaded};
use crate::parse::ranges::{self, Numbers};
use crate::render::output::{Output, Session};
use crate::render::timeline;
use crate::render::units::{several, time};

/// Numbers of processors for which the forecast is made.
const FORECAST: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Durations in the forecast of an attempt to steal, of a fence, and of a step in a recording that
/// does not state it. These are the defaults of `locksley replay`.
const STEAL: Duration = Duration::from_nanos(200);
const FENCE: Duration = Duration::from_nanos(10);
const UNIT: Duration = Duration::from_nanos(200);

/// Number of steps to which a recording is coarsened: enough for two digits on 128 processors.
const STEPS: u64 = 1_000_000;

/// The forecast recommends the fewest processors whose time is within this factor of the best.
const WORTH: f64 = 1.1;

/// Runs the program on Locksley and shows what each thread did when, which thread stole from which,
/// work and span, and a forecast for up to 128 processors. Writes xray.json, .csv, .txt and .html,
/// and the files of the runs beside them.
#[derive(Args, Debug)]
pub(super) struct Xray {
    /// Timed runs for each number of threads.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=100_000),
    )]
    rounds: u32,
    /// Numbers of threads to measure [default: 1, 2 and one per processor].
    #[arg(long, value_name = "LIST", value_parser = ranges::workers)]
    threads: Option<Numbers>,
    #[command(flatten)]
    selection: Selection,
}

/// Timed runs with a number of threads.
struct Timed {
    threads: usize,
    runs: Vec<Usage>,
}

impl Timed {
    fn median(&self, of: fn(&Usage) -> f64) -> f64 {
        let samples: Vec<f64> = self.runs.iter().map(of).collect();
        Summary::of(&samples).map_or(0.0, |summary| summary.median)
    }
}

/// Work and span from the drop-in's profile, in seconds.
#[derive(Debug, PartialEq)]
struct Profiled {
    work: f64,
    span: f64,
    burdened_span: f64,
}

impl Profiled {
    /// Reads the file that `LOCKSLEY_PROFILE` names. Returns `None` if it is missing or malformed.
    fn read(path: &Path) -> Option<Profiled> {
        Profiled::parse(&std::fs::read_to_string(path).ok()?)
    }

    fn parse(text: &str) -> Option<Profiled> {
        let profile: serde_json::Value = serde_json::from_str(text).ok()?;
        let seconds = |name: &str| Some(profile[name].as_f64()? * 1e-9);
        Some(Profiled {
            work: seconds("work_ns")?,
            span: seconds("span_ns")?,
            burdened_span: seconds("burdened_span_ns")?,
        })
    }
}

/// The program and the context in which the command runs it.
struct Examination<'a> {
    program: PathBuf,
    name: String,
    runner: Runner,
    output: &'a Output,
    session: &'a Session,
}

impl Xray {
    pub(super) fn run(&self, options: &Options) -> Result<(), Error> {
        let arguments = self.selection.cargo_arguments();
        let project = Project::open(&arguments)?;
        let output = super::output(options, &project);
        let program = {
            let lock = project.lock_file()?;
            project.examine(&lock)?;
            build::program(&project, Variant::Locksley, &arguments)?
        };
        let session = Session::start(&output, "xray", "X-ray", text);
        let selection = &self.selection;
        let folder = project.folder.join("runs");
        let examination = Examination {
            name: build::name(&program),
            program,
            runner: Runner::new(folder, &selection.arguments, selection.stdin.as_ref())?,
            output: &output,
            session: &session,
        };
        let timed = self.measure(&examination)?;
        examination.timeline(timed.last().map_or(1, |timed| timed.threads))?;
        examination.record(&timed)?;
        session.results().notes.extend(advice(&timed));
        output.say(text(&session.results()));
        session.finish().map(drop)
    }

    fn threads(&self) -> Vec<usize> {
        if let Some(Numbers(threads)) = &self.threads {
            return threads.clone();
        }
        let most = locksley::available_cpus().count();
        let mut threads = vec![1, 2.min(most), most];
        threads.dedup();
        threads
    }

    fn measure(&self, examination: &Examination) -> Result<Vec<Timed>, Error> {
        let threads = self.threads();
        let steps = (self.rounds as usize * threads.len()) as u64;
        let progress = Progress::start(&examination.name, steps);
        let mut timed: Vec<Timed> = threads
            .into_iter()
            .map(|threads| Timed {
                threads,
                runs: Vec::new(),
            })
            .collect();
        for _ in 0..self.rounds {
            for timed in &mut timed {
                timed.runs.push(examination.once(timed.threads, &[])?);
                progress.step();
            }
        }
        Ok(timed)
    }
}

impl Examination<'_> {
    fn once(&self, threads: usize, environment: &[(&str, &Path)]) -> Result<Usage, Error> {
        let usage = self
            .runner
            .run(&self.program, "xray", Some(threads), environment)?;
        if usage.end == "exit 0" {
            return Ok(usage);
        }
        let said = std::fs::read_to_string(&self.runner.outputs("xray")[1]).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        Err(Error::Check(format!(
            "{} ended with {}, and printed:\n{}",
            self.name,
            usage.end,
            last.join("\n")
        )))
    }

    /// Returns the absolute path of a file that the drop-in is to write. Removes that of an earlier
    /// run.
    fn file(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = &self.output.folder;
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::file("create the folder", folder, &error))?;
        // Absolute, since the program may change its working directory.
        let path = folder.canonicalize().unwrap_or(folder.clone()).join(name);
        let _ = std::fs::remove_file(&path);
        Ok(path)
    }

    fn note(&self, note: String) {
        self.session.results().notes.push(note);
    }

    /// Runs the program with a timeline and adds it to the results.
    fn timeline(&self, threads: usize) -> Result<(), Error> {
        let file = self.file("xray.perfetto.json")?;
        let _progress = Progress::doing(&format!("tracing {}", self.name), 1);
        self.once(threads, &[("LOCKSLEY_TRACE", &file)])?;
        let Ok(trace) = std::fs::read_to_string(&file) else {
            self.note("There is no timeline: the program ended without using a pool.".into());
            return Ok(());
        };
        let trace = Trace::from_json(&trace)
            .map_err(|error| Error::System(format!("{}: {error}", file.display())))?;
        let (mut lines, mut steals) = timeline::of(&trace, threads);
        (lines.program, lines.strategy) = (self.name.clone(), Strategy::default().to_string());
        (steals.program, steals.strategy) = (lines.program.clone(), lines.strategy.clone());
        lines
            .parameters
            .insert(timeline::WORKERS.into(), threads.to_string());
        let mut results = self.session.results();
        results.timelines.push(lines);
        results.steals.push(steals);
        results.notes.push(format!(
            "{} opens at https://ui.perfetto.dev.",
            file.display()
        ));
        Ok(())
    }

    /// Records the forks and joins of a run, and adds the profile and the forecast to the results.
    fn record(&self, timed: &[Timed]) -> Result<(), Error> {
        let recording = self.file("xray.recording.json")?;
        let profile = self.file("xray.profile.json")?;
        let progress = Progress::doing(&format!("recording {}", self.name), 1);
        let most = FORECAST[FORECAST.len() - 1].to_string();
        let environment = [
            ("LOCKSLEY_RECORD", recording.as_path()),
            ("LOCKSLEY_PROFILE", profile.as_path()),
            // rayon's iterators split their work according to the number of threads.
            ("LOCKSLEY_REPRODUCIBLE", Path::new(&most)),
        ];
        self.once(1, &environment)?;
        drop(progress);
        if !recording.is_file() {
            self.note("There is no forecast: nothing was forked in a pool.".into());
            return Ok(());
        }
        let Loaded { graph, .. } = recorder::read(&recording)?;
        let parse = |graph: &str| {
            Graph::parse(graph).map_err(|error| {
                Error::System(format!(
                    "{} is not a recording: {error}",
                    recording.display()
                ))
            })
        };
        let parsed = parse(&graph)?;
        let unit = parsed.unit().unwrap_or(UNIT).as_secs_f64();
        let size = parsed.size();
        let mut graph = parse(&recorder::coarser(&graph, size.work, STEPS)?)?;
        let measured = Profiled::read(&profile).unwrap_or(Profiled {
            work: size.work as f64 * unit,
            span: size.span as f64 * unit,
            burdened_span: 0.0,
        });
        // A strand has at least one step, however short it is. So the length of a step is taken
        // from the profile, whose work excludes the cost of recording.
        let unit = (measured.work / graph.size().work.max(1) as f64).max(1e-9);
        let alone = timed.iter().find(|timed| timed.threads == 1);
        let alone = alone.map_or(measured.work, |timed| timed.median(|run| run.seconds));
        let outside = (alone - measured.work).max(0.0);
        self.profile(timed, &measured, outside);
        self.forecast(&mut graph, unit, outside, timed)
    }

    /// Adds work and span of the whole program. Time outside of the pool is on every path.
    fn profile(&self, timed: &[Timed], measured: &Profiled, outside: f64) {
        let [work, span, burdened] =
            [measured.work, measured.span, measured.burdened_span].map(|time| time + outside);
        let mut profile = report::Profile::new(&self.name, work, span, burdened);
        profile.strategy = Strategy::default().to_string();
        let points = timed.iter().map(|timed| SpeedupPoint {
            workers: timed.threads,
            samples: timed.runs.iter().map(|run| run.seconds).collect(),
        });
        profile.measured = points.collect();
        if let Some(alone) = timed.iter().find(|timed| timed.threads == 1) {
            profile.serial = alone.runs.iter().map(|run| run.seconds).collect();
        }
        self.session.results().profiles.push(profile);
        self.note(format!(
            "With one thread, {} of {} are spent outside of the pool, where threads do not help.",
            time(outside),
            time(work)
        ));
    }

    fn forecast(
        &self,
        graph: &mut Graph,
        unit: f64,
        outside: f64,
        timed: &[Timed],
    ) -> Result<(), Error> {
        let progress = Progress::doing("simulating", FORECAST.len() as u64);
        let strategy = Strategy::default();
        let latencies = Latencies {
            unit: Duration::from_secs_f64(unit),
            steal: STEAL,
            fence: FENCE,
        };
        let replay = report::Replay::new(&self.name, 1);
        self.session.results().replays.push(replay);
        for processors in FORECAST {
            let setup = latencies.setup(&strategy, processors);
            let simulated = simulate(graph, &setup).map_err(Error::usage)?;
            let measured = timed.iter().find(|timed| timed.threads == processors);
            let measured = measured.map(|timed| timed.runs.iter().map(|run| run.seconds).collect());
            let point = ReplayPoint {
                strategy: strategy.to_string(),
                workers: processors,
                predicted: outside + simulated.makespan as f64 * unit,
                measured: measured.unwrap_or_default(),
            };
            self.session.results().replays[0].points.push(point);
            progress.step();
        }
        let note = enough(&self.session.results().replays[0].points);
        self.session.results().notes.extend(note);
        Ok(())
    }
}

/// Returns a note on the number of processors beyond which the forecast gains little.
fn enough(points: &[ReplayPoint]) -> Option<String> {
    let best = points
        .iter()
        .map(|point| point.predicted)
        .fold(f64::INFINITY, f64::min);
    let point = points
        .iter()
        .find(|point| point.predicted <= WORTH * best)?;
    Some(format!(
        "Forecast: {} would take {}; more would save less than a tenth of that.",
        several(point.workers, "processor"),
        time(point.predicted)
    ))
}

/// Returns notes on the processor time that fewer threads saved, as measured.
fn advice(timed: &[Timed]) -> Vec<String> {
    let Some(most) = timed.last() else {
        return Vec::new();
    };
    let [wall, cpu]: [fn(&Usage) -> f64; 2] = [|run| run.seconds, |run| run.cpu_seconds];
    let fewer = timed.iter().filter(|timed| timed.threads < most.threads);
    fewer
        .filter(|_| most.median(wall) > 0.0 && most.median(cpu) > 0.0)
        .map(|fewer| {
            let saved = 100.0 * (1.0 - fewer.median(cpu) / most.median(cpu));
            let longer = 100.0 * (fewer.median(wall) / most.median(wall) - 1.0);
            format!(
                "Measured: {} instead of {} would {} of the processor time and take {} ({} instead \
                 of {}).",
                several(fewer.threads, "thread"),
                most.threads,
                share(saved, "save", "cost another", "%"),
                share(longer, "longer by", "less by", "%"),
                time(fewer.median(wall)),
                time(most.median(wall))
            )
        })
        .collect()
}

/// Returns `save 12%` or, if the percentage is negative, `cost another 12%`.
fn share(percent: f64, more: &str, less: &str, unit: &str) -> String {
    let word = if percent >= 0.0 { more } else { less };
    format!("{word} {:.0}{unit}", percent.abs())
}

/// Returns the results as text.
fn text(results: &Results) -> String {
    let mut text = String::new();
    if results.interrupted {
        text += "interrupted: these are the results until then\n";
    }
    text += &trace::text(results);
    text += &profile::text(results);
    if !results.replays.is_empty() {
        text += "Forecast by the simulator, and measurements on this machine\n";
        text += &replay::table(results);
    }
    for note in &results.notes {
        text += &format!("{note}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(threads: usize, seconds: f64, cpu_seconds: f64) -> Timed {
        let run = Usage {
            seconds,
            cpu_seconds,
            peak_bytes: 1,
            end: "exit 0".into(),
        };
        Timed {
            threads,
            runs: vec![run; 3],
        }
    }

    #[test]
    fn fewer_threads_are_judged_by_what_was_measured() {
        let advice = advice(&[timed(1, 1.5, 1.5), timed(2, 1.0, 2.0)]);
        assert_eq!(
            advice,
            [
                "Measured: 1 thread instead of 2 would save 25% of the processor time and take \
                 longer by 50% (1.50 s instead of 1.00 s)."
            ]
        );
    }

    #[test]
    fn a_profile_of_the_drop_in_is_read() {
        let text = r#"{"format": "locksley-profile/1", "work_ns": 4000000000, "span_ns": 500000000,
            "burdened_span_ns": 1000000000, "burden_ns": 15000, "bounds": []}"#;
        let profile = Profiled::parse(text).unwrap();
        assert_eq!((profile.work, profile.burdened_span), (4.0, 1.0));
        assert_eq!(Profiled::parse("{}"), None);
    }

    #[test]
    fn the_forecast_names_where_it_flattens() {
        let point = |workers, predicted| ReplayPoint {
            strategy: String::new(),
            workers,
            predicted,
            measured: Vec::new(),
        };
        let points = [point(1, 8.0), point(2, 4.0), point(4, 2.1), point(8, 2.0)];
        let note = enough(&points).unwrap();
        assert!(note.contains("4 processors would take 2.10 s"), "{note}");
    }
}
