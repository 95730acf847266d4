//! What an event says of itself, as the texts that conditions look into and that replace placeholders.

use hookhost_guest::prelude::*;
use serde::Serialize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls that this instance has seen.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// What `configure`'s steps gave, a line each.
static CONFIGURED: OnceLock<String> = OnceLock::new();

/// The event at hand.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) value: String,
    pub(crate) round: u32,
    pub(crate) session: String,
    /// The result of the last step.
    pub(crate) last: String,
    /// The results of all steps, a line each.
    results: String,
    fills: Vec<(&'static str, String)>,
}

impl Facts {
    /// For `configure`, which has no event and may ask for none of its facts.
    pub(crate) fn without_event() -> Self {
        Self {
            value: String::new(),
            round: 0,
            session: String::new(),
            last: String::new(),
            results: String::new(),
            fills: Vec::new(),
        }
    }

    pub(crate) fn of(session: &Session) -> Self {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        let fills = vec![
            ("{id}", event::id()),
            ("{time}", event::time().to_string()),
            ("{turn}", session.turn.to_string()),
            ("{calls}", calls.to_string()),
            ("{configured}", CONFIGURED.get().cloned().unwrap_or_default()),
        ];
        Self { round: event::round(), session: session.id.clone(), fills, ..Self::without_event() }
    }

    /// Notes what a step gave.
    pub(crate) fn result(&mut self, result: String) {
        self.results.push_str(&result);
        self.results.push('\n');
        self.last = result;
    }

    /// Keeps the steps' results for the events to come.
    pub(crate) fn keep(self) {
        // Natively, the tests of one process configure more than once; what they look at is not this.
        let _ = CONFIGURED.set(self.results);
    }

    pub(crate) fn value(mut self, value: &str) -> Self {
        value.clone_into(&mut self.value);
        self
    }

    /// A value that is a record is looked at as its JSON.
    pub(crate) fn record(self, record: &impl Serialize) -> Self {
        let json = serde_json::to_string(record).unwrap_or_default();
        self.value(&json)
    }

    pub(crate) fn tool(mut self, name: &str) -> Self {
        self.fills.push(("{tool}", name.to_owned()));
        self
    }

    pub(crate) fn call(mut self, call: &ToolCall) -> Self {
        let command = call.action.shell().map(|shell| shell.command.clone()).unwrap_or_default();
        self.fills.push(("{command}", command));
        self.tool(&call.name)
    }

    pub(crate) fn source(mut self, source: ResultSource) -> Self {
        let source = match source {
            ResultSource::Tool => "tool",
            ResultSource::Plugin => "plugin",
        };
        self.fills.push(("{source}", source.to_owned()));
        self
    }

    /// `text` with its placeholders filled in.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (placeholder, fill) in &self.fills {
            text = text.replace(placeholder, fill);
        }
        text.replace("{round}", &self.round.to_string())
            .replace("{session}", &self.session)
            .replace("{last}", &self.last)
            .replace("{value}", &self.value)
    }
}
