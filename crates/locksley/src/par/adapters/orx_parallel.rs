//! `orx_parallel::ThreadPool`: a scope of tasks that pull chunks from a concurrent iterator.

use std::num::NonZeroUsize;

use orx_parallel::pools::{Scope as PoolScope, ThreadPool};

use crate::{Pool, Scope};

impl<'s, 'env, 'scope> PoolScope<'s, 'env, 'scope> for &'s Scope<'scope> {
    fn run<W>(self, work: W)
    where
        'scope: 's,
        'env: 'scope + 's,
        W: FnOnce() + Send + 'scope + 'env,
    {
        self.spawn(move |_| work());
    }
}

/// Implements the trait for a pool and for a reference to one.
macro_rules! thread_pool {
    ($($pool:ty),*) => {$(
        impl ThreadPool for $pool {
            type ScopeRef<'s, 'env, 'scope>
                = &'s Scope<'scope>
            where
                'scope: 's,
                'env: 'scope + 's;

            fn scope<'env, 'scope, F>(&'env self, f: F)
            where
                'env: 'scope,
                for<'s> F: FnOnce(&'s Scope<'scope>) + Send,
            {
                Pool::scope(self, f);
            }

            fn max_num_threads(&self) -> NonZeroUsize {
                NonZeroUsize::new(self.workers()).unwrap_or(NonZeroUsize::MIN)
            }
        }
    )*};
}

thread_pool!(Pool, &Pool);
