//! Computations by name: `fib:n=30`, `uts:T3`, `sort:k=20,merge=parallel`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use locksley_workload::UtsTree;

use super::{
    Balanced, Chain, Computation, Fib, Generator, Graph, GraphError, Merge, Phased, RandomTree,
    Sort, Stencil, Strands, Uts, Wavefront,
};

/// Something to do with a computation, whichever it is: what a generic closure would be.
///
/// ```
/// use locksley_sim::dag::{Computation, Dag, Size, Visitor};
///
/// struct HowLarge;
///
/// impl Visitor for HowLarge {
///     type Output = Size;
///
///     fn visit<C: Computation>(self, computation: C) -> Size {
///         computation.size()
///     }
/// }
///
/// let dag: Dag = "fib:n=10".parse()?;
/// assert_eq!(dag.build(HowLarge)?.work, 265);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Visitor {
    /// What comes out.
    type Output;

    /// Does it.
    fn visit<C: Computation>(self, computation: C) -> Self::Output;
}

/// A computation by name and parameters.
///
/// | text | computation |
/// |---|---|
/// | `fib:n=30` | [`Fib`] |
/// | `balanced:depth=10,grain=1` | [`Balanced`] |
/// | `random:nodes=100000,fork=0.5,seed=1` | [`RandomTree`] |
/// | `uts:T3` | [`Uts`], one of T1, T2, T3, T4, T5, T1L, T2L, T3L, T1XL |
/// | `sort:k=16,base=0,merge=serial`, `sort:k=16,merge=parallel,split=0.5` | [`Sort`] |
/// | `chain:periods=1000,serial=90,parallel=10` | [`Chain`] |
/// | `generator:tasks=10000,grain=50,gap=1` | [`Generator`] |
/// | `phased:phases=8,items=1000,shortest=10,longest=30,seed=1` | [`Phased`] |
/// | `wavefront:rows=100,columns=100,grain=10` | [`Wavefront`] |
/// | `stencil:width=100,steps=100` | [`Stencil`] |
/// | `file:graph.json` | [`Graph`] |
///
/// A parameter that is left out has the value of the table.
///
/// ```
/// use locksley_sim::dag::Dag;
///
/// let dag: Dag = "sort:merge=parallel,k=20".parse().unwrap();
/// assert_eq!(dag.to_string(), "sort:k=20,base=0,merge=parallel,split=0.5");
/// let error = "sorted:k=20".parse::<Dag>().unwrap_err().to_string();
/// assert!(error.contains("`sorted`") && error.contains("fib, balanced"));
/// let error = "fib:m=3".parse::<Dag>().unwrap_err().to_string();
/// assert_eq!(error, "fib has no parameter `m`: possible is fib:n=30");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Dag {
    /// See [`Fib::new`].
    Fib {
        /// Which Fibonacci number.
        n: u32,
    },
    /// See [`Balanced::new`].
    Balanced {
        /// Levels of forks.
        depth: u32,
        /// Nodes of a leaf.
        grain: u32,
    },
    /// See [`RandomTree::new`].
    Random {
        /// How many nodes.
        nodes: u64,
        /// The probability of a fork.
        fork: f64,
        /// Which tree.
        seed: u64,
    },
    /// See [`Uts::new`].
    Uts {
        /// The tree's name in the literature.
        name: String,
    },
    /// See [`Sort::new`].
    Sort {
        /// Sorts 2^k numbers.
        k: u32,
        /// So many, 2^base, are sorted by one strand.
        base: u32,
        /// How.
        merge: Merge,
    },
    /// See [`Chain::new`].
    Chain {
        /// How many periods.
        periods: u64,
        /// Nodes before a fork.
        serial: u64,
        /// Nodes of each strand.
        parallel: u64,
    },
    /// See [`Generator::new`].
    Generator {
        /// How many tasks.
        tasks: u64,
        /// Nodes of a task.
        grain: u64,
        /// Nodes from one task to the next.
        gap: u64,
    },
    /// See [`Phased::new`].
    Phased {
        /// How many phases.
        phases: u32,
        /// Items of a phase.
        items: u32,
        /// Nodes of the shortest item.
        shortest: u32,
        /// Nodes of the longest item.
        longest: u32,
        /// Which lengths.
        seed: u64,
    },
    /// See [`Wavefront::new`].
    Wavefront {
        /// Rows of the grid.
        rows: u32,
        /// Columns of the grid.
        columns: u32,
        /// Nodes of a cell.
        grain: u32,
    },
    /// See [`Stencil::new`].
    Stencil {
        /// How many points.
        width: u32,
        /// How many steps.
        steps: u32,
    },
    /// See [`Graph::read`].
    File {
        /// Where the file is.
        path: PathBuf,
    },
}

