//! The text form of computations.

use std::fmt;
use std::str::FromStr;

use locksley_policy::Part;
use locksley_workload::UtsTree;

use super::{Dag, SpecError};
use crate::dag::Merge;

/// The names, in the order of the table.
pub(super) const NAMES: [&str; 11] = [
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

/// The examples in the table of [`Dag`], for error messages.
pub(super) const EXAMPLES: [&str; 11] = [
    "fib:n=30",
    "balanced:depth=10,grain=1",
    "random:nodes=100000,fork=0.5,seed=1",
    "uts:T3",
    "sort:k=16,base=0,merge=serial, sort:k=16,merge=parallel,split=0.5 or sort:k=16,merge=path",
    "chain:periods=1000,serial=90,parallel=10",
    "generator:tasks=10000,grain=50,gap=1",
    "phased:phases=8,items=1000,shortest=10,longest=30,seed=1",
    "wavefront:rows=100,columns=100,grain=10",
    "stencil:width=100,steps=100",
    "file:graph.json",
];

/// The parameters of a text that have not been taken yet.
struct Parameters<'t> {
    name: &'t str,
    rest: Vec<Part<'t>>,
}

impl Parameters<'_> {
    fn take<T: FromStr>(&mut self, parameter: &str, default: T) -> Result<T, SpecError> {
        let Some(at) = self
            .rest
            .iter()
            .position(|part| part.key == Some(parameter))
        else {
            return Ok(default);
        };
        let value = self.rest.remove(at).value;
        value
            .parse()
            .map_err(|_| wrong(self.name, parameter, value))
    }

    fn share(&mut self, parameter: &str, default: f64) -> Result<f64, SpecError> {
        let share = self.take(parameter, default)?;
        if (0.0..=1.0).contains(&share) {
            return Ok(share);
        }
        Err(wrong(self.name, parameter, &share.to_string()))
    }

    fn merge(&mut self) -> Result<Merge, SpecError> {
        match self.take("merge", "serial".to_owned())?.as_str() {
            "serial" => Ok(Merge::Serial),
            "parallel" => Ok(Merge::Parallel {
                split: self.share("split", 0.5)?,
            }),
            "path" => Ok(Merge::Path),
            other => Err(wrong(self.name, "merge", other)),
        }
    }

    fn end(&self, dag: Dag) -> Result<Dag, SpecError> {
        match self.rest.first() {
            None => Ok(dag),
            Some(part) => Err(SpecError::Parameter {
                name: self.name.to_owned(),
                parameter: part.key.unwrap_or(part.value).to_owned(),
            }),
        }
    }
}

fn wrong(name: &str, parameter: &str, value: &str) -> SpecError {
    SpecError::Value {
        name: name.to_owned(),
        parameter: parameter.to_owned(),
        value: value.to_owned(),
    }
}

impl FromStr for Dag {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Dag, SpecError> {
        let (name, rest) = Part::split(text);
        // For these names the rest of the text is a single word, even if it contains separators.
        let word = text.get(name.len() + 1..).unwrap_or_default();
        match name {
            "uts" => return uts(word),
            "file" => return file(word),
            _ => (),
        }
        let mut p = Parameters { name, rest };
        let dag = match tree(name, &mut p)? {
            Some(dag) => dag,
            None => other(name, &mut p)?,
        };
        p.end(dag)
    }
}

/// Parses computations that are trees of forks. Returns `None` for other names.
fn tree(name: &str, p: &mut Parameters<'_>) -> Result<Option<Dag>, SpecError> {
    Ok(Some(match name {
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
        _ => return Ok(None),
    }))
}

/// Parses all other computations.
fn other(name: &str, p: &mut Parameters<'_>) -> Result<Dag, SpecError> {
    Ok(match name {
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
    })
}

fn uts(name: &str) -> Result<Dag, SpecError> {
    let name = if name.is_empty() { "T3" } else { name };
    match UtsTree::published(name) {
        Some(_) => Ok(Dag::Uts {
            name: name.to_owned(),
        }),
        None => Err(wrong("uts", "tree", name)),
    }
}

fn file(path: &str) -> Result<Dag, SpecError> {
    if path.is_empty() {
        return Err(wrong("file", "path", ""));
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
                merge: Merge::Path,
            } => write!(f, "sort:k={k},base={base},merge=path"),
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
                "phased:phases={phases},items={items},shortest={shortest},longest={longest},\
                 seed={seed}"
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
    use crate::dag::{Computation, Size, Visitor, levels, measure};

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

    #[test]
    fn an_unknown_tree_is_not_built() {
        let name = "T9".to_owned();
        let error = Dag::Uts { name }.build(Sizes).unwrap_err().to_string();
        assert!(error.contains("`T9`") && error.contains("T1XL"), "{error}");
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
            "sort:k=6,merge=path",
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
