//! `hookhost rule add`: puts ready rules into force, and lists them.

use super::accept;
use crate::args::AddRuleArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{
    self,
    style::{DIM, GOOD, NAME},
    wrap::wrapped,
};
use crate::ready::{self, ReadyRules};
use crate::{proposals, rows};
use serde_json::json;
use std::collections::BTreeSet;

/// The author of the rules, as a person who accepts them sees it.
const AUTHOR: &str = "hookhost";

pub(super) async fn run(args: &AddRuleArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("puts rules into force")?;
    let chosen = args.names.iter().map(|name| ready::find(name)).collect::<Result<Vec<_>, _>>()?;
    let in_force = ids_in_force()?;
    let is_new = |rules: &&ReadyRules| !is_in_force(rules, &in_force);
    let texts: Vec<&str> = chosen.iter().filter(is_new).map(|rules| rules.text.as_str()).collect();
    let Some(first) = chosen.iter().find(is_new) else {
        output::print(&format!("{GOOD}in force already{GOOD:#} {}\n", args.names.join(", ")))?;
        return Ok(Exit::Done);
    };
    let rows = rows::check(&texts.join("\n"), "(ready rules)").await?.map_err(CliError::usage)?;
    let proposal = proposals::store(&configuration::places()?, first.name, AUTHOR, None, &rows.text)?;
    accept::offer(&proposal, args.accept).await
}

/// Lists the ready rules, each with its sentence.
pub(super) fn list(as_json: bool) -> Result<Exit, CliError> {
    let (all, in_force) = (ready::all(), ids_in_force()?);
    if as_json {
        let object = |rules: &ReadyRules| {
            json!({
                "name": rules.name,
                "says": rules.sentence,
                "rules": rules.ids,
                "in-force": is_in_force(rules, &in_force),
            })
        };
        output::print_json(&json!({ "ready": all.iter().map(object).collect::<Vec<_>>() }))?;
        return Ok(Exit::Done);
    }
    let width = all.iter().map(|rules| rules.name.len()).max().unwrap_or_default();
    let line = |rules: &ReadyRules| {
        let mark = if is_in_force(rules, &in_force) { format!(" {GOOD}in force{GOOD:#}") } else { String::new() };
        let says = wrapped(&format!("{}{mark}", rules.sentence), width + 2);
        format!("{NAME}{:width$}{NAME:#}  {says}\n", rules.name)
    };
    let lines: String = all.iter().map(line).collect();
    output::print(&format!(
        "{lines}{DIM}to see one: hookhost rule explain NAME; to put it into force: hookhost rule add NAME{DIM:#}\n"
    ))?;
    Ok(Exit::Done)
}

fn ids_in_force() -> Result<BTreeSet<String>, CliError> {
    let (rules, _) = configuration::rules()?;
    Ok(rules.into_iter().map(|rule| rule.row.id).collect())
}

fn is_in_force(rules: &ReadyRules, in_force: &BTreeSet<String>) -> bool {
    rules.ids.iter().all(|id| in_force.contains(*id))
}
