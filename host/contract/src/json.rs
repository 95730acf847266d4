//! JSON texts within typed records. A guest gets the text as a string; the serialised form contains the JSON value
//! itself.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, de::IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;
use std::any::type_name;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::str::FromStr;

/// A JSON text (RFC 8259). It is always valid, because it was either checked or written by a JSON library when it was
/// created.
///
/// It dereferences to the text. The serialised form is the JSON value itself.
///
/// An object may have a duplicate key. The serialised form has the last value of the key. [`read`](Self::read) gives a
/// [`Value`] with the last value, but fails for a type with named fields.
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
#[derive(Clone)]
pub struct Json {
    text: String,
    /// True if `serde_json` has written the text from a [`Value`] that contains no fractions. If `serde_json` parses
    /// such a text and writes the value, the result is the same text.
    is_written: bool,
}

/// Maximum number of opening brackets in a text that is copied. `serde_json` reads at most 128 levels, and each level
/// needs a bracket.
const MAX_BRACKETS: usize = 120;

/// Prefix of the keys by which `serde_json` marks a map that represents another value.
const PRIVATE: &str = "$serde_json::private::";

impl Json {
    /// Checks that a text is one JSON value.
    ///
    /// # Errors
    /// Fails if the text is not a JSON value. The error names the position.
    pub fn new(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        serde_json::from_str::<IgnoredAny>(&text)?;
        Ok(Self::unwritten(text))
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// Fails if JSON cannot represent the value, such as a map whose keys are not strings.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self::unwritten)
    }

    /// Deserializes the text into another type.
    ///
    /// # Errors
    /// Fails if the value does not match the type, or if `serde_json` cannot read the text because it has more than 128
    /// levels, a number out of range (`1e999`), or half of a surrogate pair (`"\ud800"`).
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.text)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn unwritten(text: String) -> Self {
        Self { text, is_written: false }
    }

    /// Returns the text as a raw value, if serialising the value would give the same text.
    fn verbatim(&self) -> Option<&RawValue> {
        let brackets = || self.text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
        let is_same = self.is_written && brackets() <= MAX_BRACKETS && !self.text.contains(PRIVATE);
        is_same.then(|| serde_json::from_str(&self.text).ok()).flatten()
    }
}

/// Returns true if a number in the value may have a fraction. If such a number has many digits, `serde_json` may read
/// a slightly different number than it wrote.
fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(values) => values.iter().any(has_fraction),
        Value::Object(fields) => fields.values().any(has_fraction),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Returns true if `S` is the serializer of `serde_json::to_string` and `to_vec`, which copies a [`RawValue`]. Another
/// serializer would write a structure that contains the text. If the name of the serializer's type ever changes, this
/// returns false and the value is parsed first, which is also correct.
fn copies_text<S>() -> bool {
    type_name::<S>() == type_name::<&mut serde_json::Serializer<&mut Vec<u8>>>()
}

/// Returns the canonical form of a JSON text: no white space and sorted keys, so that equal values have equal texts.
///
/// # Errors
/// Fails if `text` is not one JSON value (RFC 8259) with at most 128 levels.
pub fn canonical(text: &str) -> Result<Json, serde_json::Error> {
    let mut value: Value = serde_json::from_str(text)?;
    value.sort_all_objects();
    Ok(value.into())
}

/// The JSON text `null`.
impl Default for Json {
    fn default() -> Self {
        Self { text: "null".to_owned(), is_written: true }
    }
}

impl Deref for Json {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl AsRef<str> for Json {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialEq<str> for Json {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl PartialEq<&str> for Json {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
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
        Self::from(&value)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self { text: value.to_string(), is_written: !has_fraction(value) }
    }
}

impl From<Box<RawValue>> for Json {
    fn from(value: Box<RawValue>) -> Self {
        Self::unwritten(Box::<str>::from(value).into_string())
    }
}

impl From<Json> for String {
    fn from(json: Json) -> Self {
        json.text
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if copies_text::<S>()
            && let Some(text) = self.verbatim()
        {
            return text.serialize(serializer);
        }
        match self.read::<Value>() {
            Ok(value) => value.serialize(serializer),
            // `serde_json` cannot read the text, because it is nested too deeply, has half of a surrogate pair, or has
            // a number out of range. Serialise it as a string, because a log must keep it unchanged.
            Err(_) => self.text.serialize(serializer),
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
    use proptest::prelude::*;
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
        assert!(Json::new("[".repeat(100_000)).is_err(), "an unterminated text must be rejected, however deep it is");
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
    /// Serializes with a serializer that does not copy the text. So the text is parsed first.
    fn read_first(json: &Json) -> String {
        let mut written = Vec::new();
        json.serialize(&mut serde_json::Serializer::new(&mut written as &mut dyn std::io::Write)).unwrap();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn a_text_that_is_copied_is_the_same_as_one_that_is_read_first() {
        assert!(copies_text::<&mut serde_json::Serializer<&mut Vec<u8>>>());
        assert!(!copies_text::<&mut serde_json::Serializer<Vec<u8>>>());
        let nested = (0..200).fold(json!(1), |inner, _| json!([inner]));
        let values = [
            json!(null),
            json!({ "b": [1, -0.0, 1e300, "\u{1f600}\"\n"], "a": {} }),
            json!("[".repeat(300)),
            nested,
            json!({ "$serde_json::private::RawValue": "x", "command": "rm -rf /" }),
            json!({ "command": "rm -rf /", "$serde_json::private::Number": "1" }),
        ];
        for value in values {
            for json in [Json::from(&value), canonical(&value.to_string()).unwrap_or_default()] {
                let written = serde_json::to_string(&json).unwrap();
                assert_eq!(written, read_first(&json));
                assert!(serde_json::from_str::<Value>(&written).is_ok(), "it can be read again: {written}");
            }
        }
        // This text is parsed first, because `serde_json` did not write it.
        let twice: Json = r#"{"a":1,"a":2}"#.parse().unwrap();
        assert!(twice.verbatim().is_none());
        assert_eq!(serde_json::to_string_pretty(&Json::from(json!({ "a": 1 }))).unwrap(), "{\n  \"a\": 1\n}");
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![any::<String>(), Just("$serde_json::private::RawValue".to_owned())];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.clone().prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((text.clone(), inner), 0..4).prop_map(|pairs| pairs.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn each_value_is_written_the_same_whether_its_text_is_copied_or_not(value in values()) {
            let json = Json::from(value);
            prop_assert_eq!(serde_json::to_string(&json).unwrap(), read_first(&json));
        }
    }
}
