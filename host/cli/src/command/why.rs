//! `hookhost why`: explains one event of the log, and shows what the rules of today would decide about it.

use super::dispatch::findings;
use crate::args::WhyArgs;
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::loading;
use crate::output::{
    self, difference, one_line, quoted, record,
    style::{CHANGED, DIM, GOOD, NAME, WARNING},
    time,
    truncate::{SHOWN, cut, words},
};
use hookhost::audit::{EventRecord, Line, Record, SessionOpened};
use hookhost::command::replay_event;
use hookhost::replay::Compared;
use hookhost::store::Log;
use hookhost_telemetry::tally::{deciding_rules, is_proof};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The word for the last event of the log.
const LAST: &str = "last";

/// Number of records that are read at once in a search from the end of the log.
const PAGE: u64 = 500;

/// The plugin whose rules `hookhost rule explain` knows.
const SHELL_GUARD: &str = "shell-guard";

/// Width of the labels.
const WIDTH: usize = 9;

pub(crate) async fn run(args: &WhyArgs) -> Result<Exit, CliError> {
    let log = audit_log::open(args.log.log.as_deref())?;
    audit_log::warn_of_foreign(&log);
    let explained = Explained::find(&log, args.id.as_deref())?;
    let today = Today::judge(args, &explained).await;
    if args.json {
        output::print_json(&explained.to_json(&today))?;
    } else {
        output::print(&explained.to_text(&log, &today))?;
    }
    Ok(Exit::Done)
}

/// An event of the log, with the records that belong to it.
struct Explained {
    seq: u64,
    event: EventRecord,
    opened: Option<SessionOpened>,
    /// The later records about the event: answers, observations and deliveries.
    later: Vec<Line>,
}

impl Explained {
    /// Finds an event: by its identifier, by the number of a record about it, or from the end of the log.
    fn find(log: &Log, id: Option<&str>) -> Result<Self, CliError> {
        let found = match id {
            None => last(log, |event| {
                !deciding_rules(event).is_empty() || event.calls.iter().any(|call| call.failure.is_some())
            })?,
            Some(LAST) => last(log, |_| true)?,
            Some(id) => match id.parse() {
                Ok(seq) => numbered(log, seq)?,
                Err(_) => identified(log, id)?,
            },
        };
        let Some((seq, event)) = found else { return Err(not_found(id)) };
        let mut explained = Self { seq, event, opened: None, later: Vec::new() };
        explained.read_neighbours(log)?;
        Ok(explained)
    }

    /// Reads the beginning of the event's session, and the later records about the event.
    fn read_neighbours(&mut self, log: &Log) -> Result<(), CliError> {
        for line in log.lines().map_err(audit_log::unreadable)? {
            let Ok(line) = line else { continue };
            let is_before = line.seq() < self.seq;
            let part = if is_before { &self.event.header.session } else { &self.event.id };
            // Most records are about other events, and need not be parsed.
            if line.seq() == self.seq || !line.text().contains(part.as_str()) {
                continue;
            }
            match line.entry() {
                Ok(Record::Session(opened)) if is_before && opened.header.session == self.event.header.session => {
                    self.opened = Some(*opened);
                }
                Ok(record) if !is_before && is_about(&record, &self.event.id) => self.later.push(line),
                _ => {}
            }
        }
        Ok(())
    }

    fn to_text(&self, log: &Log, today: &Today) -> String {
        let Self { seq, event, .. } = self;
        let mut text = format!("{NAME}{}{NAME:#}  {}\n", event.event, record::decision(event));
        let mut row = |label: &str, value: &str| output::row(&mut text, WIDTH, label, value);
        row("when", &time::local(event.header.time));
        if let Some(SessionOpened { agent, cwd, depth, .. }) = &self.opened {
            let sub = if *depth > 0 { ", a sub-agent" } else { "" };
            row("agent", &one_line(&format!("{agent}{sub}, in {cwd}")));
        }
        row("session", &one_line(&format!("{}, turn {}", event.header.session, event.turn)));
        row("about", &record::subject(&event.original));
        row("reason", &words(event.reason.as_deref().unwrap_or_default()));
        for question in &event.questions {
            row("question", &words(&format!("{} asks: {}", question.by, question.escalation.question)));
        }
        for rule in deciding_rules(event).iter().filter(|rule| rule.by == SHELL_GUARD) {
            let code = rule.code.as_deref().unwrap_or_default();
            row(
                "rule",
                &if code.is_empty() { String::new() } else { format!("hookhost rule explain {}", quoted(code)) },
            );
        }
        row("record", &one_line(&format!("{seq} of {}, event {}", log.path().display(), event.id)));
        self.say_calls(&mut text);
        self.say_change(&mut text);
        for line in &self.later {
            let _ = write!(text, "\n{DIM}later, record{DIM:#} {}", record::describe(line));
        }
        today.say(&mut text, event);
        text
    }

