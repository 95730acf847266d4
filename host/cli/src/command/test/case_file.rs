//! The format of case files. A file is checked as a whole before its first case runs.

use super::facts::CaseFacts;
use super::outcome::CaseOutcome;
use crate::exit::CliError;
use crate::nearest::nearest;
use anyhow::anyhow;
use hookhost::audit::{Bytes, Scope};
use hookhost::command::{Document, Mistake};
use hookhost::contract::EventKind;
use hookhost::files::{self, FileError, Guard, Links};
use hookhost::session::SessionSpec;
use hookhost_agents::ToolUse;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// Maximum size of a case file, in bytes.
const MAX_SIZE: u64 = 64 << 20;

/// The directory of cases that name none. It is the same on every machine, so that the outcome is, too.
const DIRECTORY: &str = "/work/project";

/// The agent of cases that name none.
const AGENT: &str = "hookhost-test";

/// The name of the tool in an event that is written as `shell = "…"`.
const SHELL_TOOL: &str = "bash";

/// State of plugins: by plugin, scope and key.
pub(in crate::command) type States = BTreeMap<String, BTreeMap<Scope, BTreeMap<String, StateValue>>>;

/// A value in the state of a plugin. A number has the form that the capability `increment` stores.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub(in crate::command) enum StateValue {
    Number(i64),
    Bytes(Bytes),
}

impl StateValue {
    /// Returns the value as it is stored.
    pub(super) fn stored(&self) -> Vec<u8> {
        match self {
            Self::Number(number) => number.to_string().into_bytes(),
            Self::Bytes(bytes) => bytes.0.clone(),
        }
    }

    /// Returns a stored value: a number, if it is stored as `increment` does it.
    pub(in crate::command) fn of(stored: &[u8]) -> Self {
        let number = std::str::from_utf8(stored).ok().and_then(|text| text.parse::<i64>().ok());
        match number.map(Self::Number) {
            Some(number) if number.stored() == stored => number,
            _ => Self::Bytes(Bytes(stored.to_owned())),
        }
    }
}

/// A checked case file.
#[derive(Debug)]
pub(super) struct CaseFile {
    pub(super) path: PathBuf,
    pub(super) cases: Vec<Case>,
}

/// A case: one session with one or several events.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    /// The line of the case, from 1.
    pub(super) line: usize,
    session: SessionKeys,
    pub(super) steps: Vec<Step>,
}

/// An event of a case, and what is expected of it.
#[derive(Debug)]
pub(super) struct Step {
    /// The keys and indices that lead to the event in the file.
    pub(super) path: Vec<String>,
    pub(super) event: EventKind,
    pub(super) payload: Map<String, Value>,
    /// The command, if the event is written as `shell`.
    pub(super) shell: Option<String>,
    pub(super) before: States,
    /// The labels that the session gets before the event.
    pub(super) labels: BTreeSet<String>,
    pub(super) facts: CaseFacts,
    /// True if the case gives facts, so that the event alone cannot be tried.
    has_facts: bool,
    pub(super) expected: Expectation,
}

/// What is expected of an event. Only the keys that are given are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Expectation {
    pub(super) outcome: Option<CaseOutcome>,
    pub(super) code: Option<String>,
    pub(super) plugin: Option<String>,
    pub(super) reason_contains: Option<String>,
    pub(super) becomes: Option<Value>,
    /// A part of the result of a plugin's tool. If it is given, the tool runs.
    pub(super) result_contains: Option<String>,
    pub(super) after: States,
    /// All labels of the session after the event.
    pub(super) labels: Option<BTreeSet<String>>,
}

/// The keys that describe a session.
#[derive(Clone, Debug, Default)]
struct SessionKeys {
    agent: Option<String>,
    cwd: Option<PathBuf>,
    workspace: Option<PathBuf>,
    interactive: Option<bool>,
    depth: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct RawFile {
    #[serde(default)]
    case: Vec<RawStep>,
}

/// The keys of a case and of an event. A case with one event has the keys of both, so both are one type, and [`Reader`] refuses the keys
/// that belong to the other.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct RawStep {
    name: Option<String>,
    agent: Option<String>,
    cwd: Option<PathBuf>,
    workspace: Option<PathBuf>,
    interactive: Option<bool>,
    depth: Option<u32>,
    state: States,
    labels: BTreeSet<String>,
    facts: Map<String, Value>,
    event: Option<EventKey>,
    payload: Option<Value>,
    shell: Option<String>,
    tool: Option<String>,
    arguments: Option<Value>,
    prompt: Option<String>,
    outcome: Option<CaseOutcome>,
    code: Option<String>,
    plugin: Option<String>,
    reason_contains: Option<String>,
    becomes: Option<Value>,
    result_contains: Option<String>,
    state_after: States,
    labels_after: Option<BTreeSet<String>>,
}

