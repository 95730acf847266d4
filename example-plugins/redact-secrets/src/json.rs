//! Masks secrets in JSON. Each string is checked separately, so that the result is JSON again.

use crate::scan::{Counts, Scanner};
use serde_json::Value;

/// Returns the JSON text with its secrets masked, or `None` if the text contains no secrets.
pub(crate) fn mask(scanner: &Scanner, text: &str, counts: &mut Counts) -> Option<String> {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        // The host declares the text as JSON. If the text is not JSON, the result is a JSON string.
        return scanner.mask(text, counts).map(|masked| Value::String(masked).to_string());
    };
    mask_value(scanner, None, &mut value, counts).then(|| value.to_string())
}

/// Masks the secrets in a value. The recursion is bounded, because serde_json reads at most 128 levels.
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
