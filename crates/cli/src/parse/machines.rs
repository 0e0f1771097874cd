//! Simulated machines on the command line: costs, topologies and speeds.

use locksley_sim::{Costs, NOMINAL, Speed, Speeds, Topology};
use locksley_workload::catalog::nearest;

use crate::parse::names::meant;

/// Costs on the command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Costly(pub(crate) Costs);

/// Distances between processors: sizes of groups, smallest first, with the latency within a group,
/// and the latency beyond all groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Groups {
    groups: Vec<(u32, u32)>,
    beyond: u32,
}

impl Groups {
    /// Returns the topology with latencies in ticks of length `tick`.
    pub(crate) fn topology(&self, tick: f64) -> Topology {
        let ticks = |latency: u32| (f64::from(latency) / tick).round() as u32;
        let groups: Vec<(u32, u32)> = self
            .groups
            .iter()
            .map(|&(size, latency)| (size, ticks(latency)))
            .collect();
        Topology::nested(&groups, ticks(self.beyond))
    }
}

const COSTS: [&str; 11] = [
    "node",
    "steal",
    "cas",
    "fence",
    "donation",
    "probe",
    "fork",
    "expose",
    "barrier",
    "interrupt",
    "miss",
];

/// Parses `node=1,steal=10`. Other costs are those of the thesis's model.
pub(crate) fn costs(text: &str) -> Result<Costly, String> {
    let mut costs = Costs::default();
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let (name, ticks) = pair.split_once('=').unwrap_or((pair, ""));
        let known = match name.trim() {
            "node" => &mut costs.node,
            "steal" => &mut costs.steal,
            "cas" => &mut costs.cas,
            "fence" => &mut costs.fence,
            "donation" => &mut costs.donation,
            "probe" => &mut costs.probe,
            "fork" => &mut costs.fork,
            "expose" => &mut costs.expose,
            "barrier" => &mut costs.barrier,
            "interrupt" => &mut costs.interrupt,
            "miss" => &mut costs.miss,
            name => {
                let near = meant(&nearest(name, COSTS));
                return Err(format!(
                    "there is no cost `{name}`: possible are {}{near}",
                    COSTS.join(", ")
                ));
            }
        };
        *known = number(ticks, pair)?;
    }
    Ok(Costly(costs))
}

fn number(text: &str, of: &str) -> Result<u32, String> {
    let parsed = text.trim().parse();
    parsed.map_err(|_| format!("`{text}` in `{of}` is not a number of ticks: give a whole number"))
}

/// Speeds on the command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pace(pub(crate) Speeds);

/// Parses `1,0.5`: speeds of the first processors, where 1 is nominal. The list is repeated for the
/// others.
pub(crate) fn speeds(text: &str) -> Result<Pace, String> {
    let HostSpeeds(speeds) = host_speeds(text)?;
    Ok(Pace(Speeds::of(
        speeds.into_iter().map(Speed::constant).collect(),
    )))
}

/// Speeds of hosts on the command line, in units of 1 / [`NOMINAL`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HostSpeeds(pub(crate) Vec<u32>);

/// Parses `1,0.5`, as [`speeds`] does, for hosts.
pub(crate) fn host_speeds(text: &str) -> Result<HostSpeeds, String> {
    let speed = |part: &str| {
        let number = part.trim().parse::<f64>().ok();
        let number = number.filter(|speed| (0.001..=1000.0).contains(speed));
        let thousandths = number.map(|speed| (speed * f64::from(NOMINAL)).round() as u32);
        thousandths.ok_or_else(|| {
            format!("`{part}` in `{text}` is not a speed: give a number from 0.001 to 1000")
        })
    };
    let speeds: Result<Vec<u32>, String> = text.split(',').map(speed).collect();
    Ok(HostSpeeds(speeds?))
}

const FORMS: &str =
    "flat, sockets:CORES,TICKS, cluster:CORES,NEAR,FAR, or nested:SIZE=TICKS,..,BEYOND";

