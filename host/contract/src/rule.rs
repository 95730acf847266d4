//! The shape of a rule in words: one `[[rule]]` table of `hookhost.toml`.
//!
//! The engine reads the table into a [`RuleRow`] and passes all rows to the plugin `rules` as a [`RulesConfig`] in JSON. So the
//! file and the plugin have one schema.

use crate::EventKind;
use serde::de::{
    self, Deserializer, IntoDeserializer as _, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer,
};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// Maximum number of rows in the user's files.
pub const MAX_USER_ROWS: usize = 1_000;
/// Maximum number of rows in the files of a project.
pub const MAX_PROJECT_ROWS: usize = 200;
/// Maximum number of `stops` of a row, and of its `passes`.
pub const MAX_EXAMPLES: usize = 32;
/// Maximum length of a text or an example, in bytes.
pub const MAX_TEXT: usize = 4 * 1024;
/// Maximum length of a pattern, in bytes.
pub const MAX_PATTERN: usize = 1_024;
/// Maximum number of wildcards in a pattern.
pub const MAX_WILDCARDS: usize = 32;

/// One rule: the calls or texts that it is about, its answer, and examples.
///
/// All matchers of a row must hold for the same simple command, path, call or text. A matcher with several values holds if one
/// of them does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuleRow {
    /// The name of the rule. It is the code of its refusals and questions, and its name in the log.
    pub id: String,
    /// What the rule is about.
    pub on: OneOrMany<RuleOn>,
    /// Programs, each optionally with a subcommand: `git push`. `*` at the end of the program stands for any ending.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub program: OneOrMany<String>,
    /// Options of which the command has one, as a person spells them: `--force`, `-f`, `--mode=fast`.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub flags: OneOrMany<String>,
    /// Patterns of which one matches an operand of the command after its subcommand.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub args: OneOrMany<String>,
    /// Patterns of paths, in the syntax of path-guard. A pattern after `!` is an exception.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub path: OneOrMany<String>,
    /// Patterns of whole URLs.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub url: OneOrMany<String>,
    /// Patterns of the host names of URLs. A pattern after `!` is an exception.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub host: OneOrMany<String>,
    /// Patterns of the names of MCP servers.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub server: OneOrMany<String>,
    /// Patterns of the names of tools. A pattern after `!` is an exception.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub tool: OneOrMany<String>,
    /// Parts of a prompt, a text or a result, or of what a call writes or sends, in this spelling.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub text: OneOrMany<String>,
    /// A CEL expression. The rule applies only if it is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// A CEL expression. The rule does not apply if it is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless: Option<String>,
    /// Ids of rules that matched before in this run, and labels that the session has: the rule applies only after all of these. A name
    /// after `!` is one that must not have occurred.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub after: OneOrMany<String>,
    /// The time before the event that `after` looks at: `10m`. Without it, all of the session counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Answer: the call or text is stopped. The text says why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reject: Option<String>,
    /// Answer: a person decides. The text is the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// Answer: the event continues, and the text is in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Answer: the event continues, and the model gets this text with its next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind: Option<String>,
    /// Answer: these arguments of the call get these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<serde_json::Map<String, serde_json::Value>>,
    /// Answer: each part that `text` names is replaced by this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redact: Option<String>,
    /// Answer: the event continues, and the session and its sub-agents get this label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What the model should do instead, in addition to `reject` or `ask`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// The mode of the user that has given the row its answer, or that the row names for this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// True if the rule is judged and recorded, but has no effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observe: bool,
    /// Examples that the rule matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<RuleExample>,
    /// Examples that the rule does not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<RuleExample>,
}

/// The kind of a row's answer. Each kind is a key of [`RuleRow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerKey {
    /// The call or text is stopped.
    Reject,
    /// A person decides.
    Ask,
    /// A finding in the log.
    Note,
    /// A text for the model.
    Remind,
    /// The call gets other arguments.
    Change,
    /// A part of a text is replaced.
    Redact,
    /// The session gets a label.
    Label,
}