/// The key `event`: the name of one event, or several events.
#[derive(Debug)]
enum EventKey {
    Name(String),
    Steps(Vec<RawStep>),
}

impl<'de> Deserialize<'de> for EventKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrSteps;

        impl<'de> Visitor<'de> for NameOrSteps {
            type Value = EventKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an event, or a list of events")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<EventKey, E> {
                Ok(EventKey::Name(name.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<EventKey, A::Error> {
                let mut steps = Vec::new();
                while let Some(step) = items.next_element()? {
                    steps.push(step);
                }
                if steps.is_empty() {
                    Err(A::Error::custom("there is no event here"))
                } else {
                    Ok(EventKey::Steps(steps))
                }
            }
        }

        deserializer.deserialize_any(NameOrSteps)
    }
}

impl CaseFile {
    /// Reads a file. `plugins` are the names of the plugins that may have state. With `is_update`, an outcome may be missing.
    ///
    /// # Errors
    /// If the file cannot be read, or has mistakes.
    pub(super) fn read(path: &Path, plugins: &[&str], is_update: bool) -> Result<Self, CliError> {
        let text = text(path)?;
        let wrong = |problems| CliError::usage(anyhow!("{problems}"));
        let document = Document::parse(path, &text).map_err(wrong)?;
        let raw: RawFile = document.read().map_err(wrong)?;
        let mut reader = Reader { plugins, is_update, mistakes: Vec::new() };
        let cases = raw.case.into_iter().enumerate().map(|(index, raw)| {
            let path = vec!["case".to_owned(), index.to_string()];
            let line = document.line(&path);
            reader.case(raw, path, line)
        });
        let cases = cases.collect();
        document.check(reader.mistakes).map_err(wrong)?;
        Ok(Self { path: path.to_owned(), cases })
    }
}

/// Reads the text of a case file. Whoever may write the file decides only what is expected.
pub(super) fn text(path: &Path) -> Result<String, CliError> {
    let unreadable =
        |why: &dyn fmt::Display| CliError::usage(format!("the case file {} cannot be read: {why}", path.display()));
    let bytes = match files::read(path, Guard::Anybodys, Links::Followed, MAX_SIZE) {
        Ok(bytes) => bytes,
        Err(FileError::Io(error)) => return Err(unreadable(&error)),
        Err(FileError::Refused(refused)) => return Err(CliError::usage(refused)),
    };
    String::from_utf8(bytes).map_err(|_| unreadable(&"it is not text in UTF-8"))
}

impl Case {
    /// Returns the description of the case's session. Questions are possible in it, unless the case says otherwise.
    pub(super) fn spec(&self) -> SessionSpec {
        let SessionKeys { agent, cwd, workspace, interactive, depth } = &self.session;
        let workspace = workspace.as_deref().or(cwd.as_deref()).unwrap_or(Path::new(DIRECTORY));
        let mut spec = SessionSpec::new(agent.as_deref().unwrap_or(AGENT), workspace);
        if let Some(cwd) = cwd {
            spec.cwd.clone_from(cwd);
        }
        spec.interactive = interactive.unwrap_or(true);
        spec.depth = depth.unwrap_or(0);
        spec
    }

    /// Returns true if the case consists of one event without state, labels and facts, so that the event alone can be tried.
    pub(super) fn is_one_event(&self) -> bool {
        let is_plain = |step: &Step| step.before.is_empty() && step.labels.is_empty() && !step.has_facts;
        matches!(self.steps.as_slice(), [step] if is_plain(step))
    }

    /// Returns the keys of the session that the case gives, in the form of a payload of `hookhost dispatch`.
    pub(super) fn session_keys(&self) -> Value {
        let SessionKeys { agent, cwd, workspace, interactive, depth } = &self.session;
        let given = [
            ("agent", json!(agent)),
            ("cwd", json!(cwd)),
            ("workspace", json!(workspace)),
            ("interactive", json!(interactive)),
            ("depth", json!(depth)),
        ];
        given.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Checks what the types do not express, and collects the mistakes.
struct Reader<'a> {
    plugins: &'a [&'a str],
    is_update: bool,
    mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    fn mistake(&mut self, path: &[String], key: &str, message: impl Into<String>) {
        let path = path.iter().cloned().chain((!key.is_empty()).then(|| key.to_owned())).collect();
        self.mistakes.push(Mistake { path, message: message.into() });
    }

