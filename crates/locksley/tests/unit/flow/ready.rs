use super::super::engine::{List, NextTask};
use super::super::task::Context;
use super::*;

/// A task without accesses, which is only looked at.
fn task(index: usize, near: Option<usize>) -> Task {
    let entries = NonNull::slice_from_raw_parts(NonNull::dangling(), 0);
    Task::new(run, index, 0, entries, near)
}

unsafe fn run(_: NonNull<Task>, _: &Context<'_>) {}

/// A list of tasks that depend on nothing, near these workers.
fn with_list(near: &[Option<usize>], test: impl Fn(&dyn Fn(usize) -> Option<usize>)) {
    let list = List::default();
    let mut tasks: Vec<Task> = near
        .iter()
        .enumerate()
        .map(|(index, &near)| task(index, near))
        .collect();
    for task in &mut tasks {
        // SAFETY: the tasks outlive the list's use, and have no entries.
        unsafe { list.add(NonNull::from(task)) };
    }
    test(&|worker| match list.take(worker, None) {
        // SAFETY: it is in the list.
        NextTask::Task(task) => Some(unsafe { task.as_ref() }.index),
        _ => None,
    });
}

#[test]
fn a_worker_prefers_what_is_near_it_and_takes_the_rest_too() {
    with_list(&[Some(0), Some(1), None, Some(0), Some(1)], |take| {
        assert_eq!([take(1), take(1), take(1)], [Some(1), Some(2), Some(4)]);
        assert_eq!([take(1), take(0), take(0)], [Some(0), Some(3), None]);
    });
}

#[test]
fn a_worker_does_not_look_past_everything() {
    let mut near = [Some(0); 200];
    near[199] = Some(1);
    with_list(&near, |take| {
        assert_eq!([take(1), take(1), take(0)], [Some(0), Some(1), Some(2)]);
    });
}

#[test]
fn a_worker_that_no_task_can_name_is_no_hint() {
    assert_eq!(task(0, Some(usize::MAX)).near(), None);
    assert_eq!(task(0, Some(7)).near(), Some(7));
}
