//! `cargo locksley`: runs a project that uses rayon on Locksley, without changing its files.
//!
//! The program embeds the sources of the drop-in rayon-core ([`sources`]), unpacks them below the
//! project's target folder, and passes the patch to cargo on the command line ([`project`]). The
//! project's lock file is restored at the end ([`lock_file`]). Builds have their own target folder.

mod build;
mod child;
mod compare;
mod forward;
mod lock_file;
mod project;
mod sources;
mod verdict;
mod xray;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::cli::Options;
use crate::error::{EXIT_CODES, Error};
use crate::render::output::Output;

const EXAMPLES: &str = "  \
  cargo locksley run --release -- input.txt        the project's program, on Locksley
  cargo locksley test                              its tests, on Locksley
  cargo locksley compare -- input.txt              rayon and Locksley in turn: times, memory, output
  cargo locksley compare --threads 1,2,4 --rounds 20 --bin tool -- --quick
  cargo locksley xray -- input.txt                 where the time goes, and what 64 cores would do";

/// Runs a project that uses rayon on Locksley, in place of rayon-core. No file of the project is
/// changed: everything is written below target/locksley.
#[derive(Parser)]
#[command(
    name = "cargo-locksley",
    bin_name = "cargo locksley",
    version,
    after_help = format!("Examples:\n{EXAMPLES}\n\n{EXIT_CODES}")
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
}

#[derive(Subcommand)]
enum Command {
    /// Run the project's program on Locksley: `cargo run` with the drop-in.
    Run(Forwarded),
    /// Run the project's tests on Locksley: `cargo test` with the drop-in.
    Test(Forwarded),
    /// Run the project's benchmarks on Locksley: `cargo bench` with the drop-in.
    Bench(Forwarded),
    /// Run the program with rayon and with Locksley in turn, and compare output, times and memory.
    Compare(compare::Compare),
    /// Show where the program's time goes, and predict it for more processors.
    Xray(xray::Xray),
}

#[derive(Args)]
struct Forwarded {
    /// Arguments for cargo, passed on unchanged.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CARGO ARGUMENTS"
    )]
    arguments: Vec<OsString>,
}

/// The program that `compare` and `xray` build and run.
#[derive(Args, Clone, Debug)]
struct Selection {
    /// Package of the workspace.
    #[arg(long, short, value_name = "NAME")]
    package: Option<String>,
    /// Program to build and run.
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,
    /// Example to build and run, instead of a program.
    #[arg(long, value_name = "NAME", conflicts_with = "bin")]
    example: Option<String>,
    /// Features to enable, separated by commas.
    #[arg(long, short = 'F', value_name = "LIST")]
    features: Vec<String>,
    /// Enable all features.
    #[arg(long)]
    all_features: bool,
    /// Disable the default features.
    #[arg(long)]
    no_default_features: bool,
    /// Build profile.
    #[arg(long, value_name = "NAME", default_value = "release")]
    profile: String,
    /// Manifest of the project [default: that of the current folder].
    #[arg(long, value_name = "FILE")]
    manifest_path: Option<PathBuf>,
    /// Do not access the network.
    #[arg(long)]
    offline: bool,
    /// File for the program's standard input [default: empty].
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Arguments for the program.
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

impl Selection {
    /// Returns the arguments for `cargo build`.
    fn cargo_arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut pair = |name: &str, value: OsString| arguments.extend([name.into(), value]);
        let named = [
            ("--package", &self.package),
            ("--bin", &self.bin),
            ("--example", &self.example),
        ];
        for (name, value) in named {
            if let Some(value) = value {
                pair(name, value.into());
            }
        }
        for feature in &self.features {
            pair("--features", feature.into());
        }
        pair("--profile", self.profile.clone().into());
        if let Some(manifest) = &self.manifest_path {
            pair("--manifest-path", manifest.into());
        }
        let flags = [
            (self.all_features, "--all-features"),
            (self.no_default_features, "--no-default-features"),
            (self.offline, "--offline"),
        ];
        let set = flags.iter().filter(|(set, _)| *set);
        arguments.extend(set.map(|(_, flag)| OsString::from(flag)));
        arguments
    }
}

/// Runs `cargo locksley` with the arguments of the process.
pub(crate) fn run() -> Result<(), Error> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // First of all, so that the intermediate process stays small.
    if let Some(done) = child::run_once(&arguments) {
        return done;
    }
    // cargo passes the name of the subcommand as the first argument.
    if arguments.get(1).is_some_and(|first| first == "locksley") {
        arguments.remove(1);
    }
    let cli = Cli::parse_from(arguments);
    crate::interrupt::install();
    match &cli.command {
        Command::Run(forwarded) => forward::run("run", &forwarded.arguments),
        Command::Test(forwarded) => forward::run("test", &forwarded.arguments),
        Command::Bench(forwarded) => forward::run("bench", &forwarded.arguments),
        Command::Compare(compare) => compare.run(&cli.options),
        Command::Xray(xray) => xray.run(&cli.options),
    }
}

/// Returns the output of a command: below the target folder unless `--out` is given.
fn output(options: &Options, project: &project::Project) -> Output {
    let mut output = Output::new(options);
    if !output.chosen {
        output.folder = project.folder.join("results");
    }
    output
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn selections_become_arguments_of_cargo() {
        let line = "x compare --bin tool -F a -F b --no-default-features -- --bin other";
        let Command::Compare(compare) = Cli::parse_from(line.split(' ')).command else {
            panic!("it is another command");
        };
        let arguments = compare.selection.cargo_arguments();
        let wanted = "--bin tool --features a --features b --profile release --no-default-features";
        assert_eq!(arguments, wanted.split(' ').collect::<Vec<_>>());
        assert_eq!(compare.selection.arguments, ["--bin", "other"]);
    }
}
