//! Messages as JSON objects, read strictly: what two readers could read differently is not read at all.

use crate::message::Unreadable;
use hookhost_contract::Json;
use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::fmt;

/// Upper bound of a message, in bytes: 16 MiB.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Keys with which the JSON library marks values of its own. A reader that knows them takes the object for another value.
const RESERVED_KEYS: &[&str] = &["$serde_json::private::RawValue", "$serde_json::private::Number"];

/// The marker that some agents write before their JSON.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a message: one JSON object in UTF-8, nested at most 128 deep, without a key that occurs twice in one object. A byte
/// order mark before it is read past.
///
/// # Errors
/// One sentence on why it is not such an object.
pub fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("the message has {} bytes, and {MAX_BYTES} are the most that is read", bytes.len()));
    }
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("the message is empty".to_owned());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| format!("the message is not UTF-8: {error}"))?;
    match value(text)? {
        Value::Object(object) => Ok(object),
        _ => Err("the message is not a JSON object".to_owned()),
    }
}

/// Reads a JSON value in which no object has a key twice, and each integer is one of 64 bits.
///
/// # Errors
/// One sentence on why it is not one.
pub fn value(text: &str) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    let value = value.map_err(|error| format!("the message is not valid JSON: {error}"))?;
    if has_large_integer(text) {
        return Err("the message has an integer of more than 64 bits, which would be rounded".to_owned());
    }
    Ok(value)
}

/// Whether a key is one that the JSON library reserves for itself.
#[must_use]
pub fn is_reserved(key: &str) -> bool {
    RESERVED_KEYS.contains(&key)
}

/// Whether a valid JSON text has an integer that is neither an `i64` nor a `u64`: readers round it, each in its own way.
#[must_use]
pub fn has_large_integer(text: &str) -> bool {
    /// No shorter text is an integer of more than 64 bits.
    const MIN_DIGITS: usize = 19;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                while bytes.get(at).is_some_and(is_of_number) {
                    at += 1;
                }
                let number = text.get(start..at).unwrap_or_default();
                let is_integer = !number.contains(['.', 'e', 'E']);
                if is_integer
                    && number.len() >= MIN_DIGITS
                    && number.parse::<i64>().is_err()
                    && number.parse::<u64>().is_err()
                {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The keys of a message, whatever their values are; absent where it is no JSON object.
pub(crate) fn keys(bytes: &[u8]) -> Option<Vec<Cow<'_, str>>> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.deserialize_map(Keys).ok()
}

/// Reads the keys of an object, and past their values.
struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Vec<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut keys = Vec::with_capacity(16);
        while let Some(Key(key)) = map.next_key()? {
            keys.push(key);
            let _: IgnoredAny = map.next_value()?;
        }
        Ok(keys)
    }
}

/// A key, borrowed from the message where nothing in it is escaped.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads any value, and refuses an object that has a key twice: an agent and a plugin could read different ones of the two.
#[derive(Clone, Copy)]
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(self)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if is_reserved(&key) {
                return Err(A::Error::custom("a key is one that the JSON library reserves for itself"));
            }
            let value = map.next_value_seed(self)?;
            if object.contains_key(&key) {
                let shown: String = key.chars().take(40).collect();
                return Err(A::Error::custom(format!("the key {shown:?} occurs twice in one object")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// A message's fields, each read as the type that it has to have.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    object: Map<String, Value>,
}

impl Fields {
    /// The fields of a message.
    ///
    /// # Errors
    /// As [`object`].
    pub fn of(bytes: &[u8]) -> Result<Self, Unreadable> {
        object(bytes).map(|object| Self { object }).map_err(Unreadable::new)
    }

    /// The fields of a value that is an object, otherwise none.
    #[must_use]
    pub fn within(&self, key: &str) -> Self {
        Self { object: self.object.get(key).and_then(Value::as_object).cloned().unwrap_or_default() }
    }

    /// Reads the whole message as a value of another type.
    ///
    /// # Errors
    /// If it is not of that type.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&self.object)
    }

    /// The whole message as a JSON text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::of(&self.object).unwrap_or_default()
    }

    /// The whole message.
    #[must_use]
    pub fn as_value(&self) -> Value {
        Value::Object(self.object.clone())
    }

    /// A field, whatever it is.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key)
    }

    /// Whether there is a field of this name.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.object.contains_key(key)
    }

    /// A text that has to be there.
    ///
    /// # Errors
    /// If it is missing or no text.
    pub fn text(&self, key: &str) -> Result<String, Unreadable> {
        match self.object.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(Unreadable::new(format!("`{key}` is not a text"))),
            None => Err(Unreadable::new(format!("`{key}` is missing"))),
        }
    }

    /// A text that may be missing, empty or `null`; then there is none.
    #[must_use]
    pub fn some_text(&self, key: &str) -> Option<String> {
        self.object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// The first of several fields that is a text and not empty.
    #[must_use]
    pub fn first_text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.some_text(key))
    }

    /// Whether a field is `true`.
    #[must_use]
    pub fn is(&self, key: &str) -> bool {
        self.object.get(key) == Some(&Value::Bool(true))
    }

    /// An object that has to be there; some agents write it as JSON within a text.
    ///
    /// # Errors
    /// If it is missing or neither.
    pub fn arguments(&self, key: &str) -> Result<Value, Unreadable> {
        let parsed = match self.object.get(key) {
            Some(object @ Value::Object(_)) => return Ok(object.clone()),
            Some(Value::String(text)) => value(text).map_err(|why| Unreadable::new(format!("`{key}`: {why}")))?,
            Some(_) => return Err(Unreadable::new(format!("`{key}` is not an object"))),
            None => return Err(Unreadable::new(format!("`{key}` is missing"))),
        };
        if parsed.is_object() { Ok(parsed) } else { Err(Unreadable::new(format!("`{key}` is not an object"))) }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|object| Self { object })
    }
}

#[cfg(test)]
mod tests {
    use super::object;

    #[test]
    fn a_message_is_one_json_object() {
        assert_eq!(object(b"\xef\xbb\xbf {\"a\": [1, {\"b\": null}]} ").unwrap().len(), 1);
        for (bytes, says) in [
            (&b""[..], "empty"),
            (b" \n", "empty"),
            (b"[]", "not a JSON object"),
            (b"{\"a\":1", "not valid JSON"),
            (b"{} {}", "not valid JSON"),
            (b"{\"a\":\xff}", "not UTF-8"),
            (b"{\"a\":{\"b\":1,\"b\":2}}", "occurs twice"),
            (b"{\"a\":{\"$serde_json::private::RawValue\":\"{}\"}}", "reserves"),
            (b"{\"a\":{\"\\u0024serde_json::private::Number\":\"1\"}}", "reserves"),
            (b"{\"a\":18446744073709551616}", "64 bits"),
            (b"{\"a\":[\"\\\"\",-9223372036854775809]}", "64 bits"),
        ] {
            let why = object(bytes).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
        let exact = br#"{"a":[18446744073709551615,-9223372036854775808,1e30,"18446744073709551616"]}"#;
        assert_eq!(object(exact).unwrap().len(), 1);
        assert!(object("{\"a\":".repeat(200).as_bytes()).is_err());
        assert!(object(&vec![b' '; super::MAX_BYTES + 1]).unwrap_err().contains("most that is read"));
    }
}
