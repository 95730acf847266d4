//! `hookhost completions` and `hookhost man`: what packages install beside the program. Both come from the definition of the command line.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::{CliError, Exit};
use crate::output::{self, quoted};
use anyhow::anyhow;
use clap::CommandFactory as _;
use std::path::Path;
use std::{fs, io};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hookhost", &mut script);
    output::print_exactly(&String::from_utf8_lossy(&script)).map(drop)?;
    Ok(Exit::Done)
}

pub(crate) fn man(args: &ManArgs) -> Result<Exit, CliError> {
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(anyhow::Error::new)?;
        output::print_exactly(&String::from_utf8_lossy(&page)).map(drop)?;
        return Ok(Exit::Done);
    };
    write_pages(directory).map_err(|error| {
        anyhow!("the manual pages cannot be written to {}: {error}", quoted(&directory.to_string_lossy()))
    })?;
    Ok(Exit::Done)
}

fn write_pages(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Cli::command(), directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap_complete::Shell;

    #[test]
    fn each_command_has_a_manual_page_and_completions() {
        let directory = tempfile::tempdir().unwrap();
        write_pages(directory.path()).unwrap();
        let scripts = [Shell::Bash, Shell::Zsh, Shell::Fish].map(|shell| {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "hookhost", &mut script);
            String::from_utf8(script).unwrap()
        });
        let command = Cli::command();
        let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert!(names.contains(&"doctor"), "{names:?}");
        for name in names {
            assert!(directory.path().join(format!("hookhost-{name}.1")).is_file(), "{name} has no page");
            for script in &scripts {
                assert!(script.contains(name), "{name} is not completed by {script}");
            }
        }
    }
}
