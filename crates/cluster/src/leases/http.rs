//! The HTTP server of a worker: metrics for Prometheus, and a status page.
//!
//! | path | content |
//! |---|---|
//! | `/` | a page with the state of the worker, the jobs of its build, and the number of workers |
//! | `/status.json` | the data of the page |
//! | `/metrics` | the same data for Prometheus; `DEPLOY.md` lists the names |
//! | `/healthz` | 200 while the worker runs, 503 before and afterwards |
//!
//! All of it is read-only. It shows names of jobs and workers, without access control: use a
//! loopback address, or a network whose members may see them.
//!
//! The server of tasks is queried at most once in [`FRESH`], however many clients there are.

mod metrics;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use tiny_http::{Header, Method, Request, Response, Server};

use super::{LeaseError, LeasePool, Monitor, State, Status};

/// Time for which an answer of the server of tasks is reused.
pub const FRESH: Duration = Duration::from_secs(1);

/// Age up to which the last answer is used while another thread queries the server: longer than a
/// query may take if the server is away.
const STALE: Duration = Duration::from_secs(10);

/// Time for which a request waits for the query of another thread. A server that is there answers
/// in less.
const BRIEF: Duration = Duration::from_millis(100);

/// Most jobs whose status is queried: a request each.
const JOBS: usize = 256;

/// The page. It contains no data itself.
const PAGE: &str = include_str!("http/page.html");

/// Number of requests that are answered at the same time: while the server of tasks is away an
/// answer may take seconds, and other requests do not need that server.
const THREADS: usize = 4;

/// A server that answers requests until it is dropped.
///
/// ```
/// use std::io::{Read, Write};
/// use std::sync::{Arc, Mutex, PoisonError};
/// use locksley_cluster::leases::http::StatusServer;
/// use locksley_cluster::leases::{Memory, Monitor};
///
/// let leases = Arc::new(Memory::default());
/// let server = StatusServer::start("127.0.0.1:0", leases, Monitor::default())?;
/// let mut stream = std::net::TcpStream::connect(server.address())?;
/// write!(stream, "GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")?;
/// let mut answer = String::new();
/// stream.read_to_string(&mut answer)?;
/// assert!(answer.contains("locksley_server_up 1"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct StatusServer {
    server: Arc<Server>,
    address: SocketAddr,
    threads: Vec<thread::JoinHandle<()>>,
}

impl StatusServer {
    /// Listens on an address.
    ///
    /// # Errors
    ///
    /// If it cannot listen on the address.
    pub fn start(
        address: impl ToSocketAddrs,
        leases: Arc<dyn LeasePool>,
        monitor: Monitor,
    ) -> io::Result<StatusServer> {
        let server = Server::http(address).map_err(io::Error::other)?;
        let no_address = || io::Error::other("it has no address");
        let address = server.server_addr().to_ip().ok_or_else(no_address)?;
        let server = Arc::new(server);
        let view = Arc::new(View {
            leases,
            monitor,
            cache: Cache::default(),
        });
        let answering = || {
            let (listening, view) = (server.clone(), view.clone());
            thread::spawn(move || {
                for request in listening.incoming_requests() {
                    view.answer(request);
                }
            })
        };
        let threads = std::iter::repeat_with(answering).take(THREADS).collect();
        Ok(StatusServer {
            server,
            address,
            threads,
        })
    }

    /// Returns the address, with the port that was chosen if it was 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        for _ in &self.threads {
            self.server.unblock();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The state of the cluster, according to the server of tasks.
#[derive(Clone, Debug, Default)]
struct Cluster {
    /// Why the server could not be queried, if it could not.
    error: Option<String>,
    jobs: Vec<Status>,
    /// Number of running jobs, of all builds.
    running: usize,
    workers: usize,
    slots: u64,
}

impl Cluster {
    fn failed(why: &str) -> Cluster {
        Cluster {
            error: Some(why.to_owned()),
            ..Cluster::default()
        }
    }

    fn query(leases: &dyn LeasePool, monitor: &Monitor) -> Result<Cluster, LeaseError> {
        let running = leases.running()?;
        let present = leases.workers()?;
        let ours = monitor.state().map(|state| state.worker.build);
        let mut cluster = Cluster {
            running: running.len(),
            workers: present.len(),
            slots: present.iter().map(|worker| u64::from(worker.slots)).sum(),
            ..Cluster::default()
        };
        let of_build = |build| ours.is_none_or(|ours| ours == build);
        let ids = running.into_iter().filter(|(_, build)| of_build(*build));
        for (id, _) in ids.take(JOBS) {
            match leases.status(&id) {
                Ok(status) => cluster.jobs.extend(status),
                // A damaged job must not hide the others.
                Err(LeaseError::Vanished(_)) => {}
                Err(error) => return Err(error),
            }
        }
        cluster.jobs.retain(|job| job.state == State::Running);
        Ok(cluster)
    }