    /// Lists the plugins in the order in which they were asked, and then what they found.
    fn say_calls(&self, text: &mut String) {
        let Self { event, .. } = self;
        text.push_str(if event.calls.is_empty() { "\nno plugin was asked\n" } else { "\nasked, in this order\n" });
        let width = event.calls.iter().map(|call| call.plugin.len()).max().unwrap_or_default();
        let has_rounds = event.calls.iter().any(|call| call.round > 1);
        for call in &event.calls {
            let round = if has_rounds { format!("{DIM}round {}{DIM:#}  ", call.round) } else { String::new() };
            let plugin = one_line(&call.plugin);
            let _ = writeln!(text, "  {round}{NAME}{plugin:width$}{NAME:#}  {}", record::said(call));
            let labels = [
                ("the session had the label", call.inputs.labels.iter().flat_map(BTreeMap::keys).collect()),
                ("added the label", call.labels.iter().collect::<Vec<_>>()),
            ];
            for (what, labels) in labels.into_iter().filter(|(_, labels)| !labels.is_empty()) {
                let labels = record::labels_line(labels.into_iter());
                let _ = writeln!(text, "  {:width$}  {DIM}{what}{DIM:#} {labels}", "");
            }
        }
        if !event.not_matched.is_empty() {
            let _ = writeln!(text, "  {DIM}not asked: {}{DIM:#}", one_line(&event.not_matched.join(", ")));
        }
        for kept in &event.kept {
            let asked = cut(&one_line(&kept.question.escalation.question), SHOWN);
            let _ = writeln!(text, "  {GOOD}answered before{GOOD:#}, at {}: {asked}", one_line(&kept.of));
        }
        if let Some(by) = &event.approved_by {
            let _ = writeln!(text, "  approved by {}", one_line(by));
        }
        text.push_str(&findings(event));
    }

    fn say_change(&self, text: &mut String) {
        let Self { event, .. } = self;
        let parsed = |value: &serde_json::value::RawValue| serde_json::from_str(value.get()).unwrap_or(Value::Null);
        if let Some(last) = &event.last {
            let by = one_line(&event.changed_by.join(", "));
            let _ = writeln!(text, "\n{CHANGED}changed{CHANGED:#} by {by}");
            text.push_str(&difference::lines(&parsed(&event.original), &parsed(last), SHOWN));
        }
        if let Some(response) = &event.response {
            let _ = writeln!(text, "\nits result: {}", output::truncate::short(&parsed(response)));
        }
    }

    fn to_json(&self, today: &Today) -> Value {
        let later = self.later.iter().filter_map(|line| serde_json::from_str::<Value>(line.text()).ok());
        json!({
            "record": self.seq,
            "event": self.event,
            "session": self.opened,
            "later": later.collect::<Vec<_>>(),
            "today": today.to_json(),
        })
    }
}

/// What the rules of today would decide. As in every replay, the plugins get the recorded inputs, and have no effect.
struct Today(Result<Compared, String>);

impl Today {
    /// Judges the event by the rules of the directory in which its session works.
    async fn judge(args: &WhyArgs, explained: &Explained) -> Self {
        let compared = async {
            let opened = explained.opened.clone();
            let opened = opened.ok_or("the log does not contain the beginning of the session")?;
            let config = loading::config(&args.configuration, Path::new(&opened.cwd)).map_err(|stop| stop.message())?;
            let host = loading::host(config).await.map_err(|stop| stop.message())?;
            Ok(replay_event(&host, opened, explained.seq, explained.event.clone()).await)
        };
        Self(compared.await)
    }

