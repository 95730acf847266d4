//! Parses messages as JSON objects. Two JSON parsers could read different values from an ambiguous message. [`object`]
//! and [`value`] refuse such a message. [`Fields`] uses one of the possible values and records the ambiguity.

mod rewrite;

use crate::message::Unreadable;
use hookhost_contract::Json;
use hookhost_contract::action::arguments::twin;
use rewrite::{MAX_DEPTH, RewrittenJson, has_long_number};
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::fmt;

/// Maximum size of a message, in bytes: 16 MiB.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Keys that `serde_json` uses internally to mark special values. A program that uses `serde_json` would read such a
/// special value in the place of an object that has one of these keys.
const RESERVED_KEYS: &[&str] = &["$serde_json::private::RawValue", "$serde_json::private::Number"];

/// The byte order mark that some agents write before their JSON.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Keys of the nested objects that describe the message itself. A duplicate key in such an object is always an error,
/// because two parsers could use different values.
const ENVELOPE_KEYS: &[&str] = &["hookhost", "metadata"];

/// Parses a message, which must be one JSON object in UTF-8. Refuses objects with duplicate keys, and values that are
/// nested more than 128 levels deep. A leading byte order mark is skipped. A number that does not fit an `i64`, `u64`
/// or `f64` becomes a string that contains its digits.
///
/// # Errors
/// One sentence that says why the message was refused.
pub fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let text = std::str::from_utf8(body(bytes)?).map_err(|error| format!("the message is not UTF-8: {error}"))?;
    into_object(value(text)?)
}

/// Parses a JSON value, and refuses objects with duplicate keys. A number that does not fit an `i64`, `u64` or `f64`
/// becomes a string that contains its digits.
///
/// # Errors
/// One sentence that says why the text is not such a value.
pub fn value(text: &str) -> Result<Value, String> {
    read(text, None).map(|(value, _)| value)
}

/// Parses a JSON value like [`value`], but refuses a number that [`value`] would convert to a string.
///
/// # Errors
/// One sentence that says why the text is not such a value.
pub fn exact(text: &str) -> Result<Value, String> {
    let (value, has_long_numbers) = read(text, None)?;
    if has_long_numbers {
        return Err("the message has a number that is too long to be read".to_owned());
    }
    Ok(value)
}

/// Returns the JSON text with a string in place of each number that does not fit an `i64`, `u64` or `f64`. `text` must
/// be valid JSON.
pub fn with_long_numbers_as_texts(text: &str) -> Cow<'_, str> {
    if has_long_number(text) { Cow::Owned(RewrittenJson::of(text, false).text) } else { Cow::Borrowed(text) }
}

/// The parts of a message that two parsers could read differently.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ambiguities {
    /// True if a number was read as a string.
    pub(crate) has_long_numbers: bool,
    /// The reason, if some bytes or escapes are not valid characters. Each of them was read as U+FFFD.
    pub(crate) invalid_character: Option<String>,
    /// The reason, if two parsers could read different values.
    pub(crate) unclear: Option<String>,
}

/// Returns the bytes of a message without its byte order mark. Refuses a message that is empty or too long.
fn body(bytes: &[u8]) -> Result<&[u8], String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("the message has {} bytes, and {MAX_BYTES} are the most that is read", bytes.len()));
    }
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("the message is empty".to_owned());
    }
    Ok(bytes)
}

fn into_object(value: Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err("the message is not a JSON object".to_owned()),
    }
}

/// Parses a value. The second part of the result is true if a number was read as a string. If `ambiguities` is given,
/// an ambiguous part of the value is not an error. Instead, one of the possible values is used, and the ambiguity is
/// recorded in `ambiguities`.
fn read(text: &str, mut ambiguities: Option<&mut Ambiguities>) -> Result<(Value, bool), String> {
    let strict = parse(text, &mut None);
    if let Ok(value) = strict
        && !has_long_number(text)
    {
        return Ok((value, false));
    }
    // Rewriting could turn an invalid text into valid JSON, so the text is checked first.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| format!("the message is not valid JSON: {error}"))?;
    let rewritten = RewrittenJson::of(text, ambiguities.is_some());
    if let Some(ambiguities) = ambiguities.as_deref_mut() {
        if rewritten.has_half_characters {
            ambiguities.invalid_character = Some(HALF_CHARACTER.to_owned());
        }
        if rewritten.is_deep {
            ambiguities.unclear = Some(format!("a value in it nests more than {MAX_DEPTH} levels deep"));
        }
    }
    let value = parse(&rewritten.text, &mut ambiguities).map_err(|why| {
        let is_half = RewrittenJson::of(text, true).has_half_characters;
        if is_half { HALF_CHARACTER.to_owned() } else { why.to_string() }
    })?;
    Ok((value, rewritten.has_long_numbers))
}

