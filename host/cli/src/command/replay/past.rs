//! `hookhost replay --from`: shows what the rules would have decided about the calls in the transcripts of the user's agents.

use super::judge::{PastQuery, judge};
use super::verdicts::{CallCounts, PastOutcome, PastVerdicts, RuleCalls, RuleKey, period_in_words, thousands};
use crate::args::ReplayArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::interrupt::Signals;
use crate::loading;
use crate::output::{
    self, Reader, one_line,
    progress::Progress,
    style::{ADVICE, CHANGED, DIM, ERROR, NAME, WARNING},
    truncate::{SHOWN, counted, cut},
    wrap::wrapped,
};
use crate::profile::Profile;
use anyhow::anyhow;
use hookhost_telemetry::tally::RuleName;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio_util::sync::CancellationToken;

/// Maximum number of rules that are shown to a person.
const MAX_RULES: usize = 12;

pub(super) async fn run(args: &ReplayArgs) -> Result<Exit, CliError> {
    let mut query = PastQuery::new(args.since);
    if !args.from.iter().any(|agent| agent == "all") {
        query.agents.clone_from(&args.from);
    }
    let chosen = args.rules();
    if chosen.config.is_some() || !chosen.plugins.is_empty() {
        query.rules = Some(loading::config(&chosen, &configuration::cwd()?)?);
    }
    if args.json {
        let cancel = Arc::clone(&query.cancel);
        query.each = Some(Arc::new(move |call| {
            if !matches!(output::print_json_line(call), Ok(Reader::Reads)) {
                cancel.store(true, Ordering::Relaxed);
            }
        }));
    }
    let cancel = CancellationToken::new();
    Signals::listen()?.cancel_on_first(cancel.clone());
    let stop = Arc::clone(&query.cancel);
    let Some(verdicts) = cancel.run_until_cancelled(judge_all(query)).await else {
        stop.store(true, Ordering::Relaxed);
        return Err(CliError::new(Exit::Interrupted, anyhow!("interrupted: the calls were not judged")));
    };
    let verdicts = verdicts?;
    if args.json {
        let _ = output::print_json_line(&verdicts.to_json())?;
    } else {
        output::print(&as_text(&verdicts, args))?;
    }
    Ok(Exit::Done)
}

/// Judges the calls by the rules in force, or by the default profile if there are none.
async fn judge_all(query: PastQuery) -> Result<PastVerdicts, CliError> {
    let progress = Arc::new(Progress::start("looking for transcripts"));
    let verdicts = judge(query.clone(), Arc::clone(&progress)).await?;
    if !verdicts.has_rules && verdicts.total().calls > 0 {
        // A program that was built without plugins has no profile. Then the user reads that there are no rules.
        if let Ok(judged) = judge_by_profile(query, &progress).await {
            return Ok(judged);
        }
    }
    Ok(verdicts)
}

/// Judges the calls by the default profile. Its plugins are not installed, so they are loaded from a directory that is removed again.
async fn judge_by_profile(query: PastQuery, progress: &Arc<Progress>) -> Result<PastVerdicts, CliError> {
    let profile = Profile::Developer;
    let directory = tempfile::tempdir().map_err(anyhow::Error::new)?;
    let mut places = configuration::places()?;
    places.state = directory.path().join("state");
    let prepared = profile.prepare(&places)?;
    prepared.install_plugins(&places)?;
    let query = PastQuery { rules: Some(prepared.config), ..query };
    let verdicts = judge(query, Arc::clone(progress)).await?;
    Ok(PastVerdicts { profile: Some(profile.name()), files: BTreeSet::new(), ..verdicts })
}

fn as_text(verdicts: &PastVerdicts, args: &ReplayArgs) -> String {
    let CallCounts { calls, .. } = verdicts.total();
    let period = period_in_words(verdicts.period);
    let mut text = match verdicts.in_one_line() {
        Some(line) => format!("By {}, {line}.\n", rules_of(verdicts)),
        None if calls == 0 => {
            format!("No tool call of the last {period} is found in the transcripts of {}.\n", agents(args))
        }
        None => {
            format!("There are no rules here, so all {} calls in {period} would have run.\n", thousands(calls))
        }
    };
    let width = verdicts.agents.keys().map(|name| name.len()).max().unwrap_or_default();
    let digits = verdicts.agents.values().map(|counts| thousands(counts.calls).len()).max().unwrap_or_default();
    for (name, counts) in &verdicts.agents {
        let CallCounts { calls, rejected, asked, changed } = counts;
        let _ = write!(text, "  {name:width$}  {:>digits$} calls", thousands(*calls));
        if verdicts.has_rules {
            let count = |number: &u64, what: &str| format!("  {:>5} {what}", thousands(*number));
            text.push_str(&count(rejected, "would be rejected"));
            text.push_str(&count(asked, "asked about"));
            text.push_str(&count(changed, "changed"));
        }
        text.push('\n');
    }
    if !verdicts.rules.is_empty() {
        text.push('\n');
    }
    text.push_str(&rule_lines(verdicts));
    if verdicts.rules.len() > MAX_RULES {
        let more = verdicts.rules.len() - MAX_RULES;
        let _ = writeln!(text, "  {DIM}and {more} more rules; --json lists them all{DIM:#}");
    }
    let notes = notes(verdicts);
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        let _ = writeln!(text, "{WARNING}note:{WARNING:#} {}", wrapped(&one_line(&note), 6));
    }
    let _ = writeln!(text, "\n{ADVICE}next:{ADVICE:#} {}", wrapped(&next_step(verdicts, args), 6));
    text
}

