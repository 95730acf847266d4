//! Asks the plugins again about recorded events, and shows the outcomes that differ from the record.

use super::by_rule::DifferencesByRule;
use crate::args::ReplayArgs;
use crate::audit_log;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::loading;
use crate::output::{
    self, Reader, difference, one_line,
    progress::Progress,
    record,
    style::{CHANGED, DIM, NAME, WARNING},
    time,
    truncate::{SHOWN, counted, cut},
};
use hookhost::audit::{CallRecord, EventRecord};
use hookhost::replay::{Compared, Difference, Summary, replay, replay_unverified};
use hookhost::store::LogError;
use hookhost_agents::canary;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

pub(super) async fn run(args: &ReplayArgs) -> Result<Exit, CliError> {
    let log = audit_log::open(args.log.as_deref())?;
    if args.unverified {
        audit_log::warn_of_foreign(&log);
    }
    let config = loading::config(&args.rules(), &configuration::cwd()?)?;
    // The host has no store, no approver and no model, so it records nothing, asks no person and calls no model.
    let host = loading::host(config).await?;
    let mut by_rule = DifferencesByRule::default();
    let mut failed = None;
    let unread = CancellationToken::new();
    let progress = Progress::start("replaying the log");
    let total = if log.is_export() { 0 } else { log.last().map_err(audit_log::unreadable)? };
    let show = |compared: &Compared| {
        progress.set(compared.seq, total);
        // A canary call is a test call of `hookhost doctor` with its own rules, and not a call of the agent. So it is
        // skipped.
        let session = &compared.recorded.header.session;
        let is_canary = session.split_once(':').is_some_and(|(_, id)| canary::is_proof(id));
        if compared.is_same() || compared.again.is_none() || is_canary || unread.is_cancelled() {
            return;
        }
        if args.with.is_some() && !args.json {
            return by_rule.add(compared);
        }
        match print(compared, args.json) {
            Ok(Reader::Reads) => {}
            Ok(Reader::HasGone) => unread.cancel(),
            Err(stop) => {
                failed = Some(stop);
                unread.cancel();
            }
        }
    };
    let replaying = async {
        if args.unverified { replay_unverified(&host, &log, show).await } else { replay(&host, &log, show).await }
    };
    let replayed = tokio::select! {
        biased;
        () = unread.cancelled() => None,
        summary = replaying => Some(summary),
    };
    if let Some(stop) = failed {
        return Err(stop);
    }
    let Some(summary) = replayed else { return Ok(Exit::Done) };
    let summary = summary.map_err(|error| match error {
        LogError::NotAsWritten { .. } => {
            let log = args.log.as_deref().map(|log| output::quoted(&log.to_string_lossy()));
            let verify = log.map_or_else(String::new, |log| format!(" --log {log}"));
            audit_log::unreadable(error)
                .advise(format!("hookhost audit verify{verify}"))
                .advise("hookhost replay --unverified, to replay it nevertheless")
        }
        error => audit_log::unreadable(error),
    })?;
    if args.json {
        let mut object = json!(summary);
        object["type"] = "summary".into();
        let _ = output::print_json_line(&object)?;
    } else {
        let listed = by_rule.to_text(|seq| why(args, seq));
        output::print(&(listed + &in_words(&summary)))?;
    }
    Ok(if summary.different == 0 { Exit::Done } else { Exit::Differs })
}

/// Returns the command that explains an event under the rules of this replay.
fn why(args: &ReplayArgs, seq: u64) -> String {
    let option = |name: &str, file: Option<&PathBuf>| {
        file.map_or_else(String::new, |file| format!(" {name} {}", output::quoted(&file.to_string_lossy())))
    };
    let (config, log) = (option("--config", args.rules().config.as_ref()), option("--log", args.log.as_ref()));
    format!("hookhost why {seq}{config}{log}")
}

fn print(compared: &Compared, json: bool) -> Result<Reader, CliError> {
    if json {
        let mut object = json!(compared);
        object["type"] = "difference".into();
        output::print_json_line(&object)
    } else {
        output::print_on(&describe(compared))
    }
}