/// The error message for an unpaired surrogate escape, such as `\ud83d`.
const HALF_CHARACTER: &str =
    "a text in the message has half of a character in it (an escape such as \\ud83d without its other half)";

fn parse(text: &str, ambiguities: &mut Option<&mut Ambiguities>) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = ValueReader { ambiguities, is_envelope: true }.deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// Returns true if `serde_json` uses this key internally to mark a special value.
pub fn is_reserved(key: &str) -> bool {
    RESERVED_KEYS.contains(&key)
}

/// Returns the keys of a message without reading their values, or `None` if the message is not a JSON object.
pub(crate) fn keys(bytes: &[u8]) -> Option<Vec<Cow<'_, str>>> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.deserialize_map(KeysVisitor).ok()
}

/// Reads the keys of an object and skips their values.
struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Vec<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut keys = Vec::with_capacity(16);
        while let Some(BorrowedKey(key)) = map.next_key()? {
            keys.push(key);
            let _: IgnoredAny = map.next_value()?;
        }
        Ok(keys)
    }
}

/// A key, borrowed from the message if it contains no escape.
#[derive(Deserialize)]
struct BorrowedKey<'a>(#[serde(borrow)] Cow<'a, str>);

/// Deserializes any JSON value. An object with a duplicate key is refused, because an agent and a plugin could read different
/// values for this key. If `ambiguities` is given, the duplicate key is recorded there instead, and the last value of the key is
/// used. Duplicate keys in the outermost object and in the objects at [`ENVELOPE_KEYS`] are always refused.
struct ValueReader<'a, 'b> {
    ambiguities: &'a mut Option<&'b mut Ambiguities>,
    is_envelope: bool,
}

impl ValueReader<'_, '_> {
    /// Records that two parsers could read an object differently.
    ///
    /// # Errors
    /// If `ambiguities` is not given, or if the object is an envelope.
    fn note<E: serde::de::Error>(&mut self, why: String) -> Result<(), E> {
        match self.ambiguities.as_deref_mut().filter(|_| !self.is_envelope) {
            Some(ambiguities) => {
                ambiguities.unclear.get_or_insert(why);
                Ok(())
            }
            None => Err(E::custom(why)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader<'_, '_> {
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
        while let Some(value) =
            seq.next_element_seed(ValueReader { ambiguities: self.ambiguities, is_envelope: false })?
        {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if is_reserved(&key) {
                self.note("a key is one that the JSON library reserves for itself".to_owned())?;
                let _: IgnoredAny = map.next_value()?;
                continue;
            }
            let is_envelope = self.is_envelope && ENVELOPE_KEYS.contains(&key.as_str());
            let value = map.next_value_seed(ValueReader { ambiguities: self.ambiguities, is_envelope })?;
            if object.contains_key(&key) {
                let shown: String = key.chars().take(40).collect();
                self.note(format!("the key {shown:?} occurs twice in one object"))?;
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// The fields of a message. The methods check the types of the fields.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    object: Map<String, Value>,
    ambiguities: Ambiguities,
}

impl Fields {
    /// Parses the fields of a message. For an ambiguous part, one of the possible values is used, so the caller has to
    /// check [`ambiguities`](Self::ambiguities).
    ///
    /// # Errors
    /// If the message is not a JSON object, if two of its outermost keys differ only in case, or if an envelope has a
    /// duplicate key.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, Unreadable> {
        Self::read(bytes).map_err(Unreadable::new)
    }

    fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut ambiguities = Ambiguities::default();
        let text = String::from_utf8_lossy(body(bytes)?);
        let (value, has_long_numbers) = read(&text, Some(&mut ambiguities))?;
        ambiguities.has_long_numbers = has_long_numbers;
        if let Cow::Owned(_) = text {
            ambiguities.invalid_character = Some("the message is not UTF-8".to_owned());
        }
        let fields = Self { object: into_object(value)?, ambiguities };
        fields.twin().map_or(Ok(()), Err)?;
        Ok(fields)
    }

    /// Returns the ambiguous parts of the message.
    pub(crate) fn ambiguities(&self) -> &Ambiguities {
        &self.ambiguities
    }

    /// Returns an error message if two keys differ only in case.
    fn twin(&self) -> Option<String> {
        let twin: String = twin(self.object.keys().map(String::as_str))?.chars().take(40).collect();
        Some(format!("the message has the key {twin:?}, which differs from another one only in case"))
    }

    /// Returns the fields of the object at `key`. If the value at `key` is not an object, the result has no fields.
    pub fn within(&self, key: &str) -> Self {
        let object = self.object.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        Self { object, ambiguities: Ambiguities::default() }
    }

    /// Deserializes the whole message.
    ///
    /// # Errors
    /// If the message does not match the type.
    pub(crate) fn deserialized<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&self.object)
    }

    /// Returns the whole message as a JSON text.
    pub fn to_json(&self) -> Json {
        Json::of(&self.object).unwrap_or_default()
    }

    /// Returns the whole message as a JSON value.
    pub fn as_value(&self) -> Value {
        Value::Object(self.object.clone())
    }

    /// Returns a field of any type.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key)
    }

    /// Returns the values of all fields that are strings.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.object.values().filter_map(Value::as_str)
    }

