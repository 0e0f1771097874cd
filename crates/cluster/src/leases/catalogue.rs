//! Programs with results of different types behind one trait, so that a worker can serve all of
//! them.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use locksley::Pool;

use super::Limits;
use crate::continuation::{DeferredTask, Slot};
use crate::local::{Hold, ResultParts, message};
use crate::parcel::{decode, encode};
use crate::{Failed, Local, Malformed, Panicked, Parcel, Policy, Program, Reduce, Spawned};

/// A program whose result type is erased: results are bytes here.
pub trait Served: Send + Sync {
    /// Returns the name of the program.
    fn name(&self) -> &'static str;

    /// Starts tasks in a pool. Bytes that are not a task of the program, and tasks that are too
    /// large, count as failed.
    fn start(&self, pool: &Arc<Pool>, tasks: Vec<Vec<u8>>, how: RunOptions) -> Box<dyn Run>;

    /// Returns the policy of a kind of task.
    fn policy(&self, kind: &str) -> Policy;

    /// Combines results into as few parts as the limit allows.
    ///
    /// # Errors
    ///
    /// If one of them is not a result of the program.
    fn combine(&self, results: &[Vec<u8>], limit: usize) -> Result<Vec<Vec<u8>>, Malformed>;
}

/// Options of the tasks of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Size limits of tasks and results.
    pub limits: Limits,
    /// Whether the tasks that they spawn are handed over instead of being begun here.
    pub hand_over: bool,
    /// First part of the numbers of deferred tasks: the delivery of the lease.
    pub home: u64,
}

/// The settled results and tasks of a run. With them its lease can be completed, or go on with the
/// tasks that are kept.
#[derive(Clone, Debug, Default)]
pub struct EncodedCut {
    /// Results, encoded.
    pub results: Vec<Vec<u8>>,
    /// Number of tasks that returned them.
    pub tasks: u64,
    /// Tasks that are still to be run. They have left the run.
    pub children: Vec<Spawned>,
    /// Continuations that wait for inputs. They have left the run.
    pub deferred: Vec<DeferredTask>,
    /// Inputs, encoded, for deferred tasks that are not in the run.
    pub inputs: Vec<(Slot, Vec<u8>)>,
    /// Tasks that failed.
    pub failed: Vec<Failed>,
    /// Running tasks, encoded. If there are none the run has ended.
    pub kept: Vec<Vec<u8>>,
}

/// The tasks of a lease while they run, with everything that they spawn: a [`Local`] of any
/// program.
pub trait Run: Send + Sync {
    /// Waits until there is nothing to do, but no longer than `at_most`. Returns `true` if there is
    /// nothing to do.
    fn wait(&self, at_most: Duration) -> bool;

    /// Returns `true` if a task has begun.
    fn has_begun(&self) -> bool;

    /// Holds all waiting tasks back, and asks running tasks to spawn what they can.
    fn wind_down(&self);

    /// Lets tasks begin again: those that still run may run for long, and the tasks that they have
    /// spawned cannot leave before they end.
    fn release(&self);

    /// Takes the settled results and tasks. Returns `None` if that is not possible at the moment.
    fn cut(&self) -> Option<EncodedCut>;

    /// Returns `true` if a cut is due: it would take tasks that wait or failed, or the results
    /// exceed one part.
    fn is_due(&self) -> bool;

    /// Returns `true` if a cut would take results.
    fn has_results(&self) -> bool;

    /// Marks tasks as failed whose time is over. Returns the number of late tasks that have not
    /// returned.
    fn expire(&self) -> usize;

    /// Returns the number of running tasks.
    fn running(&self) -> usize;

    /// Cancels the run.
    fn cancel(&self);

    /// Returns the panic that ended the whole run, if any.
    fn fault(&self) -> Option<Panicked>;
}

impl<R: Reduce> Served for Program<R> {
    fn name(&self) -> &'static str {
        Program::name(self)
    }

    fn start(&self, pool: &Arc<Pool>, tasks: Vec<Vec<u8>>, how: RunOptions) -> Box<dyn Run> {
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
            // The program's own code deserialises its arguments, and may panic.
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
        let mut all = ResultParts::<R>::default();
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

    fn has_begun(&self) -> bool {
        self.local.running() > 0 || self.local.usage().added > 1 || self.local.surplus() == 0
    }

    fn wind_down(&self) {
        self.local.set_appetite(usize::MAX);
        self.local.hold(Hold::All);
    }

    fn release(&self) {
        self.local.hold(self.usual);
    }

    fn cut(&self) -> Option<EncodedCut> {
        let cut = self.local.cut()?;
        Some(EncodedCut {
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
        self.local.is_cut_due()
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
    /// Adds a program.
    #[must_use]
    pub fn with<R: Reduce>(mut self, program: Program<R>) -> Catalogue {
        self.programs.insert(program.name(), Arc::new(program));
        self
    }

    /// Returns a program.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Served>> {
        self.programs.get(name)
    }

    /// Returns the names of all programs.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.programs.keys().copied()
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
