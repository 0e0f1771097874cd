//! How many CPUs this process may use, and why.

use std::fmt;
use std::path::{Path, PathBuf};

use super::list::CpuList;
use super::read::{allowed_now, most_allowed};

/// How many CPUs this process may use, and how that came about. Made by [`available_cpus`].
///
/// ```
/// let available = locksley::available_cpus();
/// if let Some(quota) = available.quota() {
///     println!("the container leaves us the time of {quota} CPUs");
/// }
/// if let Some(cpus) = available.affinity() {
///     assert!(available.count() <= cpus.len());
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Available {
    count: usize,
    affinity: Option<Vec<usize>>,
    quota: Option<f64>,
}

impl Available {
    /// How many workers have a CPU of their own.
    ///
    /// ```
    /// assert!(locksley::available_cpus().count() >= 1);
    /// ```
    pub fn count(&self) -> usize {
        self.count
    }

    /// The CPUs of the calling thread's affinity mask, if the operating system tells.
    ///
    /// ```
    /// if let Some(cpus) = locksley::available_cpus().affinity() {
    ///     println!("may run on {cpus:?}");
    ///     assert!(!cpus.is_empty());
    /// }
    /// ```
    pub fn affinity(&self) -> Option<&[usize]> {
        self.affinity.as_deref()
    }

    /// The CPU time that the process's control groups (cgroups) leave it, in CPUs, if they limit
    /// it.
    ///
    /// ```
    /// if let Some(cpus) = locksley::available_cpus().quota() {
    ///     println!("may use the time of {cpus} CPUs");
    ///     assert!(cpus > 0.0);
    /// }
    /// ```
    pub fn quota(&self) -> Option<f64> {
        self.quota
    }
}

impl fmt::Display for Available {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.count == 1 { "" } else { "s" };
        write!(f, "{} CPU{plural}: ", self.count)?;
        match &self.affinity {
            Some(cpus) => write!(
                f,
                "the affinity mask allows {} ({})",
                cpus.len(),
                CpuList(cpus.clone())
            )?,
            None => f.write_str("the affinity mask is not known")?,
        }
        match self.quota {
            Some(quota) => write!(f, ", the cgroup quota is the time of {quota}"),
            None => f.write_str(", no cgroup quota"),
        }
    }
}

/// How many CPUs this process may use: what a pool has workers for by default. The affinity mask
/// and, on Linux, the quota of the control group (containers) count.
///
/// The number is [`std::thread::available_parallelism`]'s, on Windows that of the affinity mask;
/// the rest says how it came about.
///
/// ```
/// let available = locksley::available_cpus();
/// // For example: 2 CPUs: the affinity mask allows 8 (0-7), the cgroup quota is the time of 2.5
/// println!("{available}");
/// assert!(available.count() >= 1);
/// ```
pub fn available_cpus() -> Available {
    let affinity = allowed_now();
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    Available {
        // Windows' number leaves the mask out of account.
        count: match &affinity {
            Some(cpus) if cfg!(windows) => cpus.len(),
            _ => all,
        },
        affinity,
        quota: if cfg!(target_os = "linux") {
            quota(&|path| std::fs::read_to_string(path).ok())
        } else {
            None
        },
    }
}

/// How many processors the workers of a pool have now.
pub(crate) fn processors_now() -> usize {
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let allowed = most_allowed().unwrap_or_else(available);
    let quota = if cfg!(target_os = "linux") {
        quota(&|path| std::fs::read_to_string(path).ok())
    } else {
        None
    };
    quota.map_or(allowed, |quota| allowed.min(quota as usize).max(1))
}

type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The tightest quota of the control groups that this process is in, in CPUs.
fn quota(read: Read<'_>) -> Option<f64> {
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    groups
        .lines()
        .filter_map(|line| group_quota(line, &mounts, read))
        .reduce(f64::min)
}

/// The tightest quota from one group of `/proc/self/cgroup` up to the root of its hierarchy.
fn group_quota(line: &str, mounts: &str, read: Read<'_>) -> Option<f64> {
    // hierarchy:controllers:path; version 2 has no controllers.
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let second = controllers.is_empty();
    if !second && !controllers.split(',').any(|name| name == "cpu") {
        return None;
    }
    let (root, mount) = mounts.lines().find_map(|line| mounted(line, second))?;
    // In a container the hierarchy may be mounted from the container's group on.
    let inside = path.strip_prefix(root).unwrap_or(path);
    let mut group = PathBuf::from(mount);
    let mut tightest = own_quota(&group, second, read);
    for name in inside.split('/').filter(|name| !name.is_empty()) {
        if name == ".." {
            break;
        }
        group.push(name);
        let own = own_quota(&group, second, read);
        tightest = own.into_iter().chain(tightest).reduce(f64::min);
    }
    tightest
}

/// If this line of `/proc/self/mountinfo` is the mount of the hierarchy that limits CPUs: its root,
/// and where it is mounted.
fn mounted(line: &str, second: bool) -> Option<(&str, &str)> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(3);
    let (root, mount) = (front.next()?, front.next()?);
    let mut back = back.split(' ');
    let (kind, _, options) = (back.next()?, back.next()?, back.next()?);
    let fits = if second {
        kind == "cgroup2"
    } else {
        kind == "cgroup" && options.split(',').any(|option| option == "cpu")
    };
    fits.then_some((root, mount))
}

/// The quota that a group itself sets.
fn own_quota(group: &Path, second: bool, read: Read<'_>) -> Option<f64> {
    let (quota, period) = if second {
        let text = read(&group.join("cpu.max"))?;
        let (quota, period) = text.trim().split_once(' ')?;
        (quota.to_owned(), period.to_owned())
    } else {
        (
            read(&group.join("cpu.cfs_quota_us"))?,
            read(&group.join("cpu.cfs_period_us"))?,
        )
    };
    // No quota is `max`, or -1.
    let quota: f64 = quota.trim().parse::<i64>().ok().filter(|&q| q > 0)? as f64;
    let period: f64 = period.trim().parse::<i64>().ok().filter(|&p| p > 0)? as f64;
    Some(quota / period)
}

#[cfg(test)]
mod tests {
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
            crate::machine::pinning::pin_to(&cpus[..1]).expect("it may run there");
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
}
