//! `hookhost rule propose` and `proposals`: proposals from a file or the standard input, and their list.

use super::accept;
use crate::args::{ProposalsArgs, ProposeArgs};
use crate::command::off::person;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{DIM, NAME},
    time,
};
use crate::proposals::{self, Proposal};
use crate::rows::{self, MAX_BYTES};
use hookhost_agents::ancestry::AgentSign;
use serde_json::json;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Checks and stores rules. An agent may do this, because it has no effect on the rules in force.
pub(super) async fn run(args: &ProposeArgs) -> Result<Exit, CliError> {
    let text = read(&args.file)?;
    let name = if is_input(&args.file) { "(input)".to_owned() } else { args.file.to_string_lossy().into_owned() };
    let rows = rows::check(&text, &name).await?.map_err(|mistakes| {
        CliError::usage(format!("{mistakes}\nnothing was proposed")).advise("hookhost help rules")
    })?;
    let by = AgentSign::of_this_process().map(AgentSign::agent).or_else(person).unwrap_or_else(|| "unknown".to_owned());
    let first = rows.ids().into_iter().next().unwrap_or_default();
    let proposal = proposals::store(&configuration::places()?, &first, &by, None, &rows.text)?;
    output::print(&accept::waits(&proposal))?;
    Ok(Exit::Done)
}

fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// Reads the rules. Of a longer text, only so much is read that its length is noticed.
fn read(file: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    let most = MAX_BYTES as u64 + 1;
    let read = match is_input(file) {
        true => io::stdin().take(most).read_to_string(&mut text),
        false => File::open(file).and_then(|file| file.take(most).read_to_string(&mut text)),
    };
    read.map_err(|error| CliError::usage(format!("the rules cannot be read from {}: {error}", file.display())))?;
    Ok(text)
}

pub(super) fn list(args: &ProposalsArgs) -> Result<Exit, CliError> {
    let all = proposals::all(&configuration::places()?)?;
    if args.json {
        output::print_json(&json!({ "proposals": all }))?;
        return Ok(Exit::Done);
    }
    let mut text: String = all.iter().map(describe).collect();
    if all.is_empty() {
        text.push_str("No proposal waits.\n");
    } else {
        output::next_step(&mut text, "hookhost rule accept NAME, or hookhost rule reject NAME");
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

fn describe(proposal: &Proposal) -> String {
    let Proposal { name, time, by, rules, sentence } = proposal;
    let mut text =
        format!("{NAME}{}{NAME:#} {DIM}by {}, {}{DIM:#}\n", one_line(name), one_line(by), time::minute(*time));
    if let Some(sentence) = sentence {
        output::sentence(&mut text, &format!("“{sentence}”"));
    }
    let rules = output::printable(rules.trim());
    text.extend(rules.lines().map(|line| format!("    {line}\n")));
    text.push('\n');
    text
}
