//! `paralight::iter::GenericThreadPool`: its pipelines as loops that split on request.
//!
//! A pipeline is a loop over the indices of its source. Each block of the loop has an accumulator
//! of its own, since an accumulator need not be [`Send`], and the caller combines the results of
//! the blocks, in order.
//!
//! Every index is either processed or cleaned up, even if a pipeline panics: the panic is kept
//! until all blocks were fed, and blocks that are fed after it are cleaned up.

use std::any::Any;
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use paralight::iter::{Accumulator, ExactSizeAccumulator, GenericThreadPool, SourceCleanup};

use crate::Pool;
use crate::par::drive::{End, SplitMode, drive};
use crate::par::pipe::Same;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};

// SAFETY: `Blocks` is fed with disjoint blocks that cover all indices, since the driver counts
// positions itself and `is_over` is never `true`. `Indices` passes each index of a block on, or
// cleans it up when it is dropped, and never both.
unsafe impl GenericThreadPool for &Pool {
    fn upper_bounded_pipeline<Output: Send, Accum>(
        self,
        input_len: usize,
        init: impl Fn() -> Accum + Sync,
        process_item: impl Fn(Accum, usize) -> ControlFlow<Accum, Accum> + Sync,
        finalize: impl Fn(Accum) -> Output + Sync,
        reduce: impl Fn(Output, Output) -> Output,
        cleanup: &(impl SourceCleanup + Sync),
    ) -> Output {
        let bound = AtomicUsize::new(usize::MAX);
        let block = |indices: &mut Indices<_>| {
            let mut acc = init();
            while let Some(index) = indices.next_up_to(bound.load(Ordering::Relaxed)) {
                acc = match process_item(acc, index) {
                    ControlFlow::Continue(acc) => acc,
                    ControlFlow::Break(acc) => {
                        bound.fetch_min(index, Ordering::Relaxed);
                        acc
                    }
                };
            }
            finalize(acc)
        };
        let outputs = run(self, input_len, block, cleanup);
        let output = outputs.into_iter().reduce(reduce);
        output.expect("a loop has at least one block")
    }

    fn iter_pipeline<Output, Accum: Send>(
        self,
        input_len: usize,
        accum: impl Accumulator<usize, Accum> + Sync,
        reduce: impl ExactSizeAccumulator<Accum, Output>,
        cleanup: &(impl SourceCleanup + Sync),
    ) -> Output {
        let block = |indices: &mut Indices<_>| accum.accumulate(indices);
        let outputs = run(self, input_len, block, cleanup);
        reduce.accumulate_exact(outputs.into_iter())
    }
}

/// Runs a pipeline in the pool, and returns the results of its blocks.
fn run<O, B, C>(pool: &Pool, len: usize, block: B, cleanup: &C) -> Vec<O>
where
    O: Send,
    B: Fn(&mut Indices<'_, C>) -> O + Sync,
    C: SourceCleanup + Sync,
{
    let blocks = Blocks {
        block,
        cleanup,
        panicked: AtomicBool::new(false),
        panic: Mutex::new(None),
    };
    let outputs = pool.install(|| drive(0..len, &Same, &blocks, SplitMode::OnRequest));
    let panic = blocks.panic.into_inner();
    if let Some(payload) = panic.unwrap_or_else(|poisoned| poisoned.into_inner()) {
        resume_unwind(payload);
    }
    outputs
}

/// The end of the loop: runs the pipeline on each block.
struct Blocks<'c, B, C> {
    block: B,
    cleanup: &'c C,
    /// Set together with `panic`, and cheaper to read.
    panicked: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<O, B, C> End<usize> for Blocks<'_, B, C>
where
    O: Send,
    B: Fn(&mut Indices<'_, C>) -> O + Sync,
    C: SourceCleanup + Sync,
{
    type Acc = Vec<O>;

    fn start(&self) -> Vec<O> {
        Vec::new()
    }

    fn feed(&self, acc: &mut Vec<O>, from: usize, to: usize, _: impl Iterator<Item = usize>) {
        let mut indices = Indices {
            rest: from..to,
            cleanup: self.cleanup,
        };
        if self.panicked.load(Ordering::Relaxed) {
            return;
        }
        let output = catch_unwind(AssertUnwindSafe(|| {
            let output = (self.block)(&mut indices);
            drop(indices);
            output
        }));
        match output {
            Ok(output) => acc.push(output),
            Err(payload) => {
                self.panicked.store(true, Ordering::Relaxed);
                if let Ok(mut first) = self.panic.lock() {
                    first.get_or_insert(payload);
                }
            }
        }
    }

    fn join(&self, mut left: Vec<O>, mut right: Vec<O>) -> Vec<O> {
        left.append(&mut right);
        left
    }
}

/// The indices of a block. Those that are not taken are cleaned up when it is dropped.
struct Indices<'c, C: SourceCleanup> {
    rest: Range<usize>,
    cleanup: &'c C,
}

impl<C: SourceCleanup> Indices<'_, C> {
    /// Takes the next index, unless it is greater than the bound.
    fn next_up_to(&mut self, bound: usize) -> Option<usize> {
        if self.rest.start > bound {
            return None;
        }
        self.rest.next()
    }
}

impl<C: SourceCleanup> Iterator for Indices<'_, C> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.rest.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl<C: SourceCleanup> Drop for Indices<'_, C> {
    fn drop(&mut self) {
        if C::NEEDS_CLEANUP && !self.rest.is_empty() {
            // SAFETY: these indices belong to the block alone, and were not passed on.
            unsafe { self.cleanup.cleanup_item_range(self.rest.clone()) };
        }
    }
}
