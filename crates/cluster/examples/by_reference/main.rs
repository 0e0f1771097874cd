//! Inputs and results that exceed the size limits: they are files, and tasks carry references to
//! them. This example sorts a file of numbers: tasks sort pieces of it into files, and a
//! continuation merges these, two at a time.
//!
//! ```text
//! cargo run --release -p locksley-cluster --example by_reference -- here /tmp/numbers 10000000
//!
//! cargo build --release -p locksley-cluster --features redis --example by_reference
//! target/release/examples/by_reference worker &
//! target/release/examples/by_reference sort /shared/numbers 10000000
//! ```
//!
//! All workers must see the folder at the same path. Tasks may run twice, even at the same time if
//! a worker was wrongly considered dead. The result is right nevertheless, because:
//!
//! - the name of a file describes its content and depends on nothing else, so that a second run
//!   makes the same file;
//! - a file is written under another name, and renamed when it is complete;
//! - files that were inputs are deleted by the submitter, when the job is over, and not by tasks.

mod files;

use std::error::Error;
use std::path::Path;

use files::{Reference, merge, sort_piece};
use locksley_cluster::{Continuation, Local, Policy, Program, Reduce, Task, Tasks};
use serde::{Deserialize, Serialize};

/// Numbers that a task sorts in memory.
const PIECE: u64 = 1 << 19;

/// The result: files, each sorted.
#[derive(Debug, Serialize, Deserialize)]
struct Files(Vec<Reference>);

impl Reduce for Files {
    fn identity() -> Files {
        Files(Vec::new())
    }

    fn combine(&mut self, other: Files) {
        self.0.extend(other.0);
    }
}

/// Sorts a range of the numbers of a file.
#[derive(Clone, Serialize, Deserialize)]
struct Sort {
    file: Reference,
    from: u64,
    to: u64,
}

/// Merges the files of two tasks.
#[derive(Serialize, Deserialize)]
struct Merge;

impl Task for Sort {
    const KIND: &'static str = "sort";
    /// A full disk or an unavailable share may recover a little later.
    const POLICY: Policy = Policy::new().back_off(
        std::time::Duration::from_secs(1),
        std::time::Duration::from_secs(60),
    );
    type Output = Files;

    fn run(self, tasks: &Tasks<Files>) -> Files {
        if self.to - self.from > PIECE {
            let middle = self.from.midpoint(self.to);
            let (mut left, mut right) = (self.clone(), self);
            (left.to, right.from) = (middle, middle);
            tasks.spawn_all([left, right]).then(Merge);
            return Files::identity();
        }
        // A panic is a failed try: the task is tried again.
        let sorted = sort_piece(&self.file, self.from, self.to);
        Files(vec![sorted.unwrap_or_else(|error| panic!("{error}"))])
    }
}

impl Continuation for Merge {
    const KIND: &'static str = "merge";
    type Output = Files;

    fn run(self, inputs: Vec<Files>, _: &Tasks<Files>) -> Files {
        let inputs: Vec<Reference> = inputs.into_iter().flat_map(|files| files.0).collect();
        Files(vec![
            merge(&inputs).unwrap_or_else(|error| panic!("{error}")),
        ])
    }
}

fn program() -> Program<Files> {
    let program = Program::new("sort").with::<Sort>();
    program.with_continuation::<Merge>()
}

fn first(file: &Reference) -> Sort {
    Sort {
        file: file.clone(),
        from: 0,
        to: file.numbers,
    }
}

/// Checks the result, keeps it, and deletes the intermediate files of tasks.
fn finish(folder: &Path, file: &Reference, files: Files) -> Result<(), Box<dyn Error>> {
    let [sorted] = &files.0[..] else {
        return Err(format!("{} files instead of one", files.0.len()).into());
    };
    sorted.check(file)?;
    files::clean(folder, &[file, sorted])?;
    println!("{} numbers in {}", sorted.numbers, sorted.path.display());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["here", folder, numbers] => {
            let folder = Path::new(folder);
            let file = files::made(folder, numbers.parse()?)?;
            let pool = locksley::Pool::builder().build()?;
            let (files, _) = Local::new(pool, &program()).run([first(&file)])?;
            finish(folder, &file, files)
        }
        #[cfg(feature = "redis")]
        ["worker"] => {
            let redis = std::sync::Arc::new(redis()?);
            let counts = locksley_cluster::leases::serve_until_ctrl_c(redis, build(), program())?;
            println!("{counts:?}");
            Ok(())
        }
        #[cfg(feature = "redis")]
        ["sort", folder, numbers] => {
            use locksley_cluster::leases::submit_and_wait;
            let folder = &std::fs::canonicalize(folder)?;
            let file = files::made(folder, numbers.parse()?)?;
            let name = format!("sort-{}", std::process::id()).parse()?;
            let files = submit_and_wait(&redis()?, build(), &program(), name, [first(&file)])?;
            finish(folder, &file, files)
        }
        _ => {
            Err("usage: here FOLDER NUMBERS | worker | sort FOLDER NUMBERS (feature redis)".into())
        }
    }
}

#[cfg(feature = "redis")]
fn build() -> locksley_cluster::Build {
    locksley_cluster::Build::named("by-reference 1")
}

#[cfg(feature = "redis")]
fn redis() -> Result<locksley_cluster::leases::Redis, Box<dyn Error>> {
    use locksley_cluster::leases::{Redis, Server};
    Ok(Redis::connect(Server::find(None)?)?)
}

#[cfg(test)]
mod tests;
