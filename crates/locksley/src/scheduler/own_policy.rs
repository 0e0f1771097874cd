//! A user-defined policy of a worker: from which victim to steal
//! ([`Balancer`](locksley_policy::Balancer)), or when and to whom to give
//! ([`Donor`](locksley_policy::Donor)).
//!
//! A policy is user code, and may fork, spawn or wait: so it is taken out of its cell while it is
//! being asked. A policy that panics, or whose creation panics, is not asked again, and the panic
//! goes to the pool's panic handler.

use std::cell::Cell;

use crate::pool::config::Config;
use crate::task::job::{catch, drop_caught};

/// The policy of one worker. Accessed by the owner only.
pub(crate) struct OwnPolicy<P: ?Sized> {
    policy: Cell<Option<Box<P>>>,
    /// Set while there is a policy.
    is_set: Cell<bool>,
}

impl<P: ?Sized> OwnPolicy<P> {
    /// Creates the policy with `make`, if that is given.
    pub(crate) fn new(config: &Config, make: Option<impl FnOnce() -> Box<P>>) -> OwnPolicy<P> {
        let policy = make.and_then(|make| config.guard(make));
        OwnPolicy {
            is_set: Cell::new(policy.is_some()),
            policy: Cell::new(policy),
        }
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.get()
    }

    /// Asks the policy. Returns `None` if there is none, or if it is being asked already, or
    /// panics.
    pub(crate) fn ask<R>(&self, config: &Config, f: impl FnOnce(&mut P) -> R) -> Option<R> {
        let mut policy = self.policy.take()?;
        match catch(|| f(&mut policy)) {
            Ok(answer) => {
                self.policy.set(Some(policy));
                Some(answer)
            }
            Err(payload) => {
                self.is_set.set(false);
                drop_caught(policy);
                config.handle_panic(payload);
                None
            }
        }
    }
}