impl Dag {
    /// One of each that needs no file, with the parameters that it has by default.
    pub fn all() -> Vec<Dag> {
        NAMES.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// Makes the computation, and does something with it.
    pub fn build<V: Visitor>(&self, visitor: V) -> Result<V::Output, GraphError> {
        Ok(match *self {
            Dag::Fib { n } => visitor.visit(Strands::new(Fib::new(n))),
            Dag::Balanced { depth, grain } => {
                visitor.visit(Strands::new(Balanced::new(depth, grain)))
            }
            Dag::Random { nodes, fork, seed } => {
                visitor.visit(Strands::new(RandomTree::new(nodes, fork, seed)))
            }
            Dag::Uts { ref name } => {
                let tree = UtsTree::named(name).unwrap_or(UtsTree::binomial(0.0, 0.0, 0, 0));
                visitor.visit(Strands::new(Uts::new(tree)))
            }
            Dag::Sort { k, base, merge } => {
                visitor.visit(Strands::new(Sort::with_base(k, base, merge)))
            }
            Dag::Chain {
                periods,
                serial,
                parallel,
            } => visitor.visit(Strands::new(Chain::new(periods, serial, parallel))),
            Dag::Generator { tasks, grain, gap } => {
                visitor.visit(Strands::new(Generator::new(tasks, grain, gap)))
            }
            Dag::Phased {
                phases,
                items,
                shortest,
                longest,
                seed,
            } => visitor.visit(Strands::new(Phased::new(
                phases, items, shortest, longest, seed,
            ))),
            Dag::Wavefront {
                rows,
                columns,
                grain,
            } => visitor.visit(Wavefront::new(rows, columns, grain)),
            Dag::Stencil { width, steps } => visitor.visit(Stencil::new(width, steps)),
            Dag::File { ref path } => visitor.visit(Graph::read(path)?),
        })
    }
}

/// The names, in the order of the table.
const NAMES: [&str; 11] = [
    "fib",
    "balanced",
    "random",
    "uts",
    "sort",
    "chain",
    "generator",
    "phased",
    "wavefront",
    "stencil",
    "file",
];

/// The examples of the table, for error messages.
const EXAMPLES: [&str; 11] = [
    "fib:n=30",
    "balanced:depth=10,grain=1",
    "random:nodes=100000,fork=0.5,seed=1",
    "uts:T3",
    "sort:k=16,base=0,merge=serial or sort:k=16,merge=parallel,split=0.5",
    "chain:periods=1000,serial=90,parallel=10",
    "generator:tasks=10000,grain=50,gap=1",
    "phased:phases=8,items=1000,shortest=10,longest=30,seed=1",
    "wavefront:rows=100,columns=100,grain=10",
    "stencil:width=100,steps=100",
    "file:graph.json",
];

/// A text that names no computation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// No computation has this name.
    Name(String),
    /// The computation has no such parameter.
    Parameter {
        /// The computation.
        name: String,
        /// The parameter.
        parameter: String,
    },
    /// The parameter has a value that it cannot have.
    Value {
        /// The computation.
        name: String,
        /// The parameter.
        parameter: String,
        /// Its value.
        value: String,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let example = |name: &str| {
            let number = NAMES.iter().position(|known| *known == name);
            number.map_or("", |number| EXAMPLES[number])
        };
        match self {
            SpecError::Name(name) => write!(
                f,
                "no computation is called `{name}`: possible are {}",
                NAMES.join(", ")
            ),
            SpecError::Parameter { name, parameter } => write!(
                f,
                "{name} has no parameter `{parameter}`: possible is {}",
                example(name)
            ),
            SpecError::Value {
                name,
                parameter,
                value,
            } => write!(
                f,
                "{name} cannot have {parameter}={value}: possible is, for example, {}",
                example(name)
            ),
        }
    }
}

