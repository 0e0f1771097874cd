//! Tables of text, for a terminal or for a README.

use serde::Serialize;

/// Output format of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Columns aligned with spaces.
    Plain,
    /// GitHub's Markdown.
    Markdown,
}

/// Cells of text under a title. The first column is a name; the others are numbers.
///
/// ```
/// use locksley_measure::table::{Style, Table};
///
/// let mut table = Table::new("pairs", &["queue", "ns"]);
/// table.row(vec!["deque".into(), "9.1".into()]);
/// assert_eq!(table.render(Style::Plain), "pairs\n  queue   ns\n  deque  9.1\n");
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    title: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates an empty table.
    pub fn new(title: impl Into<String>, header: &[&str]) -> Table {
        let header = header.iter().map(|&cell| cell.to_owned()).collect();
        Table {
            title: title.into(),
            header,
            rows: Vec::new(),
        }
    }

    /// Adds a row, which must have as many cells as the header.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.header.len());
        self.rows.push(cells);
    }

    /// Returns the whole table, ending in a newline.
    pub fn render(&self, style: Style) -> String {
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| {
                self.lines()
                    .map(|row| row[column].chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = match style {
            Style::Plain => format!("{}\n", self.title),
            Style::Markdown => format!("**{}**\n\n", self.title),
        };
        for (number, row) in self.lines().enumerate() {
            text += &line(row, &widths, style);
            if number == 0 && style == Style::Markdown {
                text += &rule(&widths);
            }
        }
        text
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.header).chain(&self.rows)
    }
}

fn line(row: &[String], widths: &[usize], style: Style) -> String {
    let cells: Vec<String> = row
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        })
        .collect();
    match style {
        Style::Plain => format!("  {}\n", cells.join("  ").trim_end()),
        Style::Markdown => format!("| {} |\n", cells.join(" | ")),
    }
}

fn rule(widths: &[usize]) -> String {
    let cells: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(column, &width)| match column {
            0 => "-".repeat(width),
            _ => format!("{}:", "-".repeat(width.saturating_sub(1).max(1))),
        })
        .collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("pairs", &["queue", "ns"]);
        table.row(vec!["a".into(), "10.0".into()]);
        table.row(vec!["longer".into(), "9.1".into()]);
        table
    }

    #[test]
    fn plain_columns_line_up() {
        let text = "pairs\n  queue     ns\n  a       10.0\n  longer   9.1\n";
        assert_eq!(table().render(Style::Plain), text);
    }

    #[test]
    fn markdown_has_a_rule() {
        let text = "**pairs**\n\n| queue  |   ns |\n| ------ | ---: |\n| a      | 10.0 |\n\
                    | longer |  9.1 |\n";
        assert_eq!(table().render(Style::Markdown), text);
    }
}
