//! The models of this folder that depend on the barrier between owner and thief or sleeper, run
//! with fences on both sides.

use locksley_queue::barrier::{self, FenceMode};

macro_rules! fenced {
    ($($subject:ident: $($test:ident),*;)*) => {$($(
        #[test]
        fn $test() {
            barrier::model_fence_mode(FenceMode::Symmetric);
            super::$subject::$test();
        }
    )*)*};
}

fenced! {
    force: force_against_pops, force_against_the_last_pop, force_against_push,
        force_against_pop_and_push, force_against_marks, forced_for_another_thief,
        force_without_resistance, force_against_a_lowered_limit, force_against_expose, two_forces,
        steal_of_many_against_force, taken_back_or_forced;
    growth: grow_against_force, slot_reuse_behind_a_claim, shrink_behind_a_claim;
    owner: last_public_item_against_two_thieves, take_back_against_two_thieves,
        half_is_taken_back_against_a_thief_of_two, expose_against_steal, request_against_push,
        hole_against_a_thief_of_two, sleeper_against_push, sleeper_against_take_back,
        taken_from_the_middle, never_empty;
}
