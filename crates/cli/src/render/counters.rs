//! The pool's counters as a table: a row for each counter that is not 0, a column for each worker.

use locksley::{Stats, WorkerStats};
use locksley_measure::table::{Style, Table};

use crate::render::units::count;

/// Meanings of the counters. A counter without an entry is shown by its name.
const MEANINGS: [(&str, &str); 35] = [
    ("tasks", "tasks run"),
    ("steal_attempts", "attempts to steal"),
    ("chosen", "  with a victim that the policy chose"),
    ("skipped", "searches that the policy skipped"),
    ("steals", "tasks stolen"),
    ("empty", "attempts that found nothing"),
    ("retried", "attempts that lost a race"),
    ("private", "attempts that found private work only"),
    ("leapfrogged", "tasks stolen from an awaited thief"),
    ("balanced", "attempts to even out the queues"),
    ("batch_stolen", "tasks moved along with a stolen one"),
    ("offered", "tasks offered to idle workers"),
    ("refused", "offers for which no worker was idle"),
    ("mailed", "offers left in mailboxes"),
    ("accepted", "offers accepted"),
    ("late", "offers that came too late"),
    ("ghosts", "accepted offers found in the own queue"),
    ("dealt", "tasks dealt to other workers"),
    ("kept", "tasks dealt to itself"),
    ("collected", "dealt tasks received"),
    ("recalled", "dealt tasks taken back"),
    ("near", "tasks spawned near a worker"),
    ("hits", "tasks run by the worker they were spawned near"),
    ("handed", "tasks handed to the pool's queue"),
    ("exposed", "tasks made public on demand"),
    ("fences", "memory fences"),
    ("rmws", "atomic read-modify-writes"),
    ("membarriers", "membarrier system calls"),
    ("parks", "times asleep"),
    ("woken", "sleepers woken"),
    ("forced", "tasks made public by a thief"),
    ("no_spare", "blocking waits without a spare"),
    ("spares", "spares activated"),
    ("depth", "nested waits now"),
    ("deepest", "nested waits at most"),
];

/// Returns the table. Workers beyond the pool's size are spares, which take the place of blocked
/// workers.
pub(crate) fn table(stats: &Stats, workers: usize) -> String {
    let mut columns: Vec<(String, WorkerStats)> = Vec::new();
    for (index, worker) in stats.workers().iter().enumerate() {
        let kind = if index < workers { "worker" } else { "spare" };
        columns.push((format!("{kind} {index}"), *worker));
    }
    columns.push(("outside".to_owned(), stats.outside()));
    columns.push(("total".to_owned(), stats.total()));
    let counts: Vec<(String, Vec<(&str, u64)>)> = columns
        .into_iter()
        .map(|(heading, stats)| (heading, stats.counts()))
        .collect();
    render(&counts)
}

fn render(columns: &[(String, Vec<(&str, u64)>)]) -> String {
    let headings = columns.iter().map(|(heading, _)| heading.as_str());
    let header: Vec<&str> = std::iter::once("").chain(headings).collect();
    let mut table = Table::new("Counters (those that are not 0)", &header);
    let names = columns.first().map_or(0, |(_, counts)| counts.len());
    for index in 0..names {
        let row: Vec<u64> = columns.iter().map(|(_, counts)| counts[index].1).collect();
        if row.iter().all(|number| *number == 0) {
            continue;
        }
        let name = columns[0].1[index].0;
        let known = MEANINGS.iter().find(|(counter, _)| *counter == name);
        let meaning = known.map_or_else(|| name.replace('_', " "), |(_, text)| (*text).to_owned());
        let cells = row.into_iter().map(|number| match number {
            0 => ".".to_owned(),
            number => count(number),
        });
        table.row(std::iter::once(meaning).chain(cells).collect());
    }
    table.render(Style::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_lines_and_zeros_are_left_out() {
        let worker = |tasks, tried| vec![("tasks", tasks), ("steals", tried), ("new", 0)];
        let columns = [
            ("worker 0".to_owned(), worker(1, 0)),
            ("spare 1".to_owned(), worker(0, 0)),
        ];
        assert_eq!(
            render(&columns),
            "Counters (those that are not 0)\n             worker 0  spare 1\n  tasks run         \
             1        .\n"
        );
    }

    #[test]
    fn every_counter_of_the_pool_has_a_meaning() {
        let names = WorkerStats::default().counts();
        let unknown: Vec<&str> = names
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| MEANINGS.iter().all(|(known, _)| known != name))
            .collect();
        assert_eq!(unknown, [""; 0]);
    }
}