impl AnswerKey {
    /// All answers, in the order of the documentation.
    pub const ALL: &[Self] =
        &[Self::Reject, Self::Ask, Self::Change, Self::Redact, Self::Remind, Self::Label, Self::Note];

    /// Returns the key in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Ask => "ask",
            Self::Note => "note",
            Self::Remind => "remind",
            Self::Change => "change",
            Self::Redact => "redact",
            Self::Label => "label",
        }
    }
}

impl RuleRow {
    /// Returns the answers that the row has. A valid row has exactly one.
    #[must_use]
    pub fn answers(&self) -> Vec<AnswerKey> {
        let has = |answer: AnswerKey| match answer {
            AnswerKey::Reject => self.reject.is_some(),
            AnswerKey::Ask => self.ask.is_some(),
            AnswerKey::Note => self.note.is_some(),
            AnswerKey::Remind => self.remind.is_some(),
            AnswerKey::Change => self.change.is_some(),
            AnswerKey::Redact => self.redact.is_some(),
            AnswerKey::Label => self.label.is_some(),
        };
        AnswerKey::ALL.iter().copied().filter(|answer| has(*answer)).collect()
    }

    /// Returns the matchers that the row has, with their names.
    pub fn matchers(&self) -> impl Iterator<Item = (&'static str, &OneOrMany<String>)> {
        let Self { program, flags, args, path, url, host, server, tool, text, .. } = self;
        let all = [
            ("program", program),
            ("flags", flags),
            ("args", args),
            ("path", path),
            ("url", url),
            ("host", host),
            ("server", server),
            ("tool", tool),
            ("text", text),
        ];
        all.into_iter().filter(|(_, values)| !values.is_empty())
    }

    /// Returns the texts in which names in braces stand for values, each with the path of its key: `change.a`.
    #[must_use]
    pub fn texts(&self) -> Vec<(String, &str)> {
        let Self { reject, ask, note, remind, instead, change, .. } = self;
        let keys = [("reject", reject), ("ask", ask), ("note", note), ("remind", remind), ("instead", instead)];
        let texts = keys.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.as_deref()?)));
        let changed = change
            .iter()
            .flatten()
            .flat_map(|(key, value)| strings(value).into_iter().map(move |text| (format!("change.{key}"), text)));
        texts.chain(changed).collect()
    }

    /// Returns true if the row has examples.
    #[must_use]
    pub fn has_examples(&self) -> bool {
        !self.stops.is_empty() || !self.passes.is_empty()
    }

    /// Returns true if the row depends on something besides its matchers.
    #[must_use]
    pub fn has_conditions(&self) -> bool {
        self.when.is_some() || self.unless.is_some() || !self.after.is_empty()
    }

    /// Returns true if the row must have examples: it rejects or asks, and it does not match everything that it is about.
    #[must_use]
    pub fn needs_examples(&self) -> bool {
        let stops = self.reject.is_some() || self.ask.is_some();
        stops && (self.matchers().next().is_some() || self.has_conditions())
    }
}

/// Maximum length of a label, in bytes.
pub const MAX_LABEL: usize = 64;

