//! Reads rules and catalogues from the config: checks them, then reads them like the embedded ones.

use super::answers::advice;
use super::compact::{Compact, Input, encode, members};
use super::schema::{ACTIONS, Catalogue, Construct, Rule, Severity};
use serde_json::{Map, Value, json};

impl Rule {
    /// Reads a rule from the config.
    ///
    /// # Errors
    /// Returns one sentence that names the error.
    pub(crate) fn given(value: Value) -> Result<Self, String> {
        read(&members::RULE, &["id"], value)
    }
}

impl Catalogue {
    /// Reads a catalogue from the config.
    ///
    /// # Errors
    /// Returns one sentence that names the error.
    pub(crate) fn given(value: Value) -> Result<Self, String> {
        read(&members::CATALOGUE, &["id", "rule"], value)
    }
}

fn read<T: Compact>(members: &[&str], needed: &[&str], value: Value) -> Result<T, String> {
    let Value::Object(mut table) = value else { return Err(format!("{value} is no table")) };
    if let Some(name) = needed.iter().find(|name| !table.contains_key(**name)) {
        return Err(format!("missing field `{name}`"));
    }
    let of = |id: &str, why: String| if id.is_empty() { why } else { format!("rule `{id}`: {why}") };
    let id = table.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    check(members, &mut table).map_err(|why| of(&id, why))?;
    let bytes = encode::table(members, &table).map_err(|why| of(&id, why))?;
    T::read(&mut Input::new(&bytes)).ok_or_else(|| of(&id, "it cannot be read".into()))
}

/// Checks the kind of each member. Turns each pattern into an analysis that knows nothing.
fn check(members: &[&str], table: &mut Map<String, Value>) -> Result<(), String> {
    // A null means absent, as in a config that a program writes.
    table.retain(|_, value| !value.is_null());
    // The caller reports an unknown member.
    for (name, value) in table.iter_mut().filter(|(name, _)| members.contains(&name.as_str())) {
        if members::PATTERNS.contains(&name.as_str()) {
            let source = std::mem::take(value);
            if !source.is_string() {
                return Err("a pattern is a string".into());
            }
            *value = json!({ "search": source });
            continue;
        }
        match name.as_str() {
            "severity" => check_word(name, &Severity::NAMES.map(|(word, _)| word), value)?,
            "construct" => check_word(name, &Construct::NAMES.map(|(word, _)| word), value)?,
            "action" => check_word(name, &ACTIONS, value)?,
            _ => {}
        }
        let kind = kind(name);
        let is_of_kind = match (kind, &mut *value) {
            (TEXT, value) => value.is_string(),
            (FLAG, value) => value.is_boolean(),
            (NUMBER, value) => value.is_u64() || (value.is_i64() && name == "priority"),
            (TEXTS, Value::Array(items)) => items.iter().all(Value::is_string),
            (TABLE, Value::Object(inner)) => check(&members::REWRITE, inner).map(|()| true)?,
            (TABLES, Value::Array(items)) => {
                let members: &[&str] = if name == "rule" { &members::RULE } else { &members::MATCH };
                let mut all = true;
                for item in items {
                    match item {
                        Value::Object(inner) => check(members, inner)?,
                        _ => all = false,
                    }
                }
                all
            }
            _ => false,
        };
        if !is_of_kind {
            return Err(format!("`{name}` is {kind}, and not {value}"));
        }
    }
    Ok(())
}

fn check_word(name: &str, words: &[&str], value: &Value) -> Result<(), String> {
    match value.as_str() {
        Some(given) if !words.contains(&given) => {
            let near = if name == "action" { action_for(given) } else { None };
            let advice = near.map_or_else(|| advice(given, words), |word| format!("did you mean `{word}`?"));
            Err(format!("unknown variant `{given}` of `{name}`: {advice}"))
        }
        _ => Ok(()),
    }
}

