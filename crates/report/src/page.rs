//! One self-contained HTML page.
//!
//! It needs no network and no script: everything is in the file, and a Content-Security-Policy
//! forbids anything else. The script, if it may run, adds a switch for light and dark, filters,
//! sorting, and a zoom for timelines. The policy admits only this script and this style sheet, by
//! their hashes, so that even markup that bypassed the escaping could not run.

mod comparisons;
mod glossary;
mod others;
mod parts;

use crate::Results;
use crate::charts::{self, SeriesIndex};
use crate::format::{escape, plural};
use sha2::{Digest, Sha256};
use std::fmt::Write;

const SCRIPT: &str = include_str!("page/script.js");

/// A section of the page.
struct Section {
    id: &'static str,
    title: &'static str,
    /// Explanation for readers without knowledge of scheduling.
    explanation: &'static str,
    body: fn(&Results, &SeriesIndex) -> String,
}

const SECTIONS: [Section; 8] = [
    Section {
        id: "comparisons",
        title: "Which way of scheduling is faster?",
        explanation: "Each workload is a real program, cut into small tasks; a strategy decides \
                      which worker runs which task, and here the same program runs under each of \
                      them. A bar is the median time of a run, and the thin mark at its end spans \
                      the middle half of all runs: where marks overlap, the difference may be \
                      chance.",
        body: comparisons::section,
    },
    Section {
        id: "profiles",
        title: "How parallel is the program?",
        explanation: "Even with endless processors, a program takes as long as its longest chain \
                      of steps that wait for each other; this shows how far more workers can help, \
                      and how far they did.",
        body: others::profiles,
    },
    Section {
        id: "replays",
        title: "What would it do on another machine?",
        explanation: "A recorded run is played again in a simulator, with other numbers of \
                      processors; where this machine has as many, the rings show what was \
                      measured, so that you can judge the predictions.",
        body: others::replays,
    },
    Section {
        id: "scalings",
        title: "How far does it scale?",
        explanation: "The same program on more and more hosts that balance their loads by \
                      messages; the efficiency is the part of the cores' time that was work, and \
                      the rest was waiting.",
        body: others::scalings,
    },
    Section {
        id: "steals",
        title: "Who stole from whom",
        explanation: "A worker that runs out of tasks takes some from another one; each square \
                      counts the tasks that the worker of its row took from the worker of its \
                      column.",
        body: others::steals,
    },
    Section {
        id: "loads",
        title: "How much work was waiting",
        explanation: "The tasks that lie ready at each worker, over time: a good strategy keeps \
                      the largest pile close to the average.",
        body: others::loads,
    },
    Section {
        id: "timelines",
        title: "What each worker did when",
        explanation: "A row is a worker, time runs from left to right, and an arrow is a task that \
                      went from one worker to another; the less searching and sleeping, the better \
                      the work is spread.",
        body: others::timelines,
    },
    Section {
        id: "experiments",
        title: "Batches of tasks, with and without stealing",
        explanation: "Every thread starts with its own pile of tasks, either of mixed sizes for \
                      all (even), or large for one half of the threads and tiny for the other \
                      (skewed); then threads that are done help the others, or not.",
        body: others::experiments,
    },
];

/// Returns the whole page.
///
/// ```
/// use locksley_report::{Comparison, Contender, Machine, Results, Row, page};
///
/// let mut fib = Comparison::new("fib <b>").with("n", 30);
/// fib.rows.push(Row::new(Contender::Serial, 1, vec![1.0]));
/// fib.rows.push(Row::new(Contender::strategy("stealing"), 2, vec![0.5]));
/// let mut results = Results::new("Tour", Machine::new("a laptop", 8));
/// results.comparisons.push(fib);
///
/// let html = page(&results);
/// assert!(html.starts_with("<!doctype html>") && html.contains("<svg"));
/// assert!(html.contains("fib &lt;b&gt;") && !html.contains("fib <b>"));
/// ```
pub fn page(results: &Results) -> String {
    let series_index = series_index(results);
    let style = charts::style_sheet() + include_str!("page/style.css");
    let title = if results.title.is_empty() {
        "Locksley: results"
    } else {
        &results.title
    };
    let sections: Vec<(&Section, String)> = SECTIONS
        .iter()
        .map(|section| (section, (section.body)(results, &series_index)))
        .filter(|(_, body)| !body.is_empty())
        .collect();
    let mut html = head(title, &style);
    html.push_str(&opening(title, results));
    html.push_str(&contents(results, &sections));
    html.push_str("<main>\n");
    html.push_str(&controls(results, &series_index));
    html.push_str(&comparisons::summary(results));
    if sections.is_empty() {
        html.push_str("<p class=\"note\">Nothing has been measured.</p>\n");
    }
    for (section, body) in &sections {
        let Section {
            id,
            title,
            explanation,
            ..
        } = section;
        let _ = write!(
            html,
            "<section id=\"{id}\"><h2>{title}</h2>\n<p>{explanation}</p>\n{body}</section>\n"
        );
    }
    html.push_str(&glossary::section(&series_index));
    let _ = write!(
        html,
        "</main>\n\
         <footer class=\"muted\"><p>Made by Locksley. This file needs no network.</p></footer>\n\
         <script>{SCRIPT}</script>\n</body></html>\n"
    );
    html
}

