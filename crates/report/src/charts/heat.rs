//! Heat maps of steals: a row for each thief, a column for each victim.

use super::palette::{HEAT, MUTED, TEXT, on_heat};
use super::{Area, Canvas, Chart, Key, SMALL, Swatch, Trouble, px, text, twice};
use crate::StealMap;
use crate::format::{count, plural, tick};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Largest number of rows. More would be too thin to point at, so neighbouring workers share a row.
const ROWS: usize = 32;

/// Returns the number of neighbouring workers that share a row.
pub(crate) fn group(map: &StealMap) -> usize {
    map.counts.len().div_ceil(ROWS).max(1)
}

/// Draws the map, with workers in groups if there are many.
pub(crate) fn heat(map: &StealMap) -> Result<Chart, Trouble> {
    let group = group(map);
    let counts = grouped(&map.counts, group);
    let most = counts.iter().flatten().copied().max().unwrap_or(0);
    let heading = crate::results::heading(&map.program, &map.parameters);
    let title = format!("{heading}, {}: who stole from whom", map.strategy);
    let pictures = twice(&title, |width| {
        Heat {
            counts: &counts,
            group,
            most,
        }
        .draw(width)
    })?;
    let mut legend = vec![Key::new("no steals", Swatch::Area(HEAT[0], 1.0))];
    let mut last = 0;
    for (step, ink) in HEAT.into_iter().enumerate().skip(1) {
        let upper = (most as f64 * step as f64 / 6.0).floor() as u64;
        if upper > last {
            let range = if upper == last + 1 {
                count(upper)
            } else {
                format!("{}–{}", count(last + 1), count(upper))
            };
            legend.push(Key::new(range, Swatch::Area(ink, 1.0)));
            last = upper;
        }
    }
    Ok(Chart {
        title,
        pictures,
        legend,
    })
}

/// Sums the counts over squares of `group` times `group` workers.
fn grouped(counts: &[Vec<u64>], group: usize) -> Vec<Vec<u64>> {
    let side = counts.len().div_ceil(group);
    let mut sums = vec![vec![0; side]; side];
    for (thief, row) in counts.iter().enumerate() {
        for (victim, steals) in row.iter().enumerate().take(counts.len()) {
            sums[thief / group][victim / group] += steals;
        }
    }
    sums
}

/// Returns the step of the colour scale for a count: 0 for none, up to 6 for the largest.
fn step(steals: u64, most: u64) -> usize {
    if steals == 0 {
        0
    } else {
        ((steals as f64 * 6.0 / most as f64).ceil() as usize).clamp(1, 6)
    }
}

struct Heat<'a> {
    counts: &'a [Vec<u64>],
    group: usize,
    most: u64,
}

