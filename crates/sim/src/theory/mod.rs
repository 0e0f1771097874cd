//! Checks of the papers' theorems.
//!
//! Each [`Claim`] measures what a paper predicts and says whether the prediction holds. A finding
//! names its sample and its tolerance: a number of standard errors for an expectation or a
//! probability, none for a bound that admits no exception.
//!
//! The papers: Rito, "Scheduling computations" (the thesis); Hendler and Shavit, "Work Dealing" and
//! "Non-Blocking Steal-Half Work Queues"; Danjean's lecture "Work Stealing"; Graham; Bender and
//! Rabin.

mod arrivals;
mod balanced_system;
mod balancing;
mod balls;
mod dealing;
pub mod figures;
mod gains;
mod greedy;
mod half;
mod many_rounds;
mod run_time;
mod sort;
mod statistics;
mod tails;

use std::fmt;

pub use statistics::Mean;

/// Size of the samples. See [`Finding`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Enough to notice an error in a formula or a program; for tests.
    Quick,
    /// Enough for two to three digits.
    Full,
}

impl Effort {
    /// Returns the value for this effort.
    pub(crate) fn choose<T>(self, quick: T, full: T) -> T {
        match self {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// Result of the check of one prediction.
///
/// ```
/// use locksley_sim::theory::{Effort, claims};
///
/// let merge_sort = claims().into_iter().find(|claim| claim.name == "merge sort").unwrap();
/// let findings = merge_sort.findings(Effort::Quick);
/// assert_eq!(findings.len(), merge_sort.count);
/// assert!(findings.iter().all(|finding| finding.holds), "{findings:?}");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The claim, and its place in the paper.
    pub claim: String,
    /// The prediction.
    pub predicted: String,
    /// The measurement.
    pub measured: String,
    /// The sample, and how far the measurement may be off the prediction.
    pub sample: String,
    /// `true` if the prediction holds.
    pub holds: bool,
}

impl Finding {
    fn new(claim: impl Into<String>) -> Finding {
        Finding {
            claim: claim.into(),
            predicted: String::new(),
            measured: String::new(),
            sample: String::new(),
            holds: false,
        }
    }

    fn sampled(mut self, sample: impl Into<String>) -> Finding {
        self.sample = sample.into();
        self
    }

    /// Requires a mean that equals `predicted`, within a share of it plus five standard errors.
    fn equals(mut self, predicted: f64, measured: &Mean, share: f64) -> Finding {
        let tolerance = share * predicted.abs() + 5.0 * measured.error();
        self.predicted = format!("{predicted:.4}");
        self.measured = measured.to_string();
        self.sample += &format!("; within {:.2}% + 5 s.e.", 100.0 * share);
        self.holds = (measured.mean() - predicted).abs() <= tolerance;
        self
    }

    /// Requires a mean of at least `predicted`, less five standard errors.
    fn at_least(mut self, predicted: f64, measured: &Mean) -> Finding {
        self.predicted = format!(">= {predicted:.4}");
        self.measured = measured.to_string();
        self.sample += "; tolerance 5 s.e.";
        self.holds = measured.mean() + 5.0 * measured.error() >= predicted;
        self
    }

    /// Requires a number of at most `predicted`, without tolerance.
    fn at_most(mut self, predicted: f64, measured: f64) -> Finding {
        self.predicted = format!("<= {predicted:.4}");
        self.measured = format!("{measured:.4}");
        self.sample += "; no exception";
        self.holds = measured <= predicted;
        self
    }

    /// Sets prediction, measurement and verdict of any other finding.
    fn says(
        mut self,
        predicted: impl Into<String>,
        measured: impl Into<String>,
        holds: bool,
    ) -> Finding {
        self.predicted = predicted.into();
        self.measured = measured.into();
        self.holds = holds;
        self
    }
}

/// A claim of the papers and its check. See [`Finding`] for an example.
#[derive(Clone, Copy)]
pub struct Claim {
    /// Name of the claim.
    pub name: &'static str,
    /// Number of predictions that are checked.
    pub count: usize,
    /// Checks the predictions. [`Claim::findings`] also checks their number.
    pub check: fn(Effort) -> Vec<Finding>,
}

impl Claim {
    /// Checks the claim. If the number of findings is not [`count`](Claim::count), adds a finding
    /// that does not hold and says so.
    ///
    /// ```
    /// use locksley_sim::theory::{Claim, Effort};
    ///
    /// let empty = Claim { name: "nothing", count: 3, check: |_| Vec::new() };
    /// let findings = empty.findings(Effort::Quick);
    /// assert!(!findings[0].holds && findings[0].predicted == "3 findings");
    /// ```
    pub fn findings(&self, effort: Effort) -> Vec<Finding> {
        let mut findings = (self.check)(effort);
        let found = findings.len();
        if found != self.count {
            let missing = Finding::new(format!("{}: every prediction is checked", self.name));
            findings.push(missing.says(
                format!("{} findings", self.count),
                format!("{found} findings"),
                false,
            ));
        }
        findings
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Returns all claims, in the order of the papers.
///
/// ```
/// let names: Vec<&str> = locksley_sim::theory::claims().iter().map(|claim| claim.name).collect();
/// assert!(names.contains(&"greedy schedules"));
/// ```
pub fn claims() -> Vec<Claim> {
    let claim = |name, count, check| Claim { name, count, check };
    vec![
        claim(
            "balls and bins",
            13,
            balls::check as fn(Effort) -> Vec<Finding>,
        ),
        claim("painted bins", 5, balls::check_open),
        claim("gains of sharing", 16, gains::check_gains),
        claim("stability of sharing", 8, gains::check_stability),
        claim("thresholds", 6, gains::check_thresholds),
        claim("sharing over many rounds", 8, many_rounds::check),
        claim("greedy schedules", 2, greedy::check_greedy),
        claim("heterogeneous speeds", 1, greedy::check_heterogeneous),
        claim("run time of stealing", 7, run_time::check_stealing),
        claim(
            "run time of semi-private deques",
            3,
            run_time::check_semi_private,
        ),
        claim("run time of sharing", 8, run_time::check_sharing),
        claim(
            "run time of sharing on semi-private deques",
            4,
            run_time::check_private_sharing,
        ),
        claim("one generator", 3, run_time::check_generator),
        claim("run time on changing machines", 2, run_time::check_changing),
        claim("tails of the run time", 8, tails::check),
        claim("probabilistic balancing", 6, balancing::check),
        claim("steal-half", 7, half::check),
        claim("arrivals at a rate", 6, arrivals::check),
        claim("work dealing: balance", 4, dealing::check_balance),
        claim("work dealing: unequal processes", 2, dealing::check_unequal),
        claim("work dealing: locality", 6, dealing::check_locality),
        claim("work dealing: memory", 2, dealing::check_memory),
        claim("work dealing: run time", 2, dealing::check_run_time),
        claim("merge sort", 4, sort::check),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the claims whose names start with `name`.
    fn check(name: &str) {
        let claims: Vec<Claim> = claims()
            .into_iter()
            .filter(|claim| claim.name.starts_with(name))
            .collect();
        assert!(!claims.is_empty());
        for claim in claims {
            let findings = (claim.check)(Effort::Quick);
            assert_eq!(findings.len(), claim.count, "{}", claim.name);
            for finding in findings {
                assert!(finding.holds, "{finding:#?}");
            }
        }
    }

    #[test]
    fn the_readme_counts_all_predictions() {
        let all = claims();
        let predictions: usize = all.iter().map(|claim| claim.count).sum();
        let text = format!("checks {predictions} predictions of {} claims", all.len());
        assert!(include_str!("../../README.md").contains(&text), "{text}");
    }

    /// The third column of the table in docs/THEORY.md has arguments of `locksley theory --only`.
    #[test]
    fn the_page_names_every_claim_and_no_other() {
        let page = include_str!("../../docs/THEORY.md");
        let measured = page
            .split("\n## ")
            .find(|part| part.starts_with("Measured"));
        let rows = measured.expect("there is such a section").lines();
        let rows = rows.filter(|line| line.starts_with("| ") && line.contains('`'));
        let wanted: Vec<&str> = rows
            .filter(|row| !row.contains("`locksley theory --only`"))
            .filter_map(|row| row.split('`').nth(1))
            .collect();
        let all = claims();
        for name in &wanted {
            assert!(all.iter().any(|claim| claim.name.contains(name)), "{name}");
        }
        for claim in all {
            let is_named = wanted.iter().any(|name| claim.name.starts_with(name));
            assert!(is_named, "{}", claim.name);
        }
        for section in ["## Proved here", "## Wrong in print", "## Open"] {
            assert!(page.contains(section), "{section}");
        }
    }

    #[test]
    fn a_claim_without_findings_does_not_hold() {
        let holds = |count, check| {
            let claim = Claim {
                name: "made up",
                count,
                check,
            };
            claim
                .findings(Effort::Quick)
                .iter()
                .all(|found| found.holds)
        };
        let one = |_| vec![Finding::new("made up").says("1", "1", true)];
        assert!(holds(1, one));
        assert!(!holds(2, one) && !holds(0, one) && !holds(1, |_| Vec::new()));
    }

    #[test]
    fn balls_and_bins() {
        check("balls");
    }

    #[test]
    fn gains_and_stability() {
        check("gains");
        check("stability");
        check("thresholds");
        check("sharing over");
    }

    #[test]
    fn greedy_and_heterogeneous() {
        check("greedy");
        check("heterogeneous");
    }

    #[test]
    fn run_times() {
        check("run time");
        check("one generator");
    }

    #[test]
    fn tails_and_balancing() {
        check("painted");
        check("tails");
        check("probabilistic");
    }

    #[test]
    fn steal_half() {
        check("steal-half");
    }

    #[test]
    fn arrivals() {
        check("arrivals");
    }

    #[test]
    fn work_dealing() {
        check("work dealing");
    }

    #[test]
    fn merge_sort() {
        check("merge sort");
    }
}
