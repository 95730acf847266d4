//! `hookhost rule off` and `on`: leaves a rule out for some time, and puts it back.

use super::named::{self, refuse_projects};
use crate::args::{RuleOffArgs, RuleOnArgs};
use crate::command::off::{person, record};
use crate::configuration;
use crate::directory_rules::rule_pause_note;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{self, one_line, quoted, style::GOOD};
use anyhow::anyhow;
use hookhost::audit::{OperatorAction, OperatorActionKind};
use hookhost::config::UserDirectories;
use hookhost_resident::pause::Clocks;
use hookhost_resident::{Pause, RulePauses};

/// Leaves a rule out for some time. The record is written first, so that no rule is off without a record.
pub(super) async fn off(args: &RuleOffArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("switches a rule off")?;
    let places = configuration::places()?;
    let rule = named::find(&args.id, "off")?;
    refuse_projects(&rule, &places, "leaves out")?;
    let pause = Pause::new(person(), args.time, Clocks::now());
    let mut action = about(OperatorActionKind::RuleOff, &args.id);
    action.until = Some(pause.until);
    record(action).await?;
    let note = rule_pause_note(&args.id, &pause);
    RulePauses::begin(&places.state, &args.id, pause).map_err(|error| unwritable(&places, &error))?;
    let id = quoted(&args.id);
    output::print(&format!(
        "{}.\nIt comes back by itself; to put it back now: hookhost rule on {id}\n",
        output::capitalised(&note)
    ))?;
    Ok(Exit::Done)
}

pub(super) async fn on(args: &RuleOnArgs) -> Result<Exit, CliError> {
    let places = configuration::places()?;
    if !RulePauses::end(&places.state, &args.id).map_err(|error| unwritable(&places, &error))? {
        named::find(&args.id, "on")?;
        output::print(&format!("The rule {} is not off.\n", args.id))?;
        return Ok(Exit::Done);
    }
    record(about(OperatorActionKind::RuleOn, &args.id)).await?;
    output::print(&format!("{GOOD}in force{GOOD:#} {}\n", one_line(&args.id)))?;
    Ok(Exit::Done)
}

/// Creates the record of a change of a rule.
pub(super) fn about(kind: OperatorActionKind, id: &str) -> OperatorAction {
    let mut action = OperatorAction::new(kind);
    action.rules = vec![id.to_owned()];
    action
}

pub(super) fn unwritable(places: &UserDirectories, error: &dyn std::fmt::Display) -> CliError {
    anyhow!("{} cannot be written: {error}", RulePauses::file(&places.state).display()).into()
}
