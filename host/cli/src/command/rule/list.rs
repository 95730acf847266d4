//! `hookhost rule list`: the rules in words that apply here.

use super::named::Owner;
use crate::args::ListRulesArgs;
use crate::audit_log;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, entry, one_line,
    style::{DIM, WARNING},
    time,
    wrap::wrapped,
};
use hookhost::config::Rule;
use hookhost_resident::RulePauses;
use hookhost_telemetry::last_matches::{LastMatch, LastMatches};
use serde_json::json;
use std::collections::HashMap;

pub(super) fn run(args: &ListRulesArgs) -> Result<Exit, CliError> {
    let places = configuration::places()?;
    let (rules, left_out) = configuration::rules()?;
    let off = RulePauses::current(&places.state);
    let matched = if rules.is_empty() { HashMap::new() } else { last_matches()? };
    if args.json {
        let object = |rule: &Rule| {
            json!({
                "id": rule.row.id,
                "owner": Owner::of(rule, &places).name(),
                "file": rule.origin.file,
                "line": rule.origin.line,
                "answer": rule.row.answers().first().map(|answer| answer.name()),
                "mode": rule.row.mode,
                "off-until": off.of(rule).map(|pause| pause.until),
                "last-match": matched.get(&rule.row.id).map(|last| last.time),
                "rule": rule.row,
            })
        };
        let objects = |rules: &[Rule]| rules.iter().map(object).collect::<Vec<_>>();
        output::print_json(&json!({ "rules": objects(&rules), "off": objects(&left_out) }))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for rule in &rules {
        let at = one_line(&rule.origin.to_string());
        let last = matched
            .get(&rule.row.id)
            .map_or("no recent match".to_owned(), |last| format!("matched last on {}", time::minute(last.time)));
        text.push_str(&format!(
            "{}\n  {DIM}{}{DIM:#}\n",
            wrapped(&entry::rule(rule), 2),
            wrapped(&format!("{at}; {last}"), 2)
        ));
        if let Some(pause) = off.of(rule) {
            let id = output::quoted(&rule.row.id);
            let until = time::local(pause.until);
            text.push_str(&format!(
                "  {WARNING}off until {until}{WARNING:#}; to end that now: hookhost rule on {id}\n"
            ));
        }
    }
    for rule in &left_out {
        let at = one_line(&rule.origin.to_string());
        text.push_str(&format!(
            "{}\n  {DIM}{at}{DIM:#}\n  {WARNING}off{WARNING:#}: your own hookhost.toml has it in `rules.off`\n",
            wrapped(&entry::rule(rule), 2)
        ));
    }
    if rules.is_empty() && left_out.is_empty() {
        text.push_str("No rule in words applies here.\n");
        output::next_step(
            &mut text,
            "hookhost rule \"what the rule should do\", or hookhost rule new, which needs no model",
        );
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

/// Returns the last match of each rule, from the newest records of the log.
fn last_matches() -> Result<HashMap<String, LastMatch>, CliError> {
    if !audit_log::is_there()? {
        return Ok(HashMap::new());
    }
    Ok(LastMatches::read(&audit_log::open(None)?).map_err(audit_log::unreadable)?.rules)
}
