//! Describes a record of the audit log for people.

use super::style::{CHANGED, DIM, ERROR, GOOD, NAME, WARNING};
use super::truncate::{SHOWN, cut, short, tool};
use super::{difference, one_line, time};
use hookhost::audit::{
    AnswerRefused, ApprovalRecord, CallRecord, Delivery, Dropped, EventRecord, Header, Line, LoadedPlugin, Observed,
    OperatorAction, OperatorActionKind, Record, RulesChanged, SessionOpened, ToolRun,
};
use hookhost::config::{Enforcement, Mode};
use hookhost::contract::{AnswerKind, OutcomeKind};
use hookhost::passkey::PasskeyChange;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Write as _;

/// Describes a record on several lines: number, time, event and outcome, and the reasons for the outcome.
pub(crate) fn describe(line: &Line) -> String {
    let seq = line.seq();
    let entry = match line.entry() {
        Ok(entry) => entry,
        Err(error) => return format!("{NAME}{seq}{NAME:#}  {WARNING}{}{WARNING:#}\n", one_line(&error.to_string())),
    };
    let mut text = format!("{NAME}{seq}{NAME:#}  {DIM}{}{DIM:#}  ", time::utc(entry.time()));
    match &entry {
        Record::Log(begins) => {
            let _ = writeln!(text, "the log begins, format {}", begins.version);
        }
        Record::Session(opened) => opening(&mut text, opened),
        Record::SessionEnded(ended) => {
            let _ = writeln!(text, "session ended\n    {DIM}session {}{DIM:#}", one_line(&ended.header.session));
        }
        Record::Event(record) => event(&mut text, record),
        Record::Approval(answer) => answered(&mut text, answer),
        Record::AnswerRefused(refused) => refused_answer(&mut text, refused),
        Record::ToolRun(run) => tool_run(&mut text, run),
        Record::Observed(record) => observation(&mut text, record),
        Record::Dropped(record) => dropped(&mut text, record),
        Record::Delivery(record) => delivery(&mut text, record),
        Record::RulesChanged(changed) => taken_up(&mut text, changed),
        Record::Operator(action) => operator(&mut text, action),
        Record::Archived(archived) => {
            let hookhost::audit::Archived { first, through, file, .. } = archived;
            let _ = writeln!(text, "records {first} to {through} are archived\n    {DIM}{}{DIM:#}", one_line(file));
        }
        other => {
            let _ = writeln!(text, "{}", other.kind());
        }
    }
    text
}

fn opening(text: &mut String, opened: &SessionOpened) {
    let SessionOpened { header: Header { session, .. }, agent, cwd, depth, parent, .. } = opened;
    let _ = writeln!(text, "session of {}", one_line(agent));
    let _ = write!(text, "    {DIM}session {}, in {}", one_line(session), one_line(cwd));
    if let Some(parent) = parent {
        let _ = write!(text, ", depth {depth}, of session {}", one_line(parent));
    }
    let _ = writeln!(text, "{DIM:#}");
}

