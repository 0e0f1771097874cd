//! Execution of a whole computation in rounds.

use locksley_policy::Sharing;

use super::Rounds;
use crate::dag::Computation;
use crate::engine::{Finish, Sampler};
use crate::{Setup, Tally};

/// Lends a computation to [`Rounds`].
struct Lent<'a, C>(&'a mut C);

impl<C: Computation> Computation for Lent<'_, C> {
    type Node = C::Node;

    const NESTED: bool = C::NESTED;

    fn start(&mut self) -> C::Node {
        self.0.start()
    }

    fn execute(&mut self, node: C::Node) -> crate::dag::Enabled<C::Node> {
        self.0.execute(node)
    }

    fn size(&self) -> crate::dag::Size {
        self.0.size()
    }
}

/// Runs until the sink is executed. A round is a tick.
pub(crate) fn run<C: Computation>(
    computation: &mut C,
    setup: &Setup,
    sharing: Option<Sharing>,
) -> Finish {
    let mut rounds = Rounds::new(Lent(computation), setup.processors, sharing, setup.seed);
    let (mut tally, mut sampler) = (Tally::default(), Sampler::new(setup));
    sampler.busy(0, 0);
    let mut now = 0;
    loop {
        now += 1;
        let round = rounds.round();
        tally.executed += round.busy;
        tally.idle_iterations += round.idle;
        tally.stolen += round.stolen;
        tally.items_stolen += round.stolen;
        tally.empty += round.empty;
        tally.aborted += round.aborted;
        tally.skipped += round.skipped;
        tally.offered += round.donated;
        tally.donated += round.donated;
        tally.refused += round.refused;
        tally.kept += round.kept;
        if round.ended {
            (0..rounds.count()).for_each(|p| sampler.idle(p, now));
            return Finish::new(now, tally, sampler);
        }
        for p in 0..rounds.count() {
            if rounds.is_busy(p) {
                sampler.busy_still(p, now)
            } else {
                sampler.idle(p, now)
            }
        }
        if sampler.next_sample() == now {
            sampler.sample(rounds.count(), |p| (rounds.load(p), rounds.is_busy(p)));
        }
    }
}
