//! The program `thumbnails`, as the command line has it.

use std::path::PathBuf;

use clap::Args;
use locksley_cluster::Program;
use locksley_cluster::programs::thumbnails::{
    self, Batch, Complaints, Folders, LARGEST, Made, Refused,
};
use serde_json::{Value, json};

use super::programs::Job;
use crate::failure::Failure;
use crate::units::count;

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster run thumbnails photos small             at most 256 pixels wide and high
  locksley cluster run thumbnails photos small --size 512  again where they are not of this size";

/// How many complaints a person reads.
const SHOWN: usize = 10;

/// Thumbnails of all JPEG and PNG images below a folder, under the same names in another folder. Those that are there, and not older than
/// their images, are left as they are: a run that was cut off goes on where it was. Images that cannot be read are reported.
#[derive(Args, Clone, Debug)]
pub(crate) struct ThumbnailsOptions {
    /// The folder of the images: where others work too, one that all of them see under this path.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The folder of the thumbnails; it is made if need be.
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// How wide and how high at most, in pixels.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=i64::from(LARGEST)))]
    size: u32,
}

impl ThumbnailsOptions {
    /// The job, if there are such folders; that of the thumbnails is made.
    pub(crate) fn job(&self) -> Result<ThumbnailsJob, Failure> {
        let batch = Batch::new(&self.input, &self.output, self.size);
        let batch = batch.map_err(|refused| match refused {
            Refused::Input(..) | Refused::Output(..) => Failure::System(refused.to_string()),
            _ => Failure::usage(refused),
        })?;
        Ok(ThumbnailsJob {
            batch,
            title: format!("thumbnails of {}", self.input.display()),
        })
    }
}

/// A folder to be worked through.
#[derive(Clone, Debug)]
pub(crate) struct ThumbnailsJob {
    batch: Batch,
    title: String,
}

impl Job for ThumbnailsJob {
    type Output = Made;
    type Task = Folders;

    fn program(&self) -> Program<Made> {
        thumbnails::program()
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn first(&self) -> Vec<Folders> {
        vec![self.batch.whole()]
    }

    fn lines(&self, made: &Made) -> Vec<(&'static str, String)> {
        let mut lines = vec![(
            "result",
            format!(
                "{} made, {} were there, {} of images that cannot be read; {} other files",
                count(made.made),
                count(made.there),
                count(made.broken.count),
                count(made.ignored)
            ),
        )];
        lines.extend(shown("broken", &made.broken));
        lines.extend(shown("failed", &made.unwritten));
        lines
    }

    fn document(&self, made: &Made) -> Value {
        json!({
            "made": made.made,
            "there": made.there,
            "ignored": made.ignored,
            "broken": document(&made.broken),
            "unwritten": document(&made.unwritten),
            "left": made.left,
        })
    }

    fn check(&self, made: &Made) -> Result<bool, Failure> {
        match made.unwritten.first.first() {
            None => Ok(false),
            Some(first) => Err(Failure::System(format!(
                "{} thumbnails were left, since some could not be written, the first of them {first}; \
                 another run makes those that are missing",
                count(made.left)
            ))),
        }
    }

    fn kept(&self) -> &'static str {
        "thumbnails that were made are kept; the same command makes the others"
    }

    fn serial(&self, _: &Made) -> Option<f64> {
        None
    }
}

fn document(complaints: &Complaints) -> Value {
    let first = complaints.first.iter();
    let first = first.map(|complaint| json!({ "path": complaint.path, "why": complaint.why }));
    json!({ "count": complaints.count, "first": first.collect::<Vec<_>>() })
}

fn shown(label: &'static str, complaints: &Complaints) -> Vec<(&'static str, String)> {
    let first = complaints.first.iter().take(SHOWN);
    let mut lines: Vec<_> = first
        .map(|complaint| (label, complaint.to_string()))
        .collect();
    let more = complaints.count.saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push((label, format!("and {} more", count(more))));
    }
    lines
}
