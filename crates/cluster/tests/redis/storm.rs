//! A storm of faults, chosen by seeds: workers are killed and stopped, connections cut, the server
//! killed, restarted, filled up, made to forget its scripts, and its clock set. The results are
//! exact each time.
//!
//! It runs for `LOCKSLEY_STORM_SECONDS` seconds, or 20, and begins with the seed
//! `LOCKSLEY_STORM_SEED`, or 1. A round that fails reports its seed.

use std::thread::sleep;
use std::time::{Duration, Instant};

use locksley_cluster::leases::{LeasePool, Redis, State, follow, submit};
use locksley_cluster::programs::cholesky::{self, Factor};
use locksley_cluster::programs::merge_sort::{self, Sort};
use locksley_cluster::programs::uts::{self, Search};
use locksley_cluster::{Program, Reduce, Task};
use locksley_policy::{Random, Source};
use rustix::process::Signal;

use crate::policies::{self, RandomTree};
use crate::processes::{self, LEASE, Process, tree};
use crate::server::Started;

/// Returns a number from the environment.
fn number(name: &str, usual: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(usual, |value| value.parse().expect("it is a number"))
}

#[test]
fn results_are_exact_in_a_storm_of_faults() {
    let start = Instant::now();
    let budget = Duration::from_secs(number("LOCKSLEY_STORM_SECONDS", 20));
    let (mut seed, mut faults) = (number("LOCKSLEY_STORM_SEED", 1), 0);
    while start.elapsed() < budget {
        let Some(server) = Started::with_clock() else {
            return;
        };
        eprintln!("seed {seed}");
        faults += Storm::new(seed, server).round();
        seed += 1;
    }
    eprintln!("{faults} faults");
    assert!(faults > 0, "nothing happened");
}

struct Storm {
    seed: u64,
    random: Random,
    server: Started,
    workers: Vec<Process>,
    faults: u64,
}

impl Storm {
    fn new(seed: u64, server: Started) -> Storm {
        let workers = (0..3).map(|_| Process::worker(&server)).collect();
        Storm {
            seed,
            random: Random::new(seed, 0),
            server,
            workers,
            faults: 0,
        }
    }

    /// Runs one program in the storm. Returns the number of faults.
    fn round(mut self) -> u64 {
        let seed = self.seed;
        match seed % 4 {
            3 => {
                let depth = 7;
                let found = self.run(&policies::program(), RandomTree::<false> { depth });
                assert_eq!(found.0, (2 << depth) - 1, "seed {seed}");
            }
            0 => {
                let (tree, size) = tree();
                let found = self.run(&uts::program(), Search::whole(tree));
                assert_eq!(found.0, size, "seed {seed}");
            }
            1 => {
                let sort = Sort {
                    seed,
                    from: 0,
                    to: 100_000,
                    grain: 200,
                };
                let found = self.run(&merge_sort::program(), sort);
                assert!(found == merge_sort::expected(seed, sort.to), "seed {seed}");
            }
            _ => {
                let (tiles, size) = (9, 16);
                let matrix = Factor { tiles, size, seed };
                let found = self.run(&cholesky::program(), matrix);
                assert!(found == matrix.expected(), "seed {seed}");
            }
        }
        self.faults
    }

    fn run<R: Reduce, T: Task<Output = R>>(&mut self, program: &Program<R>, first: T) -> R {
        let redis = self.server.connect();
        let mut job = processes::job("storm", program.name());
        // Many tries: a task is not to blame for the faults that hit it.
        job.terms.tries = 10_000;
        (job.terms.limits.task, job.terms.limits.result) = (8 << 20, 8 << 20);
        submit(&redis, &job, [first]).expect("it is new");
        while self.is_running(&redis, &job.id) {
            sleep(Duration::from_millis(100 + self.below(500)));
            self.fault();
        }
        let ended = follow(&redis, &job.id, Duration::from_secs(30), |_| {});
        let ended = ended.unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
        assert_eq!(
            ended.status.aside, 0,
            "seed {}: {:?}",
            self.seed, ended.status
        );
        ended.result(program).expect("it is a result")
    }

    fn is_running(&self, redis: &Redis, id: &locksley_cluster::leases::JobId) -> bool {
        match redis.status(id) {
            Ok(status) => status.is_none_or(|status| status.state == State::Running),
            // The server is being restarted.
            Err(error) => {
                assert!(error.passes(), "seed {}: {error}", self.seed);
                true
            }
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound as usize) as u64
    }

    fn fault(&mut self) {
        self.faults += 1;
        let unlucky = self.below(self.workers.len() as u64) as usize;
        match self.below(9) {
            0 | 1 => {
                self.workers[unlucky].signal(Signal::KILL);
                self.workers[unlucky] = Process::worker(&self.server);
            }
            2 => {
                // For up to two leases.
                let time = LEASE.mul_f64(self.below(20) as f64 / 10.0);
                self.workers[unlucky].signal(Signal::STOP);
                sleep(time);
                self.workers[unlucky].signal(Signal::CONT);
            }
            3 => {
                self.server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
            }
            4 => {
                self.server.kill();
                sleep(Duration::from_millis(self.below(1000)));
                self.server.restart();
            }
            5 => {
                self.server.ask(&["SCRIPT", "FLUSH"]);
            }
            6 | 7 => {
                // Ahead or back, by less than a lease, by several, or by far more.
                let scale = [LEASE, 10 * LEASE, Duration::from_secs(3600)];
                let scale = scale[self.below(3) as usize].as_millis() as u64;
                let step = self.below(2 * scale + 1) as i64 - scale as i64;
                self.server.step_clock(step);
            }
            _ => {
                self.server.ask(&["CONFIG", "SET", "maxmemory", "1mb"]);
                sleep(Duration::from_millis(self.below(500)));
                self.server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
            }
        }
    }
}
