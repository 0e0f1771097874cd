//! Comparisons: the winners, and by how much they win.

use super::parts::{Cell, Table, article, figure};
use crate::charts::{self, SeriesIndex};
use crate::format::{escape, plural, range, ratio, seconds, sentence};
use crate::{Comparison, Contender, Results, Row};
use std::fmt::Write;

/// Returns the summary at the top of the page: a sentence and a table.
pub(super) fn summary(results: &Results) -> String {
    let decided: Vec<(&Comparison, &Row)> = results
        .comparisons
        .iter()
        .filter_map(|comparison| Some((comparison, comparison.winner()?)))
        .collect();
    if decided.is_empty() {
        return String::new();
    }
    let mut html = format!(
        "<section id=\"winners\"><h2>Who wins</h2>\n<p class=\"lead\">{}</p>\n\
         <p class=\"muted\">Shorter times are better. Times are medians of repeated runs; \
         contenders took turns, so that disturbances of the machine hit all of them alike.</p>\n",
        escape(&verdict(&decided))
    );
    let head = [
        ("workload", false),
        ("fastest", false),
        ("time", true),
        ("against serial code", true),
        ("best strategy against best rival", true),
        ("too close to call with", false),
    ];
    let mut table = Table::new("Who wins", &head).gist();
    for (comparison, winner) in decided {
        table.row(
            "",
            None,
            &[
                Cell::text(comparison.heading()),
                Cell::text(label(winner)),
                Cell::maybe(winner.median(), seconds),
                Cell::maybe(comparison.speedup(winner), ratio),
                Cell::maybe(against_rival(comparison), ratio),
                Cell::text(tied(comparison, winner)),
            ],
        );
    }
    html.push_str(&table.finish());
    html.push_str("</section>\n");
    html
}

/// Returns `stealing was the fastest in 2 of 3 workloads, sharing in 1.`
fn verdict(decided: &[(&Comparison, &Row)]) -> String {
    let mut wins: Vec<(&str, usize)> = Vec::new();
    for (_, row) in decided {
        match wins
            .iter_mut()
            .find(|(name, _)| *name == row.contender.name())
        {
            Some((_, count)) => *count += 1,
            None => wins.push((row.contender.name(), 1)),
        }
    }
    wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (name, count) = wins[0];
    let mut text = format!(
        "{name} was the fastest in {count} of {}",
        plural(decided.len(), "workload")
    );
    for (name, count) in &wins[1..] {
        let _ = write!(text, ", {name} in {count}");
    }
    let unclear = decided
        .iter()
        .filter(|(comparison, _)| !comparison.tied().is_empty())
        .count();
    if unclear > 0 {
        let _ = write!(
            text,
            "; in {unclear} of them another one was as fast, as far as these measurements tell"
        );
    }
    text + "."
}

/// Returns the factor by which the best strategy is faster than the best rival.
fn against_rival(comparison: &Comparison) -> Option<f64> {
    let best = |ours: fn(&Contender) -> bool| {
        let rows = comparison
            .rows
            .iter()
            .filter(|row| row.verified && ours(&row.contender));
        rows.filter_map(Row::median).min_by(f64::total_cmp)
    };
    let rival = best(|contender| matches!(contender, Contender::Rival(_)))?;
    let own = best(|contender| matches!(contender, Contender::Strategy(_)))?;
    (own > 0.0).then(|| rival / own)
}

/// Lists the rows that are not clearly slower than the winner, the first few by name.
fn tied(comparison: &Comparison, winner: &Row) -> String {
    let rows = comparison.tied();
    let name = |row: &&Row| {
        if row.workers == winner.workers {
            row.contender.to_string()
        } else {
            label(row)
        }
    };
    let mut names: Vec<String> = rows.iter().take(3).map(name).collect();
    match rows.len() {
        0 => names.push("–".into()),
        count if count > 3 => names.push(format!("{} more", count - 3)),
        _ => {}
    }
    names.join("; ")
}

/// Returns `stealing, 2 workers`.
fn label(row: &Row) -> String {
    match row.contender {
        Contender::Serial => "serial".into(),
        _ => format!("{}, {}", row.contender, plural(row.workers, "worker")),
    }
}

/// Returns one article per workload.
pub(super) fn section(results: &Results, series_index: &SeriesIndex) -> String {
    let mut html = String::new();
    for (i, comparison) in results.comparisons.iter().enumerate() {
        let mut body = String::new();
        if !comparison.about.is_empty() {
            let _ = writeln!(body, "<p>{}</p>", escape(&sentence(&comparison.about)));
        }
        if comparison.rows.iter().all(|row| row.samples.is_empty()) {
            body.push_str("<p>Nothing was measured before the command was stopped.</p>\n");
        } else {
            body.push_str(&figure(charts::bars(comparison, series_index), "bars"));
        }
        match charts::speedups(comparison, series_index) {
            Ok(None) => {}
            Ok(Some(chart)) => body.push_str(&figure(Ok(chart), "speedup")),
            Err(trouble) => body.push_str(&figure(Err(trouble), "speedup")),
        }
        body.push_str(&table(comparison));
        html.push_str(&article(
            &format!("comparison-{i}"),
            &comparison.heading(),
            &comparison.workload,
            None,
            &body,
        ));
    }
    html
}

fn table(comparison: &Comparison) -> String {
    let head = [
        ("contender", false),
        ("workers", true),
        ("median", true),
        ("middle half of the runs", true),
        ("speed-up", true),
        ("runs", true),
        ("result", false),
    ];
    let name = comparison.heading();
    let mut table = Table::new(&name, &head);
    let winner = comparison.winner();
    for row in &comparison.rows {
        let summary = row.summary();
        let won = winner.is_some_and(|winner| std::ptr::eq(winner, row));
        let (class, result) = match (won, row.verified, summary.is_some()) {
            (_, _, false) => ("", "not measured"),
            (true, ..) => ("winner", "right, fastest"),
            (false, true, _) => ("", "right"),
            (false, false, _) => ("wrong", "wrong"),
        };
        table.row(
            class,
            Some(row.contender.name()),
            &[
                Cell::text(row.contender.name()),
                Cell::number(row.workers as f64, row.workers.to_string()),
                Cell::maybe(summary.map(|s| s.median), seconds),
                summary.map_or_else(
                    || Cell::maybe(None, seconds),
                    |s| Cell::number(s.lower, range(s.lower, s.upper)),
                ),
                Cell::maybe(comparison.speedup(row), ratio),
                Cell::number(row.samples.len() as f64, row.samples.len().to_string()),
                Cell::text(result),
            ],
        );
    }
    table.finish()
}
