//! The names of events, the way in which plugins' answers to an event are combined, and an example of each event.

use crate::EventKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A JSON object with one payload per event.
const EXAMPLES: &str = include_str!("examples.json");

/// The way in which the answers of several plugins to one event are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The event is about to happen. A plugin can stop it, change it, or leave the decision to a person.
    Gate,
    /// The event passes a value on, and a plugin can replace this value.
    Transform,
    /// The plugins' answers are tasks for the agent.
    Collect,
    /// The event has happened, so the answers have no content.
    Observe,
}

impl EventKind {
    /// Returns the event of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.name() == name)
    }

    /// Returns an example payload as JSON: an object of the event's parameters. Its tool calls do not contain `action`
    /// and `origin`, because the host determines them.
    #[must_use]
    pub fn example(self) -> &'static str {
        let examples: BTreeMap<&'static str, &'static RawValue> = serde_json::from_str(EXAMPLES).unwrap_or_default();
        examples.get(self.name()).map_or("{}", |example| example.get())
    }
}

impl std::fmt::Display for EventKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl<'de> Deserialize<'de> for EventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| de::Error::custom(format!("`{name}` is not an event")))
    }
}

impl Serialize for EventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value};
    use std::collections::BTreeSet;

    #[test]
    fn every_event_has_an_example_of_exactly_its_parameters() {
        let examples: Map<String, Value> = serde_json::from_str(EXAMPLES).unwrap();
        assert_eq!(examples.len(), EventKind::ALL.len());
        for event in EventKind::ALL {
            let example: Map<String, Value> = serde_json::from_str(event.example()).unwrap();
            assert!(examples.contains_key(event.name()), "{event} has no example");
            // The order is not compared, because the order of a map depends on the features of other crates.
            let named: BTreeSet<&str> = example.keys().map(String::as_str).collect();
            assert_eq!(named, event.parameters().iter().copied().collect(), "{event}");
        }
    }
}
