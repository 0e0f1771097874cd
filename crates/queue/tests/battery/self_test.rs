//! The battery must find the fault of a faulty structure.

use std::panic::catch_unwind;

use crate::subject::{ChannelSubject, DequeSubject};
use crate::subjects::*;
use crate::{channel, deque, model};

/// Runs a test that must fail, and returns its message.
fn failure_of(test: fn()) -> String {
    let panic = catch_unwind(test).expect_err("the test did not see the fault");
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic.downcast_ref::<&str>().expect("a message").to_string(),
    }
}

macro_rules! finds {
    ($($name:ident: $test:expr => $message:expr;)*) => {$(
        #[test]
        fn $name() {
            let failure = failure_of(|| $test);
            assert!(failure.contains($message), "failed for another reason: {failure}");
        }
    )*};
}

finds! {
    a_lost_item_by_count: deque::seen_once::<Loses>(Loses::new(), 1_000) => "was lost";
    a_duplicate_by_count: deque::seen_once::<Duplicates>(Duplicates::new(), 1_000)
        => "dropped more than once";
    a_double_drop_by_count: deque::seen_once::<DropsTwice>(DropsTwice::new(), 100)
        => "dropped more than once";
    a_refusal_by_count: deque::seen_once::<Refuses>(Refuses::new(), 100) => "grows refused";
    a_lost_last_item: deque::stampede::<Loses>() => "was taken 0 times";
    a_duplicate_of_the_last_item: deque::stampede::<Duplicates>() => "was taken 2 times";
    a_lost_item_while_growing: deque::growth::<Loses>() => "was lost";
    a_leak: deque::destructors::<Leaks>() => "was lost";
    a_double_drop_inside: deque::destructors::<DropsTwice>() => "dropped more than once";
    a_leak_of_an_orphan: deque::orphaned::<Leaks>() => "was lost";
    a_lost_batch: deque::batches::<Loses>(Loses::new, 1_000) => "was lost";
    a_duplicate_in_a_batch: deque::batches::<Duplicates>(Duplicates::new, 1_000)
        => "dropped more than once";
    starvation: deque::no_starvation_within::<Starves>(1_000) => "a thief starved";

    a_lost_item_by_model: model::deque::<Loses>(Loses::new) => "the model disagrees";
    a_duplicate_by_model: model::deque::<Duplicates>(Duplicates::new) => "the model disagrees";
    a_disorder_by_model: model::deque::<Disorders>(Disorders::new) => "the model disagrees";
    an_abort_by_model: model::deque::<Aborting>(Aborting::new) => "the model disagrees";
    a_false_empty_by_model: model::deque::<FeignsEmpty>(FeignsEmpty::new) => "the model disagrees";
    a_refusal_by_model: model::deque::<Refuses>(Refuses::new) => "the model disagrees";

    a_lost_message: channel::in_order::<Loses>(Loses::channel, 1_000) => "was lost";
    a_duplicate_message: channel::in_order::<Duplicates>(Duplicates::channel, 1_000)
        => "dropped more than once";
    a_disorder_of_messages: channel::in_order::<Disorders>(Disorders::channel, 1_000)
        => "out of order";
    a_leak_of_messages: channel::destructors::<Leaks>() => "was lost";
    a_leak_of_late_messages: channel::orphaned::<Leaks>() => "was lost";
    a_lost_message_by_model: model::channel::<Loses>(Loses::channel) => "the model disagrees";
    a_disorder_by_channel_model: model::channel::<Disorders>(Disorders::channel)
        => "the model disagrees";
    a_refusal_by_channel_model: model::channel::<Refuses>(Refuses::channel)
        => "the model disagrees";
}
