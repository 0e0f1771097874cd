//! `locksley report`: makes one page of all results in a folder.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::error::Error;
use crate::render::output::Output;

pub(crate) const EXAMPLES: &str = "  \
  locksley report locksley-out            makes locksley-out/report.html, which needs no network
  locksley report heat-31/compare.json    the same for one file
  locksley report results --out site      makes site/report.html";

/// Reads all results in a folder, or one file of results, and writes a page, report.html, to that
/// folder unless --out names another.
#[derive(Args)]
pub(crate) struct Report {
    /// Folder that commands wrote to, or a file of results.
    #[arg(value_name = "DIR")]
    from: PathBuf,
}

impl Report {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let mut results = locksley_report::read(&self.from)?;
        if results.command.lines().count() > 1 {
            // The title of one of several results would be misleading.
            results.title = "Everything that was measured".into();
        }
        let beside = if self.from.is_dir() {
            self.from.clone()
        } else {
            self.from.parent().map(PathBuf::from).unwrap_or_default()
        };
        let output = Output {
            folder: if output.chosen {
                output.folder.clone()
            } else {
                beside
            },
            ..output.clone()
        };
        let page = output.write("report.html", &locksley_report::page(&results))?;
        output.say_files(std::slice::from_ref(&page));
        output.document(&json!({
            "command": "report",
            "results": results,
            "files": [page.display().to_string()],
        }))
    }
}
