//! A policy of the user's, which a worker asks now and then: whom to steal from
//! ([`Balancer`](locksley_policy::Balancer)), when and to whom to give
//! ([`Donor`](locksley_policy::Donor)).
//!
//! It is the user's code, and may fork, spawn or wait: so it is not there while it is being asked.
//! One that panics, or whose creation panics, is not asked again, and the panic goes to the pool's
//! panic handler.

use std::cell::Cell;

use crate::pool::config::Config;
use crate::task::job::{catch, drop_caught};

/// The policy of one worker. The owner's alone.
pub(crate) struct OwnPolicy<P: ?Sized> {
    policy: Cell<Option<Box<P>>>,
    /// Set while there is one.
    is_set: Cell<bool>,
}

impl<P: ?Sized> OwnPolicy<P> {
    /// The policy that `make` creates, if there is to be one.
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

    /// Asks the policy. `None` if there is none, or it is being asked, or panics.
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