/// Describes the most frequent rules, with an example of each.
pub(in crate::command) fn rule_lines(verdicts: &PastVerdicts) -> String {
    let mut text = String::new();
    for (key, calls) in verdicts.frequent_rules().into_iter().take(MAX_RULES) {
        describe_rule(&mut text, key, calls);
    }
    text
}

fn describe_rule(text: &mut String, (outcome, RuleName { by, code }): &RuleKey, calls: &RuleCalls) {
    let RuleCalls { count, example, reason, .. } = calls;
    let (style, word) = match outcome {
        PastOutcome::Rejected => (ERROR, "rejected"),
        PastOutcome::Asked => (WARNING, "asked"),
        PastOutcome::Changed | PastOutcome::Allowed => (CHANGED, "changed"),
    };
    let rule = code.as_ref().map_or_else(|| one_line(by), |code| format!("{} [{}]", one_line(by), one_line(code)));
    let reason = reason.as_ref().map_or_else(String::new, |reason| format!(": {}", cut(&one_line(reason), SHOWN)));
    let says = wrapped(&format!("{style}{word:8}{style:#}  {NAME}{rule}{NAME:#}{reason}"), 10);
    let _ = writeln!(text, "  {:>5} × {says}", thousands(*count));
    let _ = writeln!(text, "          {DIM}such as{DIM:#}   {example}");
}

/// Returns the agents whose transcripts are read, in words.
fn agents(args: &ReplayArgs) -> String {
    let adapters = hookhost_transcripts::adapters().into_iter().map(hookhost_agents::Adapter::agent);
    let is_chosen = |name: &str| args.from.iter().any(|from| from == "all" || from == name);
    let titles: Vec<&str> = adapters.filter(|agent| is_chosen(agent.name)).map(|agent| agent.title).collect();
    match titles.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        other => other.concat(),
    }
}

/// Returns the files of the rules, in words.
fn rules_of(verdicts: &PastVerdicts) -> String {
    if let Some(profile) = verdicts.profile {
        return format!("the profile {profile}, because you have no rules yet");
    }
    let mut files = verdicts.files.iter().map(|file| one_line(&file.to_string_lossy()));
    match (files.next(), files.count()) {
        (None, _) => "the given rules".to_owned(),
        (Some(file), 0) => format!("the rules in {file}"),
        (Some(file), more) => format!("the rules in {file} and {} more", counted(more, "file")),
    }
}

/// Returns what the user should know about the result, one sentence each.
fn notes(verdicts: &PastVerdicts) -> Vec<String> {
    let mut notes = Vec::new();
    if !verdicts.not_asked.is_empty() {
        let names = verdicts.not_asked.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        notes.push(format!(
            "not asked: {names}; a replay asks no plugin that may write files, send requests or ask a model"
        ));
    }
    if !verdicts.is_complete {
        notes.push("not all transcripts were read in the given time; the oldest are left out".to_owned());
    }
    let (elsewhere, directory) = &verdicts.elsewhere;
    if *elsewhere > 0 {
        notes.push(format!(
            "{} calls ran in directories that do not exist here, such as {}, so rules of their projects are left out",
            thousands(*elsewhere),
            directory.display()
        ));
    }
    let (in_doubt, facts) = &verdicts.in_doubt;
    if *in_doubt > 0 {
        let facts = facts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        notes.push(format!(
            "for {} of these calls, a rule asked for facts that transcripts do not contain ({facts}); a rule with `reject` or `ask` then \
             applies",
            thousands(*in_doubt)
        ));
    }
    for (why, count) in &verdicts.unjudged {
        notes.push(format!("{} calls are not judged: {why}", thousands(*count)));
    }
    notes.extend(verdicts.omissions.iter().map(ToString::to_string));
    notes
}

fn next_step(verdicts: &PastVerdicts, args: &ReplayArgs) -> String {
    let CallCounts { calls, rejected, asked, changed } = verdicts.total();
    if calls == 0 {
        return "use an agent for a while, or ask for a longer period: hookhost replay --from all --since 52w"
            .to_owned();
    }
    if !verdicts.has_rules {
        return "hookhost allow X.wasm adds rules, and docs/rules-without-code.md shows how to write them without code"
            .to_owned();
    }
    if verdicts.profile.is_some() {
        return "hookhost on puts these rules into force, and installs the hooks of your agents".to_owned();
    }
    if rejected + asked + changed == 0 {
        return "nothing would have been in your way; hookhost doctor shows whether your agents ask hookhost"
            .to_owned();
    }
    format!("hookhost replay --from {} --json lists each of these calls", args.from.join(","))
}
