//! Secrets in JSON: each text in it is looked at by itself, so that what comes out is JSON again.

use crate::scan::{Counts, Scanner};
use serde_json::Value;

/// The JSON text with its secrets masked, or nothing where it holds none.
pub(crate) fn mask(scanner: &Scanner, text: &str, counts: &mut Counts) -> Option<String> {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        // The host says that it is JSON. Should it be none, what comes out is: a JSON string.
        return scanner.mask(text, counts).map(|masked| Value::String(masked).to_string());
    };
    mask_value(scanner, None, &mut value, counts).then(|| value.to_string())
}

/// serde_json reads no deeper than 128 levels, so this goes no deeper either.
fn mask_value(scanner: &Scanner, name: Option<&str>, value: &mut Value, counts: &mut Counts) -> bool {
    match value {
        Value::String(text) => {
            let member = |counts: &mut Counts| name.and_then(|name| scanner.mask_member(name, text, counts));
            let masked = scanner.mask(text, counts).or_else(|| member(counts));
            let changed = masked.is_some();
            *text = masked.unwrap_or_else(|| std::mem::take(text));
            changed
        }
        Value::Array(values) => {
            let changed = values.iter_mut().map(|value| mask_value(scanner, name, value, counts));
            changed.fold(false, std::ops::BitOr::bitor)
        }
        Value::Object(members) => {
            let changed = members.iter_mut().map(|(name, value)| mask_value(scanner, Some(name), value, counts));
            changed.fold(false, std::ops::BitOr::bitor)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
