//! The capabilities of native rules. A native rule directly calls the same functions that handle a guest's calls.

use super::{RunningCall, UnwindSignal};
use crate::contract::Failure;
use crate::locked::locked;
use crate::sandbox::capability::generated::hookhost::hooks as wit;
use crate::sandbox::capability::generated_0_2::hookhost::hooks as wit_0_2;
use crate::sandbox::guest::Guest;
use crate::sandbox::trap::Limit;
use hookhost_guest::native::Capabilities;
use hookhost_guest::{effects, facts, log, model, secrets, state, transcript};
use std::panic::resume_unwind;
use std::sync::Arc;
use wit::effects::Host as _;
use wit::event::Host as _;
use wit::log::Host as _;
use wit::state::Host as _;
use wit::transcript::Host as _;
use wit_0_2::labels::Host as _;
use wit_0_2::secrets::Host as _;

/// The capabilities of one call of a native rule. Their functions run on the thread of the call.
pub(super) struct OfTheHost {
    running: Arc<RunningCall>,
}

impl OfTheHost {
    pub(super) fn new(running: &Arc<RunningCall>) -> Self {
        Self { running: Arc::clone(running) }
    }

    /// Runs `use_it` with the data of the call. If `use_it` fails with an error that would trap a guest, or if the call
    /// was given up, this function unwinds the rule.
    fn with<T>(&self, use_it: impl FnOnce(&mut Guest) -> wasmtime::Result<T>) -> T {
        let used = match &mut *locked(&self.running.guest) {
            Some(guest) if !self.running.is_given_up() => Some(use_it(guest)),
            _ => None,
        };
        match used {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => {
                let failure = match error.downcast_ref::<Limit>() {
                    Some(limit) => limit.0.clone(),
                    None => Failure::invalid(format!("gave the host something invalid: {}", error.root_cause())),
                };
                locked(&self.running.failed).get_or_insert(failure);
                resume_unwind(Box::new(UnwindSignal));
            }
            None => resume_unwind(Box::new(UnwindSignal)),
        }
    }

    fn with_state<T>(
        &self,
        use_it: impl FnOnce(&mut Guest) -> wasmtime::Result<Result<T, wit::state::Error>>,
    ) -> Result<T, state::Error> {
        let answer = self.with(|guest| match guest.given.grants.state {
            Some(_) => use_it(guest),
            None => {
                let why = "the entry grants no `state`, or `configure` asked for it".to_owned();
                Ok(Err(wit::state::Error::Unavailable(why)))
            }
        });
        answer.map_err(|error| match error {
            wit::state::Error::QuotaExceeded => state::Error::QuotaExceeded,
            wit::state::Error::Unavailable(why) => state::Error::Unavailable(why),
        })
    }

    fn with_transcript<T>(&self, use_it: impl FnOnce(&mut Guest) -> wasmtime::Result<T>) -> T {
        self.with(|guest| {
            if guest.given.grants.transcript {
                return use_it(guest);
            }
            let detail = "asked for the transcript, which its entry does not grant: set `transcript`";
            Err(Limit(Failure::invalid(detail)).into())
        })
    }
}

fn scope(scope: state::Scope) -> wit::state::Scope {
    match scope {
        state::Scope::Session => wit::state::Scope::Session,
        state::Scope::Tree => wit::state::Scope::Tree,
        state::Scope::Plugin => wit::state::Scope::Plugin,
    }
}

impl Capabilities for OfTheHost {
    fn event_id(&self) -> String {
        self.with(Guest::id)
    }

    fn event_time(&self) -> u64 {
        self.with(Guest::time)
    }

    fn event_round(&self) -> u32 {
        self.with(Guest::round)
    }

    fn parent_session(&self) -> Option<String> {
        self.with(Guest::parent_session)
    }

    fn raw(&self) -> Option<String> {
        self.with(Guest::raw)
    }

    fn log(&self, level: log::Level, message: &str) {
        let level = match level {
            log::Level::Debug => wit::log::Level::Debug,
            log::Level::Info => wit::log::Level::Info,
            log::Level::Warn => wit::log::Level::Warn,
            log::Level::Error => wit::log::Level::Error,
        };
        self.with(|guest| guest.write(level, message.to_owned()));
    }

