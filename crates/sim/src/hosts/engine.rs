//! The events of workers and messages.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use locksley_policy::rank::{Counts, Message, Next, Rank, Store};
use locksley_policy::{NestedGroups, Random, Source, View};

use super::event_queue::EventQueue;
use super::host::{Host, Task};
use super::tree::Subtree;
use super::{Cluster, ClusterReport, HostsError, Lost};

/// Size of a node in a message: 20 bytes of state, its depth, and its share of the encoding of its
/// task.
const NODE_BYTES: u64 = 28;

/// Size of a message without nodes.
const HEAD_BYTES: u64 = 64;

/// View of a rank on the others: which of them are in its rack.
struct Racks {
    hosts: usize,
    nest: NestedGroups,
}

impl View for Racks {
    fn count(&self) -> usize {
        self.hosts
    }

    fn load(&self, _: usize) -> usize {
        1
    }

    fn rings(&self, _: usize) -> usize {
        self.nest.rings()
    }

    fn neighbour(&self, me: usize, ring: usize, random: &mut dyn Source) -> Option<usize> {
        self.nest.neighbour(me, ring, self.hosts, random)
    }
}

type Letter = (u32, Message<Vec<Task>>);

enum Kind {
    /// A message arrives.
    Arrival(Box<Letter>),
    /// The process reads a message, or checks its tasks.
    Step,
    /// The rank has asked to be woken.
    Wake,
}

struct Event {
    time: u64,
    /// Sequence number, which orders events of the same time by when they were planned.
    number: u64,
    host: u32,
    kind: Kind,
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// The earliest event is the greatest, since the heap is a max-heap.
    fn cmp(&self, other: &Event) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

struct Process {
    host: Host,
    rank: Rank<Racks>,
    inbox: VecDeque<Letter>,
    /// Time until which it handles messages.
    occupied: u64,
    /// Set if a `Step` event is planned.
    step_planned: bool,
    /// Time at which the rank has asked to be woken.
    wake: u64,
    left: bool,
}

struct Engine<'a> {
    cluster: &'a Cluster,
    racks: NestedGroups,
    processes: Vec<Process>,
    /// Events of processes.
    events: BinaryHeap<Event>,
    /// Next events of the workers of each host.
    queue: EventQueue,
    planned: u64,
    active_hosts: usize,
    messages: u64,
    bytes: u64,
    /// Buffer for outgoing messages, kept to reuse its allocation.
    out: Vec<(usize, Message<Vec<Task>>)>,
}

/// Simulates a cluster from the first task until every host knows that all work is done.
///
/// # Errors
///
/// Returns an error if a parameter is out of range, or if the protocol gives up.
///
/// ```
/// use locksley_policy::Lifelines;
/// use locksley_sim::hosts::{Cluster, simulate};
///
/// let mut cluster = Cluster::new(64, 2, 20_000_000);
/// let random = simulate(&cluster)?;
/// cluster.protocol.lifelines = Some(Lifelines::default());
/// let quiet = simulate(&cluster)?;
/// assert!(quiet.counts.lifeline_gifts > 0 && random.counts.lifeline_gifts == 0);
/// # Ok::<(), locksley_sim::hosts::HostsError>(())
/// ```
pub fn simulate(cluster: &Cluster) -> Result<ClusterReport, HostsError> {
    cluster.check()?;
    let mut engine = Engine::new(cluster);
    let mut now = 0;
    while engine.active_hosts > 0 {
        let (due, host) = engine.queue.first();
        let is_event = engine.events.peek().is_some_and(|event| event.time <= due);
        match is_event.then(|| engine.events.pop()).flatten() {
            Some(event) => {
                now = event.time;
                engine.perform(now, event)?;
            }
            None => {
                now = due;
                engine.work(host, now);
            }
        }
    }
    Ok(engine.report(now))
}

