//! Options of the builder for recordings and traces.

use super::Builder;
use crate::observe::record::Recorder;
use crate::observe::trace::Tracing;

impl Builder {
    /// Records what the pool runs: which strands fork and join, and how long each of them takes.
    /// [`Pool::take_recording`](crate::Pool::take_recording) returns the recording, for the
    /// simulator ([guide](crate::guide::more_cores)). [`Pool::record`](crate::Pool::record) records
    /// a single call, on any pool. The default is `false`.
    ///
    /// **What is recorded** is what calls from outside run in the pool: joins; scopes with their
    /// tasks; spawned tasks whose handles are waited for; flows, by which task needs which; loops,
    /// split as far as idle workers would split them. The time of a strand is what it spends on its
    /// own worker, without waiting, and without what the worker runs meanwhile. The structure is
    /// that of the program, whatever the number of workers and the strategy.
    ///
    /// **What is not recorded**: tasks that are spawned from outside of the pool, or that no
    /// recorded strand waits for; scopes whose body runs outside of the pool
    /// ([`Pool::in_place_scope`](crate::Pool::in_place_scope)); and what another pool runs. If a
    /// lock or the operating system keeps a strand waiting, that counts as its work: have no more
    /// workers than processors.
    ///
    /// **What it costs**: a fork takes about a microsecond, instead of a few nanoseconds, and some
    /// 100 bytes until the recording is dropped. 60 nanoseconds of it are in the recorded time of
    /// each strand, so strands should take much longer. A join's frame is larger too, which may
    /// call for a larger [stack](Builder::stack_size).
    pub fn record(mut self, record: bool) -> Self {
        self.config.recorder = record.then(Recorder::default);
        self
    }

    /// Traces what the workers do, for a timeline: [`Pool::take_trace`](crate::Pool::take_trace)
    /// returns it ([guide](crate::guide::observing)). The default is 0, which turns it off.
    ///
    /// **What is noted**: the jobs that a worker takes from a queue, not those that a join takes
    /// back and runs inlined; where a job came from that was another worker's: stolen, donated or
    /// dealt; the times in which a worker waits, has no work, or is parked.
    ///
    /// **Memory is bounded**: each worker keeps its newest `capacity` entries of 16 bytes, at most
    /// 2^24 of them. A job is two entries, four with the idle time around it, and one more if it
    /// was another worker's. Entries that are overwritten before they are taken are counted
    /// (`Trace::source`).
    ///
    /// **What it costs**: some 40 nanoseconds for each entry, so nothing at a fork that is not
    /// stolen. A pool that does not trace pays a branch for each of them.
    pub fn trace(mut self, capacity: usize) -> Self {
        self.config.tracing = (capacity > 0).then(|| Tracing::new(capacity));
        self
    }
}
