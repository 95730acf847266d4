//! The facts of an event as strings. Conditions are checked against them, and they replace placeholders.

use hookhost_guest::prelude::*;
use serde::Serialize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of calls in this instance.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// The results of `configure`'s steps, one per line.
static CONFIGURED: OnceLock<String> = OnceLock::new();

/// The facts of the current event.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) value: String,
    pub(crate) round: u32,
    pub(crate) session: String,
    /// The result of the last step.
    pub(crate) last: String,
    /// The results of all steps, one per line.
    results: String,
    fills: Vec<(&'static str, String)>,
}

impl Facts {
    /// Creates the facts for `configure`, which has no event and must not call the capability `event`.
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

    /// Adds the result of a step.
    pub(crate) fn result(&mut self, result: String) {
        self.results.push_str(&result);
        self.results.push('\n');
        self.last = result;
    }

    /// Stores the results of `configure`'s steps for later events.
    pub(crate) fn keep(self) {
        // In native tests, `configure` runs several times in one process. These tests do not use the stored results.
        let _ = CONFIGURED.set(self.results);
    }

    pub(crate) fn value(mut self, value: &str) -> Self {
        value.clone_into(&mut self.value);
        self
    }

    /// Sets the value to the JSON of a record.
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

    /// Replaces the placeholders in `text`.
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
