//! Deferred tasks: continuations that wait for inputs, in a process and on a server.

use std::sync::Arc;

use super::{DeferredId, ErasedContinuation, Slot, inputs_in};
use crate::local::Node;
use crate::parcel::encode;
use crate::reduce::Reduce;
use crate::task::Boxed;

/// A deferred task of this process.
pub(crate) struct Deferred<R> {
    continuation: Box<dyn ErasedContinuation<R>>,
    /// Slot that receives its result. It is known when the task that made it has ended.
    pub(crate) to: Option<Slot>,
    /// Return value of that task, if the task passed its slot on.
    pub(crate) own: Option<R>,
    inputs: Vec<Option<R>>,
    /// Number of empty slots, plus one until the task that made it has ended.
    missing: usize,
    /// That task in the lineage, if the process is tracked.
    pub(crate) creator: Option<Arc<Node<R>>>,
}

impl<R: Reduce> Deferred<R> {
    /// Creates a deferred task with `slots` empty slots. The task that makes it is still running.
    pub(crate) fn new(
        continuation: Box<dyn ErasedContinuation<R>>,
        slots: usize,
        creator: Option<Arc<Node<R>>>,
    ) -> Deferred<R> {
        Deferred {
            continuation,
            to: None,
            own: None,
            inputs: std::iter::repeat_with(|| None).take(slots).collect(),
            missing: slots + 1,
            creator,
        }
    }

    /// Adds an empty slot. Returns its index.
    pub(crate) fn add_slot(&mut self) -> u32 {
        self.inputs.push(None);
        self.missing += 1;
        (self.inputs.len() - 1) as u32
    }

    /// Fills a slot. Returns `false` if there is no such empty slot.
    pub(crate) fn fill(&mut self, index: u32, input: R) -> bool {
        match self.inputs.get_mut(index as usize) {
            Some(slot @ None) => {
                *slot = Some(input);
                self.missing -= 1;
                true
            }
            _ => false,
        }
    }

    /// Notes that the task that made it has ended.
    pub(crate) fn close(&mut self) {
        self.missing -= 1;
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.missing == 0
    }

    /// Returns the task. It must be ready.
    pub(crate) fn into_task(self) -> Boxed<R> {
        let inputs = self.inputs.into_iter().flatten().collect();
        self.continuation.ready(self.own, inputs)
    }

    /// Returns the deferred task in the form that a server stores.
    pub(crate) fn pack(&self, id: DeferredId) -> DeferredTask {
        let count = self.inputs.len();
        let mut front = encode(self.continuation.kind());
        front.extend(encode(&inputs_in(&self.own, count)));
        front.extend(encode(&self.to));
        let mut head = self.continuation.head();
        head.extend(encode(&self.own));
        head.extend(encode(&(count as u64)));
        let filled = self.inputs.iter().enumerate();
        let filled =
            filled.filter_map(|(index, input)| Some((index as u32, encode(input.as_ref()?))));
        DeferredTask {
            id,
            front,
            head,
            slots: count as u32,
            filled: filled.collect(),
            urgent: self.continuation.policy().urgent,
        }
    }
}

/// A deferred task in the form that a server stores: the encoded [parcel](crate::Parcel) in pieces,
/// between which the inputs go.
///
/// The parcel is `front`, the length of the rest as a variable-length integer, `head`, and the
/// inputs in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeferredTask {
    /// Number of the deferred task.
    pub id: DeferredId,
    /// Beginning of the parcel, up to its argument.
    pub front: Vec<u8>,
    /// Beginning of the argument, up to the inputs.
    pub head: Vec<u8>,
    /// Number of slots.
    pub slots: u32,
    /// Filled slots: index and encoded input.
    pub filled: Vec<(u32, Vec<u8>)>,
    /// Whether it goes before tasks that are not urgent when it is ready.
    pub urgent: bool,
}

impl DeferredTask {
    /// Returns the parcel, given the inputs of all slots.
    pub(crate) fn assemble<'a>(&self, inputs: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
        let mut argument = self.head.clone();
        inputs
            .into_iter()
            .for_each(|input| argument.extend_from_slice(input));
        let mut parcel = self.front.clone();
        parcel.extend(encode(&argument));
        parcel
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::continuation::{Continuation, Merge};
    use crate::{Sum, Tasks};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Weigh(String, u32);

    impl Continuation for Weigh {
        const KIND: &'static str = "weigh";
        type Output = Sum<u64>;

        fn run(self, inputs: Vec<Sum<u64>>, _: &Tasks<Sum<u64>>) -> Sum<u64> {
            let weighed = inputs.iter().enumerate();
            Sum(weighed.map(|(place, Sum(n))| (place as u64 + 1) * n).sum())
        }
    }

    fn slot(number: u64, index: u32) -> Slot {
        let of = DeferredId { home: 300, number };
        Slot { of, index }
    }

    /// The server assembles the same bytes that the process would have packed.
    #[test]
    fn pieces_and_inputs_are_the_parcel_of_the_ready_task() {
        for (own, to) in [(None, None), (Some(Sum(70_000)), Some(slot(5, 900)))] {
            for count in [0_u64, 1, 3, 200] {
                let make = || {
                    let continuation = Box::new(Weigh("scales".repeat(50), 7));
                    let mut deferred = Deferred::new(continuation, count as usize, None);
                    (deferred.own, deferred.to) = (own, to);
                    deferred
                };
                let mut whole = make();
                whole.close();
                let mut part = make();
                part.close();
                for index in 0..count {
                    assert!(whole.fill(index as u32, Sum(1000 * index)));
                    if index % 2 == 0 {
                        assert!(part.fill(index as u32, Sum(1000 * index)));
                    }
                }
                assert!(whole.is_ready());
                let mut packed = part.pack(slot(1, 0).of);
                assert_eq!(packed.filled.len() as u64, count.div_ceil(2));
                for index in (0..count).filter(|index| index % 2 == 1) {
                    let late = (index as u32, encode(&Sum(1000 * index)));
                    packed.filled.push(late);
                }
                packed.filled.sort();
                let inputs = packed.filled.iter().map(|(_, input)| input.as_slice());
                let mut expected = whole.into_task().pack();
                expected.to = to;
                assert_eq!(packed.assemble(inputs), expected.encode());
                assert_eq!(u64::from(expected.inputs), count + u64::from(own.is_some()));
            }
        }
    }

    #[test]
    fn a_slot_is_filled_once_and_the_maker_counts() {
        let mut deferred = Deferred::new(Box::new(Merge::<Sum<u64>>::new()), 1, None);
        assert_eq!(deferred.add_slot(), 1);
        assert!(deferred.fill(1, Sum(1)));
        assert!(!deferred.fill(1, Sum(2)), "it is full");
        assert!(!deferred.fill(2, Sum(2)), "there is none");
        assert!(deferred.fill(0, Sum(3)));
        assert!(!deferred.is_ready(), "who made it runs");
        deferred.close();
        assert!(deferred.is_ready());
    }
}
