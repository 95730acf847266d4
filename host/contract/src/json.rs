//! JSON texts inside typed records: a string for the guest, the value itself for readers and writers of the record.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The canonical spelling of a JSON text: no white space, keys sorted, so that equal values are equal texts.
///
/// # Errors
/// If `text` is not one JSON value (RFC 8259), nested at most 128 deep.
pub fn canonical(text: &str) -> Result<String, serde_json::Error> {
    let mut value: Value = serde_json::from_str(text)?;
    value.sort_all_objects();
    Ok(value.to_string())
}

/// For `#[serde(with = "json")]`.
///
/// # Errors
/// If the serialiser fails.
pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => value.serialize(serializer),
        // Only a value that never was JSON comes here; a log must hold it as it was.
        Err(_) => text.serialize(serializer),
    }
}

/// For `#[serde(with = "json")]`.
///
/// # Errors
/// If there is no value.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Value::deserialize(deserializer).map(|value| value.to_string())
}

/// The same for a field that may be absent.
pub mod optional {
    use super::{Deserialize, Deserializer, Serializer, Value};

    /// For `#[serde(with = "json::optional")]`.
    ///
    /// # Errors
    /// If the serialiser fails.
    pub fn serialize<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
        match text {
            Some(text) => super::serialize(text, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// For `#[serde(with = "json::optional")]`.
    ///
    /// # Errors
    /// If the value cannot be read.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
        Ok(Option::<Value>::deserialize(deserializer)?.map(|value| value.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn equal_values_have_one_canonical_text() {
        assert_eq!(
            canonical(r#"{ "b": [1, 2], "a": {"d": 1, "c": null} }"#).unwrap(),
            r#"{"a":{"c":null,"d":1},"b":[1,2]}"#
        );
        assert!(canonical("{").is_err());
        assert!(canonical(&"[".repeat(100_000)).is_err());
    }
}
