//! Elements of which sections consist.

use crate::charts::{Chart, Trouble};
use crate::format::escape;
use std::fmt::Write;

/// Returns a figure with its legend, or the error in its place if the chart could not be drawn.
pub(super) fn figure(chart: Result<Chart, Trouble>, kind: &str) -> String {
    let chart = match chart {
        Ok(chart) => chart,
        Err(trouble) => {
            let why = escape(&trouble.to_string());
            return format!(
                "<p class=\"note chart-error\">This chart could not be drawn: {why}</p>\n"
            );
        }
    };
    let [wide, narrow] = &chart.pictures;
    let mut html = format!(
        "<figure class=\"chart {kind}\"><figcaption>{}</figcaption>\n\
         <div class=\"scroll\">{wide}\n{narrow}</div>\n",
        escape(&chart.title)
    );
    if !chart.legend.is_empty() {
        html.push_str("<ul class=\"legend\">");
        for key in &chart.legend {
            let contender = key
                .contender
                .as_deref()
                .map(contender_attribute)
                .unwrap_or_default();
            let _ = write!(
                html,
                "<li{contender}>{}{}</li>",
                key.swatch,
                escape(&key.label)
            );
        }
        html.push_str("</ul>");
    }
    html.push_str("</figure>\n");
    html
}

/// Returns the attribute by which the script filters contenders.
pub(super) fn contender_attribute(name: &str) -> String {
    format!(" data-contender=\"{}\"", escape(name))
}

/// Returns an article of a section, about one program and perhaps one strategy.
pub(super) fn article(
    id: &str,
    heading: &str,
    workload: &str,
    contender: Option<&str>,
    body: &str,
) -> String {
    let contender = contender.map(contender_attribute).unwrap_or_default();
    format!(
        "<article id=\"{id}\" data-workload=\"{}\"{contender}><h3>{}</h3>\n{body}</article>\n",
        escape(workload),
        escape(heading)
    )
}

/// A cell of a table.
pub(super) struct Cell {
    text: String,
    /// Value by which the column is sorted. Cells with a value are aligned right.
    value: Option<f64>,
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            value: None,
        }
    }

    /// Returns a cell with a number and its text.
    pub(super) fn number(value: f64, shown: impl Into<String>) -> Cell {
        Cell {
            text: shown.into(),
            value: Some(value),
        }
    }

    /// Returns a cell with a number, or a dash.
    pub(super) fn maybe(value: Option<f64>, show: impl Fn(f64) -> String) -> Cell {
        // A missing number is sorted last.
        value.map_or_else(
            || Cell::number(1e300, "–"),
            |value| Cell::number(value, show(value)),
        )
    }
}

/// A table in a box that scrolls if the page is narrow.
pub(super) struct Table<'a> {
    name: &'a str,
    /// Names of the columns, and whether they hold numbers.
    head: &'a [(&'a str, bool)],
    rows: String,
    count: usize,
    /// Set for the table with the gist of the page, which is never folded, and has a card for each
    /// row on a phone.
    gist: bool,
}

/// Largest number of rows that are not folded. The chart shows the same data.
const LONG: usize = 12;

impl<'a> Table<'a> {
    pub(super) fn new(name: &'a str, head: &'a [(&'a str, bool)]) -> Table<'a> {
        Table {
            name,
            head,
            rows: String::new(),
            count: 0,
            gist: false,
        }
    }

    pub(super) fn gist(mut self) -> Table<'a> {
        self.gist = true;
        self
    }

    pub(super) fn row(&mut self, class: &str, contender: Option<&str>, cells: &[Cell]) {
        let contender = contender.map(contender_attribute).unwrap_or_default();
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(" class=\"{class}\"")
        };
        self.count += 1;
        let _ = write!(self.rows, "<tr{class}{contender}>");
        for (cell, (label, _)) in cells.iter().zip(self.head) {
            let mut attributes = cell
                .value
                .map(|v| format!(" class=\"number\" data-value=\"{v}\""))
                .unwrap_or_default();
            if self.gist {
                let _ = write!(attributes, " data-label=\"{}\"", escape(label));
            }
            let _ = write!(self.rows, "<td{attributes}>{}</td>", escape(&cell.text));
        }
        self.rows.push_str("</tr>\n");
    }

    pub(super) fn finish(self) -> String {
        let head: String = self
            .head
            .iter()
            .map(|(name, number)| {
                let class = if *number { " class=\"number\"" } else { "" };
                format!("<th scope=\"col\"{class}>{}</th>", escape(name))
            })
            .collect();
        let table = format!(
            "<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table \
             class=\"sortable{}\"><thead><tr>{head}</tr></thead>\n\
             <tbody>\n{}</tbody></table></div>\n",
            escape(self.name),
            if self.gist { " cards" } else { "" },
            self.rows
        );
        if self.gist || self.count <= LONG {
            return table;
        }
        format!(
            "<details><summary>The numbers: {} rows</summary>\n{table}</details>\n",
            self.count
        )
    }
}