    fn report(&self, finding: &effects::Finding) {
        let effects::Finding { code, severity, explanation, references, action, details } = finding.clone();
        let severity = match severity {
            effects::Severity::Info => wit::effects::Severity::Info,
            effects::Severity::Warning => wit::effects::Severity::Warning,
            effects::Severity::Error => wit::effects::Severity::Error,
        };
        let finding = wit::effects::Finding { code, severity, explanation, references, action, details };
        self.with(|guest| guest.report(finding));
    }

    fn remind(&self, reminder: &effects::Reminder) {
        let effects::Reminder { body, tags, dedupe_key, ttl_turns } = reminder.clone();
        self.with(|guest| guest.remind(wit::effects::Reminder { body, tags, dedupe_key, ttl_turns }));
    }

    fn get(&self, of: state::Scope, key: &str) -> Result<Option<Vec<u8>>, state::Error> {
        self.with_state(|guest| guest.get(scope(of), key.to_owned()))
    }

    fn set(&self, of: state::Scope, key: &str, value: &[u8], ttl_seconds: Option<u64>) -> Result<(), state::Error> {
        self.with_state(|guest| guest.set(scope(of), key.to_owned(), value.to_owned(), ttl_seconds))
    }

    fn delete(&self, of: state::Scope, key: &str) -> Result<(), state::Error> {
        self.with_state(|guest| guest.delete(scope(of), key.to_owned()))
    }

    fn increment(&self, of: state::Scope, key: &str, by: i64) -> Result<i64, state::Error> {
        self.with_state(|guest| guest.increment(scope(of), key.to_owned(), by))
    }

    fn transcript_length(&self) -> u32 {
        self.with_transcript(Guest::length)
    }

    fn read_transcript(&self, start: u32, count: u32) -> Vec<transcript::Message> {
        let messages = self.with_transcript(|guest| wit::transcript::Host::read(guest, start, count));
        let message =
            |message: wit::transcript::Message| transcript::Message { role: message.role, content: message.content };
        messages.into_iter().map(message).collect()
    }

    fn fact(&self, name: &str, at: Option<&str>) -> facts::Fact {
        match self.with(|guest| wit_0_2::facts::Host::read(guest, name.to_owned(), at.map(str::to_owned))) {
            wit_0_2::facts::Fact::Absent => facts::Fact::Absent,
            wit_0_2::facts::Fact::Unreadable(why) => facts::Fact::Unreadable(why),
            wit_0_2::facts::Fact::Text(text) => facts::Fact::Text(text),
            wit_0_2::facts::Fact::Number(number) => facts::Fact::Number(number),
            wit_0_2::facts::Fact::Flag(flag) => facts::Fact::Flag(flag),
        }
    }

    fn has_grant(&self, name: &str) -> bool {
        self.with(|guest| wit_0_2::grants::Host::has(guest, name.to_owned()))
    }

    fn add_label(&self, label: &str) {
        self.with(|guest| guest.add(label.to_owned()));
    }

    fn has_label(&self, label: &str) -> bool {
        self.with(|guest| guest.has(label.to_owned()))
    }

    fn label_added_at(&self, label: &str) -> Option<u64> {
        self.with(|guest| guest.added_at(label.to_owned()))
    }

    fn labels(&self) -> Vec<String> {
        self.with(Guest::list)
    }

    fn find_secrets(&self, text: &str) -> Vec<secrets::Found> {
        let found = self.with(|guest| guest.find(text.to_owned()));
        let found_by_plugin = |wit_0_2::secrets::Found { name, start, end }| secrets::Found { name, start, end };
        found.into_iter().map(found_by_plugin).collect()
    }

    fn list_uncovered_secrets(&self) -> Vec<secrets::Uncovered> {
        let uncovered = self.with(Guest::list_uncovered);
        let by_plugin = |wit_0_2::secrets::Uncovered { name, reason }| secrets::Uncovered { name, reason };
        uncovered.into_iter().map(by_plugin).collect()
    }

    fn is_secrets_source(&self, path: &str) -> bool {
        self.with(|guest| guest.is_source(path.to_owned()))
    }

    /// Always fails. A native rule does not need this capability, because it can call the program's models directly.
    fn complete(&self, _: &model::Request) -> Result<String, model::Error> {
        Err(model::Error::Denied(
            "a native rule has no capability `model`: it calls the program's models itself".into(),
        ))
    }
}
