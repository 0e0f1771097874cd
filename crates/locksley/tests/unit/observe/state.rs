use super::*;

fn worker(activity: WorkerActivity, runs: &[usize], waits_for: &[usize]) -> WorkerState {
    WorkerState {
        index: 1,
        activity,
        waits_for: waits_for.to_vec(),
        runs: runs.to_vec(),
        queued: 3,
        targeted: 0,
    }
}

#[test]
fn the_table_gives_the_same_name_to_what_is_awaited_and_what_is_run() {
    let state = PoolState {
        workers: vec![
            worker(WorkerActivity::Waiting, &[], &[4096]),
            worker(WorkerActivity::Running, &[8192, 4096], &[]),
            worker(WorkerActivity::SpareIdle, &[], &[]),
        ],
        queued: 7,
        blocked: 1,
        spares_awake: 0,
        closing: true,
    };
    let expected = "\
7 jobs in the pool's queue, 1 workers blocked, 0 spares awake, closing
worker  state         queued  targeted  runs / waits for
     1  waiting            3         0   / #0
     1  running            3         0  #1 #0
     1  spare, idle        3         0
";
    assert_eq!(state.to_string(), expected);
}
