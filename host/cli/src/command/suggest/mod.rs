//! `hookhost suggest`: proposes rules that would have saved questions, from the questions and answers in the log.

mod effect;
mod evidence;
mod subject;
mod suggestion;

use crate::args::SuggestArgs;
use crate::audit_log;
use crate::checked_rows::CheckedRows;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{self, one_line, truncate::counted};
use evidence::Evidence;
use hookhost::config::Config;
use hookhost_agents::clock::before_now;
use hookhost_imports::{Proposal, to_toml};
use serde_json::json;
use suggestion::{Suggestion, suggestions};

/// A rule that would have changed more than one in this many calls is not proposed.
const ONE_IN: u64 = 20;

pub(crate) async fn run(args: &SuggestArgs) -> Result<Exit, CliError> {
    let evidence = read(args)?;
    let config = configuration::read(None, &configuration::cwd()?)?;
    let answers = evidence.answers();
    let mut found = suggestions(&answers, &config, args.times);
    check(&mut found, &config, &evidence).await?;
    if args.json {
        output::print_json(&to_json(&found, &evidence))?;
    } else if found.is_empty() {
        output::note(&format!("{}\n", nothing(&evidence, args.times)));
    } else {
        let _ = output::print_exactly(&to_text(&found))?;
        output::note(&format!(
            "from {} and {}; nothing is in force: put what you want into your hookhost.toml\n",
            counted(evidence.calls.len() as u64, "recorded call"),
            counted(evidence.answered(), "answer"),
        ));
    }
    Ok(Exit::Done)
}

fn read(args: &SuggestArgs) -> Result<Evidence, CliError> {
    let mut evidence = Evidence::default();
    // Without a log, no agent has called hookhost yet.
    if args.log.log.is_some() || audit_log::is_there()? {
        let since = before_now(args.last);
        audit_log::each_since(args.log.log.as_deref(), since, |record| evidence.add(record, since))?;
    }
    Ok(evidence)
}

/// Lets the plugin that judges rules check the rows, and counts the recorded calls that each of them would have changed. A row that does
/// not load, or that would have changed too many calls, becomes a sentence.
async fn check(found: &mut [Suggestion], config: &Config, evidence: &Evidence) -> Result<(), CliError> {
    let with_row: Vec<usize> = (0..found.len()).filter(|at| found[*at].row.is_some()).collect();
    let rows = with_row.iter().filter_map(|at| found[*at].row.clone());
    let proposals = rows.map(|row| Proposal { row, comments: Vec::new() }).collect();
    let checked = CheckedRows::check(proposals).await?;
    for (number, why) in checked.refused {
        let suggestion = &mut found[with_row[number]];
        suggestion.left_out = Some(format!("it does not load: {why}"));
    }
    for kept in checked.kept {
        found[with_row[kept.number]].row = Some(kept.proposal.row);
    }
    let usable: Vec<usize> = with_row.into_iter().filter(|at| found[*at].left_out.is_none()).collect();
    let rows: Vec<_> = usable.iter().filter_map(|at| found[*at].row.clone()).collect();
    let changed = effect::changed(&rows, config, evidence).await?;
    let total = evidence.calls.len() as u64;
    for (at, changed) in usable.into_iter().zip(changed) {
        found[at].changed = Some(changed);
        if changed == 0 {
            found[at].left_out = Some("it would have changed no recorded call".to_owned());
        } else if changed * ONE_IN > total {
            found[at].left_out =
                Some(format!("it would have changed {changed} of {total} recorded calls, more than one in {ONE_IN}"));
        }
    }
    Ok(())
}

/// Says why there is no proposal.
fn nothing(evidence: &Evidence, times: u64) -> String {
    match (evidence.calls.len(), evidence.answered()) {
        (0, _) => "the log has no calls of this period, so there is nothing to suggest".to_owned(),
        (_, 0) => "nobody was asked in this period, so there is nothing to suggest".to_owned(),
        (_, answered) => format!(
            "of {} in this period, no question got the same answer {times} times and never another one",
            counted(answered, "answer")
        ),
    }
}

/// Returns the proposals as TOML. What is no row is a comment.
fn to_text(found: &[Suggestion]) -> String {
    let mut blocks = Vec::new();
    for suggestion in found {
        let mut comments = suggestion.evidence();
        match (&suggestion.row, &suggestion.left_out) {
            (Some(row), None) => blocks.push(to_toml([&Proposal { row: row.clone(), comments }]).0),
            (row, why) => {
                comments.extend(why.as_ref().map(|why| format!("left out: {why}")));
                let written = row.as_ref().map(|row| to_toml([&Proposal { row: row.clone(), comments: Vec::new() }]).0);
                comments.extend(written.iter().flat_map(|text| text.lines()).map(str::to_owned));
                comments.extend(suggestion.setting.iter().cloned());
                blocks.push(comments.iter().map(|line| format!("# {}\n", one_line(line))).collect());
            }
        }
    }
    blocks.join("\n")
}

fn to_json(found: &[Suggestion], evidence: &Evidence) -> serde_json::Value {
    let rules = found.iter().map(|suggestion| {
        json!({
            "row": suggestion.row,
            "setting": suggestion.setting,
            "why": suggestion.why,
            "examples": suggestion.examples,
            "changes": suggestion.changed,
            "left-out": suggestion.left_out,
        })
    });
    json!({ "calls": evidence.calls.len(), "answers": evidence.answered(), "rules": rules.collect::<Vec<_>>() })
}
