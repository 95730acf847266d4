//! The facts of an event: those that its case gives, and the time, which is UTC unless the case gives an offset. Every other fact is absent,
//! on every machine.

use crate::nearest::nearest;
use hookhost::Clock;
use hookhost::contract::{Fact, FactName};
use hookhost::facts::GivenFacts;
use hookhost_conditions::vocabulary::{WEEKDAYS, weekday};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time at which a case begins, in milliseconds since the Unix epoch: a Monday at 12:00.
const BEGINNING: u64 = 1_704_110_400_000;

/// Time between the events of a case, in milliseconds.
const INTERVAL: u64 = 1_000;

const MINUTE: u64 = 60_000;

/// Number of minutes of a week, after which all times of day come again.
const WEEK: u64 = 7 * 24 * 60;

/// The key of the time itself, in milliseconds since the Unix epoch. `hookhost record` writes it.
pub(in crate::command) const TIME: &str = "time";

/// The names that are answered from the time.
const TIMES: [&str; 4] = [TIME, "time.hour", "time.minute", "time.weekday"];

/// The facts that a case gives for an event.
#[derive(Clone, Debug, Default)]
pub(super) struct CaseFacts {
    facts: BTreeMap<FactName, Fact>,
    time: EventTime,
}

/// What is known of the time of an event.
#[derive(Clone, Copy, Debug, Default)]
struct EventTime {
    exact: Option<u64>,
    hour: Option<u64>,
    minute: Option<u64>,
    weekday: Option<&'static str>,
}

impl CaseFacts {
    /// Reads the table `facts`. Returns the mistakes, each with the name of its fact.
    pub(super) fn read(table: &Map<String, Value>) -> Result<Self, Vec<(String, String)>> {
        let mut facts = Self::default();
        let set = table.iter().filter_map(|(name, value)| Some((name.clone(), facts.set(name, value).err()?)));
        let mistakes: Vec<(String, String)> = set.collect();
        if mistakes.is_empty() { Ok(facts) } else { Err(mistakes) }
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        if TIMES.contains(&name) {
            self.time.set(name, value)?;
        } else {
            let known = FactName::from_name(name).ok_or_else(|| unknown(name))?;
            let value = fact(&known, value)?;
            self.facts.insert(known, value);
        }
        Ok(())
    }

    /// Returns the facts for the host.
    pub(super) fn given(&self) -> Arc<GivenFacts> {
        let utc = std::iter::once((FactName::TimeOffset, Fact::Number(0)));
        Arc::new(GivenFacts { facts: utc.chain(self.facts.clone()).collect(), others: Fact::Absent })
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<_> = FactName::ALL.iter().map(FactName::name).collect();
    match nearest(name, names.iter().map(|name| &**name).chain(TIMES)) {
        Some(near) => format!("`{name}` is no fact: did you mean `{near}`?"),
        None => format!("`{name}` is no fact that a case can give: hookhost help rules lists the names"),
    }
}

/// Reads the value of a fact. A table is the form of the log, such as `{ unreadable = "it is broken" }`.
fn fact(name: &FactName, value: &Value) -> Result<Fact, String> {
    let is_flag = matches!(
        name,
        FactName::PathExists
            | FactName::PathIsTracked
            | FactName::SessionSandboxed
            | FactName::ToolReadOnly
            | FactName::ToolDestructive
            | FactName::ToolOpenWorld
    );
    match (value, name) {
        (Value::Object(_), _) => {
            serde_json::from_value(value.clone()).map_err(|_| format!("write `{name} = {{ unreadable = \"why\" }}`"))
        }
        (Value::Bool(flag), _) if is_flag => Ok(Fact::Flag(*flag)),
        (Value::Number(number), FactName::TimeOffset) => {
            number.as_i64().map(Fact::Number).ok_or_else(|| format!("`{name}` is a number of minutes"))
        }
        (Value::String(text), name) if !is_flag && *name != FactName::TimeOffset => Ok(Fact::Text(text.clone())),
        (_, FactName::TimeOffset) => Err(format!("`{name}` is a number of minutes")),
        _ if is_flag => Err(format!("`{name}` is true or false")),
        _ => Err(format!("`{name}` is a string")),
    }
}

impl EventTime {
    fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let number = |below: u64, says: &str| {
            let number = value.as_u64().filter(|number| *number < below);
            number.map(Some).ok_or_else(|| format!("`{name}` is {says}"))
        };
        match name {
            TIME => self.exact = number(u64::MAX, "a number of milliseconds since the Unix epoch")?,
            "time.hour" => self.hour = number(24, "a number from 0 to 23")?,
            "time.minute" => self.minute = number(60, "a number from 0 to 59")?,
            _ => {
                let day = value.as_str().and_then(|value| WEEKDAYS.into_iter().find(|day| *day == value));
                self.weekday = Some(day.ok_or_else(|| format!("`{name}` is one of {}", WEEKDAYS.join(", ")))?);
            }
        }
        Ok(())
    }

