//! A host of `all-events` plugins, each of which does what its configuration says.

use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::audit::{self, Scope, WrittenValue};
use hookhost::config::{Code, Digest, Entry, Layer, ModelGrant, Settings, Source, StateGrant};
use hookhost::contract::OutcomeKind;
use hookhost::session::Notice;
use hookhost::store::Log;
use hookhost::{Config, Host, HostBuilder, Session, SessionSpec};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A component that `cargo xtask plugins` has built.
pub(crate) fn component(name: &str) -> PathBuf {
    let built = std::env::var_os("HOOKHOST_PLUGINS").map(PathBuf::from);
    let path = built.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("../plugins")).join(name);
    assert!(path.exists(), "{} is missing: run `cargo xtask plugins`", path.display());
    path
}

/// An entry of the allowlist for an `all-events` plugin that behaves so, with every grant that it imports.
pub(crate) fn plugin(name: &str, behaviour: Value) -> Entry {
    // Two entries of one file are an error, so each name has a file of its own.
    let original = component("all_events.wasm");
    let digest = Digest::of_file(&original).expect("a component");
    let path = original.with_file_name(format!("all_events.{}.{name}.wasm", &digest.to_string()[..8]));
    if !path.exists() {
        let linked = std::fs::hard_link(&original, &path);
        assert!(linked.is_ok() || path.exists(), "{linked:?}");
    }
    let mut entry = Entry::new(name, path, digest);
    entry.grants.state = Some(StateGrant::default());
    entry.grants.transcript = true;
    entry.grants.audit = true;
    entry.grants.model = Some(ModelGrant::new("small"));
    // Those that ask no model have the deadline of a plugin that only computes.
    entry.limits.deadline = Some(Duration::from_millis(100));
    let Value::Object(config) = behaviour else { panic!("a behaviour is an object") };
    entry.config = config;
    entry
}

/// A configuration with these entries, and with a rule that asks about the calls that `on` means: a word or the pattern of a
/// tool. `settings` are lines of `[settings]`.
pub(crate) fn asking(on: &str, settings: &str, entries: Vec<Entry>) -> Config {
    let path = component("rules.wasm");
    let digest = Digest::of_file(&path).expect("a component");
    let text =
        format!("[settings]\n{settings}\n[[rule]]\nid = 'ask'\non = '{on}'\nask = 'May this run? {{command}}'\n");
    let config = Config::parse(&text, &Source::new("/h.toml", Layer::Chosen), &[]).expect("a configuration");
    let config = config.with_rules_plugin(Code::File { path, digest }).expect("one entry of this name");
    config.with_entries(entries).expect("entries")
}

/// A builder that keeps compiled code between the tests, which load the same components over and over.
pub(crate) fn builder(config: Config) -> HostBuilder {
    Host::builder(config).cache(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
}

pub(crate) async fn host(entries: Vec<Entry>) -> Host {
    let config = Config::from_entries(entries, Settings::default()).expect("a configuration");
    builder(config).build().await.expect("a host")
}

/// The texts of notices.
pub(crate) fn texts(notices: Vec<Notice>) -> Vec<String> {
    notices.into_iter().map(|notice| notice.text).collect()
}

pub(crate) fn spec() -> SessionSpec {
    SessionSpec::new("test", Path::new("/work"))
}

pub(crate) async fn session(entries: Vec<Entry>) -> Session {
    host(entries).await.open_session(spec()).expect("a session")
}

/// An approver who says yes to everything.
pub(crate) struct Yes;

impl Approver for Yes {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async { Approval::yes() })
    }
}

/// A `bash` call.
pub(crate) fn bash(session: &Session, command: &str) -> hookhost::PreparedCall {
    session.tool_call("1", "bash", &json!({ "command": command }), hookhost::contract::ToolOrigin::Builtin)
}

/// A host of these plugins that keeps a log, in a directory that lives as long as the first of the three.
pub(crate) fn recording(entries: Vec<Entry>) -> (tempfile::TempDir, PathBuf, HostBuilder) {
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("hookhost.db");
    let config = Config::from_entries(entries, Settings::default()).expect("a configuration");
    (directory, log.clone(), builder(config).store(log))
}

/// All that is in a log.
pub(crate) fn written(log: &Path) -> Vec<audit::Record> {
    let log = Log::open(log).expect("a log");
    log.lines().expect("lines").map(|line| line.expect("a line").entry().expect("a record")).collect()
}

/// The state of plugins: by plugin, scope and session (empty: the plugin's own), and key.
pub(crate) type State = BTreeMap<(String, String, String), String>;

/// The state that is in the database.
pub(crate) fn state_in(log: &Path) -> State {
    let connection = rusqlite::Connection::open(log).expect("a database");
    let mut values = connection
        .prepare(
            "SELECT plugin, scope || ' ' || session, key, CAST(value AS TEXT) FROM value JOIN space ON space.id = value.space",
        )
        .expect("our tables");
    let rows = values.query_map([], |row| Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get(3)?)));
    rows.expect("rows").collect::<Result<_, _>>().expect("texts")
}

/// The state that comes of what the log says was written: of an escalated event from its answer on, where that says so.
pub(crate) fn state_by(entries: &[audit::Record]) -> State {
    let mut state = State::new();
    let mut roots = BTreeMap::new();
    let mut escalated: BTreeMap<&str, &audit::Record> = BTreeMap::new();
    for entry in entries {
        match entry {
            audit::Record::Event(record) if record.outcome == OutcomeKind::Escalated => {
                escalated.insert(&record.id, entry);
            }
            audit::Record::Approval(answer) => {
                let settled = escalated.remove(&*answer.id).filter(|_| answer.effects_hold);
                settled.into_iter().for_each(|entry| write(&mut state, &roots, entry));
            }
            audit::Record::Session(opened) => {
                let root = opened.root.clone().unwrap_or_else(|| opened.header.session.clone());
                roots.insert(opened.header.session.clone(), root);
            }
            _ => write(&mut state, &roots, entry),
        }
    }
    state
}

fn write(state: &mut State, roots: &BTreeMap<String, String>, entry: &audit::Record) {
    let session = entry.session().unwrap_or_default();
    for call in entry.calls() {
        for write in &call.wrote {
            let of = match write.scope {
                Scope::Session => format!("session {session}"),
                Scope::Tree => format!("tree {}", roots.get(session).map_or(session, String::as_str)),
                Scope::Plugin => "plugin ".to_owned(),
                scope => panic!("unknown to the tests: {scope:?}"),
            };
            let place = (call.plugin.clone(), of, write.key.clone());
            match &write.write {
                WrittenValue::Set { value, .. } => {
                    state.insert(place, String::from_utf8(value.0.clone()).expect("a text"));
                }
                WrittenValue::Delete {} => {
                    state.remove(&place);
                }
                WrittenValue::Add { by } => {
                    let before: i64 = state.get(&place).map_or(0, |number| number.parse().expect("a number"));
                    state.insert(place, (before + by).to_string());
                }
                write => panic!("unknown to the tests: {write:?}"),
            }
        }
    }
}