impl std::error::Error for SpecError {}

/// The parameters of a text that have not been asked for yet.
struct Parameters<'t> {
    name: &'t str,
    rest: Vec<(&'t str, &'t str)>,
}

impl<'t> Parameters<'t> {
    fn parse(name: &'t str, text: &'t str) -> Parameters<'t> {
        let pairs = text.split(',').filter(|pair| !pair.is_empty());
        Parameters {
            name,
            rest: pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .collect(),
        }
    }

    fn wrong(&self, parameter: &str, value: &str) -> SpecError {
        SpecError::Value {
            name: self.name.to_owned(),
            parameter: parameter.to_owned(),
            value: value.to_owned(),
        }
    }

    fn take<T: FromStr>(&mut self, parameter: &str, default: T) -> Result<T, SpecError> {
        let Some(at) = self.rest.iter().position(|(name, _)| *name == parameter) else {
            return Ok(default);
        };
        let (_, value) = self.rest.remove(at);
        value.parse().map_err(|_| self.wrong(parameter, value))
    }

    fn share(&mut self, parameter: &str, default: f64) -> Result<f64, SpecError> {
        let share = self.take(parameter, default)?;
        if (0.0..=1.0).contains(&share) {
            return Ok(share);
        }
        Err(self.wrong(parameter, &share.to_string()))
    }

    fn merge(&mut self) -> Result<Merge, SpecError> {
        match self.take("merge", "serial".to_owned())?.as_str() {
            "serial" => Ok(Merge::Serial),
            "parallel" => Ok(Merge::Parallel {
                split: self.share("split", 0.5)?,
            }),
            other => Err(self.wrong("merge", other)),
        }
    }

    fn end(&self, dag: Dag) -> Result<Dag, SpecError> {
        match self.rest.first() {
            None => Ok(dag),
            Some((parameter, _)) => Err(SpecError::Parameter {
                name: self.name.to_owned(),
                parameter: (*parameter).to_owned(),
            }),
        }
    }
}

impl FromStr for Dag {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Dag, SpecError> {
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        match name {
            "uts" => return uts(parameters),
            "file" => return file(parameters),
            _ => (),
        }
        let mut p = Parameters::parse(name, parameters);
        let dag = match name {
            "fib" => Dag::Fib {
                n: p.take("n", 30)?,
            },
            "balanced" => Dag::Balanced {
                depth: p.take("depth", 10)?,
                grain: p.take("grain", 1)?,
            },
            "random" => Dag::Random {
                nodes: p.take("nodes", 100_000)?,
                fork: p.share("fork", 0.5)?,
                seed: p.take("seed", 1)?,
            },
            "sort" => Dag::Sort {
                k: p.take("k", 16)?,
                base: p.take("base", 0)?,
                merge: p.merge()?,
            },
            "chain" => Dag::Chain {
                periods: p.take("periods", 1000)?,
                serial: p.take("serial", 90)?,
                parallel: p.take("parallel", 10)?,
            },
            "generator" => Dag::Generator {
                tasks: p.take("tasks", 10_000)?,
                grain: p.take("grain", 50)?,
                gap: p.take("gap", 1)?,
            },
            "phased" => Dag::Phased {
                phases: p.take("phases", 8)?,
                items: p.take("items", 1000)?,
                shortest: p.take("shortest", 10)?,
                longest: p.take("longest", 30)?,
                seed: p.take("seed", 1)?,
            },
            "wavefront" => Dag::Wavefront {
                rows: p.take("rows", 100)?,
                columns: p.take("columns", 100)?,
                grain: p.take("grain", 10)?,
            },
            "stencil" => Dag::Stencil {
                width: p.take("width", 100)?,
                steps: p.take("steps", 100)?,
            },
            _ => return Err(SpecError::Name(name.to_owned())),
        };
        p.end(dag)
    }
}

