//! JSON texts inside typed records: a string for the guest, the value itself for readers and writers of the record.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, de::IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// A JSON text (RFC 8259). It was checked, or written by a JSON library, when it was made.
///
/// It is read like a text. In serialised form it is the JSON value itself. Of a key that an object has twice, [`read`](Self::read)
/// as a [`Value`] and the serialised form have the last one; a type with named fields refuses it.
///
/// ```
/// use hookhost_contract::Json;
///
/// let payload = Json::from(serde_json::json!({ "service": "shop" }));
/// assert_eq!(payload, r#"{"service":"shop"}"#);
/// assert_eq!(payload.read::<serde_json::Value>()?["service"], "shop");
///
/// let text: Result<Json, _> = "{".parse();
/// assert!(text.is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(String);

impl Json {
    /// Takes a text that is one JSON value.
    ///
    /// # Errors
    /// If it is not, and where.
    pub fn new(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        serde_json::from_str::<IgnoredAny>(&text)?;
        Ok(Self(text))
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// If JSON has no such value, such as a map whose keys are not texts.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self)
    }

    /// Reads it as a value of another type.
    ///
    /// # Errors
    /// If it is not of that type, or is JSON that `serde_json` does not read: more than 128 levels deep, with a number out of
    /// range (`1e999`), or with half of a character (`"\ud800"`).
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The canonical spelling of a JSON text: no white space, keys sorted, so that equal values are equal texts.
///
/// # Errors
/// If `text` is not one JSON value (RFC 8259), nested at most 128 deep.
pub fn canonical(text: &str) -> Result<Json, serde_json::Error> {
    let mut value: Value = serde_json::from_str(text)?;
    value.sort_all_objects();
    Ok(value.into())
}

/// `null`.
impl Default for Json {
    fn default() -> Self {
        Self("null".to_owned())
    }
}

impl Deref for Json {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Json {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl PartialEq<str> for Json {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Json {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl FromStr for Json {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

impl TryFrom<String> for Json {
    type Error = serde_json::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(text)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self(value.to_string())
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self(value.to_string())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(value: Box<RawValue>) -> Self {
        Self(Box::<str>::from(value).into_string())
    }
}

impl From<Json> for String {
    fn from(json: Json) -> Self {
        json.0
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.read::<Value>() {
            Ok(value) => value.serialize(serializer),
            // Nothing reads it, since it nests too deep, escapes half of a character, or has a number out of range: a log must
            // hold it as it was.
            Err(_) => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_values_have_one_canonical_text() {
        assert_eq!(
            canonical(r#"{ "b": [1, 2], "a": {"d": 1, "c": null} }"#).unwrap(),
            r#"{"a":{"c":null,"d":1},"b":[1,2]}"#
        );
        assert!(canonical("{").is_err());
        assert!(canonical(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn what_is_not_json_does_not_become_one() {
        for text in ["", "{", "{}{}", "nul", "'a'", "\"\n\"", "01", "\u{feff}{}", "[1,]", "{a:1}", "NaN"] {
            assert!(Json::new(text).is_err(), "{text:?}");
            assert!(text.parse::<Json>().is_err(), "{text:?}");
            assert!(Json::try_from(text.to_owned()).is_err(), "{text:?}");
        }
        assert!(Json::of(&std::collections::BTreeMap::from([((1, 2), 3)])).is_err());
        assert!(Json::new("[".repeat(100_000)).is_err(), "nor a text without end, however deep");
    }

    #[test]
    fn each_way_to_make_one_makes_one_that_can_be_read() {
        let raw = RawValue::from_string("{ \"a\" : 1 }".into()).unwrap();
        let made = [
            Json::default(),
            Json::of("a\u{0}b").unwrap(),
            json!([1, 2]).into(),
            (&json!({ "a": null })).into(),
            raw.into(),
            " 1.0e3 ".parse().unwrap(),
            canonical("[ true ]").unwrap(),
            serde_json::from_str("{\"a\": [1]}").unwrap(),
        ];
        for json in made {
            assert!(json.read::<Value>().is_ok(), "{json}");
            assert_eq!(Json::new(String::from(json.clone())).unwrap(), json);
        }
    }

    #[test]
    fn of_a_key_that_is_there_twice_the_last_one_counts_wherever_it_is_read() {
        #[derive(Debug, Deserialize)]
        struct Named {
            #[expect(dead_code, reason = "it is never made")]
            a: u8,
        }
        let json: Json = r#"{"a":1,"a":2}"#.parse().unwrap();
        assert_eq!(json.read::<Value>().unwrap(), json!({ "a": 2 }));
        assert_eq!(serde_json::to_string(&json).unwrap(), r#"{"a":2}"#);
        assert_eq!(canonical(&json).unwrap(), r#"{"a":2}"#);
        assert!(json.read::<Named>().unwrap_err().to_string().contains("duplicate field"));
    }

    #[test]
    fn it_is_the_value_itself_in_a_record_and_a_text_only_where_it_is_too_deep() {
        let json: Json = " {\"b\": 1, \"a\": [2]} ".parse().unwrap();
        assert_eq!(serde_json::to_value(&json).unwrap(), json!({ "a": [2], "b": 1 }));
        let deep = Json::new("[".repeat(200) + &"]".repeat(200)).unwrap();
        assert_eq!(serde_json::to_value(&deep).unwrap(), json!(deep.as_str()));
    }
}
