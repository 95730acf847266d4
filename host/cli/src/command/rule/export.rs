//! `hookhost rule export`: prints the rules in words as rules of an agent itself.

use crate::args::ExportArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{self, one_line, style::WARNING, truncate::counted};
use hookhost::contract::rule::RuleRow;
use hookhost_imports::{Export, exporters};
use std::fmt::Write as _;

pub(crate) fn run(args: &ExportArgs) -> Result<Exit, CliError> {
    let exporter = exporters().iter().find(|(name, _)| *name == args.agent).map(|(_, exporter)| exporter);
    let exporter = exporter.ok_or_else(|| CliError::usage("there is no such agent"))?;
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
