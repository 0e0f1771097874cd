//! The papers behind `locksley theory`, and what their claims mean.

use locksley_sim::theory::Finding;

/// A claim's paper, and its meaning for a reader who does not know the paper.
pub(crate) struct Meaning {
    name: &'static str,
    pub(crate) paper: &'static str,
    pub(crate) meaning: &'static str,
}

const MEANINGS: [Meaning; 24] = [
    Meaning {
        name: "balls and bins",
        paper: "Rito, \"Scheduling computations\", lemmas 3.1 to 3.5",
        meaning: "thieves that pick victims at random hit enough of the processors that have work",
    },
    Meaning {
        name: "painted bins",
        paper: "Rito, \"Scheduling computations\", problem 3.1 (open there)",
        meaning: "the number of idle processors that are given work in a round in which stealing \
                  comes first, between bounds that are less than one processor apart",
    },
    Meaning {
        name: "gains of sharing",
        paper: "Rito, \"Scheduling computations\", lemmas 5.10 to 5.12",
        meaning: "if busy processors give tasks away, more idle ones get work in a round than \
                  with stealing, by at least this factor",
    },
    Meaning {
        name: "stability of sharing",
        paper: "Rito, \"Scheduling computations\", lemmas 5.12 and 5.13",
        meaning: "when many processors are idle, more tasks leave the queues in a round than are \
                  added",
    },
    Meaning {
        name: "thresholds",
        paper: "Rito, \"Scheduling computations\", claims 5.1 and 5.2",
        meaning: "the share of idle processors above which queues stop growing",
    },
    Meaning {
        name: "sharing over many rounds",
        paper: "Rito, \"Scheduling computations\", section 5.4 (future work there)",
        meaning: "all four heuristics, with the flags that earlier rounds left: the share of idle \
                  processors from which queues stop growing, and the time until all are busy",
    },
    Meaning {
        name: "greedy schedules",
        paper: "Rito, \"Scheduling computations\", theorem 4.1 and corollary 4.1.1 (Graham; Brent)",
        meaning: "a scheduler that leaves no processor idle while work is ready takes at most work \
                  / P + span, and no scheduler takes less than the larger of the two",
    },
    Meaning {
        name: "heterogeneous speeds",
        paper: "Danjean, lecture \"Work Stealing\", bound with Pi_ave (Bender and Rabin)",
        meaning: "the same bound for processors of different speeds, if the fastest are used first",
    },
    Meaning {
        name: "run time of stealing",
        paper: "Rito, \"Scheduling computations\", theorem 4.8",
        meaning: "work stealing takes work / P + c span, with a constant c of at most 32",
    },
    Meaning {
        name: "run time of semi-private deques",
        paper: "Rito, \"Scheduling computations\", lemma 6.9, theorems 6.16 and 6.17",
        meaning: "the same with queues that need few fences, with a constant of at most 48",
    },
    Meaning {
        name: "run time of sharing",
        paper: "Rito, \"Scheduling computations\", theorems 5.7 and 6.7",
        meaning: "giving tasks away keeps the bound of stealing",
    },
    Meaning {
        name: "run time of sharing on semi-private deques",
        paper: "Rito, \"Scheduling computations\", chapter 7 (left open there)",
        meaning: "both together keep the bound, and need few fences: none where no thief asks",
    },
    Meaning {
        name: "one generator",
        paper: "Rito, \"Scheduling computations\", section 5.3 (onset)",
        meaning: "where one processor makes all tasks, sharing gets the others to work no later \
                  than stealing does",
    },
    Meaning {
        name: "run time on changing machines",
        paper: "Danjean, lecture \"Work Stealing\", W / (P Pi) + O(D / Pi) (Bender and Rabin)",
        meaning: "the bound holds while processors change their speed or are taken away",
    },
    Meaning {
        name: "tails of the run time",
        paper: "Rito, \"Scheduling computations\", theorem 4.8, with high probability",
        meaning: "runs that are much slower than most are as rare as the bound says",
    },
    Meaning {
        name: "probabilistic balancing",
        paper: "Hendler and Shavit, \"Non-Blocking Steal-Half Work Queues\", lemmas 3.3 and 3.7, \
                theorems 3.4, 3.5 and 3.8, corollary 3.6",
        meaning: "processes that balance with random others keep all loads within a constant \
                  factor of the mean",
    },
    Meaning {
        name: "steal-half",
        paper: "Hendler and Shavit, \"Non-Blocking Steal-Half Work Queues\", theorems 3.9 and 3.10",
        meaning: "stealing half of a queue keeps all queues within a constant factor of the mean",
    },
    Meaning {
        name: "arrivals at a rate",
        paper: "Hendler and Shavit, \"Non-Blocking Steal-Half Work Queues\", section 1.2 \
                (Berenbrink et al.); Rito, section 2.4.4 (Eager et al.)",
        meaning: "where items keep arriving: how long they wait, and whether their number stays \
                  bounded",
    },
    Meaning {
        name: "work dealing: balance",
        paper: "Hendler and Shavit, \"Work Dealing\", theorems 3, 4 and 8",
        meaning: "dealt tasks are spread evenly over the processors",
    },
    Meaning {
        name: "work dealing: unequal processes",
        paper: "Hendler and Shavit, \"Work Dealing\", theorems 5 and 9",
        meaning: "the same where processes differ in speed, and where tasks go to their data",
    },
    Meaning {
        name: "work dealing: locality",
        paper: "Hendler and Shavit, \"Work Dealing\", theorem 11",
        meaning: "most tasks run on the processor whose cache has their data",
    },
    Meaning {
        name: "work dealing: memory",
        paper: "Hendler and Shavit, \"Work Dealing\", theorem 2",
        meaning: "the buffers between processors take at most this much memory, and never run out",
    },
    Meaning {
        name: "work dealing: run time",
        paper: "Hendler and Shavit, \"Work Dealing\", theorems 6, 7 and 10",
        meaning: "dealing takes at most a little more than three times the best possible time",
    },
    Meaning {
        name: "merge sort",
        paper: "Danjean, lecture \"Work Stealing\", merge sort",
        meaning: "work W and depth D of merge sort of n = 2^k numbers, as a formula and counted",
    },
];