    fn case(&mut self, mut raw: RawStep, path: Vec<String>, line: usize) -> Case {
        let name = raw.name.take().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| {
            self.mistake(&path, "name", "the case has no `name`: say in one sentence what should happen");
            String::new()
        });
        let session = SessionKeys {
            agent: raw.agent.take(),
            cwd: raw.cwd.take(),
            workspace: raw.workspace.take(),
            interactive: raw.interactive.take(),
            depth: raw.depth.take(),
        };
        for (key, directory) in [("cwd", &session.cwd), ("workspace", &session.workspace)] {
            if directory.as_ref().is_some_and(|directory| !directory.is_absolute()) {
                self.mistake(&path, key, format!("`{key}` is not an absolute path"));
            }
        }
        let steps = match raw.event {
            Some(EventKey::Steps(steps)) => {
                raw.event = None;
                let of_case = RawStep {
                    state: std::mem::take(&mut raw.state),
                    labels: std::mem::take(&mut raw.labels),
                    facts: std::mem::take(&mut raw.facts),
                    state_after: std::mem::take(&mut raw.state_after),
                    labels_after: raw.labels_after.take(),
                    ..RawStep::default()
                };
                self.no_event_of_its_own(&raw, &path);
                self.steps(steps, &path, of_case)
            }
            _ => {
                self.facts(&raw.facts, &path);
                vec![self.step(raw, path)]
            }
        };
        Case { name, line, session, steps }
    }

    /// Reads the events of a case. The case's own state and labels are those before the first event, and after the last one. Its facts are
    /// those of each event that does not give other ones.
    fn steps(&mut self, raw: Vec<RawStep>, path: &[String], of_case: RawStep) -> Vec<Step> {
        self.known_plugins(&of_case.state, path, "state");
        self.known_plugins(&of_case.state_after, path, "state-after");
        self.facts(&of_case.facts, path);
        let steps = raw.into_iter().enumerate().map(|(index, mut raw)| {
            let path = [path, &["event".to_owned(), index.to_string()]].concat();
            for (key, is_given) in raw.keys_of_a_case() {
                if is_given {
                    self.mistake(&path, key, format!("`{key}` belongs to the case, not to one of its events"));
                }
            }
            let given = std::mem::take(&mut raw.facts);
            self.facts(&given, &path);
            raw.facts = of_case.facts.clone().into_iter().chain(given).collect();
            self.step(raw, path)
        });
        let mut steps: Vec<Step> = steps.collect();
        if let Some(first) = steps.first_mut() {
            add(&mut first.before, of_case.state);
            first.labels.extend(of_case.labels);
        }
        if let Some(last) = steps.last_mut() {
            add(&mut last.expected.after, of_case.state_after);
            last.expected.labels = last.expected.labels.take().or(of_case.labels_after);
        }
        steps
    }

    /// Reads the facts of a case or of an event, and notes the mistakes.
    fn facts(&mut self, facts: &Map<String, Value>, path: &[String]) -> CaseFacts {
        CaseFacts::read(facts).unwrap_or_else(|mistakes| {
            for (name, message) in mistakes {
                let path = [path, &["facts".to_owned(), name]].concat();
                self.mistakes.push(Mistake { path, message });
            }
            CaseFacts::default()
        })
    }

    fn no_event_of_its_own(&mut self, raw: &RawStep, path: &[String]) {
        for (key, is_given) in raw.keys_of_an_event() {
            if is_given {
                self.mistake(path, key, format!("`{key}` belongs to one event, and this case has several in `event`"));
            }
        }
    }

    fn step(&mut self, raw: RawStep, path: Vec<String>) -> Step {
        self.known_plugins(&raw.state, &path, "state");
        self.known_plugins(&raw.state_after, &path, "state-after");
        if raw.outcome.is_none() && !self.is_update {
            let next = "write what you expect, or let hookhost test --update write what comes out";
            self.mistake(&path, "outcome", format!("the event has no `outcome`: {next}"));
        }
        let (event, payload) = self.event(&raw, &path);
        let facts = CaseFacts::read(&raw.facts).unwrap_or_default();
        let expected = Expectation {
            outcome: raw.outcome,
            code: raw.code,
            plugin: raw.plugin,
            reason_contains: raw.reason_contains,
            becomes: raw.becomes,
            result_contains: raw.result_contains,
            after: raw.state_after,
            labels: raw.labels_after,
        };
        let (has_facts, labels) = (!raw.facts.is_empty(), raw.labels);
        Step { path, event, payload, shell: raw.shell, before: raw.state, labels, facts, has_facts, expected }
    }

    /// Returns the event and its payload.
    fn event(&mut self, raw: &RawStep, path: &[String]) -> (EventKind, Map<String, Value>) {
        let call = |name: &str, arguments: Value| {
            let id = path.last().map_or("1", String::as_str);
            let origin = ToolUse::new(None, name, arguments.clone()).origin;
            let call = json!({ "id": id, "name": name, "arguments": arguments, "origin": origin });
            (EventKind::BeforeToolCall, Map::from_iter([("call".to_owned(), call)]))
        };
        if raw.arguments.is_some() && raw.tool.is_none() {
            self.mistake(path, "arguments", "`arguments` belongs to a `tool`, and this event has none");
        }
        if raw.result_contains.is_some() && raw.tool.is_none() {
            let why = "`result-contains` belongs to a `tool` of a plugin, and this event has none";
            self.mistake(path, "result-contains", why);
        }
        if raw.payload.is_some() && raw.event.is_none() {
            self.mistake(path, "payload", "`payload` belongs to an `event`, and this event has no such key");
        }
        match (&raw.shell, &raw.tool, &raw.prompt, &raw.event) {
            (Some(command), None, None, None) => call(SHELL_TOOL, json!({ "command": command })),
            (None, Some(tool), None, None) => {
                let arguments = self.object(raw.arguments.as_ref(), path, "arguments");
                call(tool, Value::Object(arguments))
            }
            (None, None, Some(prompt), None) => {
                (EventKind::PromptSubmit, Map::from_iter([("prompt".to_owned(), json!(prompt))]))
            }
            (None, None, None, Some(EventKey::Name(name))) => {
                let event = self.named(name, path);
                (event, self.object(raw.payload.as_ref(), path, "payload"))
            }
            _ => {
                self.mistake(path, "", "an event is exactly one of `shell`, `tool`, `prompt` and `event`");
                (EventKind::BeforeToolCall, Map::new())
            }
        }
    }

    fn named(&mut self, name: &str, path: &[String]) -> EventKind {
        EventKind::from_name(name).unwrap_or_else(|| {
            let near = nearest(name, EventKind::ALL.iter().map(|event| event.name()));
            let advice = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            self.mistake(path, "event", format!("there is no event `{name}`{advice}"));
            EventKind::BeforeToolCall
        })
    }

    /// Returns an object that is written as a table, or as a text that contains JSON, because TOML has no `null`.
    fn object(&mut self, value: Option<&Value>, path: &[String], key: &str) -> Map<String, Value> {
        let parsed = match value {
            None => return Map::new(),
            Some(Value::String(text)) => serde_json::from_str(text).map_err(|error| error.to_string()),
            Some(value) => Ok(value.clone()),
        };
        match parsed {
            Ok(Value::Object(object)) => return object,
            Ok(_) => self.mistake(path, key, format!("`{key}` is neither a table nor the text of a JSON object")),
            Err(error) => self.mistake(path, key, format!("`{key}` is no JSON: {error}")),
        }
        Map::new()
    }

    fn known_plugins(&mut self, states: &States, path: &[String], key: &str) {
        for plugin in states.keys().filter(|plugin| !self.plugins.contains(&plugin.as_str())) {
            let near = nearest(plugin, self.plugins.iter().copied());
            let advice = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            let path = [path, &[key.to_owned(), plugin.clone()]].concat();
            self.mistakes.push(Mistake { path, message: format!("no plugin `{plugin}` is loaded here{advice}") });
        }
    }
}

