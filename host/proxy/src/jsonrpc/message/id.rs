//! The identifier of a request. Identifiers are compared by value, but serialized in their original spelling.

use hookhost_agents::json;
use serde_json::Value;
use serde_json::value::RawValue;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Maximum length of an identifier that is a string, in bytes. The length is limited because the proxy stores many identifiers.
pub const MAX_ID: usize = 1024;

/// The identifier of a request. Two numbers with the same value are the same identifier, even if they are spelled differently.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// A number, compared by value.
    Number(Number),
    /// A string.
    Text(String),
}

/// A number that is used as an identifier. It is compared by value and keeps its original spelling.
#[derive(Clone, Debug)]
pub struct Number {
    value: NumberValue,
    pub(super) spelling: String,
}

/// The value of a number, which is either an integer or the bits of a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum NumberValue {
    Integer(i128),
    Other(u64),
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value.cmp(&other.value)
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self::Number(Number { value: NumberValue::Integer(number.into()), spelling: number.to_string() })
    }
}

impl Number {
    /// Parses a JSON number. Returns `None` for an integer of more than 64 bits, and for a number outside the range of `f64`.
    fn of(spelling: &str) -> Option<Self> {
        let value = if spelling.contains(['.', 'e', 'E']) {
            let number: f64 = spelling.parse().ok().filter(|number: &f64| number.is_finite())?;
            // Above this limit, several integers have the same `f64`.
            let is_exact = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
            if is_exact { NumberValue::Integer(number as i128) } else { NumberValue::Other(number.to_bits()) }
        } else {
            let number: i128 = spelling.parse().ok()?;
            NumberValue::Integer((i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number).then_some(number)?)
        };
        (spelling.len() <= MAX_ID).then(|| Self { value, spelling: spelling.to_owned() })
    }
}

impl Id {
    /// Returns the identifier as JSON, in its original spelling.
    pub fn to_json(&self) -> String {
        match self {
            Self::Number(number) => number.spelling.clone(),
            Self::Text(text) => Value::from(text.as_str()).to_string(),
        }
    }

    /// Converts a JSON value to an identifier. Returns `None` unless the value is a supported number or a string of at most
    /// [`MAX_ID`] bytes.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => (text.len() <= MAX_ID).then(|| Self::Text(text.clone())),
            Value::Number(number) => Number::of(&number.to_string()).map(Self::Number),
            _ => None,
        }
    }

    /// Parses an identifier from raw JSON.
    pub(super) fn of_raw(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        if text.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
            return Number::of(text).map(Self::Number);
        }
        json::value(text).ok().as_ref().and_then(Self::of)
    }

    /// Returns the identifier of the other type that some programs write in place of this identifier, such as `"2"` for `2`.
    /// Returns `None` if there is no such identifier.
    pub fn of_other_type(&self) -> Option<Self> {
        match self {
            Self::Number(Number { value: NumberValue::Integer(integer), .. }) => Some(Self::Text(integer.to_string())),
            Self::Number(_) => None,
            Self::Text(text) => text.parse::<i64>().ok().filter(|number| number.to_string() == *text).map(Self::from),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}
