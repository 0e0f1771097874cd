//! `locksley profile`: measures work and span, and shows possible and measured speed-ups.

use clap::Args;
use locksley::{Pool, Profile, Strategy};
use locksley_measure::runtimes::FreeJoin;
use locksley_measure::table::{Style, Table};
use locksley_report::{self as report, Results, SpeedupPoint};
use locksley_workload::catalog::{Spec, Visitor};
use locksley_workload::{Program, Task};

use crate::error::Error;
use crate::measure::comparison::{self, Runtime};
use crate::measure::progress::Progress;
use crate::measure::recorder;
use crate::parse::names;
use crate::parse::ranges::{self, Numbers};
use crate::render::output::{Output, Session};
use crate::render::tables;
use crate::render::units::{digits, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley profile sort:n=200000                    what serial merges cost
  locksley profile sort:n=200000,merge=parallel     the same with parallel merges
  locksley profile heat --workers 1:4 --strategy steal-half";

/// Numbers of workers for which bounds are shown, beside those that are measured.
const BOUNDS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Shows work, span and parallelism of a program, upper and lower bounds of its speed-up, and
/// measured speed-ups. Writes profile.json, .csv, .txt and .html. For a program of your own, see
/// `Pool::profile`.
#[derive(Args)]
pub(crate) struct ProfileRun {
    /// Workload, with parameters or without: sort:n=200000, queens:n=10.
    workload: String,
    /// Strategy of the pool for the measurements.
    #[arg(long, default_value = "stealing")]
    strategy: String,
    /// Numbers of workers to measure: 4, 1:8, 1,2,4 [default: 1 to one per processor].
    #[arg(long, value_name = "RANGE", value_parser = ranges::workers)]
    workers: Option<Numbers>,
    /// Samples of each measurement.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 7,
        value_parser = clap::value_parser!(u32).range(1..=10_000),
    )]
    rounds: u32,
    /// A larger workload.
    #[arg(long)]
    full: bool,
}

struct Profiled<'a>(&'a Spec);

impl Visitor for Profiled<'_> {
    type Output = Result<Profile, Error>;

    fn visit<P: Program>(self, mut program: P) -> Result<Profile, Error> {
        recorder::refuse_many_forks(self.0, &mut program)?;
        // One worker, so that no other one shares the caches. Frames of recorded joins need larger
        // stacks.
        let pool = Pool::builder()
            .workers(1)
            .stack_size(4 * self.0.stack())
            .build()?;
        let task = program.task();
        let (output, profile) = pool.profile(move || task.run(FreeJoin));
        program
            .check(output)
            .map_err(|wrong| Error::wrong(self.0, &wrong))?;
        Ok(profile)
    }
}

impl ProfileRun {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let spec = names::workload(&self.workload, self.full)?;
        let strategy = names::strategy(&self.strategy)?;
        let session = Session::start(output, "profile", "Profile", text);
        let profile = {
            let _progress = Progress::doing(&format!("profiling {spec}"), 1);
            comparison::visit(&spec, Profiled(&spec))??
        };
        session
            .results()
            .profiles
            .push(started(&spec, strategy, &profile));
        self.measure(&spec, strategy, &session)?;
        output.say(text(&session.results()));
        session.finish().map(drop)
    }

    fn measure(&self, spec: &Spec, strategy: Strategy, session: &Session) -> Result<(), Error> {
        let workers = match &self.workers {
            Some(Numbers(workers)) => workers.clone(),
            None => (1..=locksley::available_cpus().count()).collect(),
        };
        let candidates =
            comparison::candidates(&[Runtime::Serial, Runtime::Ours(strategy)], &workers);
        let plan = comparison::plan(self.rounds as usize, None, 1);
        comparison::hold(spec, &candidates, &plan, &mut |index, seconds| {
            let profile = &mut session.results().profiles[0];
            let workers = candidates[index].workers;
            let measured = &mut profile.measured;
            match candidates[index].runtime {
                Runtime::Serial => profile.serial.push(seconds),
                _ => match measured.iter_mut().find(|point| point.workers == workers) {
                    Some(point) => point.samples.push(seconds),
                    None => measured.push(SpeedupPoint {
                        workers,
                        samples: vec![seconds],
                    }),
                },
            }
            measured.sort_by_key(|point| point.workers);
        })
    }
}

/// Returns a profile without measured times.
fn started(spec: &Spec, strategy: Strategy, profile: &Profile) -> report::Profile {
    let [work, span, burdened] =
        [profile.work, profile.span, profile.burdened_span].map(|time| time.as_secs_f64());
    let mut started = report::Profile::new(spec.entry().name, work, span, burdened);
    started.parameters = tables::parameters(spec);
    started.strategy = strategy.to_string();
    started
}

pub(crate) fn text(results: &Results) -> String {
    results.profiles.iter().map(one).collect()
}

fn one(profile: &report::Profile) -> String {
    let mut text = format!(
        "{}\n  work                  {}\n  span                  {}\n  parallelism           {}\n  \
         burdened parallelism  {}   if every forked task goes to another worker\n",
        profile.heading(),
        time(profile.work),
        time(profile.span),
        digits(profile.parallelism()),
        digits(profile.burdened_parallelism()),
    );
    let measured = |workers| {
        profile
            .measured
            .iter()
            .find(|point| point.workers == workers)
    };
    let mut counts: Vec<usize> = profile.measured.iter().map(|point| point.workers).collect();
    counts.extend(BOUNDS);
    counts.sort_unstable();
    counts.dedup();
    let title = format!("Speed-up under {}, against serial code", profile.strategy);
    let mut table = Table::new(title, &["workers", "at most", "at least", "measured"]);
    for workers in counts {
        let seen = measured(workers).and_then(|point| profile.speedup(point));
        table.row(vec![
            workers.to_string(),
            digits(profile.at_most(workers)),
            digits(profile.at_least(workers)),
            seen.map(digits).unwrap_or_default(),
        ]);
    }
    text += &table.render(Style::Plain);
    text +=
        "  at most: no scheduler does better; at least: a greedy one that pays for every steal\n";
    text + &outside_of_bounds(profile)
}

/// Comments on measured speed-ups that are outside of their bounds by more than a tenth.
fn outside_of_bounds(profile: &report::Profile) -> String {
    const SLACK: f64 = 1.1;
    let comment = |point: &SpeedupPoint| {
        let (workers, seen) = (point.workers, profile.speedup(point)?);
        if seen > SLACK * profile.at_most(workers) {
            Some(format!(
                "  {}: more than the bound, which is computed from a recorded run: recording makes \
                 short strands longer, and\n  several workers have more cache than one\n",
                several(workers, "worker")
            ))
        } else if SLACK * seen < profile.at_least(workers) {
            Some(format!(
                "  {}: less than expected: the bounds do not include the cost of forks against \
                 serial code,\n  other programs on the machine, and caches and memory that workers \
                 share\n",
                several(workers, "worker")
            ))
        } else {
            None
        }
    };
    profile.measured.iter().filter_map(comment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_outside_of_its_bounds_gets_a_comment() {
        let comment = |seconds| {
            let mut profile = report::Profile::new("fib", 8.0, 1.0, 1.0);
            profile.serial = vec![8.0];
            profile.measured.push(SpeedupPoint {
                workers: 2,
                samples: vec![seconds],
            });
            outside_of_bounds(&profile)
        };
        assert_eq!(comment(4.5), "");
        assert!(comment(3.0).starts_with("  2 workers: more than the bound"));
        assert!(comment(8.0).starts_with("  2 workers: less than expected"));
    }
}
