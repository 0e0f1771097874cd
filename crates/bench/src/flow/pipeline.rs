//! A stream of blocks through four stages, the third of which is serial: it processes the blocks in
//! order.
//!
//! ```text
//!   unpack (numbers from a seed) -> sort -> chain (a key from all blocks so far) -> seal (by it)
//! ```
//!
//! In batches with barriers, a stage begins when the one before it is done with the whole batch,
//! and one worker idles while the other one chains. With joins, the last two stages of a batch run
//! beside the first two of the next one. In a flow every stage of every block is a task, and the
//! chain is in order because each of its tasks updates the key. This measures how much of the
//! serial stage the others hide. The results are compared with those of the serial version, which
//! takes each block through all stages in turn.

use locksley::flow::{Object, flow};

use super::tiles::{Loop, by_halves, by_scope};
use super::versions::Versions;
use crate::harness::Workload;

pub(super) const NAME: &str = "flow pipeline P=2";

/// Number of blocks in a batch.
const BATCH: usize = 16;

/// Factor that mixes bits: the odd number next to 2^64 divided by the golden ratio.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Number of times that the chain mixes in a number. The multiplications depend on each other, so
/// that the stage is a considerable part of the work.
const MIXES: usize = 4;

/// A block of numbers.
#[derive(Clone, Debug)]
struct Block {
    seed: u64,
    numbers: Vec<u64>,
    key: u64,
    seal: u64,
}

impl Block {
    fn new(seed: u64, length: usize) -> Block {
        Block {
            seed,
            numbers: vec![0; length],
            key: 0,
            seal: 0,
        }
    }

    /// The first stage.
    fn unpack(&mut self) {
        let mut state = self.seed.wrapping_mul(ODD) | 1;
        for number in &mut self.numbers {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *number = state;
        }
    }

    /// The second stage.
    fn sort(&mut self) {
        self.numbers.sort_unstable();
    }

    /// The third stage, with the key of the block before this one.
    fn chain(&mut self, key: &mut u64) {
        for number in &self.numbers {
            for _ in 0..MIXES {
                *key = (*key ^ number).wrapping_mul(ODD).rotate_left(29);
            }
        }
        self.key = *key;
    }

    /// The last stage.
    fn seal(&mut self) {
        let sealed = self.numbers.iter().zip(1..);
        self.seal = sealed.fold(self.key, |seal, (number, place): (&u64, u64)| {
            seal.wrapping_add((number ^ self.key).wrapping_mul(ODD ^ place))
        });
    }
}

/// Blocks in their order.
#[derive(Clone, Debug)]
pub(super) struct Stream(Vec<Block>);

impl Stream {
    pub(super) fn new(blocks: u64, length: usize) -> Stream {
        let seeds = 1..=blocks;
        Stream(seeds.map(|seed| Block::new(seed, length)).collect())
    }

    fn numbers(&self) -> u64 {
        self.0.iter().map(|block| block.numbers.len() as u64).sum()
    }

    fn seals(self) -> Vec<u64> {
        self.0.into_iter().map(|block| block.seal).collect()
    }

    pub(super) fn serial(mut self) -> Vec<u64> {
        let mut key = 0;
        for block in &mut self.0 {
            block.unpack();
            block.sort();
            block.chain(&mut key);
            block.seal();
        }
        self.seals()
    }

    pub(super) fn flow(mut self) -> Vec<u64> {
        let mut key = 0;
        flow(|f| {
            let key = f.object(&mut key);
            for block in &mut self.0 {
                let block: Object<'_, Block> = f.object(block);
                f.fork(block.update(), Block::unpack);
                f.fork(block.update(), Block::sort);
                f.fork((block.update(), key.update()), |(block, key)| {
                    block.chain(key);
                });
                f.fork(block.update(), Block::seal);
            }
        });
        self.seals()
    }

    /// Runs the stages in sequence, each for a whole batch.
    pub(super) fn barrier(mut self) -> Vec<u64> {
        let mut key = 0;
        for batch in self.0.chunks_mut(BATCH) {
            by_scope(&Block::unpack, batch);
            by_scope(&Block::sort, batch);
            finish(by_scope, batch, &mut key);
        }
        self.seals()
    }

    /// Runs the first two stages of a batch beside the last two of the one before it.
    pub(super) fn fork_join(mut self) -> Vec<u64> {
        let mut key = 0;
        let mut before: &mut [Block] = &mut [];
        for batch in self.0.chunks_mut(BATCH) {
            let prepare = |block: &mut Block| {
                block.unpack();
                block.sort();
            };
            locksley::join(
                || by_halves(&prepare, batch),
                || finish(by_halves, before, &mut key),
            );
            before = batch;
        }
        finish(by_halves, before, &mut key);
        self.seals()
    }
}

/// Runs the last two stages of a batch.
fn finish(each: Loop<Block>, batch: &mut [Block], key: &mut u64) {
    for block in &mut *batch {
        block.chain(key);
    }
    each(&Block::seal, batch);
}

pub(super) fn workload(quick: bool) -> Workload {
    let stream = if quick {
        Stream::new(40, 32)
    } else {
        Stream::new(256, 1024)
    };
    let program = Versions {
        name: NAME,
        about: "256 blocks of 1024 numbers through four stages, batches of 16; one operation is \
                one number",
        operations: stream.numbers(),
        expected: stream.clone().serial(),
        input: stream,
        // The serial version defines the result.
        oracle: Ok(()),
        serial: Stream::serial,
        barrier: Stream::barrier,
        fork_join: Stream::fork_join,
        flow: Stream::flow,
    };
    program.workload()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_gives_the_same_seals() {
        // The last batch is not full.
        let stream = Stream::new(2 * BATCH as u64 + 5, 20);
        let expected = stream.clone().serial();
        for seals in [Stream::flow, Stream::barrier, Stream::fork_join] {
            assert_eq!(seals(stream.clone()), expected);
        }
    }

    #[test]
    fn seals_tell_the_order() {
        let stream = Stream::new(3, 20);
        let mut other = stream.clone();
        other.0.swap(0, 1);
        let (seals, others) = (stream.serial(), other.serial());
        assert!(seals.iter().zip(&others).all(|(seal, other)| seal != other));
    }
}
