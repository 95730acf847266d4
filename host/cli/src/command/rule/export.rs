//! `hookhost rule export`: prints the rules in words as rules of an agent itself, or as settings of its sandbox.

use crate::agent_places::AgentPlaces;
use crate::args::ExportArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{self, one_line, style::WARNING, truncate::counted};
use crate::sandbox::Sandbox;
use hookhost::contract::rule::RuleRow;
use hookhost_agents::plan::Scope;
use hookhost_imports::{Export, exporters};
use std::fmt::Write as _;

pub(crate) fn run(args: &ExportArgs) -> Result<Exit, CliError> {
    if args.sandbox {
        return sandbox(args);
    }
    let exporter = exporters().iter().find(|(name, _)| *name == args.agent).map(|(_, exporter)| exporter);
    let exporter = exporter.ok_or_else(|| {
        let why = format!("{} has no rules that hookhost can write, but a sandbox", args.agent);
        CliError::usage(why).advise(format!("hookhost rule export {} --sandbox", args.agent))
    })?;
    let config = configuration::read(None, &configuration::cwd()?)?;
    let rows: Vec<RuleRow> = config.rules().iter().map(|rule| rule.row.clone()).collect();
    let Export { text, count, omissions } = exporter(&rows);
    let _ = output::print_exactly(&text)?;
    let mut note = String::new();
    if !omissions.is_empty() {
        let _ = writeln!(note, "{WARNING}not exported:{WARNING:#}");
        for (id, why) in &omissions {
            let _ = writeln!(note, "  {id}: {}", one_line(why));
        }
    }
    let _ = writeln!(
        note,
        "{} exported, {} not; the rules of hookhost stay in force",
        counted(count as u64, "rule"),
        omissions.len()
    );
    output::note(&note);
    Ok(Exit::Done)
}

/// Prints the settings of the agent's own sandbox.
fn sandbox(args: &ExportArgs) -> Result<Exit, CliError> {
    let own = AgentPlaces::here()?.with_settings()?;
    let scope = if args.project { Scope::Project } else { Scope::User };
    let export = Sandbox::here(&own, None)?.export(&args.agent, scope);
    let export = export.ok_or_else(|| CliError::usage("there is no such agent"))?;
    let _ = output::print_exactly(&export.text())?;
    let mut note = String::new();
    if !export.inexact.is_empty() {
        let _ = writeln!(note, "{WARNING}not exactly:{WARNING:#}");
        for gap in &export.inexact {
            let _ = writeln!(note, "  {}", one_line(&gap.sentence));
        }
    }
    let file = one_line(&export.file.to_string_lossy());
    let _ = writeln!(note, "{} for {file}", counted(export.settings.len() as u64, "setting"));
    output::note(&note);
    Ok(Exit::Done)
}
