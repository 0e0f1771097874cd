//! Measured results, as data and as a page.
//!
//! [`Results`] holds comparisons, experiments, profiles and traces of one or several commands. It
//! does not depend on the runtime or the simulator: the measuring program fills it in. It is stored
//! as JSON, one file per command, any number of files in a folder ([`read`], [`write()`]), and as
//! CSV ([`Results::to_csv`]).
//!
//! ```
//! use locksley_report::{Comparison, Contender, Machine, Results, Row};
//!
//! let mut queens = Comparison::new("queens").with("n", 13);
//! queens.rows.push(Row::new(Contender::Serial, 1, vec![0.80, 0.82, 0.81]));
//! queens.rows.push(Row::new(Contender::strategy("stealing"), 2, vec![0.41, 0.42, 0.43]));
//! queens.rows.push(Row::new(Contender::rival("rayon"), 2, vec![0.44, 0.43, 0.46]));
//!
//! let winner = queens.winner().expect("a row was measured");
//! assert_eq!(winner.contender.name(), "stealing");
//! assert!((queens.speedup(winner).unwrap() - 0.81 / 0.42).abs() < 1e-12);
//!
//! let mut results = Results::new("An afternoon", Machine::new("a laptop", 2));
//! results.comparisons.push(queens);
//! let html = locksley_report::page(&results);
//! assert!(html.contains("stealing was the fastest in 1 of 1 workload"));
//! ```
//!
//! [`page`] makes one HTML file of it, with charts, that needs no network.

#![forbid(unsafe_code)]

mod charts;
mod csv;
mod folder;
mod format;
mod page;
mod results;

pub use folder::{Error, read, write, write_page};
pub use locksley_figures::Summary;
pub use page::page;
pub use results::*;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