/// Returns true if a session can have this label.
#[must_use]
pub fn is_label(label: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b":-_./".contains(&byte);
    (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(is_allowed)
}

fn strings(value: &serde_json::Value) -> Vec<&str> {
    use serde_json::Value;
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleOn {
    /// Simple commands of a shell.
    Shell,
    /// Files that a call creates, changes or deletes, with a tool, a patch or a command.
    Write,
    /// Files that a call reads, with a tool or a command.
    Read,
    /// Files that a call deletes, with a patch or a command.
    Delete,
    /// Requests to the network, with a tool or a command.
    Web,
    /// Calls of tools of MCP servers.
    Mcp,
    /// Sub-agents that are about to start.
    Spawn,
    /// Prompts of the user.
    Prompt,
    /// The model's final texts.
    Text,
    /// Results of tools.
    Result,
    /// Beginnings of sessions.
    Session,
    /// Ends of tasks.
    TaskComplete,
    /// Calls of tools that match this pattern.
    Tool(String),
}

impl RuleOn {
    /// The words, in the order of the documentation.
    pub const WORDS: &[(&str, Self)] = &[
        ("shell", Self::Shell),
        ("write", Self::Write),
        ("read", Self::Read),
        ("delete", Self::Delete),
        ("web", Self::Web),
        ("mcp", Self::Mcp),
        ("spawn", Self::Spawn),
        ("prompt", Self::Prompt),
        ("text", Self::Text),
        ("result", Self::Result),
        ("session", Self::Session),
        ("task-complete", Self::TaskComplete),
    ];

    /// Returns the word in the file, or the pattern.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(pattern) => pattern,
            word => Self::WORDS.iter().find(|(_, other)| other == word).map_or("", |(name, _)| name),
        }
    }

    /// Returns the event at which the row is judged.
    #[must_use]
    pub fn event(&self) -> EventKind {
        match self {
            Self::Prompt => EventKind::PromptSubmit,
            Self::Text => EventKind::FinalizeContent,
            Self::Result => EventKind::AfterToolCall,
            Self::Session => EventKind::SessionStart,
            Self::TaskComplete => EventKind::TaskComplete,
            _ => EventKind::BeforeToolCall,
        }
    }

    /// Returns the answers that are possible.
    #[must_use]
    pub fn answers(&self) -> &'static [AnswerKey] {
        use AnswerKey::{Ask, Change, Label, Note, Redact, Reject, Remind};
        match self {
            Self::Prompt | Self::Result => &[Reject, Redact, Remind, Label, Note],
            Self::Text => &[Reject, Redact, Note],
            Self::Session => &[Remind, Label, Note],
            Self::TaskComplete => &[Reject, Note],
            _ => &[Reject, Ask, Change, Remind, Label, Note],
        }
    }

    /// Returns the names of the matchers that are possible.
    #[must_use]
    pub fn matchers(&self) -> &'static [&'static str] {
        match self {
            Self::Shell => &["program", "flags", "args"],
            Self::Write => &["path", "tool", "text"],
            Self::Read | Self::Delete => &["path", "tool"],
            Self::Web => &["url", "host", "tool", "text"],
            Self::Mcp => &["server", "tool", "text"],
            Self::Tool(_) => &["tool", "text"],
            Self::Spawn | Self::Prompt | Self::Text => &["text"],
            Self::Result => &["text", "tool", "server", "program", "flags", "args"],
            Self::Session | Self::TaskComplete => &[],
        }
    }
}

impl From<&str> for RuleOn {
    fn from(written: &str) -> Self {
        let word = Self::WORDS.iter().find(|(name, _)| *name == written);
        word.map_or_else(|| Self::Tool(written.to_owned()), |(_, on)| on.clone())
    }
}

impl<'de> Deserialize<'de> for RuleOn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?.as_str()))
    }
}

impl Serialize for RuleOn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A list that a file may write as a single value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> OneOrMany<T> {
    /// Returns true if the list has no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> std::ops::Deref for OneOrMany<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

/// Not an untagged enum, because an error of such an enum has no position.
struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an array of strings")
    }

    fn visit_str<E: de::Error>(self, one: &str) -> Result<Self::Value, E> {
        Ok(OneOrMany(vec![T::deserialize(one.into_deserializer())?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut many: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = many.next_element()? {
            values.push(value);
        }
        Ok(OneOrMany(values))
    }
}

/// An example of a row: a command, a path, a URL, the name of a tool, or a text, depending on the row's `on`. A table says more.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleExample {
    /// The text of the example.
    Text(String),
    /// The call or text with its surroundings.
    Table(Box<ExampleTable>),
}

/// An example with its surroundings. Facts that it does not give are as the row's conditions need them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ExampleTable {
    /// A command of a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of an MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The name of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<serde_json::Map<String, serde_json::Value>>,
    /// A prompt, a text or a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The working directory; the workspace is `/work/project`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Rules that matched before, and labels of the session; a name after `!` did not occur.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub after: OneOrMany<String>,
    /// Names that the conditions use, with their values: `"git.branch" = "main"`.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub facts: serde_json::Map<String, serde_json::Value>,
}

impl<'de> Deserialize<'de> for RuleExample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExampleVisitor)
    }
}