    /// Returns true if there is a field of this name.
    pub fn has(&self, key: &str) -> bool {
        self.object.contains_key(key)
    }

    /// Returns a required string.
    ///
    /// # Errors
    /// If the field is missing or is not a string, or if two keys differ only in case.
    pub fn text(&self, key: &str) -> Result<String, Unreadable> {
        self.twin().map_or(Ok(()), |why| Err(Unreadable::new(why)))?;
        match self.object.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(Unreadable::new(format!("`{key}` is not a text"))),
            None => Err(Unreadable::new(format!("`{key}` is missing"))),
        }
    }

    /// Returns the value of the first of these fields that contains an identifier. An identifier is a nonempty string
    /// or a number. Equal numbers such as `7` and `7.0` give the same string. Returns `None` if all of these fields are
    /// missing, empty or `null`.
    ///
    /// # Errors
    /// If one of the fields has another type.
    pub fn id(&self, keys: &[&str]) -> Result<Option<String>, Unreadable> {
        for key in keys {
            match self.object.get(*key) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.is_empty() => {}
                Some(Value::String(text)) => return Ok(Some(text.clone())),
                Some(Value::Number(number)) => return Ok(Some(by_value(number))),
                Some(_) => return Err(Unreadable::new(format!("`{key}` is neither a text nor a number"))),
            }
        }
        Ok(None)
    }

    /// Returns a string, or `None` if the field is missing, empty, `null` or of another type.
    pub fn some_text(&self, key: &str) -> Option<String> {
        self.object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Returns the value of the first of these fields that is a nonempty string.
    pub fn first_text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.some_text(key))
    }

    /// Returns true if a field is `true`.
    pub fn is(&self, key: &str) -> bool {
        self.object.get(key) == Some(&Value::Bool(true))
    }

    /// Returns the arguments of a call. In the message, they are an object, or a string that contains a JSON object. A
    /// missing value is returned as `null`, and a string that does not look like JSON is returned unchanged. The caller
    /// checks whether the tool accepts `null` or a string.
    ///
    /// # Errors
    /// If the value has another type, or is a string that looks like JSON but cannot be read.
    pub fn arguments(&self, key: &str) -> Result<Arguments, Unreadable> {
        let has_long_numbers = self.ambiguities.has_long_numbers;
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(Arguments { value: Value::Null, is_exact: true }),
            Some(object @ Value::Object(_)) => Ok(Arguments { value: object.clone(), is_exact: !has_long_numbers }),
            Some(Value::String(text)) => {
                Arguments::of_text(text).map_err(|why| Unreadable::new(format!("`{key}`: {why}")))
            }
            Some(_) => Err(Unreadable::new(format!("`{key}` is not an object"))),
        }
    }
}

/// The arguments of a call, as an agent wrote them.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// An object, or `null` if there are no arguments. If the agent wrote a string that does not look like JSON, this
    /// is that string.
    pub value: Value,
    /// True if the arguments can be written again without change.
    pub is_exact: bool,
}

impl Arguments {
    /// Reads a string that an agent wrote in place of an object. A string that looks like JSON is parsed.
    ///
    /// # Errors
    /// If the string looks like JSON, but cannot be read or is not an object.
    pub fn of_text(text: &str) -> Result<Self, String> {
        if !text.trim_start().starts_with(['{', '[', '"']) {
            let is_nothing = matches!(text.trim(), "" | "null");
            let value = if is_nothing { Value::Null } else { Value::from(text) };
            return Ok(Self { value, is_exact: false });
        }
        let (value, has_long_numbers) = read(text, None)?;
        if !value.is_object() {
            return Err("it is not an object".to_owned());
        }
        Ok(Self { value, is_exact: !has_long_numbers })
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Self { value, is_exact: true }
    }
}

/// Formats a number so that equal numbers give the same string.
fn by_value(number: &Number) -> String {
    /// All integers up to this number can be represented exactly as an `f64`.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract() == 0.0 && value.abs() <= MAX_EXACT => format!("{value:.0}"),
        _ => number.to_string(),
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|object| Self { object, ambiguities: Ambiguities::default() })
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
