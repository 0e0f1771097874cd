//! The built-in programs and their command lines.

use clap::{Args, Subcommand, ValueEnum};
use locksley_cluster::programs::uts::{self, Counted, Search};
use locksley_cluster::{Program, Reduce, Task};
use locksley_measure::ThreadClock;
use locksley_workload::catalog::nearest;
use locksley_workload::{Shape, Size, UtsTree};
use serde_json::{Value, json};

use crate::cli::help;
use crate::error::Error;
use crate::parse::names::meant;
use crate::render::units::{count, counted};

const UTS_EXAMPLES: &str = "  \
  locksley cluster run uts --tree T1L
  locksley cluster run uts --type binomial --branching 2000 --q 0.124875 --m 8 --seed 42";

/// A program and its options.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Chosen {
    /// Count the nodes of an unbalanced tree that unfolds during the search (UTS).
    #[command(after_help = help(UTS_EXAMPLES))]
    Uts(UtsOptions),
}

/// A program with its first tasks, and what is done with its result.
pub(crate) trait Job: Send + Sync {
    /// The result.
    type Output: Reduce;

    /// The type of the first tasks.
    type Task: Task<Output = Self::Output>;

    /// Returns the program.
    fn program(&self) -> Program<Self::Output>;

    /// Returns a short name of the job: `uts T1L`.
    fn title(&self) -> String;

    /// Returns the first tasks. Two jobs with the same options have the same ones.
    fn first(&self) -> Vec<Self::Task>;

    /// Formats the result as labelled lines of text.
    fn lines(&self, result: &Self::Output) -> Vec<(&'static str, String)>;

    /// Returns the result as JSON.
    fn document(&self, result: &Self::Output) -> Value;

    /// Checks the result. Returns `Ok(true)` if the right result is known and this is it,
    /// `Ok(false)` if it is not known.
    fn check(&self, result: &Self::Output) -> Result<bool, Error>;

    /// Returns a message on what is kept of a run that is interrupted.
    fn kept(&self) -> &'static str {
        "there is no result, and nothing is kept"
    }

    /// Estimates the seconds of processor time that serial code would take for this result, from a
    /// sample, if possible.
    fn serial(&self, result: &Self::Output) -> Option<f64>;
}

/// An operation on a job of any type.
pub(crate) trait Visitor {
    type Output;

    fn visit<J: Job + 'static>(self, job: J) -> Self::Output;
}

impl Chosen {
    /// Checks the options and passes the job to a visitor.
    pub(crate) fn visit<V: Visitor>(&self, visitor: V) -> Result<V::Output, Error> {
        match self {
            Chosen::Uts(options) => Ok(visitor.visit(options.job()?)),
        }
    }
}

/// Returns all programs, for a worker.
#[cfg(feature = "redis")]
pub(crate) fn catalogue() -> locksley_cluster::leases::Catalogue {
    locksley_cluster::leases::Catalogue::default().with(uts::program())
}

/// Names of the trees of the literature.
const TREES: [&str; 9] = ["T1", "T2", "T3", "T4", "T5", "T1L", "T2L", "T3L", "T1XL"];

/// Unbalanced tree search (Olivier et al., 2006): a tree of the literature, whose published size is
/// compared, or any other. A node costs about 100 ns; T1 to T5 have 4 million nodes, T1L to T3L 100
/// million, T1XL 1.6 billion.
#[derive(Args, Clone, Debug)]
pub(crate) struct UtsOptions {
    /// A tree of the literature: T1, T2, T3, T4, T5, T1L, T2L, T3L, T1XL [default: T1].
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["kind", "shape", "depth", "branching", "q", "m", "seed"],
    )]
    tree: Option<String>,
    /// Type of a tree that is not of the literature.
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    kind: Option<TreeType>,
    /// How the branching factor of a geometric tree depends on the depth.
    #[arg(long, value_enum, default_value = "fixed", requires = "kind")]
    shape: TreeShape,
    /// Depth limit of a geometric tree.
    #[arg(
        long,
        value_name = "D",
        default_value_t = 10,
        requires = "kind",
        value_parser = clap::value_parser!(u32).range(1..=1000),
    )]
    depth: u32,
    /// Branching factor at the root.
    #[arg(
        long,
        value_name = "B",
        default_value_t = 4.0,
        requires = "kind",
        value_parser = branching,
    )]
    branching: f64,
    /// Probability that a node of a binomial tree has children.
    #[arg(
        long,
        value_name = "Q",
        default_value_t = 0.124_875,
        requires = "kind",
        value_parser = probability,
    )]
    q: f64,
    /// Number of children of such a node.
    #[arg(
        long,
        value_name = "M",
        default_value_t = 8,
        requires = "kind",
        value_parser = clap::value_parser!(u32).range(0..=1000),
    )]
    m: u32,
    /// Seed of the tree.
    #[arg(long, value_name = "R", default_value_t = 42, requires = "kind")]
    seed: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TreeType {
    Geometric,
    Binomial,
    Hybrid,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TreeShape {
    Linear,
    Exponential,
    Cyclic,
    Fixed,
}

fn branching(text: &str) -> Result<f64, String> {
    within(text, 1e6)
}

fn probability(text: &str) -> Result<f64, String> {
    within(text, 1.0)
}

fn within(text: &str, most: f64) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=most).contains(number));
    number.ok_or_else(|| format!("give a number from 0 to {most}"))
}

