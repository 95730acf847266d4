//! Checks objects for keys that two programs could interpret differently, because some programs ignore the case of keys.

use crate::server_name::folded;
use serde_json::Value;
use std::collections::HashSet;

/// Members of the protocol's objects that contain an agent's own data. Only the agent reads the keys in this data.
const OPAQUE_KEYS: &[&str] = &["_meta", "rawInput", "rawOutput"];

/// Checks that no two keys of one object, at any depth, differ only in case. Also checks that no outermost key differs only in case
/// from a key in `known`.
///
/// # Errors
/// The reason, as the end of a sentence.
pub fn check_keys(value: &Value, known: &[&str]) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            let mut seen: HashSet<String> = known.iter().map(|key| folded(key)).collect();
            for (key, value) in fields {
                let is_known = known.contains(&key.as_str());
                if !is_known && !seen.insert(folded(key)) {
                    return Err("has keys that differ only in case".to_owned());
                }
                if !OPAQUE_KEYS.contains(&key.as_str()) {
                    check_keys(value, &[])?;
                }
            }
            Ok(())
        }
        Value::Array(values) => values.iter().try_for_each(|value| check_keys(value, &[])),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check_keys;
    use serde_json::json;

    #[test]
    fn keys_that_differ_in_case_alone_are_refused_at_any_depth_but_in_the_agents_own_data() {
        assert!(check_keys(&json!({ "path": "a", "x": [{ "y": 1 }] }), &["path"]).is_ok());
        assert!(check_keys(&json!({ "Path": "a" }), &["path"]).is_err());
        assert!(check_keys(&json!({ "x": [{ "name": 1, "Name": 2 }] }), &[]).is_err());
        assert!(check_keys(&json!({ "rawInput": { "a": 1, "A": 2 } }), &[]).is_ok());
    }
}