impl Serialize for RuleExample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Table(table) => table.serialize(serializer),
        }
    }
}

struct ExampleVisitor;

impl<'de> Visitor<'de> for ExampleVisitor {
    type Value = RuleExample;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a table")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RuleExample, E> {
        Ok(RuleExample::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RuleExample, A::Error> {
        let table = ExampleTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(RuleExample::Table(Box::new(table)))
    }
}

/// The configuration of the plugin `rules`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RulesConfig {
    /// All rows. The rows of the user come before those of a project.
    pub rule: Vec<LayeredRow>,
}

/// A row and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LayeredRow {
    /// True if the row is in a file of a project.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_project: bool,
    /// The row.
    pub row: Box<RuleRow>,
}

/// A mistake that the plugin `rules` finds in a row. The plugin reports all mistakes in the error of `configure`, one on each
/// line, and the host shows each of them in the file.
///
/// ```
/// use hookhost_contract::rule::Mistake;
///
/// let mistake = Mistake { row: 3, key: "stops.1".into(), part: None, message: "`push` does not stop this example".into() };
/// let line = mistake.to_string();
/// assert_eq!(line, "`3.stops.1`: `push` does not stop this example");
/// assert_eq!(Mistake::parse(&line), Some(mistake));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The index of the row in [`RulesConfig::rule`].
    pub row: usize,
    /// The key in the row and the index in its list: `stops.1`. Empty for the whole row.
    pub key: String,
    /// The range in the string at this key, in bytes, if only a part of it is wrong.
    pub part: Option<std::ops::Range<usize>>,
    /// The mistake and the correction, in one sentence.
    pub message: String,
}

impl Mistake {
    /// Reads the line that `Display` writes. Returns `None` for any other line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (path, message) = line.strip_prefix('`')?.split_once("`: ")?;
        let (path, part) = match path.split_once('@') {
            Some((path, part)) => {
                let (start, end) = part.split_once("..")?;
                (path, Some(start.parse().ok()?..end.parse().ok()?))
            }
            None => (path, None),
        };
        let (row, key) = path.split_once('.').unwrap_or((path, ""));
        Some(Self { row: row.parse().ok()?, key: key.to_owned(), part, message: message.to_owned() })
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, key, part, message } = self;
        write!(f, "`{row}")?;
        if !key.is_empty() {
            write!(f, ".{key}")?;
        }
        if let Some(part) = part {
            write!(f, "@{}..{}", part.start, part.end)?;
        }
        // A line break would begin another mistake.
        write!(f, "`: {}", message.replace('\n', " "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_the_same_after_a_way_through_json() {
        let json = r#"{"id":"a","on":"shell","program":["git push"],"ask":"Push?",
            "stops":["git push",{"command":"git push","facts":{"git.branch":"main"}}],"passes":["git pull"]}"#;
        let row: RuleRow = serde_json::from_str(json).unwrap();
        assert_eq!(*row.on, [RuleOn::Shell]);
        assert_eq!(row.answers(), [AnswerKey::Ask]);
        let again: RuleRow = serde_json::from_str(&serde_json::to_string(&row).unwrap()).unwrap();
        assert_eq!(row, again);
    }

    #[test]
    fn each_word_is_read_as_itself_and_anything_else_as_a_tool() {
        for (name, on) in RuleOn::WORDS {
            assert_eq!((&RuleOn::from(*name), on.name()), (on, *name));
        }
        assert_eq!(RuleOn::from("mcp__db__*"), RuleOn::Tool("mcp__db__*".into()));
    }

    #[test]
    fn a_mistake_is_read_back_with_its_part() {
        for mistake in [
            Mistake { row: 0, key: String::new(), part: None, message: "a `b`: c".into() },
            Mistake { row: 12, key: "when".into(), part: Some(4..14), message: "unknown name".into() },
        ] {
            assert_eq!(Mistake::parse(&mistake.to_string()), Some(mistake));
        }
        for other in ["", "a", "`x`: y", "`1@2`: y", "`1.when@a..3`: y"] {
            assert_eq!(Mistake::parse(other), None, "{other}");
        }
    }
}
