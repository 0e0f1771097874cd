use super::*;

/// 2 sockets x 2 L3 x 4 cores x 2 threads, numbered as Linux does: the second threads last.
fn big() -> Topology {
    let mut text = String::from("/sys/devices/system/cpu/online:0-31\n");
    for cpu in 0..32 {
        let core = cpu % 16;
        let (package, cache) = (core / 8, core / 4);
        let mates = |width: usize, number: usize| {
            let first = width * number;
            let last = first + width - 1;
            format!("{first}-{last},{}-{}", first + 16, last + 16)
        };
        let base = format!("/sys/devices/system/cpu/cpu{cpu}");
        let pair = format!("{core},{}", core + 16);
        text += &format!("{base}/topology/package_cpus_list:{}\n", mates(8, package));
        text += &format!("{base}/topology/core_cpus_list:{pair}\n");
        for (index, level, kind, list) in [
            (0, 1, "Data", pair.clone()),
            (1, 1, "Instruction", pair.clone()),
            (2, 2, "Unified", pair.clone()),
            (3, 3, "Unified", mates(4, cache)),
        ] {
            text += &format!("{base}/cache/index{index}/level:{level}\n");
            text += &format!("{base}/cache/index{index}/type:{kind}\n");
            text += &format!("{base}/cache/index{index}/shared_cpu_list:{list}\n");
        }
    }
    text += "/sys/devices/system/node/node0/cpulist:0-7,16-23\n";
    text += "/sys/devices/system/node/node1/cpulist:8-15,24-31\n";
    Topology::from_listing(&text)
}

/// Two cores with two threads each, and four small ones that share their L2.
fn hybrid() -> Topology {
    let mut text = String::from("cpu/online:0-7\n");
    for cpu in 0..8 {
        let core = match cpu {
            0..4 => format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1),
            _ => cpu.to_string(),
        };
        let second = if cpu < 4 { core.as_str() } else { "4-7" };
        text += &format!("cpu/cpu{cpu}/topology/package_cpus_list:0-7\n");
        text += &format!("cpu/cpu{cpu}/topology/core_cpus_list:{core}\n");
        for (index, level, list) in [(0, 1, core.as_str()), (1, 2, second), (2, 3, "0-7")] {
            text += &format!("cpu/cpu{cpu}/cache/index{index}/level:{level}\n");
            text += &format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list:{list}\n");
        }
    }
    Topology::from_listing(&text)
}

#[test]
fn two_sockets() {
    let topology = big();
    assert_eq!(topology.cpus().len(), 32);
    assert!(!topology.is_flat());
    let levels: Vec<String> = topology.levels().map(|level| level.to_string()).collect();
    assert_eq!(levels, ["package", "node", "L3", "L2", "L1", "core"]);
    let closest = |a, b| topology.closest(a, b).unwrap();
    assert_eq!(closest(0, 16), Level::Core);
    assert_eq!(closest(0, 3), Level::Cache(3));
    assert_eq!(closest(0, 19), Level::Cache(3));
    assert_eq!(closest(0, 4), Level::Node);
    assert_eq!(closest(0, 8), Level::Machine);
    let distances = [0, 16, 1, 4, 8].map(|cpu| topology.distance(0, cpu).unwrap());
    assert!(distances.is_sorted_by(|a, b| a < b), "{distances:?}");
    assert_eq!(distances[0], 0);
    assert_eq!(topology.distance(0, 32), None);
    assert_eq!(topology.closest(99, 0), None);
}

#[test]
fn distance_is_symmetric_and_triangles_are_tight() {
    for topology in [big(), hybrid()] {
        let cpus = topology.cpus();
        let d = |a, b| topology.distance(a, b).unwrap();
        for &a in cpus {
            for &b in cpus {
                assert_eq!(d(a, b), d(b, a));
                for &c in cpus {
                    assert!(d(a, c) <= d(a, b).max(d(b, c)), "{a} {b} {c}");
                }
            }
        }
    }
}

#[test]
fn a_hybrid_machine() {
    let topology = hybrid();
    assert_eq!(topology.closest(0, 1), Some(Level::Core));
    assert_eq!(topology.closest(0, 2), Some(Level::Cache(3)));
    assert_eq!(topology.closest(4, 7), Some(Level::Cache(2)));
    assert_eq!(topology.closest(1, 4), Some(Level::Cache(3)));
}

#[test]
fn it_prints_as_a_tree() {
    let lines = [
        "machine: 8 CPUs (0-7)",
        "  package 0, L3 0: 0-7",
        "    L2 0: 0-1",
        "      L1 0, core 0: 0-1",
        "    L2 1: 2-3",
        "      L1 1, core 1: 2-3",
        "    L2 2: 4-7",
    ];
    assert_eq!(hybrid().to_string(), lines.join("\n"));
    let text = big().to_string();
    let lines = [
        "machine: 32 CPUs (0-31)",
        "  package 0, node 0: 0-7,16-23",
        "    L3 0: 0-3,16-19",
        "      L2 0, L1 0, core 0: 0,16",
    ];
    assert!(text.starts_with(&lines.join("\n")), "{text}");
    assert_eq!(text.lines().count(), 1 + 2 + 4 + 16, "{text}");
}