impl Heat<'_> {
    fn draw(&self, width: f64) -> Result<Canvas, Trouble> {
        let side = self.counts.len().max(1) as f64;
        let (left, top) = (58.0, 46.0);
        // Cells as large as fits, but no larger than needed to read them.
        let cell = ((width - left - 8.0) / side).min(if side <= 8.0 { 56.0 } else { 26.0 });
        let mut canvas = Canvas::new(width, top + cell * side + 10.0);
        canvas.layer(None, None, |root| self.names(root, left, top, cell))?;
        for (thief, row) in self.counts.iter().enumerate() {
            for (victim, steals) in row.iter().enumerate() {
                let hint = format!(
                    "{} took {} from {}",
                    self.who(thief, "worker"),
                    plural_count(*steals),
                    self.who(victim, "worker")
                );
                let at = (left + cell * victim as f64, top + cell * thief as f64);
                canvas.layer(None, Some(&hint), |root| self.cell(root, at, cell, *steals))?;
            }
        }
        Ok(canvas)
    }

    /// Returns `worker 3`, or `workers 4–7` for a group.
    fn who(&self, index: usize, what: &str) -> String {
        let first = index * self.group;
        let gap = if what.is_empty() { "" } else { " " };
        if self.group == 1 {
            return format!("{what}{gap}{first}");
        }
        let plural = if what.is_empty() { "" } else { "s" };
        format!("{what}{plural}{gap}{first}–{}", first + self.group - 1)
    }

    fn names(&self, root: &Area<'_>, left: f64, top: f64, cell: f64) -> Result<(), Trouble> {
        let style = |horizontal, vertical| text(TEXT, SMALL, horizontal, vertical);
        root.draw(&Text::new(
            "victim →",
            (px(left), px(4.0)),
            style(HPos::Left, VPos::Top),
        ))?;
        root.draw(&Text::new(
            "thief ↓",
            (px(4.0), px(top - 18.0)),
            style(HPos::Left, VPos::Top),
        ))?;
        let label = self
            .who(self.counts.len().saturating_sub(1), "")
            .chars()
            .count() as f64
            * SMALL
            * 0.65
            + 4.0;
        let (across, down) = (
            (label / cell).ceil().max(1.0) as usize,
            (SMALL * 1.3 / cell).ceil().max(1.0) as usize,
        );
        for index in 0..self.counts.len() {
            let middle = cell * (index as f64 + 0.5);
            if index % across == 0 {
                let style = text(MUTED, SMALL, HPos::Center, VPos::Bottom);
                root.draw(&Text::new(
                    self.who(index, ""),
                    (px(left + middle), px(top - 4.0)),
                    style,
                ))?;
            }
            if index % down == 0 {
                let style = text(MUTED, SMALL, HPos::Right, VPos::Center);
                root.draw(&Text::new(
                    self.who(index, ""),
                    (px(left - 6.0), px(top + middle)),
                    style,
                ))?;
            }
        }
        Ok(())
    }

    fn cell(
        &self,
        root: &Area<'_>,
        (x, y): (f64, f64),
        cell: f64,
        steals: u64,
    ) -> Result<(), Trouble> {
        let step = step(steals, self.most);
        let corners = [
            (px(x), px(y)),
            (px(x + cell) - px(1.0), px(y + cell) - px(1.0)),
        ];
        root.draw(&Rectangle::new(corners, HEAT[step].color().filled()))?;
        // All cells have numbers, or none has.
        if cell >= brief(self.most).chars().count() as f64 * SMALL * 0.6 + 6.0
            && cell >= SMALL + 6.0
        {
            let style = text(on_heat(step), SMALL, HPos::Center, VPos::Center);
            root.draw(&Text::new(
                brief(steals),
                (px(x + cell / 2.0), px(y + cell / 2.0)),
                style,
            ))?;
        }
        Ok(())
    }
}

/// Formats a count with few characters: at most seven below a billion.
fn brief(steals: u64) -> String {
    if steals < 100_000 {
        steals.to_string()
    } else {
        tick((steals / 100_000 * 100_000) as f64)
    }
}

fn plural_count(steals: u64) -> String {
    usize::try_from(steals).map_or_else(
        |_| format!("{steals} tasks"),
        |steals| plural(steals, "task"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_every_steal() {
        let counts: Vec<Vec<u64>> = (0..70).map(|i| (0..70).map(|j| i * j).collect()).collect();
        let sums = grouped(&counts, 3);
        assert_eq!(sums.len(), 24);
        assert_eq!(
            sums.iter().flatten().sum::<u64>(),
            counts.iter().flatten().sum::<u64>()
        );
    }

    #[test]
    fn the_scale_ends_with_the_most() {
        assert_eq!(
            [0, 1, 50, 100].map(|steals| step(steals, 100)),
            [0, 1, 3, 6]
        );
        assert_eq!(step(1, 1), 6);
    }

    #[test]
    fn large_counts_are_brief() {
        let texts = [99_999, 100_000, 1_234_567, 45_678_901].map(brief);
        assert_eq!(texts, ["99999", "100 k", "1.2 M", "45.6 M"]);
        assert_eq!(
            (plural_count(1), plural_count(2)),
            ("1 task".into(), "2 tasks".into())
        );
    }

    #[test]
    fn up_to_32_workers_have_rows_of_their_own() {
        let of = |workers: usize| group(&StealMap::new("x", "y", vec![vec![0; workers]; workers]));
        assert_eq!([0, 32, 33, 64, 65].map(of), [1, 1, 2, 2, 3]);
    }

    #[test]
    fn an_empty_map_is_drawn() {
        assert!(heat(&StealMap::new("fib", "sharing", Vec::new())).is_ok());
    }
}
