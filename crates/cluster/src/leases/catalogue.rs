//! Programs with results of all types, as one list: a worker serves them all.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use locksley::Pool;

use crate::task::{decode, encode};
use crate::{Local, Malformed, Panicked, Parcel, Program, Reduce, Usage};

/// A program, whatever its results are: they are bytes here.
pub trait Served: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Lets a task run in a pool.
    ///
    /// # Errors
    ///
    /// If the parcel has no task of the program in it.
    fn start(&self, pool: &Arc<Pool>, parcel: &Parcel) -> Result<Box<dyn Run>, Malformed>;

    /// Combines results.
    ///
    /// # Errors
    ///
    /// If one of them is none.
    fn combine(&self, results: &[Vec<u8>]) -> Result<Vec<u8>, Malformed>;
}

/// A task that runs, with all that it spawns: a [`Local`] of any program.
pub trait Run: Send + Sync {
    /// Waits until there is nothing to do, or for so long. Is there nothing to do?
    fn wait(&self, at_most: Duration) -> bool;

    /// Has it begun?
    fn begun(&self) -> bool;

    /// Sets how many tasks had better wait, or lets it be as it was.
    fn set_appetite(&self, tasks: Option<usize>);

    /// Takes some tasks that wait away.
    fn withdraw(&self, at_most: usize) -> Vec<Vec<u8>>;

    /// Gives up.
    fn cancel(&self);

    /// The first task that panicked.
    fn fault(&self) -> Option<Panicked>;

    /// The result so far.
    fn take_result(&self) -> Vec<u8>;

    /// What was done so far.
    fn usage(&self) -> Usage;
}

impl<R: Reduce> Served for Program<R> {
    fn name(&self) -> &'static str {
        Program::name(self)
    }

    fn start(&self, pool: &Arc<Pool>, parcel: &Parcel) -> Result<Box<dyn Run>, Malformed> {
        let task = self.unpack(parcel)?;
        let local = Local::new(pool.clone(), self);
        local.submit(task);
        Ok(Box::new(local))
    }

    fn combine(&self, results: &[Vec<u8>]) -> Result<Vec<u8>, Malformed> {
        let mut all = R::identity();
        for result in results {
            all.combine(decode(result)?);
        }
        Ok(encode(&all))
    }
}

impl<R: Reduce> Run for Local<R> {
    fn wait(&self, at_most: Duration) -> bool {
        Local::wait(self, at_most)
    }

    fn begun(&self) -> bool {
        self.usage().added > 1 || self.surplus() == 0
    }

    fn set_appetite(&self, tasks: Option<usize>) {
        let workers = self.pool().workers();
        let usual = if workers > 1 { 2 * workers } else { 0 };
        Local::set_appetite(self, tasks.unwrap_or(usual));
    }

    fn withdraw(&self, at_most: usize) -> Vec<Vec<u8>> {
        let tasks = Local::withdraw(self, at_most);
        tasks.iter().map(|task| task.pack().encode()).collect()
    }

    fn cancel(&self) {
        Local::cancel(self);
    }

    fn fault(&self) -> Option<Panicked> {
        Local::fault(self)
    }

    fn take_result(&self) -> Vec<u8> {
        encode(&Local::take_result(self))
    }

    fn usage(&self) -> Usage {
        Local::usage(self)
    }
}

/// The programs that a worker serves, by name.
///
/// ```
/// use locksley_cluster::leases::Catalogue;
/// use locksley_cluster::programs::uts;
///
/// let catalogue = Catalogue::default().with(uts::program());
/// assert!(catalogue.get("uts").is_some());
/// assert_eq!(catalogue.names().collect::<Vec<_>>(), ["uts"]);
/// ```
#[derive(Clone, Default)]
pub struct Catalogue {
    programs: BTreeMap<&'static str, Arc<dyn Served>>,
}

impl Catalogue {
    /// The catalogue with one more program.
    #[must_use]
    pub fn with<R: Reduce>(mut self, program: Program<R>) -> Catalogue {
        self.programs.insert(program.name(), Arc::new(program));
        self
    }

    /// A program.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Served>> {
        self.programs.get(name)
    }

    /// The names of all programs.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.programs.keys().copied()
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