    fn say(&self, text: &mut String, event: &EventRecord) {
        let says = match &self.0 {
            Err(why) => {
                let why = output::printable(why).replace('\n', &format!("\n{:1$}", "", WIDTH + 3));
                format!("{WARNING}not judged again:{WARNING:#} {why}")
            }
            Ok(Compared { again: None, not_replayable, .. }) => {
                format!("{WARNING}not judged again:{WARNING:#} {}", one_line(&not_replayable.join("; ")))
            }
            Ok(compared) if compared.is_same() => "the same".to_owned(),
            Ok(Compared { again: Some(again), not_replayable, .. }) => {
                let (then, now) = (record::decision(event), record::decision(again));
                let reason = again.reason.as_deref().map(|reason| format!(": {}", words(reason))).unwrap_or_default();
                let unsure = if not_replayable.is_empty() { "" } else { ", perhaps because of what the record lacks" };
                if then == now {
                    format!("{now}, in another way{unsure}")
                } else {
                    format!("{CHANGED}{now}{CHANGED:#}{reason}{unsure}")
                }
            }
        };
        text.push('\n');
        output::row(text, WIDTH, "today", &says);
    }

    fn to_json(&self) -> Value {
        match &self.0 {
            Err(why) => json!({ "not-judged": why }),
            Ok(Compared { again, differences, not_replayable, .. }) => json!({
                "same": again.is_some() && differences.is_empty(),
                "event": again,
                "differences": differences,
                "not-replayable": not_replayable,
            }),
        }
    }
}

/// Returns the last event that `is_wanted`, except the events by which `hookhost doctor` proves a hook.
fn last(log: &Log, is_wanted: impl Fn(&EventRecord) -> bool) -> Result<Option<(u64, EventRecord)>, CliError> {
    let mut end = log.last().map_err(audit_log::unreadable)?;
    while end > 0 {
        let begin = end.saturating_sub(PAGE);
        let mut found = None;
        for line in log.lines_after(begin).map_err(audit_log::unreadable)? {
            let Ok(line) = line else { continue };
            if line.seq() > end {
                break;
            }
            if let Ok(Record::Event(event)) = line.entry()
                && !is_proof(&event.header.session)
                && is_wanted(&event)
            {
                found = Some((line.seq(), *event));
            }
        }
        if found.is_some() {
            return Ok(found);
        }
        end = begin;
    }
    Ok(None)
}

/// Returns the event of the record with this number. The record can also be one that belongs to the event.
fn numbered(log: &Log, seq: u64) -> Result<Option<(u64, EventRecord)>, CliError> {
    let Some(before) = seq.checked_sub(1) else { return Ok(None) };
    let line = log.lines_after(before).map_err(audit_log::unreadable)?.next();
    let Some(Ok(line)) = line.filter(|line| line.as_ref().is_ok_and(|line| line.seq() == seq)) else { return Ok(None) };
    match line.entry() {
        Ok(Record::Event(event)) => Ok(Some((seq, *event))),
        Ok(other) => match id_of(&other) {
            Some(id) => identified(log, id),
            None => Err(CliError::usage(format!("record {seq} is about no event"))
                .advise(format!("hookhost audit show {PAGE}"))),
        },
        Err(error) => Err(CliError::usage(format!("record {seq} cannot be read: {error}"))),
    }
}

/// Returns the event with this identifier.
fn identified(log: &Log, id: &str) -> Result<Option<(u64, EventRecord)>, CliError> {
    for line in log.lines().map_err(audit_log::unreadable)? {
        let Ok(line) = line else { continue };
        if line.text().contains(id)
            && let Ok(Record::Event(event)) = line.entry()
            && event.id == id
        {
            return Ok(Some((line.seq(), *event)));
        }
    }
    Ok(None)
}

/// Returns the identifier of the event to which a record belongs.
fn id_of(record: &Record) -> Option<&String> {
    match record {
        Record::Event(event) => event.asked_again.as_ref().map(|again| &again.of),
        Record::Approval(answer) => Some(&answer.id),
        Record::Observed(observed) => Some(&observed.id),
        Record::Delivery(delivery) => delivery.id.as_ref(),
        _ => None,
    }
}

/// Returns true if a record belongs to the event, or removes a label that the event added.
fn is_about(record: &Record, id: &String) -> bool {
    match record {
        Record::Operator(action) => action.labels.iter().any(|label| label.of == *id),
        _ => id_of(record) == Some(id),
    }
}

fn not_found(id: Option<&str>) -> CliError {
    let what = match id {
        None => "the log has no event that did not simply pass".to_owned(),
        Some(LAST) => "the log has no event".to_owned(),
        Some(id) => format!("the log has no record and no event {}", quoted(id)),
    };
    CliError::usage(what).advise(if id.is_none() { "hookhost why last" } else { "hookhost audit show" })
}
