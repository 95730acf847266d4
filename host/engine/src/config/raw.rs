//! An entry as it is written in the file: the keys, and nothing worked out. Read and written by serde; `check` makes an
//! [`Entry`](super::Entry) of it, [`RawEntry::of`] the reverse, leaving out what is default.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{
    ActionKind, Digest, Entry, Grants, Limits, Mode, ModelGrant, OnFailure, StateGrant, ToolPattern,
    paths::shorten,
    quantity::{Count32, Count64, Handles, Instances, Memory, Size, TableElements, Tables, UpToAnHour},
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
    pub(super) stop: Option<Stop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limits: Option<RawLimits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) grants: Option<RawGrants>,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub(super) config: serde_json::Map<String, serde_json::Value>,
}

/// An event by its name in the contract.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventName(pub(super) EventKind);

static EVENT_NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| EventKind::ALL.iter().map(|kind| kind.name()).collect());

impl Serialize for EventName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for EventName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        EventKind::from_name(&name).map(Self).ok_or_else(|| D::Error::unknown_variant(&name, &EVENT_NAMES))
    }
}

/// The keys of `[plugin.limits]`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct RawLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    fuel: Option<Count64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compute: Option<UpToAnHour>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<UpToAnHour>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table_elements: Option<TableElements>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Tables>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instances: Option<Instances>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handles: Option<Handles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_body: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capability_calls: Option<Count32>,
}

impl RawLimits {
    /// The limits that these and the defaults make.
    pub(super) fn over(&self, default: &Limits) -> Limits {
        let time = |quantity: UpToAnHour| Duration::from_micros(quantity.get().get());
        let deadline = self.deadline.map_or(default.deadline, time);
        Limits {
            fuel: self.fuel.map_or(default.fuel, Count64::get),
            compute: self.compute.map_or(default.compute.min(deadline), time),
            deadline,
            memory: self.memory.map_or(default.memory, |size| to_usize(size.get())),
            table_elements: self.table_elements.map_or(default.table_elements, |count| to_u32(count.get())),
            tables: self.tables.map_or(default.tables, |count| to_u32(count.get())),
            instances: self.instances.map_or(default.instances, |count| to_u32(count.get())),
            handles: self.handles.map_or(default.handles, |count| to_u32(count.get())),
            input: self.input.map_or(default.input, |size| to_usize(size.get())),
            output: self.output.map_or(default.output, |size| to_usize(size.get())),
            log: self.log.map_or(default.log, |size| to_usize(size.get())),
            http_body: self.http_body.map_or(default.http_body, |size| to_usize(size.get())),
            capability_calls: self.capability_calls.map_or(default.capability_calls, |count| to_u32(count.get())),
        }
    }

    /// What of these limits is not default; `None` where all is.
    fn of(limits: &Limits, default: &Limits) -> Result<Option<Self>, String> {
        fn unless_default<T: PartialEq + Copy, Q>(
            key: &str,
            value: T,
            default: T,
            write: impl FnOnce(T) -> Result<Q, String>,
        ) -> Result<Option<Q>, String> {
            if value == default {
                Ok(None)
            } else {
                write(value).map(Some).map_err(|why| format!("`limits.{key}`: {why}"))
            }
        }
        let size = |bytes: NonZeroUsize| Size::new(bytes.get() as u64);
        let time = |time: Duration| UpToAnHour::new(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        if limits == default {
            return Ok(None);
        }
        Ok(Some(Self {
            fuel: unless_default("fuel", limits.fuel, default.fuel, |fuel| Count64::new(fuel.get()))?,
            compute: unless_default("compute", limits.compute, default.compute, time)?,
            deadline: unless_default("deadline", limits.deadline, default.deadline, time)?,
            memory: unless_default("memory", limits.memory, default.memory, |bytes| Memory::new(bytes.get() as u64))?,
            table_elements: unless_default("table-elements", limits.table_elements, default.table_elements, |count| {
                TableElements::new(count.get().into())
            })?,
            tables: unless_default("tables", limits.tables, default.tables, |count| Tables::new(count.get().into()))?,
            instances: unless_default("instances", limits.instances, default.instances, |count| {
                Instances::new(count.get().into())
            })?,
            handles: unless_default("handles", limits.handles, default.handles, |count| {
                Handles::new(count.get().into())
            })?,
            input: unless_default("input", limits.input, default.input, size)?,
            output: unless_default("output", limits.output, default.output, size)?,
            log: unless_default("log", limits.log, default.log, size)?,
            http_body: unless_default("http-body", limits.http_body, default.http_body, size)?,
            capability_calls: unless_default(
                "capability-calls",
                limits.capability_calls,
                default.capability_calls,
                |count| Count32::new(count.get().into()),
            )?,
        }))
    }
}

/// On a host with 32-bit addresses 4 GiB is all there is.
fn to_usize(bytes: NonZeroU64) -> NonZeroUsize {
    NonZeroUsize::try_from(bytes).unwrap_or(NonZeroUsize::MAX)
}

/// A `Count32` is never more.
fn to_u32(count: NonZeroU64) -> NonZeroU32 {
    NonZeroU32::try_from(count).unwrap_or(NonZeroU32::MAX)
}

/// The keys of `[plugin.grants]`.
#[derive(Serialize, Deserialize, Default, PartialEq)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct RawGrants {
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<RawState>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) read_dirs: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) write_dirs: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) env: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) http: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<RawModel>,
    #[serde(skip_serializing_if = "is_false")]
    transcript: bool,
    #[serde(skip_serializing_if = "is_false")]
    approve: bool,
    #[serde(skip_serializing_if = "is_false")]
    audit: bool,
    #[serde(skip_serializing_if = "is_false")]
    clock: bool,
    #[serde(skip_serializing_if = "is_false")]
    random: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The keys of `state`.
