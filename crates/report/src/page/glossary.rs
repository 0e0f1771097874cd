//! Explanations of the words on the page.

use crate::charts::SeriesIndex;
use crate::format::escape;
use std::fmt::Write;

const WORDS: [(&str, &str); 8] = [
    (
        "worker",
        "a thread that runs tasks; usually there are as many as processors",
    ),
    ("task", "a piece of the program that may run beside others"),
    (
        "strategy",
        "the rule by which workers share tasks among themselves",
    ),
    (
        "rival",
        "another library for the same purpose, measured in the same run",
    ),
    (
        "serial",
        "the plain program without any library: what speed-ups are compared with",
    ),
    (
        "speed-up",
        "how many times as fast as the serial program; 2× takes half the time",
    ),
    (
        "median",
        "the middle of all runs by their time: half of them were faster, half slower",
    ),
    (
        "quartile",
        "a quarter of the runs were faster than the lower one, a quarter slower than the upper one",
    ),
];

/// Strategies and rivals, by the part of their names before a colon.
const STRATEGIES: [(&str, &str); 19] = [
    (
        "stealing",
        "idle workers steal one task at a time; the owner of a pile pays nothing for that, the \
         thief everything (the default). Best where tasks fork tasks: fib",
    ),
    (
        "chase-lev",
        "idle workers steal one task at a time; piles grow as need be. A reference",
    ),
    (
        "abp",
        "idle workers steal one task at a time; piles have a fixed size. A reference",
    ),
    (
        "lock-free",
        "idle workers steal one task at a time from a worker chosen at random. A reference",
    ),
    (
        "flexible",
        "idle workers steal one task at a time, and prefer certain victims, such as neighbours. \
         A reference; better than the same without, where sockets are far apart (simulated)",
    ),
    (
        "semi-private",
        "a worker keeps its tasks to itself, and shows some of them when a thief asks. A reference",
    ),
    (
        "lifelines",
        "idle workers steal; after some failures they wait for certain others to send them work",
    ),
    (
        "steal-half",
        "idle workers steal half of a pile at once. Best where one worker makes all tasks: \
         generator (simulated, 64 processors)",
    ),
    (
        "sharing",
        "busy workers give tasks to idle ones, and idle ones steal. Best where tasks had better \
         run where their data is: phases (simulated, 64 processors); else a reference",
    ),
    (
        "private-sharing",
        "the same, where a worker keeps its tasks to itself until a thief asks. A reference",
    ),
    (
        "sending",
        "busy workers send tasks to others, and none steals",
    ),
    (
        "dealing",
        "tasks are dealt out to workers as they arise. For tasks that must run where their data \
         is; else a reference",
    ),
    (
        "auto",
        "the pool changes between strategies by itself, as it sees fit",
    ),
    (
        "synchronous",
        "stealing in rounds that all workers make in step",
    ),
    (
        "synchronous-sharing",
        "stealing and giving in rounds that all workers make in step",
    ),
    (
        "greedy",
        "an ideal that only a simulator can have: no worker is idle while a task is ready",
    ),
    (
        "rayon",
        "the library for parallelism that most Rust programs use",
    ),
    ("chili", "a Rust library for forks that cost little"),
    (
        "forte",
        "a Rust library for parallel and asynchronous tasks",
    ),
];

/// Explains the words of the page, and the contenders that are on it.
pub(super) fn section(series_index: &SeriesIndex) -> String {
    let mut html = String::from("<section id=\"words\"><h2>Words</h2>\n<dl>\n");
    for (word, meaning) in WORDS {
        let _ = writeln!(html, "<dt>{word}</dt><dd>{meaning}</dd>");
    }
    for name in series_index.names() {
        let stem = name.split([':', ' ', '(']).next().unwrap_or(name);
        if let Some((_, meaning)) = STRATEGIES.iter().find(|(known, _)| *known == stem) {
            let _ = writeln!(html, "<dt>{}</dt><dd>{meaning}</dd>", escape(name));
        }
    }
    html.push_str("</dl></section>\n");
    html
}
