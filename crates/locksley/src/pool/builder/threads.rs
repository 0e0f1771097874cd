//! Options of the builder for the workers' threads, and for panics.

use super::Builder;
use crate::machine::pinning::{self, Pinning};
use crate::pool::config::Pinner;
use crate::scheduler::neighbours;

impl Builder {
    /// Sets the size of the workers' stacks, in bytes. The default is std's: 2 MiB, or
    /// `RUST_MIN_STACK`.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Sets the CPU that each worker is pinned to. The default is [`Pinning::None`].
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.config.pinner = (pinning != Pinning::None).then_some(Pinner {
            cpus: pinning::pinned_cpus,
            set_orders: neighbours::set_pinned_orders,
        });
        self.config.pinning = pinning;
        self
    }

    /// Names the workers' threads, by index. The default is `locksley-0` and so on.
    ///
    /// The function must not use the pool: a spare's name is asked for while its pool starts it.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.config.thread_name = Some(Box::new(name));
        self
    }

    /// Sets a function that runs in each worker's thread when it starts, with the worker's index.
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.start = Some(Box::new(handler));
        self
    }

    /// Sets a function that runs in each worker's thread before it ends, with the worker's index.
    /// It may spawn and wait for tasks, but not for a [`broadcast`](crate::broadcast): other
    /// workers may have ended.
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.exit = Some(Box::new(handler));
        self
    }

    /// Sets a function that gets the payload of a panic that reaches no caller: of a task without a
    /// handle ([`spawn_detached`](crate::spawn_detached),
    /// [`spawn_broadcast`](crate::spawn_broadcast)), of a task whose handle was dropped, of the
    /// handlers of this builder, or of a balancer or donor.
    ///
    /// Without this function, such a panic of a task prints its message and aborts the process. A
    /// panic of a handler, a balancer or a donor prints its message, and the pool goes on.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn std::any::Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.config.panic = Some(Box::new(handler));
        self
    }
}
