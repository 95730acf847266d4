//! An entry as written in the file. It contains the keys but no derived values. Serde reads and writes this form.
//! `check` converts it to an [`Entry`](super::Entry). [`RawEntry::of`] converts an entry back, and leaves out default
//! values.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};

use serde_json::Value;

use super::{
    ActionKind, Code, Digest, Entry, Grants, Limits, Mode, OnFailure, OnQuestion, ToolPattern, paths::shorten,
};
use crate::contract::{EventKind, Stop};

/// The keys of `[[plugin]]`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct RawEntry {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) sha256: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) events: Option<BTreeSet<EventName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) actions: Option<BTreeSet<ActionKind>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<Vec<ToolPattern>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) on_failure: Option<OnFailure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) on_question: Option<OnQuestion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<Stop>,
    #[serde(default, skip_serializing_if = "is_default", serialize_with = "unlike_default")]
    pub(super) limits: Limits,
    /// The grants, in which the directories are paths as written in the file.
    #[serde(default, skip_serializing_if = "is_default", serialize_with = "unlike_default")]
    pub(super) grants: Grants,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub(super) config: serde_json::Map<String, Value>,
}

/// Reads an event by its name in the contract.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventName(pub(super) EventKind);

static EVENT_NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| EventKind::ALL.iter().map(|kind| kind.name()).collect());

impl Serialize for EventName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for EventName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        EventKind::from_name(&name).map(Self).ok_or_else(|| D::Error::unknown_variant(&name, &EVENT_NAMES))
    }
}

/// Writes only the keys of a table whose values differ from the default.
fn unlike_default<T: Serialize + Default, S: Serializer>(table: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let keys = |table: &T| {
        let table = serde_json::to_value(table).and_then(serde_json::from_value::<BTreeMap<String, Value>>);
        table.map_err(S::Error::custom)
    };
    let default = keys(&T::default())?;
    let mut written = keys(table)?;
    written.retain(|key, value| default.get(key) != Some(value));
    written.values_mut().for_each(without_nulls);
    written.serialize(serializer)
}

/// Removes keys whose value is null, because TOML has no null.
fn without_nulls(value: &mut Value) {
    if let Value::Object(keys) = value {
        keys.retain(|_, value| !value.is_null());
        keys.values_mut().for_each(without_nulls);
    }
}

fn is_default<T: Default + PartialEq>(table: &T) -> bool {
    *table == T::default()
}

impl RawEntry {
    /// Returns the entry in the form that a file in `directory` contains.
    pub(super) fn of(entry: &Entry, directory: &Path) -> Result<Self, String> {
        let Code::File { path, digest } = &entry.code else {
            return Err("a configuration file can name files only".to_owned());
        };
        let shortened = |directories: &BTreeMap<String, PathBuf>| {
            directories
                .iter()
                .map(|(guest, host)| Ok((guest.clone(), shorten(host, directory)?.into())))
                .collect::<Result<_, String>>()
        };
        let mut grants = entry.grants.clone();
        grants.read_dirs = shortened(&entry.grants.read_dirs)?;
        grants.write_dirs = shortened(&entry.grants.write_dirs)?;
        Ok(Self {
            name: entry.name.clone(),
            path: shorten(path, directory)?,
            sha256: *digest,
            priority: (entry.priority != Entry::DEFAULT_PRIORITY).then_some(entry.priority),
            enabled: (!entry.enabled).then_some(false),
            events: entry.events.as_ref().map(|events| events.iter().copied().map(EventName).collect()),
            actions: entry.actions.clone(),
            tools: entry.tools.clone(),
            mode: (entry.mode != Mode::default()).then_some(entry.mode),
            on_failure: entry.on_failure,
            on_question: (entry.on_question != OnQuestion::default()).then_some(entry.on_question),
            stop: (entry.stop != Stop::default()).then_some(entry.stop),
            limits: entry.limits.clone(),
            grants,
            config: entry.config.clone(),
        })
    }

    /// Returns the text, from `[[plugin]]` to the end.
    #[cfg(feature = "config-file")]
    pub(super) fn to_toml(&self) -> Result<String, String> {
        #[derive(Serialize)]
        struct File<'a> {
            plugin: [&'a RawEntry; 1],
        }
        toml::to_string(&File { plugin: [self] }).map_err(|error| error.to_string())
    }
}

impl fmt::Debug for RawEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawEntry").field("name", &self.name).finish_non_exhaustive()
    }
}
