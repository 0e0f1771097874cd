use locksley_policy::rank::Protocol;

use super::*;

fn cluster(hosts: usize, nodes: u64, protocol: &str) -> Cluster {
    let protocol: Protocol = protocol.parse().unwrap();
    Cluster {
        protocol,
        appetite: 2 * protocol.floor.max(4),
        ..Cluster::new(hosts, 2, nodes)
    }
}

const PROTOCOLS: [&str; 7] = [
    "uniform:floor=4",
    "nearest:floor=2,theta_r=0.75",
    "lifelines:floor=4",
    "steal-back:lifelines,w=0,base=4,floor=0,amount=one",
    "sending:random,floor=4",
    "sending:threshold,floor=4",
    "sending:shortest,l_p=2,floor=2",
];

/// The protocol itself reports an error if work arrives after the end, or messages arrive out of
/// order.
#[test]
fn all_work_is_done_on_every_network() {
    for protocol in PROTOCOLS {
        for (hosts, latency) in [(1, 10_000), (2, 0), (7, 1_000_000), (90, 10_000)] {
            for seed in 0..2 {
                let cluster = Cluster {
                    latency,
                    near: latency / 10,
                    seed,
                    ..cluster(hosts, 1_000_000, protocol)
                };
                let report = simulate(&cluster).unwrap();
                assert_eq!(report.busy, cluster.serial(), "{protocol}, {hosts} hosts");
                assert!(report.makespan * 2 * hosts as u64 >= report.busy);
                assert_eq!(report.counts.given, report.counts.taken);
                let Lost {
                    spreading,
                    between,
                    draining,
                    noticing,
                } = report.lost;
                let sum = report.efficiency() + spreading + between + draining + noticing;
                assert!((sum - 1.0).abs() < 1e-9, "{report:?}");
            }
        }
    }
}

/// Eager et al.: no host asks for work, but all of them get some.
#[test]
fn hosts_that_send_are_not_asked() {
    for protocol in &PROTOCOLS[4..] {
        let setup = cluster(16, 20_000_000, protocol);
        let report = simulate(&setup).unwrap();
        let counts = report.counts;
        assert_eq!(counts.requests, 0, "{protocol}");
        assert!(
            counts.probes >= counts.gifts && counts.gifts > 0,
            "{counts:?}"
        );
        // One host alone would have 1/16.
        assert!(report.efficiency() > 0.5, "{protocol}: {report:?}");
    }
}

/// Every second host has a quarter of the speed, and gets less work. If all hosts did the same
/// share, the slow ones would take 2.5 times the ideal time.
#[test]
fn slow_hosts_do_less() {
    for protocol in ["uniform:floor=2", "lifelines:floor=2"] {
        let setup = Cluster {
            speeds: vec![NOMINAL, NOMINAL / 4],
            ..cluster(8, 20_000_000, protocol)
        };
        let report = simulate(&setup).unwrap();
        let over = report.makespan as f64 / setup.ideal();
        assert!((1.0..1.5).contains(&over), "{protocol}: {over}");
        // The speed-up is at most that of 8 hosts with 5/8 of the nominal speed.
        let most = 0.625 * report.cores as f64;
        assert!(report.speedup() <= most, "{protocol}: {report:?}");
        let equal = simulate(&cluster(8, 20_000_000, protocol)).unwrap();
        assert!(report.makespan > equal.makespan, "{protocol}");
    }
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    let setup = cluster(40, 5_000_000, "lifelines:floor=2");
    let report = simulate(&setup).unwrap();
    assert_eq!(simulate(&setup).unwrap(), report);
    let other = Cluster { seed: 2, ..setup };
    assert_ne!(simulate(&other).unwrap(), report);
}

/// Most hosts never have work. With lifelines they ask a few times; without, they ask until the
/// end.
#[test]
fn lifelines_keep_idle_hosts_quiet() {
    let requests = |protocol| {
        let setup = cluster(300, 2_000_000, protocol);
        simulate(&Cluster {
            grain: 1 << 30,
            ..setup
        })
        .unwrap()
        .counts
        .requests
    };
    let (loud, quiet) = (requests("uniform"), requests("lifelines"));
    // No host splits its work, so all hosts but one are idle for 0.2 s: 2 attempts and up to 9
    // lifelines each.
    assert!(quiet <= 300 * 11, "{quiet}");
    assert!(loud > 10 * quiet, "{loud} and {quiet}");
}

/// The end is detected along a tree of ranks, not a ring: this takes a few latencies, not as many
/// as there are hosts.
#[test]
fn the_end_is_noticed_in_a_few_latencies() {
    let setup = Cluster {
        latency: 1_000_000,
        near: 1_000_000,
        ..cluster(1000, 50_000_000, "lifelines:floor=4")
    };
    let report = simulate(&setup).unwrap();
    let noticing = report.lost.noticing * report.makespan as f64;
    // Two waves, Done, Bye and Leave: at most seven times the five levels, and the answer to the
    // last request.
    assert!(noticing < 45e6, "{noticing} ns");
}

#[test]
fn a_network_that_is_too_slow_for_the_patience_is_an_error() {
    let setup = Cluster {
        latency: 100_000_000,
        near: 100_000_000,
        ..cluster(10, 100_000_000, "uniform:beat=10ms,patience=50ms")
    };
    let error = simulate(&setup).unwrap_err();
    assert!(matches!(error, HostsError::Protocol { .. }));
    assert!(error.to_string().contains("too little patience"), "{error}");
}
