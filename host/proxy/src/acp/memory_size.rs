//! Estimates the memory that a JSON value takes. The state of a connection is limited by its memory and not by the length of
//! messages, because many small values take much more memory than their JSON text.

use serde_json::Value;

/// Bytes that each value is assumed to take in addition to its strings.
const VALUE_OVERHEAD: usize = 64;

/// Returns the approximate memory that a value takes, in bytes.
pub fn memory_size(value: &Value) -> usize {
    let within = match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(memory_size).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| VALUE_OVERHEAD + key.len() + memory_size(value)).sum()
        }
        _ => 0,
    };
    VALUE_OVERHEAD + within
}

#[cfg(test)]
mod tests {
    use super::memory_size;
    use serde_json::json;

    #[test]
    fn many_small_values_weigh_more_than_one_text_of_their_length() {
        let many = json!([0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(memory_size(&many) > 4 * memory_size(&json!(many.to_string())));
        assert!(memory_size(&json!({ "a": "x".repeat(1000) })) > 1000);
    }
}