impl<'a> Engine<'a> {
    fn new(cluster: &'a Cluster) -> Engine<'a> {
        let nest = cluster.racks();
        let Cluster { hosts, seed, .. } = *cluster;
        let process = |me: usize| Process {
            host: Host::new(cluster, me, Random::new(!seed, me as u64)),
            rank: Rank::new(me, cluster.protocol, Racks { hosts, nest }, 0, seed),
            inbox: VecDeque::new(),
            occupied: 0,
            step_planned: false,
            wake: 0,
            left: false,
        };
        let mut engine = Engine {
            cluster,
            racks: nest,
            processes: (0..hosts).map(process).collect(),
            events: BinaryHeap::new(),
            queue: EventQueue::new(hosts),
            planned: 0,
            active_hosts: hosts,
            messages: 0,
            bytes: 0,
            out: Vec::new(),
        };
        engine.processes[0]
            .host
            .submit(vec![Subtree::whole(cluster.nodes)]);
        for me in 0..hosts {
            engine.dispatch(me, 0);
            engine.plan_step(me, 0);
        }
        engine
    }

    fn plan(&mut self, time: u64, host: usize, kind: Kind) {
        self.planned += 1;
        self.events.push(Event {
            time,
            number: self.planned,
            host: host as u32,
            kind,
        });
    }

    fn perform(&mut self, now: u64, event: Event) -> Result<(), HostsError> {
        let me = event.host as usize;
        let process = &mut self.processes[me];
        match event.kind {
            Kind::Arrival(letter) => {
                process.inbox.push_back(*letter);
                self.plan_step(me, now);
            }
            Kind::Step => {
                process.step_planned = false;
                self.step(me, now)?;
            }
            // Events of other times are void: the rank has asked for another time since.
            Kind::Wake if process.wake == now => self.plan_step(me, now),
            Kind::Wake => {}
        }
        Ok(())
    }

    /// Performs the next event of a host's workers.
    fn work(&mut self, me: usize, now: u64) {
        self.processes[me].host.perform_due(now);
        self.queue
            .set(me, self.processes[me].host.next().unwrap_or(u64::MAX));
        self.plan_step_if_needed(me, now);
    }

    /// Lets idle workers take tasks.
    fn dispatch(&mut self, me: usize, now: u64) {
        self.processes[me].host.dispatch(now);
        self.queue
            .set(me, self.processes[me].host.next().unwrap_or(u64::MAX));
    }

    /// Plans a `Step` event if the state of the workers is of interest to the rank.
    fn plan_step_if_needed(&mut self, me: usize, now: u64) {
        let Process { host, rank, .. } = &self.processes[me];
        let gives = rank.gives_surplus() && self.cluster.protocol.share(host.surplus(), 1) > 0;
        if gives || host.is_hungry() {
            self.plan_step(me, now);
        }
    }

    /// Plans a `Step` event as soon as the process is not occupied, unless one is planned.
    fn plan_step(&mut self, me: usize, now: u64) {
        let process = &mut self.processes[me];
        if !process.step_planned && !process.left {
            process.step_planned = true;
            let time = process.occupied.max(now);
            self.plan(time, me, Kind::Step);
        }
    }

    /// Reads one message, lets the rank act, and sends its messages.
    fn step(&mut self, me: usize, now: u64) -> Result<(), HostsError> {
        let failed = |error| HostsError::Protocol { host: me, error };
        let process = &mut self.processes[me];
        let Process { host, rank, .. } = process;
        let mut time = now;
        if let Some((from, message)) = process.inbox.pop_front() {
            time += self.cluster.handling;
            rank.receive(now, from as usize, message, host, &mut self.out)
                .map_err(failed)?;
        }
        let next = rank.step(now, host, &mut self.out).map_err(failed)?;
        process.left = next == Next::Done;
        match next {
            Next::At(wake) if wake != process.wake => {
                process.wake = wake.max(now + 1);
                self.plan(wake.max(now + 1), me, Kind::Wake);
            }
            _ => {}
        }
        self.active_hosts -= usize::from(next == Next::Done);
        self.dispatch(me, now);
        self.send(me, time);
        if !self.processes[me].inbox.is_empty() {
            self.plan_step(me, now);
        }
        Ok(())
    }

    fn send(&mut self, me: usize, mut time: u64) {
        let mut out = std::mem::take(&mut self.out);
        for (to, message) in out.drain(..) {
            let nodes = match &message {
                Message::Work { tasks, .. } => tasks.iter().map(Vec::len).sum(),
                _ => 0,
            };
            let size = HEAD_BYTES + NODE_BYTES * nodes as u64;
            self.messages += 1;
            self.bytes += size;
            time += self.cluster.handling + size * 1_000 / self.cluster.bandwidth;
            let way = match self.racks.distance(me, to) {
                0 => self.cluster.near,
                _ => self.cluster.latency,
            };
            let letter = Box::new((me as u32, message));
            self.plan(time + way, to, Kind::Arrival(letter));
        }
        self.out = out;
        self.processes[me].occupied = time;
    }

    fn report(&self, makespan: u64) -> ClusterReport {
        let times = || {
            self.processes
                .iter()
                .flat_map(|process| process.host.worker_times())
        };
        let busy = times().map(|worker| worker.busy).sum();
        let last = times().map(|worker| worker.last).max().unwrap_or(0);
        let (mut spreading, mut between, mut draining) = (0, 0, 0);
        for worker in times() {
            let first = worker.first.unwrap_or(last);
            let end = worker.last.max(first);
            spreading += first;
            between += end - first - worker.busy;
            draining += last - end;
        }
        let mut counts = Counts::default();
        for process in &self.processes {
            counts += *process.rank.counts();
        }
        let cores = self.cluster.hosts * self.cluster.workers;
        let part = |time: u64| time as f64 / (makespan.max(1) as f64 * cores as f64);
        ClusterReport {
            cores,
            busy,
            serial: self.cluster.serial(),
            makespan,
            counts,
            messages: self.messages,
            bytes: self.bytes,
            lost: Lost {
                spreading: part(spreading),
                between: part(between),
                draining: part(draining),
                noticing: part((makespan - last) * cores as u64),
            },
        }
    }
}
