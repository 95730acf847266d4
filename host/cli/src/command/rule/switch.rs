//! `hookhost rule off`, `on` and `remove`.

use super::named::{self, Owner};
use crate::args::{RemoveRuleArgs, RuleOffArgs, RuleOnArgs};
use crate::command::off::{person, record};
use crate::configuration::{self, SECTIONS};
use crate::directory_rules::rule_pause_note;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{self, one_line, quoted, style::GOOD};
use anyhow::anyhow;
use hookhost::audit::{OperatorAction, OperatorActionKind};
use hookhost::command::RulesEdit;
use hookhost::config::{Rule, UserDirectories};
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

pub(super) async fn remove(args: &RemoveRuleArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("removes a rule")?;
    let places = configuration::places()?;
    let rule = named::find(&args.id, "remove")?;
    refuse_projects(&rule, &places, "removes")?;
    if Owner::of(&rule, &places) == Owner::Profile {
        let why =
            format!("the rule {} is of the profile: a row with its id in your own hookhost.toml replaces it", args.id);
        return Err(CliError::usage(why).advise(format!("hookhost rule off {} --for 8h", quoted(&args.id))));
    }
    let edit = RulesEdit::remove(&args.id, &places, SECTIONS).map_err(CliError::not_loaded)?;
    record(about(OperatorActionKind::RuleRemove, &args.id)).await?;
    edit.write().map_err(CliError::not_loaded)?;
    RulePauses::end(&places.state, &args.id).map_err(|error| unwritable(&places, &error))?;
    output::print(&format!(
        "{GOOD}removed{GOOD:#} {} from {}\n",
        args.id,
        one_line(&rule.origin.file.to_string_lossy())
    ))?;
    Ok(Exit::Done)
}

/// Refuses a change of a project's rule, which others share. `does` says what the command does to rules.
fn refuse_projects(rule: &Rule, places: &UserDirectories, does: &str) -> Result<(), CliError> {
    if Owner::of(rule, places) != Owner::Project {
        return Ok(());
    }
    let (id, at) = (&rule.row.id, &rule.origin);
    let why = format!(
        "the rule {id} is of the project, at {at}, and this command {does} only your own rules: change that file, and approve the change"
    );
    let file = quoted(&rule.origin.file.to_string_lossy());
    Err(CliError::usage(why).advise(format!("hookhost trust {file}")))
}

fn about(kind: OperatorActionKind, id: &str) -> OperatorAction {
    let mut action = OperatorAction::new(kind);
    action.rules = vec![id.to_owned()];
    action
}

fn unwritable(places: &UserDirectories, error: &dyn std::fmt::Display) -> CliError {
    anyhow!("{} cannot be written: {error}", RulePauses::file(&places.state).display()).into()
}
