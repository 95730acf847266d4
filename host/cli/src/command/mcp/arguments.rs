//! Checks that a tool's JSON schema has the argument that a rule names. The rule gives the argument's path, such as `a.b.0`.

use crate::nearest::nearest;
use serde_json::Value;

/// Maximum depth to which references and nested parts are followed. There must be a limit because a schema can refer to itself.
const MAX_DEPTH: usize = 32;

/// The finding that a schema lacks the argument that a rule names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// The most similar path that the schema has, if any.
    pub(super) nearest: Option<String>,
}

/// Returns a finding if the schema does not have the argument at `path`. Returns `None` if the argument exists, or if the schema allows
/// unknown arguments.
pub(super) fn missing(schema: &Value, path: &str) -> Option<Missing> {
    let mut places = Places::new(schema);
    places.add(schema, 0);
    if places.is_open {
        return None;
    }
    let parts: Vec<&str> = path.split('.').collect();
    for (number, part) in parts.iter().enumerate() {
        let Some(next) = places.step(part) else {
            let before = parts.get(..number).unwrap_or_default();
            let near = nearest(part, places.names().iter().map(String::as_str)).map(str::to_owned);
            let nearest = near.map(|near| [before, &[&near]].concat().join("."));
            return Some(Missing { nearest });
        };
        places = next;
        if places.is_open {
            return None;
        }
    }
    None
}

/// Maximum number of parts of a schema that are collected for one element of a path. A schema with more parts is treated as if it allowed
/// every argument.
const MAX_PARTS: usize = 1000;

/// The parts of a schema that apply, or may apply, to the same value.
struct Places<'a> {
    whole: &'a Value,
    found: Vec<&'a Value>,
    /// True if the schema allows members or elements that it does not list.
    is_open: bool,
}

impl<'a> Places<'a> {
    fn new(whole: &'a Value) -> Self {
        Self { whole, found: Vec::new(), is_open: false }
    }

    /// Adds a part of the schema, and all parts that this part refers to or combines.
    fn add(&mut self, part: &'a Value, depth: usize) {
        // Parts may refer to each other in a cycle.
        if depth > MAX_DEPTH || self.found.len() >= MAX_PARTS {
            self.is_open = true;
            return;
        }
        self.found.push(part);
        for key in ["allOf", "anyOf", "oneOf"] {
            part.get(key).and_then(Value::as_array).into_iter().flatten().for_each(|one| self.add(one, depth + 1));
        }
        for key in ["if", "then", "else"] {
            part.get(key).into_iter().for_each(|one| self.add(one, depth + 1));
        }
        if let Some(reference) = part.get("$ref").or_else(|| part.get("$dynamicRef")) {
            let target = reference.as_str().and_then(|text| text.strip_prefix('#'));
            match target.and_then(|pointer| self.whole.pointer(pointer)) {
                Some(target) => self.add(target, depth + 1),
                // The reference leads out of this schema, so its target is unknown.
                None => self.is_open = true,
            }
        }
    }

    /// Returns the parts that apply to the member or element named `part`, or `None` if the schema forbids such a member or element.
    fn step(&self, part: &str) -> Option<Self> {
        let mut next = Self::new(self.whole);
        let is_index = part.parse::<usize>().is_ok();
        let mut is_described = false;
        for place in &self.found {
            is_described |= OF_MEMBERS.iter().any(|key| place.get(key).is_some());
            is_described |= place.get("type").and_then(Value::as_str).is_some_and(|kind| PLAIN.contains(&kind));
            if let Some(member) = place.get("properties").and_then(|members| members.get(part)) {
                next.add(member, 0);
            }
            // These keys allow members or elements whose names are not listed.
            next.is_open |= place.get("patternProperties").is_some();
            next.is_open |= place.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
            next.is_open |= is_index && OF_ELEMENTS.iter().any(|key| place.get(key).is_some());
        }
        next.is_open |= !is_described;
        (next.is_open || !next.found.is_empty()).then_some(next)
    }

    fn names(&self) -> Vec<String> {
        let members = self.found.iter().filter_map(|place| place.get("properties")?.as_object());
        members.flat_map(|members| members.keys().cloned()).collect()
    }
}

/// The keys of a schema that define the members or elements of a value.
const OF_MEMBERS: &[&str] = &["properties", "patternProperties", "additionalProperties", "items", "prefixItems"];

/// The types whose values contain no other values.
const PLAIN: &[&str] = &["string", "number", "integer", "boolean", "null"];

/// The keys of a schema that define only elements.
const OF_ELEMENTS: &[&str] = &["items", "prefixItems"];

#[cfg(test)]
mod tests {
    use super::{Missing, missing};
    use serde_json::{Value, json};

    fn schema() -> Value {
        json!({
            "type": "object",
            "$defs": {
                "node": { "properties": { "next": { "$ref": "#/$defs/node" }, "name": { "type": "string" } } },
                "loop": { "$ref": "#/$defs/loop" },
            },
            "properties": {
                "path": { "type": "string" },
                "database": { "$ref": "#/$defs/node" },
                "either": { "anyOf": [{ "properties": { "a": {} } }, { "properties": { "b": {} } }] },
                "list": { "type": "array", "items": { "properties": { "x": {} } } },
                "any": { "type": "object" },
                "more": { "properties": { "a": {} }, "additionalProperties": { "type": "string" } },
                "other": { "$ref": "https://example.com/schema" },
                "loop": { "$ref": "#/$defs/loop" },
            },
        })
    }

    #[test]
    fn a_path_that_a_schema_has_or_leaves_open_is_not_missing() {
        for path in [
            "path",
            "database",
            "database.next.next.name",
            "either.a",
            "either.b",
            "list",
            "list.0.x",
            "any.thing",
            "more.thing",
            "other.thing",
            "loop.thing",
        ] {
            assert_eq!(missing(&schema(), path), None, "{path}");
        }
        assert_eq!(missing(&json!({ "type": "object" }), "path"), None, "it does not say which there are");
        assert_eq!(missing(&Value::Null, "path"), None);
    }

    #[test]
    fn parts_that_name_each_other_over_and_over_are_left_open() {
        let again = vec![json!({ "$ref": "#/$defs/a" }); 10];
        let schema = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "allOf": again } } });
        assert_eq!(missing(&schema, "path"), None);
    }

    #[test]
    fn a_path_that_a_schema_does_not_have_is_missing_and_one_like_it_is_named() {
        for (path, nearest) in [
            ("pth", Some("path")),
            ("Path", Some("path")),
            ("databse.name", Some("database")),
            ("database.next.nme", Some("database.next.name")),
            ("either.c", None),
            ("list.x", None),
            ("path.name", None),
        ] {
            let found = missing(&schema(), path);
            assert_eq!(found, Some(Missing { nearest: nearest.map(str::to_owned) }), "{path}");
        }
        assert!(missing(&json!({ "properties": {}, "additionalProperties": false }), "path").is_some());
    }
}
