//! Conditions of rules, as a person or a model writes them.

use hookhost_conditions::{Condition, Fact, Facts, Truth, Value};
use serde_json::json;

/// Reads `FACT` and an expression. The first byte says what is known of the facts.
pub fn conditions(bytes: &[u8]) {
    let Some((first, text)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let condition = match Condition::compile(text) {
        Ok(condition) => condition,
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "{text}");
            for mistake in mistakes {
                assert!(text.get(mistake.range.clone()).is_some(), "{mistake:?} is not in {text}");
            }
            return;
        }
    };
    let known =
        Known { seed: *first, arguments: json!({ "a": [1, 2.5, "a", null, { "b": true }], "b": { "a": "a" } }) };
    // A result that depends on no fact is the same with each.
    match condition.evaluate(&NothingReadable) {
        Truth::Unreadable => _ = condition.evaluate(&known),
        result => assert_eq!(condition.evaluate(&known), result, "{text}"),
    }
}

struct NothingReadable;

impl Facts for NothingReadable {
    fn value(&self, _: &str) -> Fact<'_> {
        Fact::Unreadable
    }

    fn call(&self, _: &str, _: &[Value<'_>]) -> Fact<'_> {
        Fact::Unreadable
    }
}

struct Known {
    seed: u8,
    arguments: serde_json::Value,
}

impl Known {
    /// Returns one of several facts, by its name.
    fn fact(&self, name: &str) -> Fact<'_> {
        match name.bytes().fold(self.seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte)) % 8 {
            0 => Fact::Absent,
            1 => Fact::Unreadable,
            2 => Fact::Is(Value::from(true)),
            3 => Fact::Is(Value::from(i64::MAX)),
            4 => Fact::Is(Value::strings(&["a", "a/b", ""])),
            5 => Fact::Is(Value::from(&self.arguments)),
            _ => Fact::Is(Value::from("a/b a")),
        }
    }
}

impl Facts for Known {
    fn value(&self, name: &str) -> Fact<'_> {
        self.fact(name)
    }

    fn call(&self, function: &str, _: &[Value<'_>]) -> Fact<'_> {
        self.fact(function)
    }
}
