//! The text form of a topology.

use std::fmt;

use super::list::CpuList;
use super::{Layer, Topology};

impl fmt::Display for Topology {
    /// Writes a tree: each domain under the one that contains it, with its CPUs. Levels that divide
    /// the CPUs no further are on the same line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.cpus.len();
        let plural = if count == 1 { "" } else { "s" };
        write!(
            f,
            "machine: {count} CPU{plural} ({})",
            CpuList(self.cpus.clone())
        )?;
        if self.allowed != self.cpus {
            write!(
                f,
                ", of which this process may use {} ({})",
                self.allowed.len(),
                CpuList(self.allowed.clone())
            )?;
        }
        if self.layers.is_empty() && count > 1 {
            return f.write_str("; what they share is not known");
        }
        let all: Vec<usize> = (0..count).collect();
        self.branch(f, &all, 0, 1)
    }
}

impl Topology {
    /// Writes the domains of these CPUs, given by position, from a level on.
    fn branch(
        &self,
        f: &mut fmt::Formatter<'_>,
        places: &[usize],
        level: usize,
        indent: usize,
    ) -> fmt::Result {
        if level == self.layers.len() {
            return Ok(());
        }
        let groups = self.divide(places, &self.layers[level]);
        // Levels that divide the CPUs in the same way are on the same line.
        let same = |layer: &&Layer| self.divide(places, layer) == groups;
        let end = level + self.layers[level..].iter().take_while(same).count();
        for group in groups {
            if group.len() == 1 && places.len() > 1 && level > 0 {
                // A single CPU was listed above.
                continue;
            }
            write!(f, "\n{:width$}", "", width = 2 * indent)?;
            for (place, layer) in self.layers[level..end].iter().enumerate() {
                let comma = if place > 0 { ", " } else { "" };
                write!(f, "{comma}{} {}", layer.level, layer.domains[group[0]])?;
            }
            let cpus = group.iter().map(|&place| self.cpus[place]).collect();
            write!(f, ": {}", CpuList(cpus))?;
            self.branch(f, &group, end, indent + 1)?;
        }
        Ok(())
    }

    /// Returns the CPUs of each domain of a layer.
    fn divide(&self, places: &[usize], layer: &Layer) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for &place in places {
            let mates = |group: &&mut Vec<usize>| layer.domains[group[0]] == layer.domains[place];
            match groups.iter_mut().find(mates) {
                Some(group) => group.push(place),
                None => groups.push(vec![place]),
            }
        }
        groups
    }
}