/// Numbers all contenders.
fn series_index(results: &Results) -> SeriesIndex {
    let rows = results
        .comparisons
        .iter()
        .flat_map(|comparison| &comparison.rows)
        .map(|row| row.contender.name());
    let replayed = results
        .replays
        .iter()
        .flat_map(|replay| &replay.points)
        .map(|point| point.strategy.as_str());
    let scaled = results
        .scalings
        .iter()
        .flat_map(|scaling| &scaling.points)
        .map(|point| point.strategy.as_str());
    let steals = results.steals.iter().map(|map| map.strategy.as_str());
    let loads = results.loads.iter().map(|curve| curve.strategy.as_str());
    let timelines = results
        .timelines
        .iter()
        .map(|timeline| timeline.strategy.as_str());
    SeriesIndex::new(
        rows.chain(replayed)
            .chain(steals)
            .chain(loads)
            .chain(timelines)
            .chain(scaled),
    )
}

fn head(title: &str, style: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{style}</style></head>\n\
         <body>\n",
        hash(style),
        hash(SCRIPT),
        escape(title)
    )
}

/// Returns the source that a policy names for inline text: `sha256-` and the hash in base 64.
fn hash(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::from("sha256-");
    for chunk in Sha256::digest(text.as_bytes()).chunks(3) {
        let bits = chunk
            .iter()
            .fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            encoded.push(if digit > chunk.len() {
                '='
            } else {
                char::from(DIGITS[index as usize])
            });
        }
    }
    encoded
}

fn opening(title: &str, results: &Results) -> String {
    let machine = &results.machine;
    let mut facts = Vec::new();
    if !machine.description.is_empty() {
        facts.push(machine.description.clone());
    }
    if machine.processors > 0 {
        facts.push(plural(machine.processors, "processor"));
    }
    facts.extend(machine.system.iter().chain(&machine.compiler).cloned());
    let mut html = format!("<header><h1>{}</h1>\n", escape(title));
    if !facts.is_empty() {
        let _ = writeln!(html, "<p>Measured on {}.</p>", escape(&facts.join(", ")));
    }
    if let Some(made) = &results.made {
        let by = if results.command.is_empty() {
            "."
        } else {
            " by"
        };
        let (exact, shown) = (escape(made), escape(&date(made)));
        let _ = writeln!(
            html,
            "<p class=\"muted\">Made <time datetime=\"{exact}\">{shown}</time>{by}</p>"
        );
    }
    if !results.command.is_empty() {
        let _ = writeln!(html, "<pre>{}</pre>", escape(&results.command));
    }
    if results.interrupted {
        html.push_str(
            "<p class=\"note\">The command was stopped before it was done: this is what had been \
             measured until then.</p>\n",
        );
    }
    for note in &results.notes {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(note));
    }
    html.push_str("</header>\n");
    html
}

/// Formats `2026-03-01T12:00:00Z` as `2026-03-01 12:00 UTC`, and returns anything else unchanged.
fn date(made: &str) -> String {
    match (
        made.get(..10),
        made.get(10..11),
        made.get(11..16),
        made.get(16..),
    ) {
        (Some(day), Some("T"), Some(time), Some(rest)) if rest.ends_with('Z') => {
            format!("{day} {time} UTC")
        }
        _ => made.to_owned(),
    }
}

fn contents(results: &Results, sections: &[(&Section, String)]) -> String {
    let mut html = String::from("<header><nav aria-label=\"Contents\"><ul>");
    if results
        .comparisons
        .iter()
        .any(|comparison| comparison.winner().is_some())
    {
        html.push_str("<li><a href=\"#winners\">Who wins</a></li>");
    }
    for (section, _) in sections {
        let _ = write!(
            html,
            "<li><a href=\"#{}\">{}</a></li>",
            section.id, section.title
        );
    }
    html.push_str("<li><a href=\"#words\">Words</a></li></ul></nav></header>\n");
    html
}

/// Returns the controls for the script, which are hidden without it.
fn controls(results: &Results, series_index: &SeriesIndex) -> String {
    let mut html = String::from(
        "<div class=\"controls\"><button type=\"button\" id=\"theme\">Dark colours</button>\n",
    );
    let workloads = workloads(results);
    if workloads.len() > 1 {
        html.push_str("<label>Workload <select id=\"workload\"><option value=\"\">all</option>");
        for name in workloads {
            let _ = write!(html, "<option value=\"{0}\">{0}</option>", escape(name));
        }
        html.push_str("</select></label>\n");
    }
    if series_index.names().len() > 1 {
        html.push_str("<fieldset id=\"contenders\"><legend>Show</legend>");
        for name in series_index.names() {
            let name = escape(name);
            let _ = write!(
                html,
                "<label><input type=\"checkbox\" checked value=\"{name}\">{name}</label>"
            );
        }
        html.push_str("</fieldset>\n");
    }
    html + "</div>\n"
}

/// Returns the names of all programs, sorted, without duplicates.
fn workloads(results: &Results) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    names.extend(
        results
            .comparisons
            .iter()
            .map(|comparison| comparison.workload.as_str()),
    );
    names.extend(
        results
            .profiles
            .iter()
            .map(|profile| profile.program.as_str()),
    );
    names.extend(results.replays.iter().map(|replay| replay.program.as_str()));
    names.extend(
        results
            .scalings
            .iter()
            .map(|scaling| scaling.program.as_str()),
    );
    names.extend(results.steals.iter().map(|map| map.program.as_str()));
    names.extend(results.loads.iter().map(|curve| curve.program.as_str()));
    names.extend(
        results
            .timelines
            .iter()
            .map(|timeline| timeline.program.as_str()),
    );
    names.extend(
        results
            .experiments
            .iter()
            .map(|experiment| experiment.name.as_str()),
    );
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard() {
        // FIPS 180-2, appendix B.1, in base 64.
        assert_eq!(
            hash("abc"),
            "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
        );
    }
}