fn event(text: &mut String, record: &EventRecord) {
    let _ = writeln!(text, "{NAME}{}{NAME:#}  {}", record.event, decision(record));
    let _ = writeln!(text, "    {DIM}session {}, turn {}{DIM:#}", one_line(&record.header.session), record.turn);
    let value = subject(&record.original);
    if !value.is_empty() {
        let _ = writeln!(text, "    {value}");
    }
    if !record.changed_by.is_empty() {
        let by = one_line(&record.changed_by.join(", "));
        let _ = writeln!(text, "    {CHANGED}changed{CHANGED:#} by {by}");
        let last = record.last.as_ref().unwrap_or(&record.original);
        text.push_str(&difference::lines(&parsed(&record.original), &parsed(last), SHOWN));
    }
    if let Some(response) = &record.response {
        let _ = writeln!(text, "    its result: {}", short(&parsed(response)));
    }
    if let Some(reason) = &record.reason {
        let _ = writeln!(text, "    {}", cut(&one_line(reason), SHOWN));
    }
    if let Some(again) = &record.asked_again {
        let _ = writeln!(
            text,
            "    {DIM}plugins were asked again after the approval, because rules or state had changed; the first record is {}{DIM:#}",
            one_line(&again.of)
        );
        for question in &again.answered {
            let answered = cut(&one_line(&question.escalation.question), SHOWN);
            let _ = writeln!(text, "    {GOOD}{} was answered:{GOOD:#} {answered}", one_line(&question.by.to_string()));
        }
    }
    for kept in &record.kept {
        let (by, of) = (one_line(&kept.question.by.to_string()), one_line(&kept.of));
        let asked = cut(&one_line(&kept.question.escalation.question), SHOWN);
        let _ = writeln!(text, "    {GOOD}{by} was answered for the session at {of}:{GOOD:#} {asked}");
    }
    for question in &record.questions {
        let asked = cut(&one_line(&question.escalation.question), SHOWN);
        let _ = writeln!(text, "    {WARNING}{} asks:{WARNING:#} {asked}", one_line(&question.by.to_string()));
    }
    if let Some(by) = &record.approved_by {
        let _ = writeln!(text, "    approved by {}", one_line(by));
    }
    record.calls.iter().for_each(|call| called(text, call));
    if !record.not_matched.is_empty() {
        let _ = writeln!(text, "    {DIM}not asked: {}{DIM:#}", one_line(&record.not_matched.join(", ")));
    }
    for why in &record.not_replayable {
        let _ = writeln!(text, "    {DIM}not replayable: {}{DIM:#}", cut(&one_line(why), SHOWN));
    }
    redacted(text, record.redacted.keys());
}

/// Describes the outcome of an event, and the plugins behind it.
pub(crate) fn decision(record: &EventRecord) -> String {
    let outcome = outcome(record.outcome);
    let by = one_line(&record.by.join(", "));
    let kind = |word: &str| format!("{outcome} {DIM}({word}){DIM:#}");
    let outcome = match record.cause.map(|cause| serde_json::to_value(cause).unwrap_or_default()) {
        None => outcome,
        Some(Value::String(word)) if word == "verdict" => outcome,
        Some(Value::String(word)) => kind(&word.replace('-', " ")),
        Some(failed) => kind(&failed["failed"].as_str().map_or("failed".into(), |kind| format!("failed: {kind}"))),
    };
    let decided = if by.is_empty() { outcome } else { format!("{outcome} by {by}") };
    match record.enforcement {
        Enforcement::Observed => format!("{decided} {WARNING}(only observed, so it had no effect){WARNING:#}"),
        Enforcement::Paused => format!("{decided} {WARNING}(paused){WARNING:#}"),
        _ => decided,
    }
}

fn outcome(outcome: OutcomeKind) -> String {
    let style = match outcome {
        OutcomeKind::Rejected | OutcomeKind::Withheld => ERROR,
        OutcomeKind::Escalated => WARNING,
        _ => GOOD,
    };
    format!("{style}{outcome}{style:#}")
}

/// Describes the subject of an event on one line: for a tool call, the tool's name and its arguments.
pub(crate) fn subject(value: &RawValue) -> String {
    subject_of(&parsed(value))
}

/// Like [`subject`], of a parsed value.
pub(crate) fn subject_of(value: &Value) -> String {
    if let Value::Object(fields) = value {
        // A result of a tool is described by its call.
        let call = fields.get("call").and_then(Value::as_object).unwrap_or(fields);
        if let (Some(Value::String(name)), Some(arguments)) = (call.get("name"), call.get("arguments")) {
            return format!("{NAME}{}{NAME:#} {}", tool(name), short(arguments));
        }
    }
    short(value)
}

