//! `locksley cluster worker`: runs tasks from a server.

use std::io::{Write, stderr};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use locksley_cluster::leases::http::StatusServer;
use locksley_cluster::leases::{
    Catalogue, LeasePool, Redis, Setup, Stop, WorkerId, serve, worker_name,
};
use serde_json::json;

use super::programs;
use super::server::{ServerOptions, build};
use crate::error::Error;
use crate::interrupt;
use crate::parse::names;
use crate::parse::ranges;
use crate::render::output::Output;
use crate::render::units::{self, count, several};

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster worker                                 a server here, a thread per processor
  locksley cluster worker --server rediss://tasks:6380    a server elsewhere, with TLS
  locksley cluster worker --linger 60s                    ends after a minute without tasks
  locksley cluster worker --http 127.0.0.1:9464           with metrics for Prometheus, and a page";

/// Runs tasks of all jobs of its build from a server until it is stopped: on Ctrl-C or SIGTERM it
/// returns its tasks to the server, and ends. Any number of workers may come and go at any time.
#[derive(Args)]
pub(crate) struct Worker {
    #[command(flatten)]
    server: ServerOptions,
    /// Number of threads of its pool [default: one per processor].
    #[arg(long, value_name = "N", value_parser = ranges::one_worker)]
    workers: Option<usize>,
    /// Scheduling strategy of its pool.
    #[arg(long, default_value = "stealing")]
    strategy: String,
    /// Number of leases that it holds at once [default: as many as threads].
    #[arg(long, value_name = "N", value_parser = ranges::one_worker)]
    leases: Option<usize>,
    /// Time for which it runs a task before it returns the rest of it to the server.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = units::duration)]
    quantum: Duration,
    /// Time for running tasks to end when the worker is stopped, before they are given back. Also
    /// the time for which tasks past their time limit may occupy all threads before the worker
    /// ends.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration)]
    grace: Duration,
    /// End after this time without tasks [default: never].
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    linger: Option<Duration>,
    /// Serve metrics for Prometheus (/metrics) and a page (/) at this address, without
    /// authentication [default: do not].
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<SocketAddr>,
}

impl Worker {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let server = self.server.find()?;
        let setup = self.setup(programs::catalogue())?;
        let stop = Stop::default();
        let (told, grace) = (stop.clone(), self.grace);
        interrupt::keep(move || {
            told.stop();
            // The process ends as soon as the worker does. If giving the tasks back takes longer
            // than this, their leases run out.
            std::thread::sleep(grace + Duration::from_secs(15));
            "unfinished tasks will be run by other workers".to_owned()
        });
        let (name, threads) = (setup.worker.name.clone(), setup.pool.workers());
        eprintln!(
            "worker {name} of build {} at {server}, with {}",
            setup.worker.build,
            several(threads, "thread")
        );
        let redis: Arc<dyn LeasePool> = Arc::new(Redis::later(server));
        let _site = self.site(&redis, &setup)?;
        let tally = serve(redis, setup, &stop, |notice| {
            // If standard error is closed, the notice is lost.
            let _ = writeln!(stderr(), "{notice}");
        })?;
        output.say(format!(
            "worker {name}: {} completed, {} run, {} handed over, {} failed, {} lost, {} given up",
            several(tally.completed as usize, "lease"),
            several(tally.tasks as usize, "task"),
            count(tally.children),
            count(tally.failed),
            several(tally.lost as usize, "lease"),
            count(tally.given_up)
        ));
        output.document(&json!({
            "command": "cluster worker",
            "worker": name,
            "completed": tally.completed,
            "tasks": tally.tasks,
            "children": tally.children,
            "failed": tally.failed,
            "lost": tally.lost,
            "given_up": tally.given_up,
        }))
    }

    /// Starts the HTTP server of `--http`, if that was given.
    fn site(
        &self,
        redis: &Arc<dyn LeasePool>,
        setup: &Setup,
    ) -> Result<Option<StatusServer>, Error> {
        let Some(address) = self.http else {
            return Ok(None);
        };
        let site = StatusServer::start(address, redis.clone(), setup.monitor.clone());
        let site = site.map_err(|error| {
            Error::System(format!("cannot listen on {address} (--http): {error}"))
        })?;
        eprintln!("metrics and a page at http://{}/", site.address());
        Ok(Some(site))
    }

    fn setup(&self, catalogue: Catalogue) -> Result<Setup, Error> {
        let workers = self
            .workers
            .unwrap_or_else(|| locksley::available_cpus().count());
        let builder = locksley::Pool::builder().workers(workers);
        let pool = builder.strategy(names::strategy(&self.strategy)?).build()?;
        let worker = WorkerId {
            name: worker_name(),
            build: build()?,
        };
        let mut setup = Setup::new(worker, pool, catalogue);
        setup.slots = self.leases.unwrap_or(workers);
        (setup.quantum, setup.grace, setup.linger) = (self.quantum, self.grace, self.linger);
        Ok(setup)
    }
}
