//! Reads rules and catalogues from the config.

use super::answers::advice;
use super::schema::{ACTIONS, Catalogue, Construct, Rule, Severity};
use serde::Deserialize;
use serde_json::Value;

impl Rule {
    /// Reads a rule from the config.
    ///
    /// # Errors
    /// Returns one sentence that names the error.
    pub(crate) fn given(value: Value) -> Result<Self, String> {
        let id = value.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        read(value).map_err(|why| if id.is_empty() { why } else { format!("rule `{id}`: {why}") })
    }
}

impl Catalogue {
    /// Reads a catalogue from the config.
    ///
    /// # Errors
    /// Returns one sentence that names the error.
    pub(crate) fn given(mut value: Value) -> Result<Self, String> {
        let rules = value.get_mut("rule").and_then(Value::as_array_mut).map(std::mem::take);
        let rules = rules.into_iter().flatten().map(Rule::given).collect::<Result<_, _>>()?;
        Ok(Self { rules, ..read(value)? })
    }
}

fn read<T: Deserialize<'static>>(mut value: Value) -> Result<T, String> {
    remove_nulls(&mut value);
    check_words(&value)?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        if path == "." { error.into_inner().to_string() } else { format!("`{path}`: {}", error.into_inner()) }
    })
}

/// Removes null members, because a config that a program wrote may use null for an absent member.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(table) => {
            table.retain(|_, value| !value.is_null());
            table.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

/// Checks the members whose value must be one of a few words. An error names the word that was probably meant.
fn check_words(rule: &Value) -> Result<(), String> {
    let one = |table: &Value, name: &str, words: &[&str]| match table.get(name).and_then(Value::as_str) {
        Some(given) if !words.contains(&given) => {
            let near = if name == "action" { action_for(given) } else { None };
            let advice = near.map_or_else(|| advice(given, words), |word| format!("did you mean `{word}`?"));
            Err(format!("unknown variant `{given}` of `{name}`: {advice}"))
        }
        _ => Ok(()),
    };
    one(rule, "severity", &Severity::NAMES.map(|(word, _)| word))?;
    one(rule, "action", &ACTIONS)?;
    let mut matches = rule.get("match").and_then(Value::as_array).into_iter().flatten();
    matches.try_for_each(|table| one(table, "construct", &Construct::NAMES.map(|(word, _)| word)))
}

/// Returns the action for a word that other tools, or other parts of hookhost, use for the same action.
fn action_for(given: &str) -> Option<&'static str> {
    Some(match given.to_ascii_lowercase().as_str() {
        "reject" | "block" | "refuse" | "forbid" | "deny" => "deny",
        "prompt" | "confirm" | "escalate" | "ask" => "ask",
        "log" | "report" | "warn" | "audit" => "audit",
        "pass" | "permit" | "allow" => "allow",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::rules::{Catalogue, Rule};
    use serde_json::{Value, json};

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        let error = |value: Value| Rule::given(value).unwrap_err();
        assert_eq!(error(json!({})), "missing field `id`");
        assert!(error(json!([5])).starts_with("`[0]`: invalid type: integer `5`"), "{}", error(json!([5])));
        for (wrong, expected) in [
            (json!({ "x": [] }), "rule `a`: `x`: unknown field `x`, expected one of `id`, `severity`"),
            (json!({ "match": [{ "x": [] }] }), "rule `a`: `match[0].x`: unknown field `x`, expected one of `program`"),
            (json!({ "match": [5] }), "rule `a`: `match[0]`: invalid type: integer `5`, expected struct Match"),
            (
                json!({ "match": [{ "min-operands": -1 }] }),
                "rule `a`: `match[0].min-operands`: invalid value: integer `-1`",
            ),
            (
                json!({ "match": [{ "program": "x" }] }),
                "rule `a`: `match[0].program`: invalid type: string \"x\", expected a sequence",
            ),
            (
                json!({ "rewrite": { "append": 5 } }),
                "rule `a`: `rewrite.append`: invalid type: integer `5`, expected a sequence",
            ),
            (json!({ "action": "block" }), "rule `a`: unknown variant `block` of `action`: did you mean `deny`?"),
        ] {
            let mut rule = json!({ "id": "a" });
            rule.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
            let found = error(rule);
            assert!(found.starts_with(expected), "{found}");
        }
        assert_eq!(Catalogue::given(json!({ "id": "a" })).unwrap_err(), "missing field `rule`");
        let rule = Rule::given(json!({ "id": "a", "priority": -5, "action": null })).unwrap();
        assert_eq!((rule.priority, rule.action), (-5, None));
        let catalogue = Catalogue::given(json!({ "id": "a", "rule": [{ "id": "b", "labels": ["é\n"] }] })).unwrap();
        assert_eq!(
            (&*catalogue.rules[0].id, catalogue.rules[0].labels.as_slice()),
            ("b", ["é\n".to_owned()].as_slice())
        );
    }
}
