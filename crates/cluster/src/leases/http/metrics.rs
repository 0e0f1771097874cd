//! Metrics in Prometheus' text format. `DEPLOY.md` lists them.
//!
//! The series of a job end when the job does.

use prometheus::core::Collector;
use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder};

use super::Cluster;
use crate::leases::WorkerState;

/// The media type of the text.
pub(super) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the current metrics as text.
pub(super) fn text(worker: Option<WorkerState>, cluster: &Cluster) -> String {
    let page = Page(Registry::new());
    // Names and labels are constants, and each is used once: a failure is a fault in this file,
    // which its test finds.
    let _ = page.add_cluster(cluster);
    if let Some(worker) = worker {
        let _ = page.add_worker(&worker);
    }
    TextEncoder::new()
        .encode_to_string(&page.0.gather())
        .unwrap_or_default()
}

struct Page(Registry);

impl Page {
    fn add<C: Collector + Clone + 'static>(&self, metric: C) -> prometheus::Result<C> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn gauge(&self, name: &str, help: &str, value: u64) -> prometheus::Result<()> {
        self.add(IntGauge::new(name, help)?)?.set(signed(value));
        Ok(())
    }

    fn add_cluster(&self, cluster: &Cluster) -> prometheus::Result<()> {
        let up = u64::from(cluster.error.is_none());
        self.gauge("locksley_server_up", "Whether the server answered.", up)?;
        if cluster.error.is_some() {
            // Unknown values are left out: a depth of 0 would make an autoscaler remove workers.
            return Ok(());
        }
        let depth = cluster.queue_depth();
        self.gauge(
            "locksley_queue_depth",
            "Tasks that could be leased now.",
            depth,
        )?;
        let (workers, jobs) = (cluster.workers as u64, cluster.running as u64);
        self.gauge("locksley_workers", "Workers that are alive.", workers)?;
        let slots = cluster.slots;
        self.gauge("locksley_cluster_slots", "Slots of all workers.", slots)?;
        self.gauge("locksley_jobs_running", "Jobs of all builds.", jobs)?;
        let labels = ["job", "program"];
        let of_job =
            |name: &str, help: &str| self.add(IntGaugeVec::new(Opts::new(name, help), &labels)?);
        let tasks = Opts::new("locksley_job_tasks", "Outstanding tasks of a job.");
        let tasks = self.add(IntGaugeVec::new(tasks, &["job", "program", "state"])?)?;
        let done = of_job("locksley_job_leases_completed", "Completed leases.")?;
        let run = of_job("locksley_job_tasks_run", "Tasks that were run for these.")?;
        let aside = of_job("locksley_job_tasks_set_aside", "Tasks that were set aside.")?;
        for status in &cluster.jobs {
            let names = [status.job.id.as_str(), status.job.program.as_str()];
            for (metric, value) in [
                (&done, status.done),
                (&run, status.tasks),
                (&aside, status.aside),
            ] {
                metric.with_label_values(&names).set(signed(value));
            }
            for (state, value) in [
                ("ready", status.ready()),
                ("delayed", status.delayed),
                ("in_flight", status.in_flight),
            ] {
                let labels = [names[0], names[1], state];
                tasks.with_label_values(&labels).set(signed(value));
            }
        }
        Ok(())
    }

    fn add_worker(&self, worker: &WorkerState) -> prometheus::Result<()> {
        let counts = worker.counts;
        let gauges = |name: &str, help: &str, label: &str| {
            self.add(IntGaugeVec::new(Opts::new(name, help), &[label])?)
        };
        let threads = gauges("locksley_worker_threads", "Threads of the pool.", "state")?;
        threads
            .with_label_values(&["all"])
            .set(worker.threads as i64);
        threads
            .with_label_values(&["stuck"])
            .set(worker.stuck as i64);
        let leases = gauges("locksley_worker_leases", "Leases of the worker.", "state")?;
        leases.with_label_values(&["held"]).set(worker.held as i64);
        leases.with_label_values(&["most"]).set(worker.slots as i64);
        let counters = |name: &str, help: &str, values: [(&str, u64); 3]| {
            let counter = self.add(IntCounterVec::new(Opts::new(name, help), &["outcome"])?)?;
            for (outcome, value) in values {
                counter.with_label_values(&[outcome]).inc_by(value);
            }
            Ok::<(), prometheus::Error>(())
        };
        counters(
            "locksley_worker_leases_total",
            "Leases that this worker had.",
            [
                ("completed", counts.completed),
                ("lost", counts.lost),
                ("given_up", counts.given_up),
            ],
        )?;
        counters(
            "locksley_worker_tasks_total",
            "Tasks that this worker had.",
            [
                ("run", counts.tasks),
                ("handed_over", counts.children),
                ("failed", counts.failed),
            ],
        )
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