fn answered(text: &mut String, answer: &ApprovalRecord) {
    let ApprovalRecord { header: Header { session, .. }, event, outcome: came, answer, .. } = answer;
    let word = serde_json::to_value(answer.kind).unwrap_or_default();
    let mut word = word.as_str().unwrap_or_default().replace('-', " ");
    if answer.for_session {
        word.push_str(" for the session");
    }
    for (what, who) in [("by", &answer.by), ("via", &answer.via), ("from", &answer.from)] {
        if let Some(who) = who {
            let _ = write!(word, " {what} {}", cut(&one_line(who), SHOWN));
        }
    }
    if answer.proof.is_some() {
        word.push_str(", signed with a passkey");
    }
    let seconds = answer.micros / 1_000_000;
    let _ =
        writeln!(text, "{NAME}{event}{NAME:#}  {}  {DIM}answered: {word}, after {seconds} s{DIM:#}", outcome(*came));
    let _ = writeln!(text, "    {DIM}session {}{DIM:#}", one_line(session));
    if let Some(reason) = &answer.reason {
        let _ = writeln!(text, "    {}", cut(&one_line(reason), SHOWN));
    }
    if answer.kind == AnswerKind::HandedOver {
        let _ = writeln!(text, "    the agent asks its own user; a result of the call says that it ran");
    } else if *came == OutcomeKind::Escalated {
        let _ = writeln!(text, "    rules or state have changed: the plugins are asked again");
    }
}

fn refused_answer(text: &mut String, refused: &AnswerRefused) {
    let AnswerRefused { header, event, why, answer, unrecorded, .. } = refused;
    let _ = writeln!(
        text,
        "{NAME}{event}{NAME:#}  {WARNING}a yes did not count:{WARNING:#} {}",
        cut(&one_line(why), SHOWN)
    );
    let _ = writeln!(text, "    {DIM}session {}{DIM:#}", one_line(&header.session));
    for (what, who) in [("by", &answer.by), ("via", &answer.via), ("from", &answer.from)] {
        if let Some(who) = who {
            let _ = writeln!(text, "    {what} {}", cut(&one_line(who), SHOWN));
        }
    }
    if *unrecorded > 0 {
        let _ = writeln!(text, "    {unrecorded} more before it have no record of their own");
    }
}

fn tool_run(text: &mut String, run: &ToolRun) {
    let ToolRun {
        header: Header { session, .. }, turn, tool, arguments, call, not_replayable, redacted: kept_out, ..
    } = run;
    let came = match (&call.verdict, &call.failure) {
        (Some(_), _) => "ran",
        (None, Some(_)) => "failed",
        (None, None) => "was given up",
    };
    let _ = writeln!(text, "the tool {NAME}{}{NAME:#} of {} {came}", one_line(tool), one_line(&call.plugin));
    let _ = writeln!(text, "    {DIM}session {}, turn {turn}{DIM:#}", one_line(session));
    let _ = writeln!(text, "    {}", short(&parsed(arguments)));
    called(text, call);
    for why in not_replayable {
        let _ = writeln!(text, "    {DIM}not replayable: {}{DIM:#}", cut(&one_line(why), SHOWN));
    }
    redacted(text, kept_out.keys());
}

fn observation(text: &mut String, observed: &Observed) {
    let Observed { event, header: Header { session, .. }, calls, redacted: kept_out, .. } = observed;
    let _ = writeln!(text, "{NAME}{event}{NAME:#}  observed");
    let _ = writeln!(text, "    {DIM}session {}{DIM:#}", one_line(session));
    calls.iter().for_each(|call| called(text, call));
    redacted(text, kept_out.keys());
}

/// Describes the delivery of an outcome that did not reach the agent, or that was changed before it reached the agent.
fn delivery(text: &mut String, delivery: &Delivery) {
    let Delivery { id, header, point, what, note, .. } = delivery;
    let _ = writeln!(text, "{WARNING}{}{WARNING:#} at {}", what.name().replace('-', " "), one_line(point));
    let of = id.as_ref().map(|id| format!(", event {}", one_line(id))).unwrap_or_default();
    let _ = writeln!(text, "    {DIM}session {}{of}{DIM:#}", one_line(&header.session));
    let _ = writeln!(text, "    {}", cut(&one_line(note), SHOWN));
}

