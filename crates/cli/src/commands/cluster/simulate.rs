//! `locksley cluster simulate`: simulates the protocol between processes on up to a million hosts.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use locksley::Pool;
use locksley_measure::Progress;
use locksley_measure::runtimes::{Locksley, Runtime};
use locksley_measure::table::{Style, Table};
use locksley_policy::rank::Protocol;
use locksley_report::{Results, ScalePoint, Scaling};
use locksley_sim::Sweep;
use locksley_sim::hosts::{Cluster, ClusterReport, MAX_HOSTS, simulate};
use locksley_workload::UtsTree;
use serde_json::{Value, json};

use crate::error::Error;
use crate::parse::machines::{self, HostSpeeds};
use crate::parse::ranges::{self, Numbers};
use crate::render::output::{self, Output};
use crate::render::units::{bytes, count, digits, duration, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster simulate                                    to 1,000 hosts, 10 us and 1 ms apart
  locksley cluster simulate --hosts 1,10,100,1000,10000 --work 2s --grain 4096
  locksley cluster simulate --tree T1XL --latency 1ms          the same tree on more and more hosts
  locksley cluster simulate --protocol lifelines:w=4,base=4 --protocol nearest:theta_r=0.9
  locksley cluster simulate --hosts 64 --speeds 1,1,1,0.25     every fourth host is slow
  locksley cluster simulate --protocol sending:shortest,floor=4  hosts send work (Eager et al.)";

/// Simulates an unbalanced tree search over hosts that steal from each other by messages, with the
/// same code for the protocol as under MPI. Shows how much of the cores' time was work, and how the
/// rest was lost. Writes cluster-simulate.json, and a chart for each latency.
#[derive(Args)]
pub(crate) struct Simulate {
    /// Numbers of hosts: 64, 1:8, or 1,10,100.
    #[arg(long, value_name = "RANGE", default_value = "1,10,100,1000", value_parser = hosts)]
    hosts: Numbers,
    /// Workers of each host.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        value_parser = clap::value_parser!(u16).range(1..=1024),
    )]
    workers: u16,
    /// Latencies of a message between two hosts, separated by commas; within a rack of 32 hosts, a
    /// tenth of that.
    #[arg(
        long,
        value_name = "TIMES",
        default_value = "10us,1ms",
        value_delimiter = ',',
        value_parser = duration,
    )]
    latency: Vec<Duration>,
    /// How hosts balance their loads: uniform, nearest or lifelines, with parameters or without,
    /// such as lifelines:w=4,floor=8. May be given several times [default: these three, with a
    /// floor of one task per worker].
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Vec<Protocol>,
    /// Speeds of the hosts, 1 being nominal: 1,0.5 makes every second one half as fast.
    #[arg(long, value_name = "LIST", default_value = "1", value_parser = machines::host_speeds)]
    speeds: HostSpeeds,
    /// Time that each worker would work if all work were spread evenly; the tree grows with the
    /// number of hosts.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    work: Duration,
    /// Use a tree with as many nodes as this one for any number of hosts. Only T1, T1L and T1XL
    /// have the shape that is simulated.
    #[arg(long, value_name = "NAME", value_parser = ["T1", "T1L", "T1XL"], conflicts_with = "work")]
    tree: Option<String>,
    /// Number of nodes, of 100 ns each, after which a worker checks whether to share its stack. A
    /// larger number makes the simulation faster.
    #[arg(
        long,
        value_name = "NODES",
        default_value_t = 2048,
        value_parser = clap::value_parser!(u64).range(1..),
    )]
    grain: u64,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn hosts(text: &str) -> Result<Numbers, String> {
    ranges::numbers(text, MAX_HOSTS).map(Numbers)
}

