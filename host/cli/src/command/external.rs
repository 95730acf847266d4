//! `hookhost NAME` for a NAME that is not a built-in command: runs the program `hookhost-NAME` from the PATH, like git and cargo.

use crate::args::Cli;
use crate::exit::{CliError, Exit};
use crate::nearest::nearest;
use anyhow::anyhow;
use clap::CommandFactory as _;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const PREFIX: &str = "hookhost-";

/// Replaces this process with the program. The words after the program's name are its arguments.
pub(crate) fn run(words: &[OsString]) -> Result<Exit, CliError> {
    let Some((name, arguments)) = words.split_first() else { return Err(CliError::usage("no command is named")) };
    // Options before the name are options of `hookhost`, and the program would not get them.
    if std::env::args_os().nth(1).as_ref() != Some(name) {
        let (name, own) = (name.to_string_lossy(), own());
        let stop = CliError::usage(format!(
            "options before `{name}` belong to hookhost: put options of `{name}` after its name"
        ));
        let advice = if own.iter().any(|own| *own == name) {
            format!("hookhost {name} --help")
        } else {
            "hookhost --help".into()
        };
        return Err(stop.advise(advice));
    }
    let mut program = OsString::from(PREFIX);
    program.push(name);
    // A name with a slash would be a path.
    let is_a_name = Path::new(name).components().count() == 1 && !name.as_encoded_bytes().contains(&b'/');
    let Some(file) = on_the_path().find(|file| is_a_name && file.file_name() == Some(program.as_os_str())) else {
        return Err(unknown(name));
    };
    // `exec` returns only on failure.
    let error = Command::new(&file).args(arguments).exec();
    Err(CliError::new(Exit::Failed, anyhow!("{} cannot be started: {error}", file.display())))
}

/// Words that people type for a command of another name.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("config", "profile"),
    ("disable", "off"),
    ("enable", "on"),
    ("init", "on"),
    ("log", "audit show"),
    ("logs", "audit show"),
    ("pause", "off --for 10m"),
    ("setup", "on"),
    ("start", "on"),
    ("status", "doctor"),
    ("stop", "off"),
    ("upgrade", "update"),
    ("version", "--version"),
];

fn unknown(name: &OsStr) -> CliError {
    let name = name.to_string_lossy();
    if let Some((_, command)) = OTHER_WORDS.iter().find(|(word, _)| *word == name) {
        return CliError::usage(format!("there is no command `{name}`")).advise(format!("hookhost {command}"));
    }
    let theirs = on_the_path().filter_map(|file| file.file_name()?.to_str()?.strip_prefix(PREFIX).map(str::to_owned));
    let known: Vec<String> = own().into_iter().chain(theirs).collect();
    let nearest = nearest(&name, known.iter().map(String::as_str));
    let stop = CliError::usage(format!("there is no command `{name}`, and no program {PREFIX}{name} on the PATH"));
    let advice = nearest.map(|known| format!("hookhost {known}")).or_else(|| of_others(&name));
    stop.advise(advice.unwrap_or_else(|| "hookhost --help".to_owned()))
}

/// Returns `hookhost COMMAND NAME` for each command that has a subcommand with this name. Returns `None` if no command has such a
/// subcommand.
fn of_others(name: &str) -> Option<String> {
    let mut cli = Cli::command();
    cli.build();
    let has = |command: &&clap::Command| command.get_subcommands().any(|own| own.get_name() == name);
    let whole = |command: &clap::Command| format!("hookhost {} {name}", command.get_name());
    let found: Vec<String> = cli.get_subcommands().filter(has).map(whole).collect();
    (!found.is_empty()).then(|| found.join(" or "))
}

/// The built-in commands.
fn own() -> Vec<String> {
    let mut cli = Cli::command();
    cli.build();
    cli.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// Returns the names of the subcommands that users' programs provide. Names of built-in commands are left out, and each name occurs once.
pub(super) fn names() -> BTreeSet<String> {
    let own = own();
    let theirs = on_the_path().filter_map(|file| file.file_name()?.to_str()?.strip_prefix(PREFIX).map(str::to_owned));
    theirs.filter(|name| !name.is_empty() && !own.contains(name)).collect()
}

/// Returns the users' programs, in the order of the PATH.
fn on_the_path() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // An empty entry would mean the working directory, which may be a cloned repository.
    let directories: Vec<PathBuf> = std::env::split_paths(&path).filter(|directory| directory.is_absolute()).collect();
    let files =
        directories.into_iter().flat_map(|directory| std::fs::read_dir(directory).into_iter().flatten().flatten());
    files
        .filter(|file| file.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()))
        .map(|file| file.path())
        .filter(|file| {
            let about = std::fs::metadata(file);
            about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        })
}