fn dropped(text: &mut String, dropped: &Dropped) {
    let events: Vec<_> = dropped.events.iter().map(|(event, count)| format!("{count} × {}", one_line(event))).collect();
    let _ = writeln!(text, "{WARNING}observers did not get{WARNING:#} {}", events.join(", "));
    let _ = writeln!(text, "    {DIM}session {}{DIM:#}", one_line(&dropped.header.session));
}

fn taken_up(text: &mut String, changed: &RulesChanged) {
    let _ = writeln!(text, "{CHANGED}other rules{CHANGED:#} were taken up");
    for LoadedPlugin { plugin, code, mode, .. } in &changed.plugins {
        let observed = if *mode == Mode::Observe { ", only observed" } else { "" };
        let code = cut(&one_line(&code.to_string()), SHOWN);
        let _ = writeln!(text, "    {NAME}{}{NAME:#} {DIM}({code}{observed}){DIM:#}", one_line(plugin));
    }
}

fn operator(text: &mut String, operator: &OperatorAction) {
    let OperatorAction { action, by, until, agents, rules, session, labels, passkey, .. } = operator;
    let done = match action {
        OperatorActionKind::RuleAccept => "has new rules",
        OperatorActionKind::RuleRemove => "lost rules",
        OperatorActionKind::RuleOff => "leaves rules out",
        OperatorActionKind::RuleOn => "has rules back",
        OperatorActionKind::LabelRemove => "removed labels",
        OperatorActionKind::On => "was switched on",
        OperatorActionKind::Off => "was switched off",
        OperatorActionKind::Pause => "was paused",
        OperatorActionKind::PasskeyAdd => "has a passkey, which a yes needs from now on",
        OperatorActionKind::PasskeyRemove => "lost a passkey",
        OperatorActionKind::Resume => "continues before the end of its pause",
        _ => "was changed",
    };
    let _ = write!(text, "{CHANGED}hookhost {done}{CHANGED:#}");
    if !agents.is_empty() {
        let _ = write!(text, " for {}", one_line(&agents.join(", ")));
    }
    if !rules.is_empty() {
        let _ = write!(text, ": {}", one_line(&rules.join(", ")));
    }
    if !labels.is_empty() {
        let _ = write!(text, ": {}", labels_line(labels.iter().map(|label| &label.name)));
    }
    match passkey.as_deref() {
        Some(PasskeyChange::Add { new, .. }) => {
            let _ = write!(text, ": {}", cut(&one_line(&new.name), SHOWN));
        }
        Some(PasskeyChange::Remove { id, .. }) => {
            let _ = write!(text, ": {}", cut(&one_line(id), SHOWN));
        }
        _ => {}
    }
    if let Some(until) = until {
        let _ = write!(text, " until {}", time::utc(*until));
    }
    if let Some(by) = by {
        let _ = write!(text, " by {}", cut(&one_line(by), SHOWN));
    }
    text.push('\n');
    if let Some(session) = session {
        let _ = writeln!(text, "    {DIM}session {}{DIM:#}", one_line(session));
    }
}

/// Returns labels on one line.
pub(crate) fn labels_line<'a>(labels: impl Iterator<Item = &'a String>) -> String {
    one_line(&labels.map(String::as_str).collect::<Vec<_>>().join(", "))
}

fn called(text: &mut String, call: &CallRecord) {
    let CallRecord { plugin, round, mode, fuel, micros, log, log_dropped, findings, labels, .. } = call;
    let observed = if *mode == Mode::Observe { ", only observed" } else { "" };
    let _ = writeln!(
        text,
        "    {NAME}{}{NAME:#} {} {DIM}(round {round}{observed}, fuel {fuel}, {micros} µs){DIM:#}",
        one_line(plugin),
        said(call)
    );
    for finding in findings {
        let found = format!("{}: {}", finding.code, finding.explanation);
        let _ = writeln!(text, "      found {}", cut(&one_line(&found), SHOWN));
    }
    if !labels.is_empty() {
        let _ = writeln!(text, "      added the label {}", labels_line(labels.iter()));
    }
    for line in log {
        let _ = writeln!(text, "      {DIM}log: {}{DIM:#}", cut(&one_line(&line.message), SHOWN));
    }
    if *log_dropped > 0 {
        let _ = writeln!(text, "      {DIM}log: {log_dropped} more lines{DIM:#}");
    }
}