#[derive(Serialize, Deserialize, PartialEq)]
struct RawState {
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<Size>,
}

/// The keys of `model`.
#[derive(Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) struct RawModel {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_calls: Option<Count32>,
}

impl RawGrants {
    /// The grants, `read-dirs` and `write-dirs` being already expanded.
    pub(super) fn with_dirs(
        &self,
        read_dirs: BTreeMap<String, PathBuf>,
        write_dirs: BTreeMap<String, PathBuf>,
    ) -> Grants {
        Grants {
            state: self.state.as_ref().map(|state| match state.quota {
                Some(quota) => StateGrant { quota: to_usize(quota.get()) },
                None => StateGrant::default(),
            }),
            read_dirs,
            write_dirs,
            env: self.env.clone(),
            http: self.http.clone(),
            model: self.model.as_ref().map(|model| ModelGrant {
                name: model.name.clone(),
                max_calls: model.max_calls.map_or(ModelGrant::DEFAULT_MAX_CALLS, |calls| to_u32(calls.get())),
            }),
            transcript: self.transcript,
            approve: self.approve,
            audit: self.audit,
            clock: self.clock,
            random: self.random,
        }
    }

    fn of(grants: &Grants, directory: &Path) -> Result<Self, String> {
        let directories = |directories: &BTreeMap<String, PathBuf>| {
            directories
                .iter()
                .map(|(guest, host)| Ok((guest.clone(), shorten(host, directory)?)))
                .collect::<Result<_, String>>()
        };
        Ok(Self {
            state: match &grants.state {
                Some(state) => Some(RawState { quota: Some(Size::new(state.quota.get() as u64)?) }),
                None => None,
            },
            read_dirs: directories(&grants.read_dirs)?,
            write_dirs: directories(&grants.write_dirs)?,
            env: grants.env.clone(),
            http: grants.http.clone(),
            model: match &grants.model {
                Some(model) => Some(RawModel {
                    name: model.name.clone(),
                    max_calls: Some(Count32::new(model.max_calls.get().into())?),
                }),
                None => None,
            },
            transcript: grants.transcript,
            approve: grants.approve,
            audit: grants.audit,
            clock: grants.clock,
            random: grants.random,
        })
    }
}

impl RawEntry {
    /// How a file in `directory` writes that entry.
    pub(super) fn of(entry: &Entry, directory: &Path) -> Result<Self, String> {
        let grants = RawGrants::of(&entry.grants, directory)?;
        Ok(Self {
            name: entry.name.clone(),
            path: shorten(&entry.path, directory)?,
            sha256: entry.digest,
            priority: (entry.priority != Entry::DEFAULT_PRIORITY).then_some(entry.priority),
            enabled: (!entry.enabled).then_some(false),
            events: entry.events.as_ref().map(|events| events.iter().copied().map(EventName).collect()),
            actions: entry.actions.clone(),
            tools: entry.tools.clone(),
            mode: (entry.mode != Mode::default()).then_some(entry.mode),
            on_failure: entry.on_failure,
            stop: (entry.stop != Stop::default()).then_some(entry.stop),
            limits: RawLimits::of(&entry.limits, &Limits::for_grants(&entry.grants))?,
            grants: (grants != RawGrants::default()).then_some(grants),
            config: entry.config.clone(),
        })
    }

    /// Its text, from `[[plugin]]` to the end.
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