    /// Returns true if a minute, counted from the Unix epoch, is such a time.
    fn is_in(self, minute: u64) -> bool {
        self.minute.is_none_or(|wanted| minute % 60 == wanted)
            && self.hour.is_none_or(|wanted| minute / 60 % 24 == wanted)
            && self.weekday.is_none_or(|wanted| weekday(minute / (24 * 60)) == wanted)
    }
}

/// The clock of a case. It stands still during an event.
#[derive(Debug)]
pub(super) struct CaseClock(AtomicU64);

impl CaseClock {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(BEGINNING))
    }

    /// Moves on to the time of the next event: the first one after the time before that is as its facts say.
    pub(super) fn advance(&self, facts: &CaseFacts) {
        let CaseFacts { time, facts, .. } = facts;
        let offset = match facts.get(&FactName::TimeOffset) {
            Some(Fact::Number(minutes)) => minutes.saturating_mul(60_000),
            _ => 0,
        };
        let next = self.0.load(Ordering::Relaxed) + INTERVAL;
        let local = next.saturating_add_signed(offset) / MINUTE;
        let later = (1..=WEEK).find(|minutes| time.is_in(local + minutes)).unwrap_or_default();
        let found = match time.exact {
            Some(exact) => exact,
            None if time.is_in(local) => next,
            None => ((local + later) * MINUTE).saturating_add_signed(-offset),
        };
        self.0.store(found, Ordering::Relaxed);
    }
}

impl Clock for CaseClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::{BEGINNING, CaseClock, CaseFacts, Clock as _, MINUTE};
    use serde_json::{Map, Value, json};
    use std::time::UNIX_EPOCH;

    fn facts(table: Value) -> Result<CaseFacts, Vec<(String, String)>> {
        let table: Map<String, Value> = serde_json::from_value(table).unwrap();
        CaseFacts::read(&table)
    }

    fn now(clock: &CaseClock) -> u64 {
        u64::try_from(clock.now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    }

    #[test]
    fn an_event_comes_at_the_first_time_that_its_facts_allow() {
        let clock = CaseClock::new();
        let hour = 60 * MINUTE;
        for (table, after) in [
            (json!({}), 1_000),
            (json!({ "time.hour": 12 }), 2_000),
            (json!({ "time.hour": 17, "time.minute": 30 }), 5 * hour + 30 * MINUTE),
            // The week of the case begins on a Monday, so its Friday is four days later.
            (json!({ "time.weekday": "fri", "time.hour": 15 }), 4 * 24 * hour + 3 * hour),
            (json!({ "time.weekday": "fri", "time.hour": 14 }), 11 * 24 * hour + 2 * hour),
            (json!({ "time.hour": 17, "time.offset": 60 }), 11 * 24 * hour + 4 * hour),
        ] {
            clock.advance(&facts(table.clone()).unwrap());
            assert_eq!(now(&clock) - BEGINNING, after, "{table}");
        }
        clock.advance(&facts(json!({ "time": 5 })).unwrap());
        assert_eq!(now(&clock), 5);
    }

    #[test]
    fn a_fact_of_another_kind_is_refused_with_what_to_write() {
        for (table, said) in [
            (json!({ "git.brnch": "main" }), "did you mean `git.branch`?"),
            (json!({ "cwd": "/" }), "no fact that a case can give"),
            (json!({ "git.branch": 1 }), "`git.branch` is a string"),
            (json!({ "git.branch": { "unreadble": "x" } }), "{ unreadable = \"why\" }"),
            (json!({ "tool.read_only": "yes" }), "is true or false"),
            (json!({ "env.CI": true }), "`env.CI` is a string"),
            (json!({ "time.hour": 24 }), "from 0 to 23"),
            (json!({ "time.weekday": "friday" }), "one of mon, tue"),
        ] {
            let mistakes = facts(table.clone()).unwrap_err();
            assert!(mistakes.len() == 1 && mistakes[0].1.contains(said), "{table}: {mistakes:?}");
        }
        assert!(facts(json!({ "git.branch": { "unreadable": "x" }, "env.CI": "1" })).is_ok());
    }
}