/// Describes a plugin's answer, or its failure.
pub(crate) fn said(call: &CallRecord) -> String {
    if let Some(failure) = &call.failure {
        let detail = cut(&one_line(&failure.detail), SHOWN);
        return match failure.kind.opening().split_once(':') {
            Some((word, it)) => format!("{ERROR}{word}{ERROR:#}:{it}{detail}"),
            None => format!("{WARNING}{detail}{WARNING:#}"),
        };
    }
    match call.verdict.as_deref().map(parsed) {
        None => "observed it".to_owned(),
        Some(Value::String(word)) => one_line(&word),
        Some(Value::Object(fields)) if fields.len() == 1 => fields
            .iter()
            .map(|(word, value)| format!("{} {}", one_line(word), short(&without_nothing(value))))
            .collect(),
        Some(other) => short(&other),
    }
}

/// Returns the value without its `null` and `false` members.
fn without_nothing(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let there = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
            fields.iter().filter(|(_, value)| there(value)).map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        other => other.clone(),
    }
}

fn redacted<'a>(text: &mut String, parts: impl Iterator<Item = &'a String>) {
    let parts: Vec<_> = parts.map(|part| one_line(part)).collect();
    if !parts.is_empty() {
        let _ = writeln!(text, "    {DIM}the configuration keeps out of the log: {}{DIM:#}", parts.join(", "));
    }
}

