//! `hookhost rule remove`: takes a rule out of the user's own hookhost.toml, or of a file of rules that it names.

use super::named::{self, Owner, refuse_projects};
use super::off::{about, unwritable};
use crate::args::RemoveRuleArgs;
use crate::command::off::record;
use crate::configuration::{self, SECTIONS};
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::loading;
use crate::output::{self, one_line, quoted, style::GOOD};
use hookhost::audit::OperatorActionKind;
use hookhost::command::RulesEdit;
use hookhost_resident::RulePauses;

pub(super) async fn run(args: &RemoveRuleArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("removes a rule")?;
    let places = configuration::places()?;
    let rule = named::find(&args.id, "remove")?;
    refuse_projects(&rule, &places, "removes")?;
    if Owner::of(&rule, &places) == Owner::Profile {
        let why =
            format!("the rule {} is of the profile: a rule with its id in your own hookhost.toml replaces it", args.id);
        return Err(CliError::usage(why).advise(format!("hookhost rule off {} --for 8h", quoted(&args.id))));
    }
    loading::check_without(&rule)?;
    let edit = RulesEdit::remove(&args.id, &rule.origin.file, &places, SECTIONS).map_err(CliError::not_loaded)?;
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
