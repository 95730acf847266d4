//! Estimates the memory of a value. It bounds the state of a connection, instead of the length of messages, since many small values
//! take far more memory than their text.

use serde_json::Value;

/// Bytes that each value takes in addition to its text.
const OF_A_VALUE: usize = 64;

/// Returns the approximate memory that a value takes, in bytes.
#[must_use]
pub fn weight(value: &Value) -> usize {
    let within = match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| OF_A_VALUE + key.len() + weight(value)).sum(),
        _ => 0,
    };
    OF_A_VALUE + within
}

#[cfg(test)]
mod tests {
    use super::weight;
    use serde_json::json;

    #[test]
    fn many_small_values_weigh_more_than_one_text_of_their_length() {
        let many = json!([0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(weight(&many) > 4 * weight(&json!(many.to_string())));
        assert!(weight(&json!({ "a": "x".repeat(1000) })) > 1000);
    }
}
