//! Where in a value a change is.

use agent_hooks::Transform;
use serde_json::Value;

/// The change from one value to the other, as far in as the path of a transform reaches and as long as one place holds all
/// of it.
pub(super) fn change(before: &Value, after: &Value) -> Transform {
    let mut path = "$target".to_owned();
    let (mut before, mut after) = (before, after);
    while let Some((segment, from, to)) = only_difference(before, after) {
        path.push_str(&segment);
        (before, after) = (from, to);
    }
    Transform { path, value: after.clone() }
}

/// The one member or item in which two values of the same shape differ.
fn only_difference<'a>(before: &'a Value, after: &'a Value) -> Option<(String, &'a Value, &'a Value)> {
    let mut differing: Vec<(String, &Value, &Value)> = match (before, after) {
        (Value::Object(from), Value::Object(to)) if from.keys().eq(to.keys()) => {
            let members = from.iter().zip(to.values()).filter(|((_, from), to)| from != to);
            members
                .map(|((key, from), to)| is_member(key).then(|| (format!(".{key}"), from, to)))
                .collect::<Option<_>>()?
        }
        (Value::Array(from), Value::Array(to)) if from.len() == to.len() => {
            let items = from.iter().zip(to).enumerate().filter(|(_, (from, to))| from != to);
            items.map(|(at, (from, to))| (format!("[{at}]"), from, to)).collect()
        }
        _ => return None,
    };
    let only = differing.pop()?;
    differing.is_empty().then_some(only)
}

/// Whether a path can name it.
fn is_member(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}
