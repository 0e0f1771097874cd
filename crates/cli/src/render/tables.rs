//! Formats comparisons as text.

use locksley_measure::table::{Style, Table};
use locksley_report::{Comparison, Contender, Parameters, Results, Row};
use locksley_workload::catalog::Spec;

use crate::measure::comparison::Candidate;
use crate::render::units::{digits, time};

/// Mark of the fastest row.
pub(crate) const WINNER: &str = "<- winner";

/// Mark of rows whose quartiles overlap the winner's.
const TIED: &str = "   about the same";

/// Returns the parameters of a workload, for results.
pub(crate) fn parameters(spec: &Spec) -> Parameters {
    let names = spec
        .entry()
        .parameters
        .iter()
        .map(|parameter| parameter.name);
    let pairs = names.filter_map(|name| Some((name.to_owned(), spec.value(name)?.to_string())));
    pairs.collect()
}

/// Returns a comparison without measurements, with a row for each candidate.
pub(crate) fn comparison(spec: &Spec, candidates: &[Candidate]) -> Comparison {
    let mut comparison = Comparison::new(spec.entry().name);
    comparison.parameters = parameters(spec);
    comparison.about = spec.entry().about.to_owned();
    let rows = candidates
        .iter()
        .map(|candidate| Row::new(candidate.contender(), candidate.workers, Vec::new()));
    comparison.rows = rows.collect();
    comparison
}

/// Formats all comparisons of `results`.
pub(crate) fn comparisons(results: &Results) -> String {
    let mut text = String::new();
    if results.interrupted {
        text += "interrupted: these are the results until then\n\n";
    }
    for note in &results.notes {
        text += &format!("note: {note}\n");
    }
    let tables: Vec<String> = results.comparisons.iter().map(table).collect();
    text + &tables.join("\n")
}

/// Formats one comparison, with the winner marked.
pub(crate) fn table(comparison: &Comparison) -> String {
    let title = format!("{}: {}", comparison.heading(), comparison.about);
    let header = ["", "workers", "median", "quartiles", "speed-up", ""];
    let mut table = Table::new(title, &header);
    let (winner, tied) = (comparison.winner(), comparison.tied());
    for row in &comparison.rows {
        let Some(summary) = row.summary() else {
            continue;
        };
        let mark = match () {
            () if winner.is_some_and(|winner| std::ptr::eq(winner, row)) => WINNER,
            () if tied.iter().any(|tied| std::ptr::eq(*tied, row)) => TIED,
            () => "",
        };
        table.row(vec![
            row.contender.to_string(),
            row.workers.to_string(),
            time(summary.median),
            format!("{} to {}", time(summary.lower), time(summary.upper)),
            comparison.speedup(row).map(digits).unwrap_or_default(),
            format!("{mark:<17}"),
        ]);
    }
    table.render(Style::Plain)
}

/// Names the fastest candidate in a sentence.
pub(crate) fn verdict(comparison: &Comparison) -> Option<String> {
    let winner = comparison.winner()?;
    let who = match &winner.contender {
        Contender::Serial => "serial code".to_owned(),
        Contender::Rival(name) => format!("{name}, a rival,"),
        Contender::Strategy(name) => name.clone(),
    };
    let speedup = match comparison.speedup(winner) {
        Some(speedup) if winner.contender != Contender::Serial => {
            format!(", {} times as fast as serial code", digits(speedup))
        }
        _ => String::new(),
    };
    let tied = comparison.tied().len();
    let others = match tied {
        0 => String::new(),
        1 => "; one other is about as fast".to_owned(),
        _ => format!("; {tied} others are about as fast"),
    };
    let (name, median) = (&comparison.workload, time(winner.median()?));
    Some(format!("{name}: {who} wins with {median}{speedup}{others}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Comparison {
        let mut comparison = Comparison::new("fib").with("n", 30);
        comparison.about = "forks".into();
        comparison.rows = vec![
            Row::new(Contender::Serial, 1, vec![0.4, 0.4, 0.41]),
            Row::new(Contender::strategy("abp"), 2, vec![0.2, 0.2, 0.21]),
            Row::new(Contender::rival("rayon"), 2, vec![0.3, 0.3, 0.31]),
            Row::new(Contender::rival("chili"), 2, vec![]),
        ];
        comparison
    }

    #[test]
    fn the_winner_is_marked_and_rows_without_samples_are_left_out() {
        let text = table(&sample());
        let winner: Vec<&str> = text.lines().filter(|line| line.contains(WINNER)).collect();
        assert_eq!(winner.len(), 1, "{text}");
        assert!(
            winner[0].contains("abp") && winner[0].contains("2.00"),
            "{text}"
        );
        assert!(!text.contains("chili"), "{text}");
    }

    #[test]
    fn the_verdict_names_the_winner() {
        assert_eq!(
            verdict(&sample()).unwrap(),
            "fib: abp wins with 200 ms, 2.00 times as fast as serial code"
        );
        assert_eq!(verdict(&Comparison::new("fib")), None);
    }
}