/// Adds values to a state.
fn add(state: &mut States, more: States) {
    for (plugin, scopes) in more {
        let of_plugin = state.entry(plugin).or_default();
        for (scope, values) in scopes {
            of_plugin.entry(scope).or_default().extend(values);
        }
    }
}

impl RawStep {
    fn keys_of_a_case(&self) -> [(&'static str, bool); 6] {
        [
            ("name", self.name.is_some()),
            ("agent", self.agent.is_some()),
            ("cwd", self.cwd.is_some()),
            ("workspace", self.workspace.is_some()),
            ("interactive", self.interactive.is_some()),
            ("depth", self.depth.is_some()),
        ]
    }

    fn keys_of_an_event(&self) -> [(&'static str, bool); 11] {
        [
            ("shell", self.shell.is_some()),
            ("tool", self.tool.is_some()),
            ("arguments", self.arguments.is_some()),
            ("prompt", self.prompt.is_some()),
            ("payload", self.payload.is_some()),
            ("outcome", self.outcome.is_some()),
            ("code", self.code.is_some()),
            ("plugin", self.plugin.is_some()),
            ("reason-contains", self.reason_contains.is_some()),
            ("becomes", self.becomes.is_some()),
            ("result-contains", self.result_contains.is_some()),
        ]
    }
}
