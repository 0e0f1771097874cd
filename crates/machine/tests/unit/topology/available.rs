use super::*;

fn quota_of(files: &[(&str, &str)]) -> Option<f64> {
    quota(&|path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned())
    })
}

const SECOND: (&str, &str) = (
    "/proc/self/mountinfo",
    "25 23 0:22 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
);

#[test]
fn version_two_the_tightest_of_all_groups() {
    let files = |inner, outer| {
        quota_of(&[
            ("/proc/self/cgroup", "0::/a/b\n"),
            SECOND,
            ("/sys/fs/cgroup/a/cpu.max", outer),
            ("/sys/fs/cgroup/a/b/cpu.max", inner),
        ])
    };
    assert_eq!(files("150000 100000\n", "max 100000\n"), Some(1.5));
    assert_eq!(files("400000 100000\n", "200000 100000\n"), Some(2.0));
    assert_eq!(files("max 100000\n", "max 100000\n"), None);
    assert_eq!(files("nonsense", "-1 100000"), None);
    assert_eq!(files("1 0", ""), None);
}

#[test]
fn version_one() {
    let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                  33 31 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n\
                  32 31 0:29 /docker/x /cg/cpu rw,relatime shared:9 - cgroup cgroup \
                  rw,cpu,cpuacct\n";
    let files = |quota| {
        quota_of(&[
            (
                "/proc/self/cgroup",
                "4:memory:/m\n1:cpuacct,cpu:/docker/x/y\n",
            ),
            ("/proc/self/mountinfo", mounts),
            ("/cg/cpu/y/cpu.cfs_quota_us", quota),
            ("/cg/cpu/y/cpu.cfs_period_us", "100000\n"),
        ])
    };
    assert_eq!(files("250000\n"), Some(2.5));
    assert_eq!(files("-1\n"), None);
}

#[test]
fn no_groups_no_quota() {
    assert_eq!(quota_of(&[]), None);
    assert_eq!(quota_of(&[("/proc/self/cgroup", "0::/\n")]), None);
    assert_eq!(quota_of(&[("/proc/self/cgroup", "garbage"), SECOND]), None);
}

#[test]
fn it_says_how_it_came_about() {
    let mut available = Available {
        count: 2,
        affinity: Some(vec![0, 1, 2, 3, 8]),
        quota: Some(2.5),
    };
    assert_eq!(
        available.to_string(),
        "2 CPUs: the affinity mask allows 5 (0-3,8), the cgroup quota is the time of 2.5"
    );
    available = Available {
        count: 1,
        affinity: None,
        quota: None,
    };
    assert_eq!(
        available.to_string(),
        "1 CPU: the affinity mask is not known, no cgroup quota"
    );
}

/// A thread that is bound to one CPU sees as many processors as the others.
#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn a_bound_thread_counts_the_processors_of_the_process() {
    let cpus = allowed_now().expect("Linux tells");
    let bound = std::thread::spawn(move || {
        crate::pinning::pin_to(&cpus[..1]).expect("it may run there");
        (allowed_now().map(|cpus| cpus.len()), processors_now())
    });
    let (allowed, processors) = bound.join().expect("it did not panic");
    assert_eq!(allowed, Some(1));
    assert_eq!(processors, processors_now());
}

/// The standard library and this module read the same files.
#[test]
fn the_parts_explain_the_number() {
    let available = available_cpus();
    let most = available.affinity().map_or(usize::MAX, <[usize]>::len);
    assert!(available.count() <= most.max(1), "{available}");
    if let (Some(quota), Some(cpus)) = (available.quota(), available.affinity()) {
        let expected = (quota as usize).max(1).min(cpus.len());
        assert_eq!(available.count(), expected, "{available}");
    }
}
