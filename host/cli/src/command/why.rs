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
use hookhost::audit::{EventRecord, SessionOpened};
use hookhost::command::replay_event;
use hookhost::replay::Compared;
use hookhost::store::Log;
use hookhost_telemetry::explained::{EventName, ExplainError, Explained};
use hookhost_telemetry::tally::deciding_rules;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The word for the last event of the log.
const LAST: &str = "last";

/// The plugin whose rules `hookhost rule explain` knows.
const SHELL_GUARD: &str = "shell-guard";

/// Width of the labels.
const WIDTH: usize = 9;

pub(crate) async fn run(args: &WhyArgs) -> Result<Exit, CliError> {
    let log = audit_log::open(args.log.log.as_deref())?;
    audit_log::warn_of_foreign(&log);
    let explained = find(&log, args.id.as_deref())?;
    let today = Today::judge(args, &explained).await;
    if args.json {
        output::print_json(&Explanation(&explained).to_json(&today))?;
    } else {
        output::print(&Explanation(&explained).to_text(&log, &today))?;
    }
    Ok(Exit::Done)
}

/// Finds the event that the user has named.
fn find(log: &Log, id: Option<&str>) -> Result<Explained, CliError> {
    let name = match id {
        None => EventName::LastDecided,
        Some(LAST) => EventName::Last,
        Some(id) => id.parse().map_or(EventName::Id(id), EventName::Number),
    };
    match Explained::find(log, name, None) {
        Ok(Some(explained)) => Ok(explained),
        Ok(None) => Err(not_found(id)),
        Err(ExplainError::Log(error)) => Err(audit_log::unreadable(error)),
        Err(error @ ExplainError::AboutNoEvent(_)) => {
            Err(CliError::usage(error.to_string()).advise("hookhost audit show 500"))
        }
        Err(error) => Err(CliError::usage(error.to_string())),
    }
}

/// Formats an event for people and for programs.
struct Explanation<'a>(&'a Explained);

impl Explanation<'_> {
    fn to_text(&self, log: &Log, today: &Today) -> String {
        let Explained { seq, event, .. } = self.0;
        let mut text = format!("{NAME}{}{NAME:#}  {}\n", event.event, record::decision(event));
        let mut row = |label: &str, value: &str| output::row(&mut text, WIDTH, label, value);
        row("when", &time::local(event.header.time));
        if let Some(SessionOpened { agent, cwd, depth, .. }) = &self.0.opened {
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
        for line in &self.0.later {
            let _ = write!(text, "\n{DIM}later, record{DIM:#} {}", record::describe(line));
        }
        today.say(&mut text, event);
        text
    }

    /// Lists the plugins in the order in which they were asked, and then what they found.
    fn say_calls(&self, text: &mut String) {
        let Explained { event, .. } = self.0;
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
        let Explained { event, .. } = self.0;
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
        let later = self.0.later.iter().filter_map(|line| serde_json::from_str::<Value>(line.text()).ok());
        json!({
            "record": self.0.seq,
            "event": self.0.event,
            "session": self.0.opened,
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

fn not_found(id: Option<&str>) -> CliError {
    let what = match id {
        None => "the log has no event that did not simply pass".to_owned(),
        Some(LAST) => "the log has no event".to_owned(),
        Some(id) => format!("the log has no record and no event {}", quoted(id)),
    };
    CliError::usage(what).advise(if id.is_none() { "hookhost why last" } else { "hookhost audit show" })
}
