//! The other sections: profiles, predictions, steals, loads, timelines and experiments.

use super::parts::{Cell, Table, article, figure};
use crate::charts::{self, Quantity, SeriesIndex};
use crate::format::{count, escape, number, plural, ratio, seconds};
use crate::results::{heading, spell};
use crate::{Arrival, Batch, Experiment, Load, Profile, Replay, Results, Summary};
use std::fmt::Write;

/// Returns one article per profile.
pub(super) fn profiles(results: &Results, _: &SeriesIndex) -> String {
    let mut html = String::new();
    for (i, profile) in results.profiles.iter().enumerate() {
        let mut body = format!(
            "<p>All of its work takes {}; the longest chain of steps that have to come one after \
             another, {}. So it could keep about <strong>{} processors</strong> busy{}.</p>\n",
            seconds(profile.work),
            seconds(profile.span),
            number(profile.parallelism()),
            burden(profile)
        );
        body.push_str(&figure(charts::profile(profile), "profile"));
        body.push_str(&profile_table(profile));
        html.push_str(&article(
            &format!("profile-{i}"),
            &profile.heading(),
            &profile.program,
            None,
            &body,
        ));
    }
    html
}

fn burden(profile: &Profile) -> String {
    if profile.burdened_span <= profile.span {
        return String::new();
    }
    format!(
        ", or {} with the cost of moving tasks between workers counted",
        number(profile.burdened_parallelism())
    )
}

fn profile_table(profile: &Profile) -> String {
    let head = [
        ("workers", true),
        ("time", true),
        ("speed-up", true),
        ("at least", true),
        ("at most", true),
    ];
    let name = profile.heading();
    let mut table = Table::new(&name, &head);
    for point in &profile.measured {
        table.row(
            "",
            None,
            &[
                Cell::number(point.workers as f64, point.workers.to_string()),
                Cell::maybe(point.summary().map(|s| s.median), seconds),
                Cell::maybe(profile.speedup(point), ratio),
                Cell::number(
                    profile.at_least(point.workers),
                    ratio(profile.at_least(point.workers)),
                ),
                Cell::number(
                    profile.at_most(point.workers),
                    ratio(profile.at_most(point.workers)),
                ),
            ],
        );
    }
    if profile.measured.is_empty() {
        String::new()
    } else {
        table.finish()
    }
}

/// Returns one article per recorded run.
pub(super) fn replays(results: &Results, series_index: &SeriesIndex) -> String {
    let mut html = String::new();
    for (i, replay) in results.replays.iter().enumerate() {
        let mut body = String::new();
        if replay.recorded_workers > 0 {
            let _ = writeln!(
                body,
                "<p>Recorded with {}.</p>",
                plural(replay.recorded_workers, "worker")
            );
        }
        body.push_str(&figure(charts::replay(replay, series_index), "replay"));
        body.push_str(&replay_table(replay));
        html.push_str(&article(
            &format!("replay-{i}"),
            &replay.heading(),
            &replay.program,
            None,
            &body,
        ));
    }
    html
}

/// Returns one article per program and network.
pub(super) fn scalings(results: &Results, series_index: &SeriesIndex) -> String {
    let mut html = String::new();
    for (i, scaling) in results.scalings.iter().enumerate() {
        let head = [("balancing", false), ("hosts", true), ("efficiency", true)];
        let name = scaling.heading();
        let mut table = Table::new(&name, &head);
        for point in &scaling.points {
            table.row(
                "",
                Some(&point.strategy),
                &[
                    Cell::text(&point.strategy),
                    Cell::number(point.hosts as f64, point.hosts.to_string()),
                    Cell::number(
                        point.efficiency,
                        format!("{:.1} %", 100.0 * point.efficiency),
                    ),
                ],
            );
        }
        let body = figure(charts::scaling(scaling, series_index), "scaling") + &table.finish();
        let id = format!("scaling-{i}");
        html.push_str(&article(&id, &name, &scaling.program, None, &body));
    }
    html
}

fn replay_table(replay: &Replay) -> String {
    let head = [
        ("strategy", false),
        ("processors", true),
        ("predicted", true),
        ("measured", true),
        ("prediction is off by", true),
    ];
    let name = replay.heading();
    let mut table = Table::new(&name, &head);
    for point in &replay.points {
        table.row(
            "",
            Some(&point.strategy),
            &[
                Cell::text(&point.strategy),
                Cell::number(point.workers as f64, point.workers.to_string()),
                Cell::number(point.predicted, seconds(point.predicted)),
                Cell::maybe(Summary::of(&point.measured).map(|s| s.median), seconds),
                Cell::maybe(point.error(), |error| {
                    format!("{:+.1} %", 100.0 * error).replace('-', "−")
                }),
            ],
        );
    }
    table.finish()
}

/// Returns one article per map of steals.
pub(super) fn steals(results: &Results, _: &SeriesIndex) -> String {
    let mut html = String::new();
    for (i, map) in results.steals.iter().enumerate() {
        let workers = plural(map.counts.len(), "worker");
        let group = charts::group(map);
        let many = if group > 1 {
            format!(" A row or column stands for {group} neighbours.")
        } else {
            String::new()
        };
        let body = format!(
            "<p>{} steals among {workers}.{many}</p>\n",
            count(map.total())
        ) + &figure(charts::heat(map), "heat");
        let title = format!(
            "{}, {}",
            heading(&map.program, &map.parameters),
            map.strategy
        );
        html.push_str(&article(
            &format!("steals-{i}"),
            &title,
            &map.program,
            Some(&map.strategy),
            &body,
        ));
    }
    html
}

