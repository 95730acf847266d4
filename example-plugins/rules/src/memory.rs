//! What the plugin remembers of a run: when rules matched, and which calls came. The user's session and all sub-agents share it.

use hookhost_conditions::{Fact, Value};
use hookhost_guest::prelude::*;
use hookhost_guest::state::Scope;
use serde::{Deserialize, Serialize};

/// Maximum number of times that are remembered for a rule, and of calls. The oldest are forgotten first.
const MAX_REMEMBERED: usize = 500;

/// The key of the calls.
const CALLS: &str = "calls";

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

/// Remembers that a rule matched, unless it is known for this call.
pub(crate) fn note_match(rule: &str, call: &str) {
    note(&key_of(rule), fingerprint(&[call]), 0);
}

/// Remembers a call, unless it is known.
pub(crate) fn note_call(call: &ToolCall) {
    note(CALLS, fingerprint(&[&call.id]), of_call(call));
}

fn note(key: &str, of: u64, what: u64) {
    let Ok(known) = state::get_json::<Vec<Occurrence>>(Scope::Tree, key) else { return };
    let mut known = known.unwrap_or_default();
    if known.iter().any(|occurrence| occurrence.of == of) {
        return;
    }
    known.push(Occurrence { at: event::time(), of, what });
    let excess = known.len().saturating_sub(MAX_REMEMBERED);
    known.drain(..excess);
    // A store that does not answer makes the functions unreadable, so nothing is lost here.
    let _ = state::set_json(Scope::Tree, key, &known);
}

/// Answers a function of the vocabulary about what happened. A store that does not answer is unreadable.
pub(crate) fn answer(function: &str, arguments: &[Value<'_>]) -> Fact<'static> {
    match (function, arguments) {
        ("has", [Value::String(label)]) => Fact::Is(Value::from(labels::has(label))),
        ("count", [Value::String(rule), Value::Int(seconds)]) => match within(&key_of(rule), *seconds) {
            Ok(known) => Fact::Is(Value::from(i64::try_from(known.len()).unwrap_or(i64::MAX))),
            Err(_) => Fact::Unreadable,
        },
        _ => Fact::Unreadable,
    }
}

/// Returns true if the same call came `times` times within a number of seconds, this one included.
pub(crate) fn is_repeated(call: &ToolCall, times: i64, seconds: i64) -> Fact<'static> {
    let (this, what) = (fingerprint(&[&call.id]), of_call(call));
    let Ok(known) = within(CALLS, seconds) else { return Fact::Unreadable };
    let earlier = known.iter().filter(|occurrence| occurrence.what == what && occurrence.of != this).count();
    Fact::Is(Value::from(i64::try_from(earlier).unwrap_or(i64::MAX) >= times - 1))
}

/// Returns what happened in the last seconds.
fn within(key: &str, seconds: i64) -> Result<Vec<Occurrence>, state::Error> {
    let since = event::time().saturating_sub(u64::try_from(seconds).unwrap_or_default().saturating_mul(1_000));
    let mut known = state::get_json::<Vec<Occurrence>>(Scope::Tree, key)?.unwrap_or_default();
    known.retain(|occurrence| occurrence.at >= since);
    Ok(known)
}

fn key_of(rule: &str) -> String {
    format!("match:{rule}")
}

fn of_call(call: &ToolCall) -> u64 {
    fingerprint(&[&call.name, &call.arguments])
}

/// Returns the FNV-1a hash of texts.
fn fingerprint(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xFF]));
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}
