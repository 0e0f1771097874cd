//! Sorts eight mebibytes, with limits of a few kilobytes for tasks and results.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use locksley_cluster::Build;
use locksley_cluster::leases::{
    Catalogue, JobInfo, LeasePool, Limits, Memory, Setup, Stop, Terms, WorkerId, follow, serve,
    submit,
};

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("locksley-{name}-{}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }

    fn files(&self) -> usize {
        std::fs::read_dir(&self.0).expect("it is there").count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn large_files_are_sorted_by_small_tasks() {
    let folder = Folder::new("references");
    let file = files::made(&folder.0, 2 * PIECE + 7).expect("there is room");
    assert!(std::fs::metadata(&file.path).expect("it is there").len() > 8 << 20);
    let leases: Arc<dyn LeasePool> = Arc::new(Memory::default());
    let limits = Limits {
        task: 4096,
        result: 4096,
        ..Limits::default()
    };
    let job = JobInfo {
        id: "sort".parse().expect("it is plain"),
        build: Build(3),
        program: "sort".to_owned(),
        terms: Terms {
            limits,
            ..Terms::default()
        },
    };
    submit(&*leases, &job, [first(&file)]).expect("it is new");
    let pool = locksley::Pool::builder().workers(2).build();
    let worker = WorkerId {
        name: "w".to_owned(),
        build: job.build,
    };
    let catalogue = Catalogue::default().with(program());
    let mut setup = Setup::new(worker, pool.expect("it is small"), catalogue);
    setup.linger = Some(Duration::from_millis(300));
    serve(leases.clone(), setup, &Stop::default(), |_| {}).expect("no error");
    let ended = follow(&*leases, &job.id, Duration::ZERO, |_| {}).expect("it is over");
    let files = ended.result(&program()).expect("it is a result");
    assert!(folder.files() > 4, "pieces, and what they were merged to");
    finish(&folder.0, &file, files).expect("it is sorted");
    assert_eq!(folder.files(), 2, "the numbers, and the sorted ones");
}

#[test]
fn a_task_that_runs_twice_makes_the_same_file() {
    let folder = Folder::new("twice");
    let file = files::made(&folder.0, 1000).expect("there is room");
    let once = sort_piece(&file, 0, 500).expect("it is sorted");
    assert_eq!(sort_piece(&file, 0, 500).expect("it is sorted"), once);
    let other = sort_piece(&file, 500, 1000).expect("it is sorted");
    let merged = merge(&[once, other]).expect("they are merged");
    merged.check(&file).expect("they are the same numbers");
    let mut wrong = file.clone();
    wrong.sum += 1;
    merged.check(&wrong).expect_err("these are others");
}