    /// Returns the number of tasks that could be leased now, of all jobs that were queried.
    fn queue_depth(&self) -> u64 {
        self.jobs.iter().map(Status::ready).sum()
    }
}

/// The last answer of the server of tasks. One thread at a time queries it; while that takes long,
/// the others use the last answer, or go without.
#[derive(Default)]
struct Cache {
    state: Mutex<CacheState>,
    /// Notified when a query has ended.
    answered: Condvar,
}

#[derive(Default)]
struct CacheState {
    last: Option<(Instant, Cluster)>,
    /// Whether a thread queries the server.
    querying: bool,
}

impl CacheState {
    fn younger_than(&self, age: Duration) -> Option<Cluster> {
        let last = self.last.as_ref();
        let last = last.filter(|(when, _)| when.elapsed() < age);
        last.map(|(_, cluster)| cluster.clone())
    }
}

impl Cache {
    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, query: impl FnOnce() -> Cluster) -> Cluster {
        let mut state = self.state();
        if let Some(fresh) = state.younger_than(FRESH) {
            return fresh;
        }
        if state.querying {
            let querying = |state: &mut CacheState| state.querying;
            let waited = self.answered.wait_timeout_while(state, BRIEF, querying);
            let state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let last = state.younger_than(STALE);
            return last.unwrap_or_else(|| Cluster::failed("the server has not answered yet"));
        }
        state.querying = true;
        drop(state);
        let cluster = query();
        let mut state = self.state();
        state.last = Some((Instant::now(), cluster.clone()));
        state.querying = false;
        self.answered.notify_all();
        cluster
    }
}

struct View {
    leases: Arc<dyn LeasePool>,
    monitor: Monitor,
    cache: Cache,
}

impl View {
    fn cluster(&self) -> Cluster {
        self.cache.get(|| {
            let cluster = Cluster::query(&*self.leases, &self.monitor);
            cluster.unwrap_or_else(|error| Cluster::failed(&error.to_string()))
        })
    }

    fn answer(&self, request: Request) {
        let path = request.url().split('?').next().unwrap_or_default();
        let readable = matches!(request.method(), Method::Get | Method::Head);
        let (status, kind, body) = match path {
            _ if !readable => (405, PLAIN, "only GET is allowed\n".to_owned()),
            "/" => (200, "text/html; charset=utf-8", PAGE.to_owned()),
            "/status.json" => (200, "application/json", self.document()),
            "/metrics" => {
                let worker = self.monitor.state();
                (200, metrics::KIND, metrics::text(worker, &self.cluster()))
            }
            "/healthz" if self.monitor.state().is_some() => (200, PLAIN, "ok\n".to_owned()),
            "/healthz" => (
                503,
                PLAIN,
                "the worker has not begun, or has ended\n".to_owned(),
            ),
            _ => (404, PLAIN, "not found\n".to_owned()),
        };
        let mut response = Response::from_string(body).with_status_code(status);
        for (name, value) in [
            ("Content-Type", kind),
            HARDENED[0],
            HARDENED[1],
            HARDENED[2],
        ] {
            if let Ok(header) = Header::from_bytes(name, value) {
                response.add_header(header);
            }
        }
        // The client may have disconnected.
        let _ = request.respond(response);
    }

    fn document(&self) -> String {
        let worker = self.monitor.state();
        let cluster = self.cluster();
        let job = |status: &Status| ShownJob {
            job: status.job.id.to_string(),
            program: status.job.program.clone(),
            urgent: status.job.terms.urgent,
            done: status.done,
            tasks: status.tasks,
            in_flight: status.in_flight,
            ready: status.ready(),
            delayed: status.delayed,
            set_aside: status.aside,
            seconds: status.age.as_secs_f64(),
        };
        let shown = Shown {
            schema: 1,
            worker: worker.map(ShownWorker::from),
            server_trouble: cluster.error.clone(),
            workers: cluster.workers,
            leases_at_once: cluster.slots,
            running_jobs: cluster.running,
            queue_depth: cluster.queue_depth(),
            jobs: cluster.jobs.iter().map(job).collect(),
        };
        serde_json::to_string(&shown).unwrap_or_default()
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// The page needs no other resources, and must not be embedded in another page.
const HARDENED: [(&str, &str); 3] = [
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
         connect-src 'self'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
];

/// The data of the page.
#[derive(Serialize)]
struct Shown {
    schema: u32,
    worker: Option<ShownWorker>,
    server_trouble: Option<String>,
    workers: usize,
    leases_at_once: u64,
    running_jobs: usize,
    queue_depth: u64,
    jobs: Vec<ShownJob>,
}

#[derive(Serialize)]
struct ShownWorker {
    name: String,
    build: String,
    threads: usize,
    stuck: usize,
    held: usize,
    slots: usize,
    completed: u64,
    tasks: u64,
    children: u64,
    failed: u64,
    lost: u64,
    given_up: u64,
    server_up: bool,
    stopping: bool,
}

impl From<super::WorkerState> for ShownWorker {
    fn from(state: super::WorkerState) -> ShownWorker {
        let counts = state.counts;
        ShownWorker {
            name: state.worker.name,
            build: state.worker.build.to_string(),
            threads: state.threads,
            stuck: state.stuck,
            held: state.held,
            slots: state.slots,
            completed: counts.completed,
            tasks: counts.tasks,
            children: counts.children,
            failed: counts.failed,
            lost: counts.lost,
            given_up: counts.given_up,
            server_up: state.server_up,
            stopping: state.stopping,
        }
    }
}

#[derive(Serialize)]
struct ShownJob {
    job: String,
    program: String,
    urgent: bool,
    done: u64,
    tasks: u64,
    in_flight: u64,
    ready: u64,
    delayed: u64,
    set_aside: u64,
    seconds: f64,
}

#[cfg(test)]
mod tests;
