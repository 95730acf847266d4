//! Finds the paths in the arguments of a tool that the host does not know.

use crate::patch;
use hookhost_contract::action::{holds_command, paths_of_patch};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Maximum length of a path, in bytes. A longer text is not a path.
const MAX_PATH: usize = 4096;
/// Maximum number of arguments that are combined in pairs. The first argument of a pair is read as a directory, and the second as a name in
/// it.
const MAX_PAIRED: usize = 16;

/// Parts of a tool's name that show that the tool writes.
const WRITING: [&str; 24] = [
    "write", "edit", "create", "delete", "remove", "move", "rename", "patch", "replace", "insert", "append", "update",
    "save", "put", "copy", "mkdir", "touch", "upload", "truncate", "modify", "store", "unlink", "trash", "rmdir",
];
/// Words in a tool's name that show that the tool only reads.
const READING: [&str; 33] = [
    "read",
    "get",
    "list",
    "ls",
    "view",
    "show",
    "cat",
    "head",
    "tail",
    "stat",
    "search",
    "find",
    "grep",
    "glob",
    "tree",
    "describe",
    "info",
    "exists",
    "lookup",
    "query",
    "watch",
    "open",
    "load",
    "count",
    "lint",
    "analyze",
    "definition",
    "references",
    "symbols",
    "diagnostics",
    "inspect",
    "preview",
    "diff",
];
/// Parts of a tool's name, and values of its arguments, that show that the tool affects a directory with everything below it. The first two
/// give the directory another name, and the others remove it.
const TAKING: [&str; 9] = ["move", "rename", "delete", "remove", "rmdir", "unlink", "trash", "erase", "purge"];
/// Words in a tool's name that show the same as [`TAKING`].
const TAKING_WORDS: [&str; 3] = ["rm", "mv", "del"];
/// Words in a tool's name that show that the tool removes.
const DELETING_WORDS: [&str; 3] = ["rm", "del", "drop"];

/// Parts of an argument's name that show that the argument is a path.
const PATHS: [&str; 8] = ["path", "file", "target", "destination", "dest", "source", "uri", "dir"];
/// Names of arguments whose value may be a directory.
const PLACES: [&str; 14] = [
    "project",
    "repository",
    "location",
    "to",
    "from",
    "name",
    "folder",
    "root",
    "base",
    "parent",
    "cwd",
    "workspace",
    "where",
    "output",
];
/// Names of arguments that are texts, or that name something other than a path. They are in lower case, without `_` and `-`.
const OTHERS: [&str; 33] = [
    "body",
    "data",
    "value",
    "values",
    "query",
    "question",
    "prompt",
    "description",
    "title",
    "subject",
    "comment",
    "summary",
    "note",
    "notes",
    "regex",
    "exclude",
    "include",
    "code",
    "snippet",
    "sql",
    "html",
    "markdown",
    "json",
    "branch",
    "ref",
    "sha",
    "tag",
    "label",
    "labels",
    "head",
    "commit",
    "language",
    "replacement",
];
/// Endings of the names of arguments that are texts.
const TEXTS: [&str; 6] = ["content", "contents", "text", "string", "str", "message"];

/// A path that a call may write.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    pub path: String,
    /// True if everything below the path is affected.
    pub whole: bool,
    /// True if the name of the argument shows that the argument is a path. Any other argument matters only if it is a protected path.
    pub is_called_so: bool,
    /// True if the path is a pattern.
    pub wild: bool,
}

/// Names of arguments that say what a tool does.
const ACTIONS: [&str; 5] = ["action", "operation", "command", "method", "op"];

/// Returns true if a tool moves, renames or removes the paths in its arguments, including everything in directories. Any short argument may
/// say so, because a guard must not overlook it.
pub fn takes_all(tool: &str, arguments: &Value) -> bool {
    says(tool, arguments, |_| true, &TAKING, &TAKING_WORDS)
}

/// Returns true if a tool removes the paths in its arguments: its name says so, or an argument that says what it does.
pub fn deletes(tool: &str, arguments: &Value) -> bool {
    says(tool, arguments, |name| ACTIONS.contains(&&*folded(name)), &TAKING[2..], &DELETING_WORDS)
}

/// Returns true if the name of a tool, or a short argument with such a name, has one of these parts or is one of these words.
fn says(tool: &str, arguments: &Value, is_asked: impl Fn(&str) -> bool, parts: &[&str], whole: &[&str]) -> bool {
    let says = |text: &str| {
        let lower = text.to_ascii_lowercase();
        parts.iter().any(|part| lower.contains(part)) || words(text).iter().any(|word| whole.contains(&&**word))
    };
    let is_verb = |text: &str| text.len() <= 16 && says(text);
    let mut said = says(last_part(tool));
    if let Value::Object(members) = arguments {
        let asked = members.iter().filter(|(name, _)| is_asked(name));
        said |= asked.filter_map(|(_, value)| value.as_str()).any(is_verb);
    }
    said
}

