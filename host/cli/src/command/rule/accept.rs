//! `hookhost rule accept`: shows rules and what they would have stopped, asks a person, and puts them into force.

use crate::agent_places::AgentPlaces;
use crate::args::{AcceptArgs, AcceptOptions};
use crate::command::off::record;
use crate::command::replay::{CallCounts, PastQuery, PastVerdicts, judge, rule_lines};
use crate::configuration::{self, SECTIONS};
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{
    self, difference, entry, one_line,
    progress::Progress,
    quoted,
    style::{DIM, GOOD, NAME},
    time,
    truncate::counted,
    wrap::wrapped,
};
use crate::proposals::{self, Proposal};
use crate::rows::{self, Rows};
use anyhow::anyhow;
use hookhost::audit::{OperatorAction, OperatorActionKind};
use hookhost::command::RulesEdit;
use hookhost::config::UserDirectories;
use std::fmt::Write as _;
use std::sync::Arc;

/// Rules that would have stopped more than one in so many past calls need [`AcceptOptions::insist`].
const MIN_CALLS_PER_STOP: u64 = 20;

pub(super) async fn run(args: &AcceptArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("puts rules into force")?;
    let proposal = proposals::find(&configuration::places()?, args.name.as_deref())?;
    put_into_force(&proposal, args.options).await
}

/// Asks a person about a new proposal. If nobody can be asked, the proposal waits.
pub(super) async fn offer(proposal: &Proposal, options: AcceptOptions) -> Result<Exit, CliError> {
    if options.yes || crate::command::is_on_a_terminal() {
        return put_into_force(proposal, options).await;
    }
    output::print(&waits(proposal))?;
    Ok(Exit::Done)
}

/// Says that a proposal waits, and for what.
pub(super) fn waits(proposal: &Proposal) -> String {
    let name = quoted(&proposal.name);
    let rules = output::printable(proposal.rules.trim());
    format!(
        "{rules}\n\nThese rules wait as the proposal {name}. They are in force after a person has run, in a terminal:\n  \
         hookhost rule accept {name}\n"
    )
}

async fn put_into_force(proposal: &Proposal, options: AcceptOptions) -> Result<Exit, CliError> {
    let places = configuration::places()?;
    let name = quoted(&proposal.name);
    let progress = Arc::new(Progress::start("trying the examples"));
    let rows = rows::check(&proposal.rules, &proposal.name).await?.map_err(|mistakes| {
        CliError::not_loaded(anyhow!("the proposal has mistakes, so it stays without effect\n{mistakes}"))
            .advise(format!("hookhost rule reject {name}"))
    })?;
    let verdicts = past(&rows, &progress).await;
    drop(progress);
    output::note(&describe(proposal, &rows, &places)?);
    let verdicts = verdicts.inspect_err(|error| {
        output::note(&output::notice(&format!("the past was not tried: {}", error.message())));
    });
    match &verdicts {
        Ok(verdicts) => {
            output::note(&past_text(verdicts));
            check_past(verdicts, options, &name)?;
        }
        Err(_) if options.yes && !options.insist => {
            let why =
                anyhow!("the past was not tried, and nobody is asked: nothing was written, and the proposal waits");
            return Err(CliError::new(Exit::Rejected, why)
                .advise(format!("hookhost rule accept {name}, in a terminal"))
                .advise(format!("hookhost rule accept {name} --yes --insist, if that is what you want")));
        }
        Err(_) => {}
    }
    let refused = || {
        CliError::new(Exit::Rejected, anyhow!("not accepted: nothing was written, and the proposal waits"))
            .advise(format!("hookhost rule reject {name}"))
    };
    if !options.yes && !output::confirm("Put these rules into force?", " whether to put these rules into force")? {
        return Err(refused());
    }
    let mut action = OperatorAction::new(OperatorActionKind::RuleAccept);
    action.rules = rows.ids();
    record(action).await?;
    RulesEdit::add(&rows.text, &places, SECTIONS).and_then(RulesEdit::write).map_err(CliError::not_loaded)?;
    proposals::remove(&places, proposal)?;
    let file = one_line(&places.user_file().to_string_lossy());
    let ids = one_line(&rows.ids().join(", "));
    output::print(&format!("{GOOD}in force{GOOD:#} {ids}, in {file}\n"))?;
    if !AgentPlaces::here()?.any_agent_asks() {
        output::print("No agent on this machine asks hookhost yet, so no call is judged.\nnext: hookhost on\n")?;
    }
    Ok(Exit::Done)
}

/// Describes the rules: who wrote them, the change of the file, and each rule in one line.
fn describe(proposal: &Proposal, rows: &Rows, places: &UserDirectories) -> Result<String, CliError> {
    let Proposal { name, time, by, sentence, .. } = proposal;
    let (name, by, time) = (one_line(name), one_line(by), time::minute(*time));
    let mut text = format!("{NAME}{name}{NAME:#} {DIM}by {by}, {time}{DIM:#}\n");
    if let Some(sentence) = sentence {
        output::sentence(&mut text, &format!("“{sentence}”"));
    }
    // The lock of the edit must not be held while a person reads.
    let edit = RulesEdit::add(&rows.text, places, SECTIONS).map_err(CliError::not_loaded)?;
    let (file, old, new) = edit.texts();
    let before = Some(old).filter(|old| !old.is_empty());
    let _ = write!(text, "\n{}\n", difference::unified(&file.to_string_lossy(), before, Some(new)));
    for rule in rows.rules() {
        let examples = counted(rule.row.stops.len() + rule.row.passes.len(), "example");
        let says = format!("{} {DIM}(tried on {examples}){DIM:#}", entry::rule(rule));
        let _ = writeln!(text, "  {}", wrapped(&says, 4));
    }
    Ok(text)
}

/// Judges what the user's agents did before, by these rules alone.
async fn past(rows: &Rows, progress: &Arc<Progress>) -> Result<PastVerdicts, CliError> {
    let query = PastQuery { rules: Some(rows.alone.clone()), ..PastQuery::recent() };
    judge(query, Arc::clone(progress)).await
}

fn past_text(verdicts: &PastVerdicts) -> String {
    match verdicts.in_one_line() {
        Some(line) => format!("\nYour past: {line}.\n{}\n", rule_lines(verdicts)),
        None => "\nYour past: no agent here has made a call in the last 30 days.\n\n".to_owned(),
    }
}

/// Refuses rules that would have stopped many calls, unless the person insists.
fn check_past(verdicts: &PastVerdicts, options: AcceptOptions, name: &str) -> Result<(), CliError> {
    let CallCounts { calls, rejected, asked, .. } = verdicts.total();
    // Of a fact that transcripts do not contain, it is unknown whether the rule would have applied.
    let stopped = (rejected + asked).saturating_sub(verdicts.in_doubt());
    if options.insist || stopped.saturating_mul(MIN_CALLS_PER_STOP) <= calls {
        return Ok(());
    }
    let why = anyhow!(
        "these rules would have stopped {stopped} of {calls} past calls, more than 1 in {MIN_CALLS_PER_STOP}: nothing was \
         written, and the proposal waits"
    );
    Err(CliError::new(Exit::Rejected, why)
        .advise(format!("hookhost rule accept {name} --insist, if that is what you want"))
        .advise(format!("hookhost rule reject {name}")))
}