/// Returns the meaning of a claim, by its name.
pub(crate) fn meaning(name: &str) -> Option<&'static Meaning> {
    MEANINGS.iter().find(|meaning| meaning.name == name)
}

/// Describes a finding in words: prediction, measurement, verdict.
pub(crate) fn sentence(finding: &Finding) -> String {
    let predicted = match finding.predicted.split_once(' ') {
        Some((">=", bound)) => format!("at least {bound}"),
        Some(("<=", bound)) => format!("at most {bound}"),
        _ => finding.predicted.clone(),
    };
    let measured = &finding.measured;
    let verdict = match (finding.holds, is_short(finding)) {
        (false, _) => "FAILS",
        (true, false) => "holds",
        (true, true) => "holds within the sampling error",
    };
    format!("predicted {predicted}, measured {measured}: {verdict}")
}

/// Returns `true` if the measured mean is on the wrong side of the predicted bound. If the finding
/// holds all the same, the difference is within the sampling error.
fn is_short(finding: &Finding) -> bool {
    let number = |text: &str| {
        text.split(' ')
            .next()
            .and_then(|word| word.parse::<f64>().ok())
    };
    let bound = finding.predicted.split_once(' ');
    match (bound, number(&finding.measured)) {
        (Some((">=", bound)), Some(mean)) => number(bound).is_some_and(|bound| mean < bound),
        (Some(("<=", bound)), Some(mean)) => number(bound).is_some_and(|bound| mean > bound),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use locksley_sim::theory::{Effort, claims};

    use super::*;

    #[test]
    fn every_claim_has_a_paper_and_a_meaning() {
        for claim in claims() {
            let meaning = meaning(claim.name).unwrap_or_else(|| panic!("{}", claim.name));
            assert!(!meaning.paper.is_empty() && meaning.meaning.len() > 20);
        }
    }

    /// The lecture numbers nothing; all other sources do.
    #[test]
    fn every_claim_is_named_by_paper_and_number() {
        const PLACES: [&str; 7] = [
            "lemma",
            "theorem",
            "corollary",
            "claim",
            "problem",
            "section",
            "chapter",
        ];
        for Meaning { name, paper, .. } in MEANINGS {
            if paper.starts_with("Danjean, lecture") {
                continue;
            }
            let authors = ["Rito, ", "Hendler and Shavit, "];
            assert!(authors.iter().any(|who| paper.starts_with(who)), "{name}");
            let number = PLACES.iter().find_map(|place| {
                let (_, rest) = paper.split_once(place)?;
                rest.trim_start_matches('s').trim_start().chars().next()
            });
            assert!(number.is_some_and(|digit| digit.is_ascii_digit()), "{name}");
        }
    }

    #[test]
    fn bounds_are_words() {
        let merge = claims()
            .into_iter()
            .find(|claim| claim.name == "merge sort");
        let mut finding = (merge.unwrap().check)(Effort::Quick).remove(0);
        finding.holds = true;
        (finding.predicted, finding.measured) = (">= 0.2592".into(), "0.2525 +- 0.0069".into());
        assert_eq!(
            sentence(&finding),
            "predicted at least 0.2592, measured 0.2525 +- 0.0069: holds within the sampling error"
        );
        finding.predicted = "<= 1.0".into();
        assert!(
            sentence(&finding).ends_with("predicted at most 1.0, measured 0.2525 +- 0.0069: holds")
        );
    }
}
