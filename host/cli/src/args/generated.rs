//! The command lines of `completions` and `man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  hookhost completions bash > ~/.local/share/bash-completion/completions/hookhost
  hookhost completions zsh > ~/.zfunc/_hookhost
  hookhost completions fish > ~/.config/fish/completions/hookhost.fish";

/// Print the completions of commands and flags for a shell
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  hookhost man | man -l -
  hookhost man ~/.local/share/man/man1";

/// Print the manual page, or write the pages of all commands
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this directory [default: print the page of `hookhost` itself]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}