#[test]
fn a_node_of_several_packages_is_the_wider() {
    let topology = Topology::from_listing(
        "cpu/online:0-3\n\
         cpu/cpu0/topology/physical_package_id:0\n\
         cpu/cpu1/topology/physical_package_id:0\n\
         cpu/cpu2/topology/physical_package_id:3\n\
         cpu/cpu3/topology/physical_package_id:3\n\
         node/node0/cpulist:0-3\n",
    );
    let levels: Vec<Level> = topology.levels().collect();
    assert_eq!(levels, [Level::Node, Level::Package]);
    assert_eq!(topology.closest(0, 1), Some(Level::Package));
    assert_eq!(topology.closest(0, 2), Some(Level::Node));
}

#[test]
fn missing_files_are_not_shared_levels() {
    let nothing = Topology::from_listing("affinity:2-3,7\n");
    assert_eq!(nothing.cpus(), [2, 3, 7]);
    assert!(nothing.is_flat());
    assert_eq!(nothing.closest(2, 7), Some(Level::Machine));
    assert_eq!(nothing.distance(2, 7), Some(1));
    assert!(nothing.to_string().contains("not known"), "{nothing}");
    // One CPU is described, the others are not.
    let part = Topology::from_listing(
        "cpu/online:0-3\n\
         cpu/cpu0/cache/index3/level:3\n\
         cpu/cpu0/cache/index3/shared_cpu_list:0-1\n",
    );
    assert_eq!(part.closest(0, 1), Some(Level::Cache(3)));
    assert_eq!(
        part.closest(2, 3),
        Some(Level::Machine),
        "unknown is not shared"
    );
    assert!(
        !Topology::from_listing("no lines that mean anything")
            .cpus()
            .is_empty()
    );
}

#[test]
fn offline_cpus_and_the_mask() {
    let topology = Topology::from_listing(
        "cpu/online:0-3,8,10-11\n\
         affinity:1-9\n\
         cpu/cpu0/cache/index0/level:2\n\
         cpu/cpu0/cache/index0/shared_cpu_list:0-5\n\
         cpu/cpu8/cache/index0/level:2\n\
         cpu/cpu8/cache/index0/shared_cpu_list:8-11\n",
    );
    assert_eq!(topology.cpus(), [0, 1, 2, 3, 8, 10, 11]);
    assert_eq!(topology.allowed(), [1, 2, 3, 8]);
    assert_eq!(topology.closest(0, 5), None, "offline");
    assert_eq!(topology.closest(8, 11), Some(Level::Cache(2)));
    let text = topology.to_string();
    assert!(text.contains("may use 4 (1-3,8)"), "{text}");
    assert!(text.contains("L2 1: 8,10-11"), "{text}");
}

#[test]
fn wrong_contents_are_ignored() {
    let topology = Topology::from_listing(
        "cpu/online:0-1\n\
         cpu/cpu0/topology/core_cpus_list:zero\n\
         cpu/cpu0/cache/index0/level:two\n\
         cpu/cpu1/topology/package_cpus_list:5-2\n\
         node/node0/cpulist:a\n\
         node/nodeX/cpulist:0-1\n",
    );
    assert_eq!(topology.closest(0, 1), Some(Level::Machine));
    assert!(topology.is_flat());
}

#[test]
fn compact_and_spread_orders() {
    let topology = big();
    let compact = topology.compact(topology.cpus());
    assert_eq!(compact[..8], [0, 16, 1, 17, 2, 18, 3, 19]);
    let spread = topology.spread(topology.cpus());
    // Sockets, then caches, then cores; second threads when every core has one.
    assert_eq!(spread[..8], [0, 8, 4, 12, 1, 9, 5, 13]);
    assert!(spread[..16].iter().all(|&cpu| cpu < 16), "{spread:?}");
    for order in [compact, spread] {
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, topology.cpus());
    }
    assert_eq!(topology.compact(&[9, 1, 17]), [1, 17, 9]);
    assert_eq!(topology.spread(&[1, 17, 9]), [1, 9, 17]);
}

#[test]
fn this_machine() {
    let topology = topology();
    println!("{topology}");
    assert!(!topology.cpus().is_empty());
    for &cpu in topology.allowed() {
        assert_eq!(topology.distance(cpu, cpu), Some(0));
    }
}

#[test]
fn regions_are_what_threads_seldom_leave() {
    let topology = big();
    assert!(topology.has_regions());
    assert_eq!(topology.region(0), topology.region(3), "the same L3");
    assert_ne!(topology.region(0), topology.region(4), "another L3");
    assert!(!hybrid().has_regions(), "one L3");
    assert!(!Topology::from_listing("cpu/online:0-3").has_regions());
}
