//! What the plugin remembers of a run: when rules matched, and which calls came. The user's session and all sub-agents share it.

use crate::files;
use hookhost_conditions::vocabulary::MAX_TIMES;
use hookhost_conditions::{Fact, Value};
use hookhost_contract::rule::is_label;
use hookhost_guest::prelude::*;
use hookhost_guest::state::Scope;
use serde::{Deserialize, Serialize};

/// The last match, and the one before it, which counts for the call or event that was the last.
const LAST_TWO: usize = 2;

/// The key of the calls.
const CALLS: &str = "calls";

/// The key of the last time at which something was remembered.
const LAST: &str = "last";

/// Something that happened.
#[derive(Debug, Serialize, Deserialize)]
struct Occurrence {
    /// Milliseconds since the Unix epoch.
    at: u64,
    /// What tells one occurrence from the others: two events can be about one call.
    of: u64,
    /// What happened.
    what: u64,
}

/// What the plugin remembers, seen from one event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// Tells the call or event from others. What it has caused itself does not count.
    of: u64,
}

impl Memory {
    /// Returns the memory as a call or an event with this id sees it.
    pub(crate) fn of(id: &str) -> Self {
        Self { of: fingerprint(&[id]) }
    }

    /// Returns the memory as a call sees it. Some agents give their calls no ids: each event is then about a call of its own.
    pub(crate) fn of_call(call: &ToolCall) -> Self {
        if call.id.is_empty() { Self::of(&event::id()) } else { Self::of(&call.id) }
    }

    /// Remembers that a rule matched, unless it is known for this call. The oldest of too many matches are forgotten first. Of a rule that is
    /// not counted, only the last ones are kept.
    pub(crate) fn note_match(self, rule: &str, is_counted: bool) {
        self.note(&key_of(rule), 0, if is_counted { MAX_TIMES } else { LAST_TWO });
    }

    /// Remembers a call, unless it is known.
    pub(crate) fn note_call(self, call: &ToolCall) {
        self.note(CALLS, digest(call), MAX_TIMES);
    }

    fn note(self, key: &str, what: u64, most: usize) {
        let mut known: Vec<Occurrence> = stored(state::get_json(Scope::Tree, key)).unwrap_or_default();
        if known.iter().any(|occurrence| occurrence.of == self.of) {
            return;
        }
        known.push(Occurrence { at: moment(), of: self.of, what });
        let excess = known.len().saturating_sub(most);
        known.drain(..excess);
        stored(state::set_json(Scope::Tree, key, &known));
    }

    /// Answers a function of the vocabulary about what happened. A store that does not answer is unreadable.
    pub(crate) fn answer(self, function: &str, arguments: &[Value<'_>]) -> Fact<'static> {
        match (function, arguments) {
            ("has", [Value::String(label)]) => Fact::Is(Value::from(labels::has(label))),
            ("since", [Value::String(name)]) => self.since(name),
            ("written_by_agent" | "created_by_agent", [Value::String(path)]) => files::answer(function, path),
            ("count", [Value::String(rule), Value::Int(seconds)]) => match self.within(&key_of(rule), *seconds) {
                Ok(known) => Fact::Is(Value::from(i64::try_from(known.len()).unwrap_or(i64::MAX))),
                Err(_) => Fact::Unreadable,
            },
            _ => Fact::Unreadable,
        }
    }

    /// Returns the seconds since a rule last matched, or since the session got a label.
    fn since(self, name: &str) -> Fact<'static> {
        let Ok(known) = self.others(&key_of(name)) else { return Fact::Unreadable };
        let labelled = || labels::added_at(name).filter(|_| is_label(name));
        match known.last().map(|occurrence| occurrence.at).or_else(labelled) {
            Some(at) => Fact::Is(Value::from((event::time() as f64 - at as f64) / 1_000.0)),
            None => Fact::Absent,
        }
    }

    /// Returns true if the same call came `times` times within a number of seconds, this one included.
    pub(crate) fn is_repeated(self, call: &ToolCall, times: i64, seconds: i64) -> Fact<'static> {
        let what = digest(call);
        let Ok(known) = self.within(CALLS, seconds) else { return Fact::Unreadable };
        let earlier = known.iter().filter(|occurrence| occurrence.what == what).count();
        Fact::Is(Value::from(i64::try_from(earlier).unwrap_or(i64::MAX) >= times - 1))
    }

    /// Returns what happened in the last seconds.
    fn within(self, key: &str, seconds: i64) -> Result<Vec<Occurrence>, state::Error> {
        let since = event::time().saturating_sub(u64::try_from(seconds).unwrap_or_default().saturating_mul(1_000));
        let mut known = self.others(key)?;
        known.retain(|occurrence| occurrence.at >= since);
        Ok(known)
    }

    /// Returns what happened apart from this call or event, the last at the end.
    fn others(self, key: &str) -> Result<Vec<Occurrence>, state::Error> {
        let mut known = state::get_json::<Vec<Occurrence>>(Scope::Tree, key)?.unwrap_or_default();
        known.retain(|occurrence| occurrence.of != self.of);
        Ok(known)
    }
}

/// Returns the time of the event, or a later one if something was already remembered at that time. So each thing that is remembered has a
/// time of its own, and conditions can tell which came first.
fn moment() -> u64 {
    let last: Option<u64> = stored(state::get_json(Scope::Tree, LAST));
    let moment = last.map_or(0, |last| last + 1).max(event::time());
    stored(state::set_json(Scope::Tree, LAST, &moment));
    moment
}

/// Returns the answer of the store.
///
/// # Panics
/// Panics if the store does not answer, so that the host decides as after any failure. If the call passed, later counts would be too low.
fn stored<T>(answer: Result<T, state::Error>) -> T {
    answer.unwrap_or_else(|error| panic!("the rules cannot remember what happened: {error:?}"))
}

fn key_of(rule: &str) -> String {
    format!("match:{rule}")
}

/// Returns what calls with the same name and arguments share.
pub(crate) fn digest(call: &ToolCall) -> u64 {
    fingerprint(&[&call.name, &call.arguments])
}

/// Returns the FNV-1a hash of texts.
fn fingerprint(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xFF]));
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}