fn describe(compared: &Compared) -> String {
    let Compared { seq, recorded, again, differences, not_replayable, .. } = compared;
    let Some(again) = again else { return String::new() };
    let event = recorded.event;
    let mut text =
        format!("{NAME}{seq}{NAME:#}  {DIM}{}{DIM:#}  {NAME}{event}{NAME:#}  ", time::utc(recorded.header.time));
    let (then, now) = (record::decision(recorded), record::decision(again));
    let _ = if then != now {
        writeln!(text, "{then} {CHANGED}→{CHANGED:#} {now}")
    } else if differences.contains(&Difference::Value) {
        writeln!(text, "{then}, {CHANGED}with another value{CHANGED:#}")
    } else if differences.contains(&Difference::Questions) {
        writeln!(text, "{then}, {CHANGED}with other questions{CHANGED:#}")
    } else {
        writeln!(text, "{then}, {CHANGED}but a plugin answers otherwise{CHANGED:#}")
    };
    let subject = record::subject(&recorded.original);
    if !subject.is_empty() {
        let _ = writeln!(text, "    {subject}");
    }
    for difference in differences {
        describe_difference(&mut text, difference, recorded, again);
    }
    for why in not_replayable {
        let _ = writeln!(text, "    {WARNING}not compared:{WARNING:#} {}", cut(&one_line(why), SHOWN));
    }
    text
}

fn describe_difference(text: &mut String, difference: &Difference, recorded: &EventRecord, again: &EventRecord) {
    match difference {
        Difference::Outcome { .. } => {
            for (when, record) in [("then", recorded), ("now", again)] {
                if let Some(reason) = &record.reason {
                    let _ = writeln!(text, "    {DIM}{when}:{DIM:#} {}", cut(&one_line(reason), SHOWN));
                }
            }
        }
        Difference::Value => {
            let value = |record: &EventRecord| match &record.response {
                Some(response) => serde_json::from_str(response.get()).unwrap_or(Value::Null),
                None => {
                    let last = record.last.as_ref().unwrap_or(&record.original);
                    serde_json::from_str(last.get()).unwrap_or(Value::Null)
                }
            };
            let by = |record: &EventRecord| one_line(&record.changed_by.join(", "));
            let by = if by(again).is_empty() { by(recorded) } else { by(again) };
            let _ = writeln!(text, "    {CHANGED}the final value{CHANGED:#}, as {by} changed it");
            text.push_str(&difference::lines(&value(recorded), &value(again), SHOWN));
        }
        Difference::Questions => {
            for (when, record) in [("then", recorded), ("now", again)] {
                for question in &record.questions {
                    let asked = format!("{} asks: {}", question.by, question.escalation.question);
                    let _ = writeln!(text, "    {DIM}{when}:{DIM:#} {}", cut(&one_line(&asked), SHOWN));
                }
                if let Some(by) = &record.approved_by {
                    let _ = writeln!(text, "    {DIM}{when}:{DIM:#} {} approves", one_line(by));
                }
            }
        }
        Difference::Verdict { plugin, round } => {
            let said = |record: &EventRecord| call(record, plugin, *round).map(record::said).unwrap_or_default();
            let _ = writeln!(
                text,
                "    {NAME}{}{NAME:#} {DIM}(round {round}){DIM:#} {} {CHANGED}→{CHANGED:#} {}",
                one_line(plugin),
                said(recorded),
                said(again)
            );
        }
        Difference::Asked { plugin, round } => {
            let (when, call) = match call(again, plugin, *round) {
                Some(call) => ("only now", call),
                None => match call(recorded, plugin, *round) {
                    Some(call) => ("only then", call),
                    None => return,
                },
            };
            let _ = writeln!(
                text,
                "    {NAME}{}{NAME:#} {DIM}(round {round}, {when}){DIM:#} {}",
                one_line(plugin),
                record::said(call)
            );
        }
        _ => {}
    }
}

fn call<'a>(record: &'a EventRecord, plugin: &str, round: u32) -> Option<&'a CallRecord> {
    record.calls.iter().find(|call| call.plugin == plugin && call.round == round)
}

fn in_words(summary: &Summary) -> String {
    let Summary { events, same, different, not_replayable, reasons, .. } = summary;
    let events = counted(*events, "event");
    let mut text = format!("{events}: {same} the same, {different} different, {not_replayable} not replayable\n");
    for (why, count) in reasons {
        let _ = writeln!(text, "  {DIM}{count} × {}{DIM:#}", cut(&one_line(why), SHOWN));
    }
    text
}