impl Simulate {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let clusters = self.clusters()?;
        let title = format!("simulating up to {}", several(self.most(), "host"));
        let progress = Progress::doing(&title, clusters.len() as u64);
        let one = |cluster: &Cluster| {
            let outcome = simulate(cluster).map_err(Error::usage);
            progress.step();
            outcome
        };
        let mut runtime = Locksley(Pool::builder().build()?);
        let outcomes = runtime.run(Sweep::new(&clusters, &one));
        let outcomes: Vec<ClusterReport> = outcomes.into_iter().collect::<Result<_, _>>()?;
        drop(progress);
        let runs: Vec<(&Cluster, &ClusterReport)> = clusters.iter().zip(&outcomes).collect();
        self.finish(output, &runs)
    }

    fn most(&self) -> usize {
        self.hosts.0.last().copied().unwrap_or(1)
    }

    /// Returns the clusters to simulate, the largest first, so that it does not run alone at the
    /// end.
    fn clusters(&self) -> Result<Vec<Cluster>, Error> {
        let workers = usize::from(self.workers);
        let usual = ["uniform", "nearest", "lifelines"].map(|name| {
            let text = format!("{name}:floor={workers}");
            text.parse::<Protocol>().map_err(Error::usage)
        });
        let protocols = if self.protocol.is_empty() {
            usual.into_iter().collect::<Result<_, _>>()?
        } else {
            self.protocol.clone()
        };
        let mut clusters = Vec::new();
        for &hosts in self.hosts.0.iter().rev() {
            for latency in self.latency.iter().map(|latency| latency.as_nanos() as u64) {
                for &protocol in &protocols {
                    let cluster = Cluster {
                        latency,
                        near: latency / 10,
                        protocol,
                        appetite: 2 * protocol.floor.max(workers),
                        grain: self.grain,
                        seed: self.seed,
                        speeds: self.speeds.0.clone(),
                        ..Cluster::new(hosts, workers, self.nodes(hosts * workers))
                    };
                    cluster.check().map_err(Error::usage)?;
                    clusters.push(cluster);
                }
            }
        }
        Ok(clusters)
    }

    fn nodes(&self, cores: usize) -> u64 {
        let published = self.tree.as_deref().and_then(UtsTree::published_with_size);
        match published {
            Some((_, size)) => size.nodes,
            None => ((self.work.as_nanos() / 100) as u64).saturating_mul(cores as u64),
        }
    }

    fn program(&self) -> Scaling {
        let workers = self.workers;
        match &self.tree {
            Some(tree) => Scaling::new(format!("{tree} on all hosts together")),
            None => Scaling::new(format!(
                "{} of work for each worker",
                time(self.work.as_secs_f64())
            )),
        }
        .with("workers per host", workers)
    }

    fn finish(&self, output: &Output, runs: &[(&Cluster, &ClusterReport)]) -> Result<(), Error> {
        let mut results = Results::new("A cluster, simulated", output::machine());
        let mut files: Vec<PathBuf> = Vec::new();
        for latency in &self.latency {
            let nanos = latency.as_nanos() as u64;
            let mut own: Vec<_> = runs
                .iter()
                .filter(|(one, _)| one.latency == nanos)
                .collect();
            own.sort_by_key(|(cluster, _)| cluster.hosts);
            let latency = time(latency.as_secs_f64());
            let mut scaling = self.program().with("latency", &latency);
            scaling.points = own.iter().map(|run| point(run)).collect();
            output.say(table(&scaling.heading(), &own).render(Style::Plain));
            if let Some(svg) = scaling.svg() {
                let name = format!("cluster-simulate-{}.svg", latency.replace(' ', ""));
                files.push(output.write(&name, &svg)?);
            }
            results.scalings.push(scaling);
        }
        files.extend(locksley_report::write(
            &output.folder,
            "cluster-simulate",
            &results,
        )?);
        output.say_files(&files);
        output.document(&json!({
            "command": "cluster simulate",
            "runs": runs.iter().map(document).collect::<Vec<Value>>(),
            "files": files,
        }))
    }
}

fn point((cluster, outcome): &(&Cluster, &ClusterReport)) -> ScalePoint {
    ScalePoint {
        strategy: cluster.protocol.to_string(),
        hosts: cluster.hosts,
        efficiency: outcome.efficiency(),
    }
}

fn document((cluster, outcome): &(&Cluster, &ClusterReport)) -> Value {
    json!({
        "protocol": cluster.protocol.to_string(),
        "hosts": cluster.hosts,
        "workers": cluster.workers,
        "latency_ns": cluster.latency,
        "nodes": cluster.nodes,
        "efficiency": outcome.efficiency(),
        "of_ideal": cluster.ideal() / outcome.makespan as f64,
        "outcome": outcome,
    })
}

fn table(title: &str, runs: &[&(&Cluster, &ClusterReport)]) -> Table {
    let header = [
        "balancing",
        "hosts",
        "time",
        "speed-up",
        "efficiency",
        "spreading",
        "between",
        "draining",
        "noticing",
        "steals",
        "requests",
        "sent",
    ];
    let mut table = Table::new(title, &header);
    let percent = |part: f64| format!("{:.1}%", 100.0 * part);
    for (cluster, outcome) in runs {
        let (lost, counts) = (outcome.lost, outcome.counts);
        table.row(vec![
            cluster.protocol.to_string(),
            cluster.hosts.to_string(),
            time(outcome.makespan as f64 * 1e-9),
            digits(outcome.speedup()),
            percent(outcome.efficiency()),
            percent(lost.spreading),
            percent(lost.between),
            percent(lost.draining),
            percent(lost.noticing),
            count(counts.gifts),
            count(counts.requests),
            bytes(outcome.bytes),
        ]);
    }
    table
}