fn parsed(value: &RawValue) -> Value {
    serde_json::from_str(value.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::describe;
    use hookhost::audit::Line;

    fn plain(record: &str) -> String {
        let previous = "0".repeat(64);
        let line = Line::parse(&format!(r#"{{"seq":7,"previous":"{previous}",{record}}}"#)).unwrap();
        anstream::adapter::strip_str(&describe(&line)).to_string()
    }

    #[test]
    fn an_event_shows_what_it_was_about_who_decided_why_and_what_each_plugin_said() {
        let digest = "0".repeat(64);
        let call = |plugin: &str, rest: &str| {
            format!(
                r#"{{"plugin":"{plugin}","digest":"{digest}","config":"{digest}","mode":"enforce","round":1,{rest},"fuel":12,"micros":34}}"#
            )
        };
        let changes = call("bounded", r#""verdict":{"modify":{"command":"timeout 60 make"}}"#);
        let rejects = call(
            "guard",
            r#""verdict":{"reject":{"reason":"no \u001b[2Jmake","code":null,"retryable":false,"stop":false}}"#,
        );
        let slow =
            call("slow", r#""failure":{"kind":"deadline","detail":"did not answer within 5ms (limits.deadline)"}"#);
        let text = plain(&format!(
            r#""kind":"event","id":"s.0","session":"s","turn":2,"event":"before-tool-call","time":0,"outcome":"rejected","by":["guard"],"cause":"verdict","reason":"Rejected by guard: no \u001b[2Jmake","changed-by":["bounded"],"original":{{"id":"1","name":"bash","arguments":{{"command":"make"}}}},"final":{{"id":"1","name":"bash","arguments":{{"command":"timeout 60 make"}}}},"calls":[{changes},{slow},{rejects}],"not-matched":["other"]"#
        ));
        assert_eq!(
            text,
            "7  1970-01-01 00:00:00.000Z  before-tool-call  rejected by guard\n\
             \x20   session s, turn 2\n\
             \x20   bash command=make\n\
             \x20   changed by bounded\n\
             \x20   - arguments.command: make\n\
             \x20   + arguments.command: timeout 60 make\n\
             \x20   Rejected by guard: no \u{fffd}[2Jmake\n\
             \x20   bounded modify command=\"timeout 60 make\" (round 1, fuel 12, 34 µs)\n\
             \x20   slow timed out: it did not answer within 5ms (limits.deadline) (round 1, fuel 12, 34 µs)\n\
             \x20   guard reject reason=\"no \u{fffd}[2Jmake\" (round 1, fuel 12, 34 µs)\n\
             \x20   not asked: other\n"
        );
    }

    #[test]
    fn every_other_kind_of_record_reads_as_what_it_is() {
        for (record, said) in [
            (r#""kind":"log","version":1,"time":0"#, "the log begins, format 1"),
            (r#""kind":"session-ended","session":"s","time":0"#, "session ended\n    session s"),
            (
                r#""kind":"session","session":"s","time":0,"agent":"a","cwd":"/w","workspace":"/w","depth":1,"interactive":false,"parent":"p","tools":[],"models":[]"#,
                "session of a\n    session s, in /w, depth 1, of session p",
            ),
            (
                r#""kind":"answer","id":"s.0","session":"s","event":"before-tool-call","time":0,"outcome":"rejected","answer":{"kind":"nobody-there","reason":"nobody is there to answer","micros":1}"#,
                "before-tool-call  rejected  answered: nobody there, after 0 s\n    session s\n    nobody is there",
            ),
            (
                r#""kind":"answer","id":"s.0","session":"s","event":"before-tool-call","time":0,"outcome":"escalated","answer":{"kind":"approved","micros":1},"effects-hold":false"#,
                "before-tool-call  escalated  answered: approved, after 0 s\n    session s\n    rules or state have changed: the plugins are asked again",
            ),
            (
                r#""kind":"answer","id":"s.0","session":"s","event":"before-tool-call","time":0,"outcome":"allowed","answer":{"kind":"approved","micros":1,"for-session":true},"effects-hold":true"#,
                "before-tool-call  allowed  answered: approved for the session, after 0 s\n",
            ),
            (
                r#""kind":"answer","id":"s.0","session":"s","event":"before-tool-call","time":0,"outcome":"allowed","answer":{"kind":"approved","micros":1,"by":"ada\nlovelace","via":"web \u001b[2Jpage"},"effects-hold":true"#,
                "before-tool-call  allowed  answered: approved by ada lovelace via web \u{fffd}[2Jpage, after 0 s\n",
            ),
            (
                r#""kind":"rules-changed","time":0,"plugins":[{"plugin":"p","digest":{"native":"1\u001b[2J"},"config":"0000000000000000000000000000000000000000000000000000000000000000","mode":"enforce"}]"#,
                "    p (native 1\u{fffd}[2J)",
            ),
            (
                r#""kind":"event","id":"s.1","session":"s","turn":2,"event":"before-tool-call","time":0,"outcome":"allowed","by":[],"changed-by":[],"original":{},"kept":[{"configuration":true,"question":"Run?","code":null,"of":"s.0"}],"calls":[]"#,
                "    the configuration was answered for the session at s.0: Run?\n",
            ),
            (
                r#""kind":"dropped","session":"s","time":0,"events":{"stream-end":2}"#,
                "observers did not get 2 × stream-end",
            ),
            (
                r#""kind":"observed","id":"s.0","session":"s","event":"stream-end","time":0,"calls":[]"#,
                "stream-end  observed",
            ),
            (
                r#""kind":"operator","time":0,"action":"label-remove","by":"ada","session":"s","labels":[{"name":"read:secret","added":0,"of":"s.0"}]"#,
                "hookhost removed labels: read:secret by ada\n    session s\n",
            ),
            (r#""kind":"later","time":0"#, "`later` is not a kind of record"),
        ] {
            let text = plain(record);
            assert!(text.starts_with("7  ") && text.contains(said), "{text}");
        }
    }
}