fn uts(name: &str) -> Result<Dag, SpecError> {
    let name = if name.is_empty() { "T3" } else { name };
    match UtsTree::named(name) {
        Some(_) => Ok(Dag::Uts {
            name: name.to_owned(),
        }),
        None => Err(Parameters::parse("uts", "").wrong("tree", name)),
    }
}

fn file(path: &str) -> Result<Dag, SpecError> {
    if path.is_empty() {
        return Err(Parameters::parse("file", "").wrong("path", ""));
    }
    Ok(Dag::File { path: path.into() })
}

impl fmt::Display for Dag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dag::Fib { n } => write!(f, "fib:n={n}"),
            Dag::Balanced { depth, grain } => write!(f, "balanced:depth={depth},grain={grain}"),
            Dag::Random { nodes, fork, seed } => {
                write!(f, "random:nodes={nodes},fork={fork},seed={seed}")
            }
            Dag::Uts { name } => write!(f, "uts:{name}"),
            Dag::Sort {
                k,
                base,
                merge: Merge::Serial,
            } => write!(f, "sort:k={k},base={base},merge=serial"),
            Dag::Sort {
                k,
                base,
                merge: Merge::Parallel { split },
            } => write!(f, "sort:k={k},base={base},merge=parallel,split={split}"),
            Dag::Chain {
                periods,
                serial,
                parallel,
            } => write!(
                f,
                "chain:periods={periods},serial={serial},parallel={parallel}"
            ),
            Dag::Generator { tasks, grain, gap } => {
                write!(f, "generator:tasks={tasks},grain={grain},gap={gap}")
            }
            Dag::Phased {
                phases,
                items,
                shortest,
                longest,
                seed,
            } => write!(
                f,
                "phased:phases={phases},items={items},shortest={shortest},longest={longest},seed={seed}"
            ),
            Dag::Wavefront {
                rows,
                columns,
                grain,
            } => write!(f, "wavefront:rows={rows},columns={columns},grain={grain}"),
            Dag::Stencil { width, steps } => write!(f, "stencil:width={width},steps={steps}"),
            Dag::File { path } => write!(f, "file:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{Size, levels, measure};

    #[test]
    fn names_parse_and_print_back() {
        let all = Dag::all();
        assert_eq!(all.len(), NAMES.len() - 1);
        for dag in all {
            let text = dag.to_string();
            assert_eq!(text.parse(), Ok(dag.clone()));
            let example = EXAMPLES.iter().find(|example| example.starts_with(&text));
            assert!(example.is_some(), "the table does not have {text}");
        }
        let text = "file:some/graph.json";
        assert_eq!(text.parse::<Dag>().unwrap().to_string(), text);
    }

    #[test]
    fn errors_say_what_is_possible() {
        let error = |text: &str| text.parse::<Dag>().unwrap_err().to_string();
        assert!(error("").contains("possible are fib, balanced"));
        assert!(error("fib:n=x").contains("fib cannot have n=x"));
        assert!(error("random:fork=2").contains("fork=2"));
        assert!(error("uts:T9").contains("uts cannot have tree=T9"));
        assert!(error("sort:merge=both").contains("merge=both"));
        assert!(error("sort:merge=serial,split=0.5").contains("no parameter `split`"));
        assert!(error("file:").contains("file:graph.json"));
    }

    struct Sizes;

    impl Visitor for Sizes {
        type Output = [Size; 2];

        fn visit<C: Computation>(self, mut computation: C) -> [Size; 2] {
            let levels = levels(&mut computation);
            assert_eq!(levels.work, measure(&mut computation));
            [computation.size(), levels]
        }
    }

    #[test]
    fn every_computation_has_the_size_it_says() {
        let small = [
            "fib:n=12",
            "balanced",
            "random:nodes=999",
            "sort:k=6",
            "sort:k=6,merge=parallel,split=0.6",
            "chain:periods=9",
            "generator:tasks=99",
            "phased:items=9",
            "wavefront",
            "stencil",
        ];
        for text in small {
            let [size, levels] = text.parse::<Dag>().unwrap().build(Sizes).unwrap();
            assert_eq!(size, levels, "{text}");
        }
    }
}
