use super::*;

#[test]
fn tasks_are_done_wherever_they_were_spawned() {
    let counts = [TaskCounts::default(), TaskCounts::default()];
    counts[0].spawn();
    counts[1].spawn_shared();
    counts[0].finish();
    assert!(!all_done(|| counts.iter()));
    counts[0].finish();
    assert!(all_done(|| counts.iter()));
}
