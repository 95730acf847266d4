//! A JSON object that keeps the original bytes of each of its members.

use crate::server_name::folded;
use bytes::Bytes;
use hookhost_agents::json;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Maximum number of values in a message. The number is limited because a small value takes far more memory after parsing than its
/// JSON text.
pub const MAX_VALUES: usize = 100_000;

/// The members of an object, in order, each with its original bytes.
#[derive(Clone, Debug, Default)]
pub struct Members(Arc<Vec<(String, Box<RawValue>)>>);

impl Members {
    /// Parses an object.
    ///
    /// # Errors
    /// If the text is not a JSON object, or if the object has a duplicate key. The error is the end of a sentence.
    pub fn of(text: &str) -> Result<Self, String> {
        // The error of the JSON library is not used, because it would contain text that no rule has checked.
        if !text.trim_start().starts_with('{') {
            return Err("is not a JSON object".to_owned());
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let members = reader.deserialize_map(MembersVisitor).and_then(|members| reader.end().map(|()| members));
        members.map_err(|error| format!("is not a JSON object: {error}"))
    }

    /// Returns a member as raw JSON.
    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| &**value)
    }

    /// Returns the parsed value of a member. Returns `None` if the member is missing or cannot be parsed, for example because of a
    /// number out of range or a lone surrogate.
    pub fn value(&self, key: &str) -> Option<Value> {
        self.get(key).and_then(|raw| json::value(raw.get()).ok())
    }

    /// Returns the value of a member, if it is a string.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.value(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the members of the object that is the value of `key`. Returns no members if `key` is missing.
    ///
    /// # Errors
    /// If the member is not an object.
    pub fn within(&self, key: &str) -> Result<Self, String> {
        match self.get(key) {
            None => Ok(Self::default()),
            Some(raw) => Self::of(raw.get()).map_err(|why| format!("`{key}` {why}")),
        }
    }

    /// Returns the number of members.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    /// Returns the reason why a parser that ignores the case of keys could find other members. The reason is the end of a sentence.
    /// It says that two keys differ only in case, or that a key differs only in case from a `known` key. Returns `None` if the
    /// members are unambiguous.
    pub fn ambiguity(&self, known: &[&str]) -> Option<String> {
        let mut others = self.keys().filter(|key| !known.contains(key)).peekable();
        others.peek()?;
        let mut seen: HashSet<String> = known.iter().map(|key| folded(key)).collect();
        let mut unclear = others.filter(|key| !seen.insert(folded(key)));
        unclear.next().map(|key| format!("has the key {:?}, which differs from another one only in case", start(key)))
    }

    /// Returns a copy of the members in which `key` has this value. The member is added or its value is replaced.
    pub fn with(&self, key: &str, value: Box<RawValue>) -> Self {
        let mut all = self.0.to_vec();
        match all.iter_mut().find(|(known, _)| known == key) {
            Some((_, place)) => *place = value,
            None => all.push((key.to_owned(), value)),
        }
        Self(Arc::new(all))
    }

    /// Returns a copy of the members without the member `key`.
    pub fn without(&self, key: &str) -> Self {
        Self(Arc::new(self.0.iter().filter(|(known, _)| known != key).cloned().collect()))
    }

    /// Returns the object as JSON. The result is a single line if the value of each member is a single line.
    pub fn to_json(&self) -> String {
        let member = |(key, value): &(String, Box<RawValue>)| format!("{}:{}", Value::from(key.as_str()), value.get());
        format!("{{{}}}", self.0.iter().map(member).collect::<Vec<_>>().join(","))
    }

    /// Returns the object as bytes.
    pub fn to_bytes(&self) -> Bytes {
        Bytes::from(self.to_json())
    }

    /// Returns the object as raw JSON.
    pub fn to_raw(&self) -> Box<RawValue> {
        raw_text(self.to_json())
    }

    /// Parses the whole object.
    ///
    /// # Errors
    /// If a value cannot be parsed. The error is the end of a sentence.
    pub fn to_value(&self) -> Result<Value, String> {
        json::value(&self.to_json()).map_err(|why| format!("cannot be read: {why}"))
    }
}

/// Returns a value as raw JSON.
pub fn raw(value: &Value) -> Box<RawValue> {
    raw_text(value.to_string())
}

/// Converts a text to raw JSON. The text must be one valid JSON value that this module has written.
pub(super) fn raw_text(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap_or_default()
}

/// Number of keys of an object up to which each new key is compared with all earlier keys.
const MAX_COMPARED_KEYS: usize = 16;

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
        let mut known = HashSet::new();
        while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
            if members.len() >= MAX_VALUES {
                return Err(A::Error::custom(format!("an object has more than {MAX_VALUES} keys")));
            }
            // If there are few keys, comparing each with all others is fastest. For many keys, this would take quadratic time, so a
            // set is used.
            let is_twice = if members.len() < MAX_COMPARED_KEYS {
                members.iter().any(|(known, _)| *known == key)
            } else {
                if known.is_empty() {
                    known.extend(members.iter().map(|(key, _)| key.clone()));
                }
                !known.insert(key.clone())
            };
            if is_twice {
                return Err(A::Error::custom(if key == "id" { DUPLICATE_ID } else { DUPLICATE_KEY }));
            }
            members.push((key, value));
        }
        Ok(Members(Arc::new(members)))
    }
}

/// The error for a duplicate key. The text does not contain the key, because the model may read the error and no rule has checked
/// the key. The JSON library appends the line and the column.
const DUPLICATE_KEY: &str = "a key occurs twice in one object";

/// The error for a duplicate `id`.
pub(super) const DUPLICATE_ID: &str = "the key \"id\" occurs twice in one object";

/// Returns the beginning of a key. The beginning is long enough for a person to find the key in the message.
fn start(key: &str) -> String {
    key.chars().take(40).collect()
}

/// Checks that every JSON parser finds the same values in a text. No object may have a duplicate key, or a key that the JSON
/// library reserves. Also checks the number of values.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut left = MAX_VALUES;
    let text = json::with_long_numbers_as_texts(text);
    let mut reader = serde_json::Deserializer::from_str(&text);
    ValueCheck(&mut left).deserialize(&mut reader).map_err(|error| format!("cannot be passed on: {error}"))?;
    Ok(())
}

/// Checks a value without building it. Only the keys of the objects that are still open are kept in memory. The field is the number
/// of values that are still allowed.
struct ValueCheck<'a>(&'a mut usize);

impl<'de> DeserializeSeed<'de> for ValueCheck<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let left = self.0.checked_sub(1);
        *self.0 = left.ok_or_else(|| D::Error::custom(format!("it has more than {MAX_VALUES} values")))?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueCheck<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(ValueCheck(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if json::is_reserved(&key) {
                return Err(A::Error::custom("an object has a key that the JSON library reserves for itself"));
            }
            map.next_value_seed(ValueCheck(&mut *self.0))?;
            if !keys.insert(key) {
                return Err(A::Error::custom(DUPLICATE_KEY));
            }
        }
        Ok(())
    }
}

/// Returns true if a text is one valid JSON value.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}