/// Returns every argument that may be a path, if the tool's name shows that the tool reads. A text to search for is not a path.
pub fn read(tool: &str, arguments: &Value) -> Vec<Named> {
    if !words(last_part(tool)).iter().any(|word| READING.contains(&&**word)) {
        return Vec::new();
    }
    let mut arguments = arguments.clone();
    if let Value::Object(members) = &mut arguments {
        members.remove("pattern");
    }
    all(tool, false, &arguments)
}

/// Returns the files that the patterns of a search name, below the directory of the search. Of a pattern, only the name counts, and only if
/// it begins with at least two known characters; otherwise, the pattern itself is returned, as in `*.pem`.
pub fn searched(tool: &str, arguments: &Value, directory: Option<&str>) -> Vec<Named> {
    const DIRECTORIES: [&str; 6] = ["path", "directory", "dir", "dirpath", "folder", "targetdirectory"];
    let words = words(last_part(tool));
    let Value::Object(members) = arguments else { return Vec::new() };
    let searches = ["grep", "glob", "rg", "ripgrep", "search", "find"];
    if !words.iter().any(|word| searches.contains(&&**word)) {
        return Vec::new();
    }
    let is_glob = words.iter().any(|word| word == "glob");
    let is_directory = |name: &str| DIRECTORIES.contains(&&*folded(name));
    let found = || members.iter().find(|(name, _)| is_directory(name)).and_then(|(_, value)| value.as_str());
    let directory = directory.or_else(found).filter(|directory| !directory.is_empty()).unwrap_or(".");
    let is_pattern = |name: &str| {
        let name = folded(name);
        (is_glob && name == "pattern") || ["glob", "include", "filepattern"].iter().any(|part| name.contains(part))
    };
    let mut named = Vec::new();
    for (name, value) in members.iter().filter(|(name, _)| is_pattern(name)) {
        patch::visit(value, name, &mut |_, text| {
            // `{.env,x}`, `**/.env`
            let parts = text.split([',', '{', '}']).filter(|part| !part.is_empty() && !part.starts_with('!'));
            named.extend(parts.map(|part| {
                let part = part.replace("**/", "");
                let name = part.rsplit('/').next().unwrap_or_default();
                let known = name.find(['*', '?', '[']);
                let path = if part.starts_with('/') { part.clone() } else { format!("{directory}/{part}") };
                Named { path, whole: false, is_called_so: false, wild: known.is_some_and(|known| known >= 2) }
            }));
        });
    }
    named
}

/// Returns every argument that may be a path. If the tool's name shows that the tool only reads, returns none.
pub fn paths(tool: &str, arguments: &Value) -> Vec<Named> {
    let tool = last_part(tool);
    let lower = tool.to_ascii_lowercase();
    let says_writing = WRITING.iter().any(|part| lower.contains(part));
    if !says_writing && words(tool).iter().any(|word| READING.contains(&&**word)) {
        return Vec::new();
    }
    all(tool, says_writing, arguments)
}

/// Returns every argument that may be a path, even if the tool only reads.
pub fn all(tool: &str, says_writing: bool, arguments: &Value) -> Vec<Named> {
    let mut found = Found { whole: takes_all(tool, arguments), says_writing, paths: Vec::new() };
    found.value(arguments, "");
    found.paths
}

struct Found {
    whole: bool,
    says_writing: bool,
    paths: Vec<Named>,
}

