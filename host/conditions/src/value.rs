//! Values, and what is known of a fact.

use std::borrow::Cow;
use std::sync::Arc;

/// A value of an expression. It borrows from the event where it can.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// An absent value. Comparisons with it are false.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    /// A text.
    String(Cow<'a, str>),
    /// Values in their order.
    List(Arc<[Value<'a>]>),
    /// A list of the event.
    Array(&'a [serde_json::Value]),
    /// A map that the expression contains.
    Map(Arc<[(String, Value<'a>)]>),
    /// A map of the event, such as the arguments of a tool.
    Object(&'a serde_json::Map<String, serde_json::Value>),
}

impl<'a> Value<'a> {
    /// Makes a list of strings without copying them.
    pub fn strings<S: AsRef<str> + 'a>(strings: impl IntoIterator<Item = &'a S>) -> Self {
        Self::List(strings.into_iter().map(|string| Self::from(string.as_ref())).collect())
    }

    /// Returns the values of a list.
    pub(crate) fn elements(&self) -> Option<Arc<[Self]>> {
        match self {
            Self::List(values) => Some(Arc::clone(values)),
            Self::Array(values) => Some(values.iter().map(Self::from).collect()),
            _ => None,
        }
    }

    /// Returns the number of values of a list or map.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Self::List(values) => Some(values.len()),
            Self::Array(values) => Some(values.len()),
            Self::Map(entries) => Some(entries.len()),
            Self::Object(object) => Some(object.len()),
            _ => None,
        }
    }

    /// Returns the keys of a map.
    pub(crate) fn keys(&self) -> Option<Vec<String>> {
        match self {
            Self::Map(entries) => Some(entries.iter().map(|(key, _)| key.clone()).collect()),
            Self::Object(object) => Some(object.keys().cloned().collect()),
            _ => None,
        }
    }

    /// Returns the value of a key of a map, or [`Value::Null`]. Other values have no keys.
    pub(crate) fn member(&self, key: &str) -> Self {
        match self {
            Self::Map(entries) => {
                entries.iter().find(|(name, _)| name == key).map_or(Self::Null, |(_, value)| value.clone())
            }
            Self::Object(object) => object.get(key).map_or(Self::Null, Self::from),
            _ => Self::Null,
        }
    }

    pub(crate) fn has_member(&self, key: &str) -> bool {
        match self {
            Self::Map(entries) => entries.iter().any(|(name, _)| name == key),
            Self::Object(object) => object.contains_key(key),
            _ => false,
        }
    }

    /// Returns the text of a string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::String(Cow::Borrowed(value))
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Self::String(Cow::Owned(value))
    }
}

/// Lists and maps are not copied.
impl<'a> From<&'a serde_json::Value> for Value<'a> {
    fn from(value: &'a serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(whole) => Self::Int(whole),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Self::from(text.as_str()),
            serde_json::Value::Array(values) => Self::Array(values),
            serde_json::Value::Object(object) => Self::Object(object),
        }
    }
}

/// What is known of a fact.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact<'a> {
    /// It has this value.
    Is(Value<'a>),
    /// There is none, such as a branch without a repository.
    Absent,
    /// It exists, and cannot be read.
    Unreadable,
}

/// Answers what a condition asks about the event. Each name and call is asked for only if the result depends on it.
pub trait Facts {
    /// Returns the value of a name of [`NAMES`](crate::vocabulary::NAMES), or of `env.NAME`. A value of another type counts as absent. It
    /// is asked at most once per evaluation.
    fn value(&self, name: &str) -> Fact<'_>;

    /// Returns what a function of [`FUNCTIONS`](crate::vocabulary::FUNCTIONS) returns. A time such as `"10m"` arrives as seconds. No
    /// argument is absent.
    fn call(&self, function: &str, arguments: &[Value<'_>]) -> Fact<'_>;
}

/// The result of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// It depends on a fact that cannot be read, or it took too many steps.
    Unreadable,
}