/// Returns the action for a word that other tools, or other parts of hookhost, use for it.
fn action_for(given: &str) -> Option<&'static str> {
    Some(match given.to_ascii_lowercase().as_str() {
        "reject" | "block" | "refuse" | "forbid" | "deny" => "deny",
        "prompt" | "confirm" | "escalate" | "ask" => "ask",
        "log" | "report" | "warn" | "audit" => "audit",
        "pass" | "permit" | "allow" => "allow",
        _ => return None,
    })
}

const TEXT: &str = "a string";
const FLAG: &str = "true or false";
const NUMBER: &str = "a number";
const TEXTS: &str = "a list of strings";
const TABLE: &str = "a table";
const TABLES: &str = "a list of tables";

/// Returns the required kind of a member.
fn kind(name: &str) -> &'static str {
    match name {
        "id" | "severity" | "action" | "explanation" | "unless-env" | "replace" | "construct" | "stack" | "version"
        | "source" => TEXT,
        "unnamed" | "whole" | "no-document" | "shown" | "no-operands" | "only-shown" | "only-at-workspace" => FLAG,
        "priority" | "min-operands" | "max-operands" => NUMBER,
        "match" | "rule" => TABLES,
        "rewrite" => TABLE,
        _ => TEXTS,
    }
}

#[cfg(test)]
mod tests {
    use super::{FLAG, NUMBER, TABLE, TABLES, TEXT, TEXTS, kind, members};
    use crate::rules::{Catalogue, Rule};
    use serde_json::{Value, json};

    type Made<'a> = &'a dyn Fn(&str, &Value) -> Value;

    /// A value of each kind for each member, which is then taken if it is of the member's own kind, and refused by its name otherwise.
    #[test]
    fn each_member_is_of_one_kind() {
        let values = [
            (TEXT, json!("x")),
            (FLAG, json!(true)),
            (NUMBER, json!(3)),
            (TEXTS, json!(["x"])),
            (TABLE, json!({})),
            (TABLES, json!([{}])),
        ];
        let in_rule = |name: &str, value: &Value| json!({ "id": "a", name: value });
        let in_match = |name: &str, value: &Value| json!({ "id": "a", "match": [{ name: value }] });
        let in_rewrite = |name: &str, value: &Value| json!({ "id": "a", "rewrite": { name: value } });
        let tables: [(&[&str], Made<'_>); 3] =
            [(&members::RULE, &in_rule), (&members::MATCH, &in_match), (&members::REWRITE, &in_rewrite)];
        for (names, table) in tables {
            for name in names {
                for (of, value) in &values {
                    let value = match *name {
                        "severity" if *of == TEXT => json!("info"),
                        "construct" if *of == TEXT => json!("unreadable"),
                        "action" if *of == TEXT => json!("ask"),
                        _ => value.clone(),
                    };
                    let found = Rule::given(table(name, &value));
                    let is_pattern = members::PATTERNS.contains(name);
                    let fits = if is_pattern { *of == TEXT } else { *of == kind(name) };
                    match found {
                        Ok(_) => assert!(fits, "{name} = {value}"),
                        Err(_) if is_pattern && !fits => {}
                        Err(error) => {
                            let expected = format!("`{name}` is {}, and not {value}", kind(name));
                            assert!(error.ends_with(&expected), "{error}: {expected}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        let error = |value: Value| Rule::given(value).unwrap_err();
        assert_eq!(error(json!({})), "missing field `id`");
        assert_eq!(error(json!([])), "[] is no table");
        assert!(error(json!({ "id": "a", "x": [] })).starts_with("rule `a`: unknown field `x`, expected one of `id`"));
        assert!(
            error(json!({ "id": "a", "match": [{ "x": [] }] }))
                .contains("unknown field `x`, expected one of `program`")
        );
        assert_eq!(error(json!({ "id": "a", "match": [5] })), "rule `a`: `match` is a list of tables, and not [5]");
        assert_eq!(
            error(json!({ "id": "a", "match": [{ "min-operands": -1 }] })),
            "rule `a`: `min-operands` is a number, and not -1"
        );
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