impl Found {
    fn value(&mut self, value: &Value, name: &str) {
        match value {
            Value::String(text) => self.text(text, name),
            Value::Array(values) => {
                // The list may consist of the components of one path: `["~", ".claude", "settings.json"]`.
                let names: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
                let joined = names.filter(|names| names.len() > 1).map(|names| names.join("/"));
                if let Some(path) = joined.and_then(|path| path_of(&path, &folded(name))) {
                    self.add(path, self.whole, false);
                }
                values.iter().for_each(|value| self.value(value, name));
            }
            Value::Object(members) => {
                self.pairs(members);
                for (name, value) in members {
                    // `{"files": {"a/b": "…"}}`
                    self.text(name, "");
                    self.value(value, name);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, name: &str) {
        let name = folded(name);
        let Some(path) = path_of(text, &name) else { return };
        let is_called_so = self.says_writing && PATHS.iter().any(|part| name.contains(part));
        // A move does not remove the existing files in its target directory.
        let is_target = name.starts_with("dest") || name.starts_with("new") || name == "to";
        self.add(path, self.whole && !is_target, is_called_so);
    }

    /// Combines a directory in one argument with a name in another argument.
    fn pairs(&mut self, members: &Map<String, Value>) {
        let mut texts = Vec::new();
        for (name, value) in members.iter().take(MAX_PAIRED) {
            let name = folded(name);
            if let Some(path) = value.as_str().and_then(|text| path_of(text, &name)) {
                texts.push((name, path));
            }
        }
        let may_be_directory = |name: &str| {
            PATHS.iter().any(|part| name.contains(part)) || PLACES.contains(&name) || name.contains("folder")
        };
        for (at, (_, directory)) in texts.iter().enumerate().filter(|(_, (name, _))| may_be_directory(name)) {
            for (other, (_, inner)) in texts.iter().enumerate() {
                if other != at && !inner.starts_with(['/', '\\', '~']) {
                    self.add(format!("{}/{inner}", directory.trim_end_matches(['/', '\\'])), self.whole, false);
                }
            }
        }
    }

    fn add(&mut self, path: String, whole: bool, is_called_so: bool) {
        self.paths.push(Named { path, whole, is_called_so, wild: false });
    }
}

/// Returns the text of an argument as a path. Returns `None` if the argument's name or the form of the text shows that it is not a path. If
/// the name does not show that the argument is a path, the text must contain a character that is typical of paths.
fn path_of(text: &str, name: &str) -> Option<String> {
    let is_other = OTHERS.contains(&name) || TEXTS.iter().any(|end| name.ends_with(end)) || holds_command(name);
    let is_web = text.contains("://") && !is_file(text);
    if text.trim().is_empty() || text.len() > MAX_PATH || is_other || is_web {
        return None;
    }
    let is_told = PATHS.iter().any(|part| name.contains(part)) || PLACES.contains(&name);
    let is_sentence = text.contains(' ') && !text.starts_with(['/', '\\', '.', '~', '$']);
    (is_told || (text.contains(['/', '\\', '.', '~']) && !is_sentence)).then(|| text.to_owned())
}

fn is_file(text: &str) -> bool {
    text.trim_start().get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("file:"))
}

/// Converts a file address, `file:///a/%2eb`, to a path. Returns other texts unchanged.
pub fn local(text: &str) -> Cow<'_, str> {
    if !is_file(text) {
        return text.into();
    }
    let text = &text.trim()[5..];
    // The address begins with the name of the machine: `file://localhost/a`.
    let text = text.strip_prefix("//").map_or(text, |text| text.find('/').map_or("", |at| &text[at..]));
    decoded(text).into()
}

/// Decodes the bytes that an address writes as `%65`.
#[must_use]
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the name of a tool without the name of its server: `move` for `mcp__files__move`.
fn last_part(tool: &str) -> &str {
    tool.rsplit("__").next().unwrap_or(tool)
}

/// Returns the texts among the arguments of a call, without its paths and without the text that it replaces. Of a patch, these are the
/// lines that it adds.
#[must_use]
pub fn texts(arguments: &Value) -> String {
    let mut texts = Vec::new();
    patch::visit(arguments, "", &mut |name, text| {
        let words = words(name);
        let is_text = words.last().is_some_and(|last| TEXTS.contains(&&**last));
        let is_path = !is_text && words.iter().any(|word| PATHS.contains(&&**word));
        if is_path || words.iter().any(|word| word == "old") {
            return;
        }
        if paths_of_patch(text).is_empty() {
            texts.push(text.to_owned());
        } else {
            texts.extend(text.lines().filter_map(|line| line.strip_prefix('+')).map(str::to_owned));
        }
    });
    texts.join("\n")
}

/// Returns the words of a name in lower case: `read` and `file` for both `read_file` and `readFile`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && was_small) {
            words.push(String::new());
        }
        was_small = c.is_ascii_lowercase();
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
    }
    words
}

/// Returns a name in lower case, without `_` and `-`.
fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::{local, texts, words};
    use serde_json::json;

    #[test]
    fn the_texts_of_a_call_are_what_it_writes() {
        let arguments = json!({ "file_path": "new.rs", "old_string": "gone", "new_string": "here" });
        assert_eq!(texts(&arguments), "here");
        assert_eq!(texts(&json!({ "edits": [{ "oldText": "gone", "newText": "here" }] })), "here");
        let patch =
            json!({ "input": "*** Begin Patch\n*** Update File: a.rs\n@@\n-gone\n+here\n kept\n*** End Patch" });
        assert_eq!(texts(&patch), "here");
        assert_eq!(texts(&json!({ "file_text": "x", "path": "y" })), "x");
    }

    #[test]
    fn a_name_is_taken_apart_into_its_words() {
        assert_eq!(words("readFile"), ["read", "file"]);
        assert_eq!(words("read_file-list"), ["read", "file", "list"]);
        assert_eq!(words("spreadsheet"), ["spreadsheet"]);
    }

    #[test]
    fn an_address_of_a_file_is_a_path() {
        for (text, expected) in [
            ("file:///a/%2eb%2Fc", "/a/.b/c"),
            ("FILE://localhost/a%", "/a%"),
            ("file:/a/%zz", "/a/%zz"),
            ("a/%2eb", "a/%2eb"),
            ("https://x/%2e", "https://x/%2e"),
            ("file:", ""),
        ] {
            assert_eq!(local(text), expected, "{text}");
        }
    }
}
