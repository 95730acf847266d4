//! What conditions ask about everything outside the call: the host's answers, and those of an example.

use hookhost_conditions::vocabulary::VARIABLES;
use hookhost_conditions::{Fact, Value};
use hookhost_guest::prelude::*;
use serde_json::{Map, Value as Json};

/// Answers questions about everything outside the call.
pub(crate) trait World {
    /// Returns a fact that takes the place of anything that is known of the call.
    fn given(&self, _name: &str) -> Option<Fact<'_>> {
        None
    }

    /// Returns a fact about a directory or a file.
    fn fact(&self, name: &str, at: &str) -> Fact<'_>;

    /// Answers a function of the vocabulary.
    fn call(&self, function: &str, arguments: &[Value<'_>]) -> Fact<'_>;

    /// Returns true if a condition that depends on unknown facts is as its row needs it.
    fn assumes(&self) -> bool {
        false
    }
}

/// The world of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfEvent;

impl World for OfEvent {
    fn fact(&self, name: &str, _at: &str) -> Fact<'_> {
        let time = || Time::of(event::time());
        match name {
            "time.hour" => Fact::Is(Value::from(time().hour)),
            "time.minute" => Fact::Is(Value::from(time().minute)),
            "time.weekday" => Fact::Is(Value::from(time().weekday)),
            _ => match name.strip_prefix(VARIABLES) {
                Some(variable) => std::env::var(variable).map_or(Fact::Absent, |value| Fact::Is(Value::from(value))),
                None => Fact::Absent,
            },
        }
    }

    fn call(&self, _function: &str, _arguments: &[Value<'_>]) -> Fact<'_> {
        Fact::Absent
    }
}

/// A point in time, in UTC.
struct Time {
    hour: i64,
    minute: i64,
    weekday: &'static str,
}

impl Time {
    /// Returns the time of a number of milliseconds since the Unix epoch, which was a Thursday.
    fn of(milliseconds: u64) -> Self {
        const WEEKDAYS: [&str; 7] = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"];
        let minutes = milliseconds / 60_000;
        let small = |number: u64| i64::try_from(number).unwrap_or_default();
        let weekday = usize::try_from(minutes / 1_440 % 7).unwrap_or_default();
        Self { hour: small(minutes / 60 % 24), minute: small(minutes % 60), weekday: WEEKDAYS[weekday] }
    }
}

/// The world of an example. Facts that the example does not give are unreadable, and each condition is then as its row needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfExample<'a>(pub(crate) &'a Map<String, Json>);

/// The facts that no example contains unless it gives them. Everything else is known from its call.
const OUTSIDE: [&str; 4] = ["agent", "session.", "time.", "user"];

impl World for OfExample<'_> {
    fn given(&self, name: &str) -> Option<Fact<'_>> {
        let is_outside = || OUTSIDE.iter().any(|outside| name.starts_with(outside));
        match self.0.get(name) {
            Some(Json::Null) => Some(Fact::Absent),
            Some(value) => Some(Fact::Is(Value::from(value))),
            None => is_outside().then_some(Fact::Unreadable),
        }
    }

    fn fact(&self, _name: &str, _at: &str) -> Fact<'_> {
        Fact::Unreadable
    }

    fn call(&self, function: &str, arguments: &[Value<'_>]) -> Fact<'_> {
        let first = match arguments.first() {
            Some(Value::String(text)) => text,
            _ => "",
        };
        let given = self.0.get(&format!("{function}({first})")).or_else(|| self.0.get(function));
        given.map_or(Fact::Unreadable, |value| Fact::Is(Value::from(value)))
    }

    fn assumes(&self) -> bool {
        true
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
