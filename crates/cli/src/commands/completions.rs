//! `locksley completions`: prints completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::Error;
use crate::render::output::Output;

pub(crate) const EXAMPLES: &str = "  \
  locksley completions bash > ~/.local/share/bash-completion/completions/locksley
  locksley completions fish > ~/.config/fish/completions/locksley.fish
  locksley completions zsh > ~/.zfunc/_locksley";

/// Arguments of `locksley completions`, which is described in `cli`.
#[derive(Args)]
pub(crate) struct Completions {
    /// Shell to print the script for.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "locksley", &mut script);
        let script = String::from_utf8_lossy(&script);
        output.say(&script);
        output.document(&serde_json::json!({
            "command": "completions",
            "shell": self.shell.to_string(),
            "script": script,
        }))
    }
}