/// Parses `flat`, `sockets:8,100`, `cluster:16,20,1000` or `nested:16=5,64=1000,3000`.
pub(crate) fn topology(text: &str) -> Result<Groups, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let parts: Vec<&str> = rest.split(',').filter(|part| !part.is_empty()).collect();
    let numbers = || {
        parts
            .iter()
            .map(|part| number(part, text))
            .collect::<Result<Vec<u32>, _>>()
    };
    let wrong = |what: &str| Err(format!("`{text}` {what}: possible are {FORMS}"));
    let (groups, beyond) = match name {
        "flat" if parts.is_empty() => (Vec::new(), 0),
        "sockets" => match numbers()?[..] {
            [cores, latency] if cores > 0 => (vec![(cores, 0)], latency),
            _ => return wrong("needs two numbers, the first at least 1"),
        },
        "cluster" => match numbers()?[..] {
            [cores, near, far] if cores > 0 => (vec![(cores, near)], far),
            _ => return wrong("needs three numbers, the first at least 1"),
        },
        "nested" => nested(text, &parts)?,
        _ => {
            let near = nearest(name, ["flat", "sockets", "cluster", "nested"]);
            return Err(format!(
                "`{text}` is not a topology: possible are {FORMS}{}",
                meant(&near)
            ));
        }
    };
    Ok(Groups { groups, beyond })
}

fn nested(text: &str, parts: &[&str]) -> Result<(Vec<(u32, u32)>, u32), String> {
    let Some((beyond, groups)) = parts.split_last() else {
        return Err(format!("`{text}` has no groups: possible are {FORMS}"));
    };
    let (mut pairs, mut last) = (Vec::new(), 1);
    for group in groups {
        let (size, latency) = group.split_once('=').unwrap_or((group, ""));
        let (size, latency) = (number(size, text)?, number(latency, text)?);
        if size <= last || !size.is_multiple_of(last) {
            return Err(format!(
                "a group of {size} in `{text}` does not consist of groups of {last}: give a larger \
                 multiple of {last}"
            ));
        }
        pairs.push((size, latency));
        last = size;
    }
    Ok((pairs, number(beyond, text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read() {
        let Costly(read) = costs("steal=10,fence=2").unwrap();
        assert_eq!((read.node, read.steal, read.fence), (1, 10, 2));
        for name in COSTS {
            let Costly(read) = costs(&format!("{name}=77")).unwrap();
            assert_ne!(read, Costs::default(), "{name}");
        }
        assert!(
            costs("stael=10")
                .unwrap_err()
                .contains("did you mean `steal`?")
        );
        assert!(
            costs("steal=ten")
                .unwrap_err()
                .contains("not a number of ticks")
        );
    }

    #[test]
    fn speeds_are_read() {
        let half = [NOMINAL, NOMINAL / 2].map(Speed::constant).to_vec();
        assert_eq!(speeds("1, 0.5"), Ok(Pace(Speeds::of(half))));
        for wrong in ["", "1,", "0", "-1", "fast", "1,nan"] {
            assert!(
                speeds(wrong).unwrap_err().contains("is not a speed"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn topologies_are_read() {
        let read = |text| topology(text).map(|groups| groups.topology(1.0));
        assert_eq!(read("flat"), Ok(Topology::flat()));
        assert_eq!(
            read("cluster:16,20,1000"),
            Ok(Topology::cluster(16, 20, 1000))
        );
        assert_eq!(read("sockets:8,100"), Ok(Topology::sockets(8, 100)));
        let nested = Topology::nested(&[(16, 5), (64, 1000)], 3000);
        assert_eq!(read("nested:16=5,64=1000,3000"), Ok(nested));
        let halved = topology("cluster:16,20,1000").unwrap().topology(2.0);
        assert_eq!(halved, Topology::cluster(16, 10, 500));
        for wrong in [
            "ring",
            "cluster:16",
            "sockets:0,1",
            "nested:",
            "nested:16=5,24=6,7",
            "flat:1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(
            read("clutser:1,2,3")
                .unwrap_err()
                .contains("did you mean `cluster`?")
        );
    }
}