impl UtsOptions {
    /// Returns the job, or an error if the options contradict each other.
    pub(crate) fn job(&self) -> Result<UtsJob, Error> {
        let Some(kind) = self.kind else {
            return named(self.tree.as_deref().unwrap_or("T1"));
        };
        let shape = match self.shape {
            TreeShape::Linear => Shape::Linear,
            TreeShape::Exponential => Shape::Exponential,
            TreeShape::Cyclic => Shape::Cyclic,
            TreeShape::Fixed => Shape::Fixed,
        };
        let (b, q, m, depth, seed) = (self.branching, self.q, self.m, self.depth, self.seed);
        if !matches!(kind, TreeType::Geometric) && q * f64::from(m) >= 1.0 {
            return Err(Error::usage(format!(
                "the tree may be infinite: a node has q * m = {} children on average; give less \
                 than 1",
                q * f64::from(m)
            )));
        }
        let bent = format!("{:?} d={depth} b={b}", shape).to_lowercase();
        let (tree, name) = match kind {
            TreeType::Geometric => (
                UtsTree::geometric(shape, depth, b, seed),
                format!("geometric {bent} r={seed}"),
            ),
            TreeType::Binomial => (
                UtsTree::binomial(b, q, m, seed),
                format!("binomial b={b} q={q} m={m} r={seed}"),
            ),
            TreeType::Hybrid => (
                UtsTree::hybrid(shape, depth, b, q, m, seed),
                format!("hybrid {bent} q={q} m={m} r={seed}"),
            ),
        };
        Ok(UtsJob {
            name,
            tree,
            published: None,
        })
    }
}

fn named(name: &str) -> Result<UtsJob, Error> {
    let upper = name.to_uppercase();
    match UtsTree::published_with_size(&upper) {
        Some((tree, size)) => Ok(UtsJob {
            name: upper,
            tree,
            published: Some(size),
        }),
        None => Err(Error::usage(format!(
            "there is no tree `{name}`: possible are {}{}; or describe one with --type",
            TREES.join(", "),
            meant(&nearest(&upper, TREES))
        ))),
    }
}

/// A tree to be searched.
#[derive(Clone, Debug)]
pub(crate) struct UtsJob {
    name: String,
    tree: UtsTree,
    published: Option<Size>,
}

impl Job for UtsJob {
    type Output = Counted;
    type Task = Search;

    fn program(&self) -> Program<Counted> {
        uts::program()
    }

    fn title(&self) -> String {
        format!("uts {}", self.name)
    }

    fn first(&self) -> Vec<Search> {
        vec![Search::whole(self.tree)]
    }

    fn lines(&self, Counted(size): &Counted) -> Vec<(&'static str, String)> {
        let found = format!(
            "{}, {}, depth {}",
            counted(size.nodes, "node", "nodes"),
            counted(size.leaves, "leaf", "leaves"),
            count(size.depth.into())
        );
        vec![("result", found)]
    }

    fn document(&self, Counted(size): &Counted) -> Value {
        json!({ "tree": self.name, "nodes": size.nodes, "leaves": size.leaves, "depth": size.depth })
    }

    fn check(&self, Counted(size): &Counted) -> Result<bool, Error> {
        match self.published {
            Some(published) if published != *size => Err(Error::Check(format!(
                "{} gave a wrong result: {size:?} instead of the published {published:?}",
                self.title()
            ))),
            published => Ok(published.is_some()),
        }
    }

    fn serial(&self, Counted(size): &Counted) -> Option<f64> {
        /// Number of nodes in the sample; takes about a tenth of a second.
        const SAMPLE: u64 = 1_000_000;
        let clock = ThreadClock::start();
        let searched = uts::serial(self.tree, SAMPLE);
        let each = clock.elapsed().as_secs_f64() / searched.nodes as f64;
        Some(each * size.nodes as f64)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        chosen: Chosen,
    }

    /// Returns the title of the job on a command line, or the error.
    fn title(line: &str) -> Result<String, String> {
        struct Title;
        impl Visitor for Title {
            type Output = String;
            fn visit<J: Job + 'static>(self, job: J) -> String {
                job.title()
            }
        }
        let words = std::iter::once("line").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.chosen
            .visit(Title)
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn trees_have_names_or_parameters() {
        assert_eq!(title("uts").unwrap(), "uts T1");
        assert_eq!(title("uts --tree t3l").unwrap(), "uts T3L");
        let line = "uts --type geometric --shape linear --depth 5 --branching 2 --seed 3";
        assert_eq!(title(line).unwrap(), "uts geometric linear d=5 b=2 r=3");
        let line = "uts --type binomial --branching 10 --q 0.2 --m 4";
        assert_eq!(title(line).unwrap(), "uts binomial b=10 q=0.2 m=4 r=42");
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let error = |line: &str| title(line).unwrap_err();
        assert!(error("uts --tree T1XXL").contains("did you mean `T1XL`?"));
        assert!(error("uts --tree T1 --depth 3").contains("--depth"));
        assert!(error("uts --depth 3").contains("--type"));
        assert!(error("uts --type binomial --q 0.5 --m 2").contains("less than 1"));
        assert!(error("uts --type binomial --q 1.5").contains("from 0 to 1"));
        assert!(error("uts --type geometric --branching nan").contains("a number"));
    }

    #[test]
    fn a_wrong_count_is_found_out() {
        let job = named("T1").unwrap();
        let (_, mut size) = UtsTree::published_with_size("T1").unwrap();
        assert!(job.check(&Counted(size)).unwrap());
        size.nodes -= 1;
        assert!(
            job.check(&Counted(size))
                .unwrap_err()
                .to_string()
                .contains("published")
        );
    }
}
