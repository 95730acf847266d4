//! `hookhost session labels`: shows the labels of sessions, each with the call that added it.

use crate::args::LabelsArgs;
use crate::audit_log;
use crate::command::off::open_log;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line, record,
    style::{DIM, NAME},
    time,
    truncate::{SHOWN, cut},
};
use hookhost::Host;
use hookhost::audit::{CallRecord, Record, SessionLabel};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;

/// The labels of one session.
pub(super) struct LabelledSession {
    pub(super) session: String,
    pub(super) labels: Vec<SessionLabel>,
}

/// The call that added a label: its plugin, and the subject of its event.
#[derive(Default)]
struct AddingCall {
    plugin: String,
    subject: String,
}

/// The calls that added labels, by the identifier of their event and the label.
pub(super) struct AddingCalls(HashMap<(String, String), AddingCall>);

pub(crate) async fn run(args: &LabelsArgs) -> Result<Exit, CliError> {
    if !audit_log::is_there()? {
        return print(args, &[]);
    }
    let mut labelled = labelled(&open_log().await?).await?;
    if let Some(session) = &args.session {
        labelled.retain(|one| one.session == *session);
    }
    print(args, &labelled)
}

fn print(args: &LabelsArgs, labelled: &[LabelledSession]) -> Result<Exit, CliError> {
    let calls = AddingCalls::find(labelled)?;
    if args.json {
        output::print_json(&labelled.iter().flat_map(|one| calls.as_json(one)).collect::<Vec<_>>())?;
    } else if labelled.is_empty() {
        output::print("No session has a label.\n")?;
    } else {
        output::print(&labelled.iter().map(|one| calls.as_text(one)).collect::<String>())?;
    }
    Ok(Exit::Done)
}

/// Returns the sessions that have labels.
pub(super) async fn labelled(host: &Host) -> Result<Vec<LabelledSession>, CliError> {
    let mut labelled: Vec<LabelledSession> = Vec::new();
    for (session, label) in host.labels().await.map_err(|error| audit_log::unusable(&error))? {
        match labelled.last_mut().filter(|last| last.session == session) {
            Some(last) => last.labels.push(label),
            None => labelled.push(LabelledSession { session, labels: vec![label] }),
        }
    }
    Ok(labelled)
}

impl AddingCalls {
    /// Finds the calls in the log.
    pub(super) fn find(labelled: &[LabelledSession]) -> Result<Self, CliError> {
        let labels: Vec<_> = labelled.iter().flat_map(|one| &one.labels).collect();
        let mut calls = HashMap::new();
        if let Some(first) = labels.iter().map(|label| label.added).min() {
            audit_log::each_since(None, first, |record| {
                let (id, subject, made) = match record {
                    Record::Event(event) => (&event.id, record::subject(&event.original), event.calls.as_slice()),
                    Record::ToolRun(run) => (&run.id, one_line(&run.tool), std::slice::from_ref(&run.call)),
                    Record::Observed(observed) => (&observed.id, observed.event.to_string(), observed.calls.as_slice()),
                    _ => return,
                };
                for (CallRecord { plugin, .. }, label) in
                    made.iter().flat_map(|call| call.labels.iter().map(move |label| (call, label)))
                {
                    if labels.iter().any(|known| known.of == *id && known.name == *label) {
                        let call = AddingCall { plugin: plugin.clone(), subject: subject.clone() };
                        calls.entry((id.clone(), label.clone())).or_insert(call);
                    }
                }
            })?;
        }
        Ok(Self(calls))
    }

    fn of(&self, label: &SessionLabel) -> Option<&AddingCall> {
        self.0.get(&(label.of.clone(), label.name.clone()))
    }

    pub(super) fn as_text(&self, LabelledSession { session, labels }: &LabelledSession) -> String {
        let mut text = format!("{DIM}session{DIM:#} {}\n", one_line(session));
        let width = labels.iter().map(|label| label.name.len()).max().unwrap_or_default();
        for label in labels {
            let (name, when) = (one_line(&label.name), time::local(label.added));
            let _ = write!(text, "  {NAME}{name:width$}{NAME:#}  {DIM}{when}{DIM:#}");
            if let Some(AddingCall { plugin, subject }) = self.of(label) {
                let _ = write!(text, "  {}: {}", one_line(plugin), cut(subject, SHOWN));
            }
            let _ = writeln!(text, "\n  {:width$}  {DIM}hookhost why {}{DIM:#}", "", one_line(&label.of));
        }
        text
    }

    fn as_json(&self, LabelledSession { session, labels }: &LabelledSession) -> impl Iterator<Item = Value> {
        labels.iter().map(move |label| {
            let SessionLabel { name, added, of, .. } = label;
            let plugin = self.of(label).map(|call| &call.plugin);
            json!({ "session": session, "name": name, "added": added, "event": of, "plugin": plugin })
        })
    }
}