/// Returns one article per curve. Curves of the same program have the same scale.
pub(super) fn loads(results: &Results, _: &SeriesIndex) -> String {
    let mut html = String::new();
    for (i, curve) in results.loads.iter().enumerate() {
        let same = results.loads.iter().filter(|other| {
            (&other.program, &other.parameters, other.workers)
                == (&curve.program, &curve.parameters, curve.workers)
        });
        let most = same
            .flat_map(|curve| &curve.points)
            .map(|point| point.max)
            .fold(0.0, f64::max);
        let title = format!(
            "{}, {}",
            heading(&curve.program, &curve.parameters),
            curve.strategy
        );
        let body = figure(charts::load(curve, most), "load");
        html.push_str(&article(
            &format!("load-{i}"),
            &title,
            &curve.program,
            Some(&curve.strategy),
            &body,
        ));
    }
    html
}

/// Returns one article per timeline.
pub(super) fn timelines(results: &Results, _: &SeriesIndex) -> String {
    let mut html = String::new();
    for (i, timeline) in results.timelines.iter().enumerate() {
        let chart = charts::timeline(timeline);
        let mut body = figure(chart, "timeline");
        if timeline.dropped > 0 {
            let _ = writeln!(
                body,
                "<p class=\"muted\">{} events did not fit into the trace.</p>",
                count(timeline.dropped)
            );
        }
        if timeline.arrows.len() > charts::ARROWS {
            let (some, all) = (
                count(charts::ARROWS as u64),
                count(timeline.arrows.len() as u64),
            );
            let _ = writeln!(
                body,
                "<p class=\"muted\">Of {all} arrows, at most {some} are drawn.</p>"
            );
        }
        if let Some(more) = timeline
            .tracks
            .len()
            .checked_sub(charts::TRACKS)
            .filter(|more| *more > 0)
        {
            let _ = writeln!(
                body,
                "<p class=\"muted\">{} more are not shown.</p>",
                plural(more, "worker")
            );
        }
        let title = format!(
            "{}, {}",
            heading(&timeline.program, &timeline.parameters),
            timeline.strategy
        );
        html.push_str(&article(
            &format!("timeline-{i}"),
            &title,
            &timeline.program,
            Some(&timeline.strategy),
            &body,
        ));
    }
    html
}

/// Returns one article per experiment, with a plot of each quantity for each kind of load.
pub(super) fn experiments(results: &Results, _: &SeriesIndex) -> String {
    let mut html = String::new();
    for (i, experiment) in results.experiments.iter().enumerate() {
        let mut body = format!(
            "<p>Each of N threads gets {}.",
            plural(experiment.tasks, "task")
        );
        if !experiment.parameters.is_empty() {
            let _ = write!(body, " {}.", escape(&spell(&experiment.parameters)));
        }
        body.push_str("</p>\n");
        for conclusion in &experiment.conclusions {
            let _ = writeln!(body, "<p class=\"note\">{}</p>", escape(conclusion));
        }
        for load in [Load::Even, Load::Skewed] {
            for arrival in [Arrival::Batch, Arrival::Running] {
                for quantity in Quantity::ALL {
                    match charts::experiment(experiment, (load, arrival), quantity) {
                        Ok(None) => {}
                        Ok(Some(chart)) => body.push_str(&figure(Ok(chart), "experiment")),
                        Err(trouble) => body.push_str(&figure(Err(trouble), "experiment")),
                    }
                }
            }
        }
        body.push_str(&experiment_table(experiment));
        html.push_str(&article(
            &format!("experiment-{i}"),
            &experiment.name,
            &experiment.name,
            None,
            &body,
        ));
    }
    html
}

fn experiment_table(experiment: &Experiment) -> String {
    let head = [
        ("load", false),
        ("tasks come", false),
        ("variant", false),
        ("threads", true),
        ("total time", true),
        ("waiting time", true),
        ("steals", true),
    ];
    let mut table = Table::new(&experiment.name, &head);
    let median = |summary: Option<Summary>| summary.map(|summary| summary.median);
    let mut batches: Vec<&Batch> = experiment.batches.iter().collect();
    batches.sort_by_key(|batch| (batch.load, batch.arrival, batch.series(), batch.threads));
    for batch in batches {
        table.row(
            "",
            None,
            &[
                Cell::text(batch.load.to_string()),
                Cell::text(batch.arrival.to_string()),
                Cell::text(batch.series()),
                Cell::number(batch.threads as f64, batch.threads.to_string()),
                Cell::maybe(median(batch.seconds()), seconds),
                Cell::maybe(median(batch.waiting()), seconds),
                Cell::maybe(
                    median(batch.steals()).filter(|_| batch.stealing),
                    |steals| count(steals as u64),
                ),
            ],
        );
    }
    table.finish()
}
