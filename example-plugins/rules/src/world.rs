//! What conditions ask about everything outside the call: the host's answers, and those of an example.

use crate::candidate::Candidate;
use crate::memory::Memory;
use crate::shell::joined;
use hookhost_conditions::vocabulary::weekday;
use hookhost_conditions::{Fact, Value};
use hookhost_contract::rule::ExampleTable;
use hookhost_guest::facts::Fact as HostFact;
use hookhost_guest::prelude::*;
use serde_json::Value as Json;
use std::cell::RefCell;

/// Answers questions about everything outside the call.
pub(crate) trait World {
    /// Returns a fact that takes the place of anything that is known of the call.
    fn given(&self, _name: &str) -> Option<Fact<'_>> {
        None
    }

    /// Returns a fact about a directory or a file.
    fn fact(&self, name: &str, at: &str) -> Fact<'_>;

    /// Says whether the same call came so often.
    fn is_repeated(&self, call: &ToolCall, times: i64, seconds: i64) -> Fact<'_>;

    /// Answers any other function of the vocabulary.
    fn call(&self, function: &str, arguments: &[Value<'_>]) -> Fact<'_>;

    /// Returns true if a condition that depends on unknown facts is as its row needs it.
    fn assumes(&self) -> bool {
        false
    }

    /// Hears of a candidate that all matchers of a row match, and of the key because of which the row does not apply.
    fn note_failing(&self, _key: &'static str, _candidate: &Candidate<'_>) {}
}

/// The world of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfEvent(pub(crate) Memory);

impl World for OfEvent {
    fn fact(&self, name: &str, at: &str) -> Fact<'_> {
        match name {
            "time.hour" => Time::now().map_or(Fact::Unreadable, |time| Fact::Is(Value::from(time.hour))),
            "time.minute" => Time::now().map_or(Fact::Unreadable, |time| Fact::Is(Value::from(time.minute))),
            "time.weekday" => Time::now().map_or(Fact::Unreadable, |time| Fact::Is(Value::from(time.weekday))),
            _ => match facts::read(name, Some(at)) {
                HostFact::Absent => Fact::Absent,
                HostFact::Unreadable(_) => Fact::Unreadable,
                HostFact::Text(text) => Fact::Is(Value::from(text)),
                HostFact::Number(number) => Fact::Is(Value::from(number)),
                HostFact::Flag(flag) => Fact::Is(Value::from(flag)),
            },
        }
    }

    fn is_repeated(&self, call: &ToolCall, times: i64, seconds: i64) -> Fact<'_> {
        self.0.is_repeated(call, times, seconds)
    }

    fn call(&self, function: &str, arguments: &[Value<'_>]) -> Fact<'_> {
        self.0.answer(function, arguments)
    }
}

/// A point in time, as clocks show it.
struct Time {
    hour: i64,
    minute: i64,
    weekday: &'static str,
}

impl Time {
    /// Returns the local time of the event, if the time zone is known.
    fn now() -> Option<Self> {
        match facts::read("time.offset", None) {
            HostFact::Number(minutes) => {
                Some(Self::of(event::time().saturating_add_signed(minutes.saturating_mul(60_000))))
            }
            _ => None,
        }
    }

    /// Returns the time of a number of milliseconds since the Unix epoch.
    fn of(milliseconds: u64) -> Self {
        let minutes = milliseconds / 60_000;
        let small = |number: u64| i64::try_from(number).unwrap_or_default();
        Self { hour: small(minutes / 60 % 24), minute: small(minutes % 60), weekday: weekday(minutes / 1_440) }
    }
}

/// The world of an example. Facts that the example does not give are unreadable, and each condition is then as its row needs it.
#[derive(Debug)]
pub(crate) struct OfExample<'a> {
    table: &'a ExampleTable,
    /// The first key because of which a row did not apply, with what the row was about.
    failing: RefCell<Option<(&'static str, String)>>,
}

impl<'a> OfExample<'a> {
    pub(crate) fn new(table: &'a ExampleTable) -> Self {
        Self { table, failing: RefCell::default() }
    }

    /// Says why a row did not apply, if its matchers match something in the example.
    pub(crate) fn why_not(self) -> Option<String> {
        let (key, about) = self.failing.into_inner()?;
        let state = match key {
            "when" => "is false",
            "unless" => "is true",
            _ => "does not hold",
        };
        Some(format!("its matchers hold{about}, but `{key}` {state}"))
    }
}

/// The facts that no example contains unless it gives them. Everything else is known from its call.
const OUTSIDE: [&str; 5] = ["agent", "failed", "session.", "time.", "user"];

impl World for OfExample<'_> {
    fn given(&self, name: &str) -> Option<Fact<'_>> {
        let is_outside = || OUTSIDE.iter().any(|outside| name.starts_with(outside));
        match self.table.facts.get(name) {
            Some(Json::Null) => Some(Fact::Absent),
            Some(value) => Some(Fact::Is(Value::from(value))),
            None => is_outside().then_some(Fact::Unreadable),
        }
    }

    fn fact(&self, _name: &str, _at: &str) -> Fact<'_> {
        Fact::Unreadable
    }

    fn is_repeated(&self, _call: &ToolCall, _times: i64, _seconds: i64) -> Fact<'_> {
        self.call("same_call", &[])
    }

    fn call(&self, function: &str, arguments: &[Value<'_>]) -> Fact<'_> {
        let first = match arguments.first() {
            Some(Value::String(text)) => text.as_ref(),
            _ => "",
        };
        let ExampleTable { after, facts, .. } = self.table;
        match facts.get(&format!("{function}({first})")).or_else(|| facts.get(function)) {
            Some(value) => Fact::Is(Value::from(value)),
            None if function == "since" && after.iter().any(|name| name == first) => Fact::Is(Value::from(0_i64)),
            None if function == "since" && after.iter().any(|name| name.strip_prefix('!') == Some(first)) => {
                Fact::Absent
            }
            None => Fact::Unreadable,
        }
    }

    fn assumes(&self) -> bool {
        true
    }

    fn note_failing(&self, key: &'static str, candidate: &Candidate<'_>) {
        let Candidate { command, found, .. } = candidate;
        let command = command.map(|command| format!(" for `{}`", joined(command)));
        let about = command.or_else(|| Some(format!(" for `{}`", found.path.as_ref().or(found.url.as_ref())?)));
        self.failing.borrow_mut().get_or_insert((key, about.unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn a_time_has_its_hour_and_day() {
        let Time { hour, minute, weekday } = Time::of(1_764_455_640_000);
        assert_eq!((hour, minute, weekday), (22, 34, "sat"));
        let Time { hour, weekday, .. } = Time::of(0);
        assert_eq!((hour, weekday), (0, "thu"));
    }
}
