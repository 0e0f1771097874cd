//! Programs with results of all types, as one list: a worker serves them all.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use locksley::Pool;

use super::Limits;
use crate::continuation::{DeferredTask, Slot};
use crate::local::{Hold, Parts, message};
use crate::parcel::{decode, encode};
use crate::{Failed, Local, Malformed, Panicked, Parcel, Policy, Program, Reduce, Spawned};

/// A program, whatever its results are: they are bytes here.
pub trait Served: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Lets tasks run in a pool. What is no task of the program, or too large, counts as failed.
    fn start(&self, pool: &Arc<Pool>, tasks: Vec<Vec<u8>>, how: How) -> Box<dyn Run>;

    /// How tasks of a kind are treated.
    fn policy(&self, kind: &str) -> Policy;

    /// Combines results, into as few as fit the limit.
    ///
    /// # Errors
    ///
    /// If one of them is none.
    fn combine(&self, results: &[Vec<u8>], limit: usize) -> Result<Vec<Vec<u8>>, Malformed>;
}

/// How tasks run for a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// How large tasks and results may be.
    pub limits: Limits,
    /// Whether what they spawn is left to others.
    pub hand_over: bool,
    /// The first part of the numbers of deferred tasks: the delivery of the lease.
    pub home: u64,
}

/// What a run can do without: with it, its lease can be completed, or go on with what is kept.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    /// Results, encoded.
    pub results: Vec<Vec<u8>>,
    /// How many tasks gave them.
    pub tasks: u64,
    /// Tasks that are still to be done. They are no longer in the run.
    pub children: Vec<Spawned>,
    /// Continuations that wait for inputs. They are no longer in the run.
    pub deferred: Vec<DeferredTask>,
    /// Inputs of deferred tasks that are not in the run, encoded.
    pub inputs: Vec<(Slot, Vec<u8>)>,
    /// Tasks that failed.
    pub failed: Vec<Failed>,
    /// Tasks that run, encoded. If there are none the run is at its end.
    pub kept: Vec<Vec<u8>>,
}

/// A task that runs, with all that it spawns: a [`Local`] of any program.
pub trait Run: Send + Sync {
    /// Waits until there is nothing to do, or for so long. Returns `true` if there is nothing
    /// to do.
    fn wait(&self, at_most: Duration) -> bool;

    /// Returns `true` if it has begun.
    fn begun(&self) -> bool;

    /// From now on nothing is begun, and what runs is asked to spawn what it can.
    fn wind_down(&self);

    /// Lets tasks be begun again: what still runs may run for long, and what it has spawned cannot
    /// leave before.
    fn release(&self);

    /// Takes away what the run can do without; nothing at a bad moment, which passes.
    fn cut(&self) -> Option<Piece>;

    /// Whether a cut is due: tasks wait that it would take, or failed, or results are more than
    /// fits into one.
    fn is_due(&self) -> bool;

    /// Returns `true` if a cut would take results.
    fn has_results(&self) -> bool;

    /// Lets tasks fail whose time is over. Returns how many of those that did have not returned.
    fn expire(&self) -> usize;

    /// How many tasks run.
    fn running(&self) -> usize;

    /// Gives up.
    fn cancel(&self);

    /// The panic that spoilt the whole run, if one did.
    fn fault(&self) -> Option<Panicked>;
}

impl<R: Reduce> Served for Program<R> {
    fn name(&self) -> &'static str {
        Program::name(self)
    }

    fn start(&self, pool: &Arc<Pool>, tasks: Vec<Vec<u8>>, how: How) -> Box<dyn Run> {
        let usual = if how.hand_over {
            Hold::Spawned
        } else {
            Hold::Nothing
        };
        let local = Local::tracked(pool.clone(), self, how.limits.result, usual);
        local.set_home(how.home);
        for task in tasks {
            if let Err(oversized) = how.limits.check_task(&task) {
                local.reject(task, oversized.to_string(), true);
                continue;
            }
            let read = || {
                let parcel = Parcel::decode(&task)?;
                Ok((self.unpack(&parcel)?, parcel.to))
            };
            // A program's own code reads its arguments, and may panic.
            match catch_unwind(AssertUnwindSafe(read)) {
                Ok(Ok((boxed, to))) => local.submit_encoded(boxed, to, task),
                Ok(Err::<_, Malformed>(malformed)) => {
                    local.reject(task, malformed.to_string(), true)
                }
                Err(panic) => {
                    let (program, said) = (Program::name(self), message(&*panic));
                    let why = format!("a value of the program {program} panicked: {said}");
                    local.reject(task, why, false);
                }
            }
        }
        Box::new(Tracked { local, usual })
    }

    fn policy(&self, kind: &str) -> Policy {
        Program::policy(self, kind)
    }

    fn combine(&self, results: &[Vec<u8>], limit: usize) -> Result<Vec<Vec<u8>>, Malformed> {
        let mut all = Parts::<R>::default();
        for result in results {
            all.add(decode(result)?, result.len(), limit);
        }
        Ok(all.into_results().map(|part| encode(&part)).collect())
    }
}

struct Tracked<R> {
    local: Local<R>,
    /// What is held while the run is not winding down.
    usual: Hold,
}

impl<R: Reduce> Run for Tracked<R> {
    fn wait(&self, at_most: Duration) -> bool {
        self.local.wait(at_most)
    }

    fn begun(&self) -> bool {
        self.local.running() > 0 || self.local.usage().added > 1 || self.local.surplus() == 0
    }

    fn wind_down(&self) {
        self.local.set_appetite(usize::MAX);
        self.local.hold(Hold::All);
    }

    fn release(&self) {
        self.local.hold(self.usual);
    }

    fn cut(&self) -> Option<Piece> {
        let cut = self.local.cut()?;
        Some(Piece {
            results: cut.results.iter().map(encode).collect(),
            tasks: cut.tasks,
            children: cut.children,
            deferred: cut
                .deferred
                .iter()
                .map(|(id, task)| task.pack(*id))
                .collect(),
            inputs: cut
                .inputs
                .iter()
                .map(|(slot, input)| (*slot, encode(input)))
                .collect(),
            failed: cut.failed,
            kept: cut.kept,
        })
    }

    fn is_due(&self) -> bool {
        let (tasks, results) = self.local.has_much();
        tasks || results
    }

    fn has_results(&self) -> bool {
        self.local.has_results()
    }

    fn expire(&self) -> usize {
        self.local.expire()
    }

    fn running(&self) -> usize {
        self.local.running()
    }

    fn cancel(&self) {
        self.local.cancel();
    }

    fn fault(&self) -> Option<Panicked> {
        self.local.fault()
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
