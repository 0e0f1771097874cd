//! Programs that a pool must finish, each in a child process with a time limit.
//!
//! A pool that stands still cannot be tested in the test's own process: the test would stand still
//! too. So each test starts this binary again, for itself alone, and kills it after a while. The
//! limits only tell a standstill from slowness: none of the programs takes a second on an idle
//! machine.
//!
//! `LOCKSLEY_HANGS=all` runs the programs of [`KNOWN`] too.
#![cfg(all(target_os = "linux", not(loom)))]

mod blocking;
mod broadcasts;
mod child;
mod growth;
mod limits;
mod pools;
mod starting;
mod unwinding;

/// Programs that the pool does not finish yet, or not every time. They are left out unless
/// `LOCKSLEY_HANGS` is `all`. A test that passes every time belongs here no longer.
const KNOWN: &[&str] = &[
    "blocking::a_first_closure_that_waits_for_the_second",
    "blocking::a_task_that_is_waited_for_on_a_channel",
    "blocking::a_thousand_futures_of_other_tasks",
    "blocking::futures_of_other_tasks_with_few_spares",
    "blocking::nested_handles_beyond_the_spares",
    "blocking::sixty_six_futures_of_other_tasks",
    "blocking::three_to_nine_workers_on_two_processors",
    "blocking::three_workers_on_two_processors",
    "broadcasts::four_threads_at_once",
    "broadcasts::joins_around_a_broadcast_run_once",
    "growth::a_joined_fifo_task_leaves_nothing_behind",
    "limits::a_refused_spare_of_a_future",
    "limits::refused_spares_of_calls_into_another_pool",
    "limits::refused_spares_of_many_futures",
    "pools::chains_over_three_pools",
    "pools::dropped_on_a_worker_that_its_last_task_broadcasts_to",
    "pools::dropped_on_a_worker_that_its_last_task_installs_on",
    "pools::seventy_tasks_that_call_there_and_back",
    "pools::tasks_that_call_there_and_back",
    "starting::a_join_in_a_forked_process",
    "unwinding::a_lock_of_the_second_closure_is_poisoned",
    "unwinding::a_second_closure_sees_no_panic",
    "unwinding::unrelated_tasks_see_no_panic",
];
