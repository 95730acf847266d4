//! Formats a question to a person. The text shows who asks, for which reason, and exactly what would run.

use super::difference::{self, unified};
use super::style::{CHANGED, DIM, NAME, WARNING};
use super::truncate::{cut, short, tool, words};
use super::{one_line, printable};
use hookhost::approval::ApprovalRequest;
use hookhost::contract::{Action, ToolCall, ToolOrigin};
use hookhost::files::{self, Guard, Links};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::path::Path;

/// The names that agents use for the argument with the whole new content of a file.
const CONTENT_KEYS: [&str; 5] = ["content", "contents", "file_text", "new_content", "CodeContent"];

/// Names of two arguments that belong together: the text to replace, and its replacement.
const REPLACEMENT_KEYS: [(&str, &str); 6] = [
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("oldString", "newString"),
    ("TargetContent", "ReplacementContent"),
];

/// Maximum size of a file for which a difference is shown, in bytes. For a larger file, the new content is shown.
const MAX_FILE: u64 = 1 << 20;

/// Maximum length of an array or object that is shown on one line, in characters.
const MAX_INLINE: usize = 80;

/// Describes a question in full. A file with a relative path is read from `workspace`. Without a workspace, the new content of such a file
/// is shown instead of the difference.
pub(crate) fn describe(request: &ApprovalRequest, workspace: Option<&Path>) -> String {
    let mut text = asked(request);
    match request.tool_call() {
        Some(call) => text.push_str(&tool_call(&call, workspace)),
        None => {
            let _ = writeln!(text, "{NAME}{}{NAME:#}", request.event);
            text.push_str(&members(&parsed(request.value.get()), &|_, _| None));
        }
    }
    if !request.changed_by.is_empty() {
        let by = one_line(&request.changed_by.join(", "));
        let (before, after) = (parsed(request.original.get()), parsed(request.value.get()));
        let _ =
            write!(text, "{CHANGED}changed by {by}{CHANGED:#}:\n{}", difference::lines(&before, &after, usize::MAX));
    }
    if let Some(response) = &request.response {
        let by = one_line(&response.by);
        let _ =
            writeln!(text, "{CHANGED}{by} answers in its place{CHANGED:#}: it does not run, and this is its result");
        text.push_str(&members(&parsed(response.result.get()), &|_, _| None));
    }
    text
}

/// Describes the questions, each with its origin. If the questions are about a sub-agent, describes the sub-agent before them.
pub(crate) fn asked(request: &ApprovalRequest) -> String {
    let mut text = String::new();
    let agent = &request.agent;
    if agent.depth > 0 {
        let task = agent.task.as_deref().map(|task| format!(", whose task begins “{}”", one_line(task)));
        let (session, depth, task) = (one_line(&request.session), agent.depth, task.unwrap_or_default());
        let _ = writeln!(text, "{WARNING}of the sub-agent {session} (depth {depth}){task}:{WARNING:#}");
    }
    for question in &request.questions {
        let code = question.escalation.code.as_ref().map(|code| format!(" {DIM}[{}]{DIM:#}", one_line(code)));
        let (by, asked) = (one_line(&question.by.to_string()), words(&question.escalation.question));
        let _ = writeln!(text, "{WARNING}{by} asks:{WARNING:#} {asked}{}", code.unwrap_or_default());
    }
    text
}

/// Describes the call on one line: `bash command="git push"`.
pub(crate) fn headline(request: &ApprovalRequest) -> String {
    let Some(call) = request.tool_call() else {
        return format!("{NAME}{}{NAME:#} {}", request.event, short(&parsed(request.value.get())));
    };
    format!("{NAME}{}{NAME:#} {}", tool(&call.name), short(&parsed(call.arguments.as_str())))
}

/// Describes a call: its tool, then each argument. A command is shown as typed, and a file's new content as a difference.
fn tool_call(call: &ToolCall, workspace: Option<&Path>) -> String {
    let origin = match &call.origin {
        ToolOrigin::Mcp(server) => format!(" {DIM}of the MCP server {}{DIM:#}", one_line(server)),
        ToolOrigin::Plugin(plugin) => format!(" {DIM}of the plugin {}{DIM:#}", one_line(plugin)),
        ToolOrigin::Builtin | ToolOrigin::External => String::new(),
    };
    let command = match &call.action {
        Action::Shell(shell) => Some(&shell.command),
        _ => None,
    };
    let written = match &call.action {
        Action::WriteFiles(paths) if paths.len() == 1 => paths.first(),
        _ => None,
    };
    let form = |key: &str, text: &str| {
        if command.is_some_and(|command| command == text) {
            return Some(format!("  $ {}\n", indented(text, "    ")));
        }
        let path = written.filter(|_| CONTENT_KEYS.contains(&key))?;
        Some(format!("  {DIM}{}:{DIM:#}\n{}", one_line(key), file_difference(path, text, workspace)?))
    };
    let arguments = members(&parsed(call.arguments.as_str()), &form);
    format!("{NAME}{}{NAME:#}{origin}\n{arguments}", tool(&call.name))
}

/// Describes the members of an object, each as `key: value`. If a member is a string, `form` can return a different description for it.
fn members(value: &Value, form: &dyn Fn(&str, &str) -> Option<String>) -> String {
    let Value::Object(fields) = value else { return format!("  {}\n", indented(&inline(value), "    ")) };
    let pairs = replacements(fields);
    let mut text = String::new();
    for (key, value) in fields {
        if pairs.iter().any(|(_, new)| new == key) {
            continue;
        }
        let name = one_line(key);
        if let Some((old, new)) = pairs.iter().find(|(old, _)| old == key) {
            let (before, after) =
                (fields[*old].as_str().unwrap_or_default(), fields[*new].as_str().unwrap_or_default());
            let _ = write!(text, "  {DIM}{name}, {new}:{DIM:#}\n{}", difference::of_texts(before, after, usize::MAX));
            continue;
        }
        match value {
            Value::String(content) => match form(key, content) {
                Some(formed) => text.push_str(&formed),
                None if content.contains('\n') => {
                    let _ = writeln!(text, "  {DIM}{name}:{DIM:#}\n    {}", indented(content, "    "));
                }
                None => {
                    let _ = writeln!(text, "  {DIM}{name}:{DIM:#} {}", printable(content));
                }
            },
            Value::Array(elements) if elements.iter().any(|element| !replacements_of(element).is_empty()) => {
                let _ = writeln!(text, "  {DIM}{name}:{DIM:#}");
                for element in elements {
                    let _ = writeln!(text, "    {}", indented(members(element, &|_, _| None).trim_end(), "    "));
                }
            }
            other => {
                let _ = writeln!(text, "  {DIM}{name}:{DIM:#} {}", indented(&inline(other), "    "));
            }
        }
    }
    text
}

/// Returns the pairs of members that name a text and its replacement.
fn replacements(fields: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
    let is_text = |key: &str| fields.get(key).is_some_and(Value::is_string);
    REPLACEMENT_KEYS.into_iter().filter(|(old, new)| is_text(old) && is_text(new)).collect()
}

fn replacements_of(value: &Value) -> Vec<(&'static str, &'static str)> {
    value.as_object().map(replacements).unwrap_or_default()
}

/// Returns the difference between a file and its new `content`. Returns `None` if the file cannot be read as text, or if its directory is
/// unknown.
fn file_difference(path: &str, content: &str, workspace: Option<&Path>) -> Option<String> {
    let file = match workspace {
        Some(workspace) => workspace.join(path),
        None => Path::new(path).is_absolute().then(|| path.into())?,
    };
    let before = match files::read(&file, Guard::Anybodys, Links::Followed, MAX_FILE) {
        Ok(bytes) => Some(String::from_utf8(bytes).ok()?),
        Err(_) if file.try_exists().is_ok_and(|exists| !exists) => None,
        Err(_) => return None,
    };
    if before.as_deref() == Some(content) {
        return Some(format!("    {DIM}(as the file is now){DIM:#}\n"));
    }
    let difference = unified(path, before.as_deref(), Some(content));
    Some(difference.lines().map(|line| format!("    {line}\n")).collect())
}

/// Returns the printable text, with `margin` before each line except the first.
fn indented(text: &str, margin: &str) -> String {
    printable(text.trim_end_matches('\n')).replace('\n', &format!("\n{margin}"))
}

fn inline(value: &Value) -> String {
    let line = value.to_string();
    if line.chars().count() <= MAX_INLINE { line } else { serde_json::to_string_pretty(value).unwrap_or(line) }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| Value::String(cut(json, MAX_INLINE)))
}

#[cfg(test)]
mod tests {
    use super::{describe, headline};
    use hookhost::approval::ApprovalRequest;
    use serde_json::{Value, json};
    use std::path::Path;

    fn request(call: &Value) -> ApprovalRequest {
        let request = json!({
            "id": "s.1", "session": "s", "agent": { "depth": 0 }, "event": "before-tool-call", "original": call,
            "value": call, "changed-by": [], "deadline-ms": 300_000,
            "questions": [{ "plugin": "careful", "question": "Really?", "code": "x.y" }],
        });
        serde_json::from_value(request).unwrap()
    }

    fn call(name: &str, arguments: &Value, action: &Value) -> ApprovalRequest {
        request(&json!({ "id": "c1", "name": name, "arguments": arguments, "action": action, "origin": "builtin" }))
    }

    fn plain(request: &ApprovalRequest, workspace: Option<&Path>) -> String {
        anstream::adapter::strip_str(&describe(request, workspace)).to_string()
    }

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let script = "for f in *.txt; do\n  echo \"$f\"\ndone\n";
        let action = json!({ "shell": { "command": script, "cwd": "/w", "dialect": "posix" } });
        let request = call("bash", &json!({ "command": script, "timeout": 60 }), &action);
        assert_eq!(
            plain(&request, None),
            "careful asks: Really? [x.y]\nbash\n  $ for f in *.txt; do\n      echo \"$f\"\n    done\n  timeout: 60\n"
        );
        let line = anstream::adapter::strip_str(&headline(&request)).to_string();
        assert_eq!(line, "bash timeout=60 command=\"for f in *.txt; do   echo \"$f\" done\"");
    }

    #[test]
    fn a_write_is_shown_as_the_difference_that_it_makes() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.txt"), "one\ntwo\n").unwrap();
        let write = |path: &str, content: &str| {
            call("write_file", &json!({ "path": path, "content": content }), &json!({ "write-files": [path] }))
        };
        let seen = plain(&write("a.txt", "one\nthree\u{1b}[2J\n"), Some(directory.path()));
        assert!(seen.ends_with("  path: a.txt\n  content:\n    --- a.txt\n    +++ a.txt\n    @@ -1,2 +1,2 @@\n     one\n    -two\n    +three\u{fffd}[2J\n"), "{seen}");
        let seen = plain(&write("new.txt", "one\n"), Some(directory.path()));
        assert!(seen.contains("    --- /dev/null\n    +++ new.txt\n"), "{seen}");
        // Without a workspace, it is unknown which file a relative path means.
        let seen = plain(&write("a.txt", "one\nthree\n"), None);
        assert!(seen.ends_with("  content:\n    one\n    three\n"), "{seen}");
        // A device is not a text file, so it is not read.
        let seen = plain(&write("/dev/zero", "x\n"), None);
        assert!(seen.ends_with("  content:\n    x\n"), "{seen}");
    }

    #[test]
    fn an_edit_is_shown_as_what_goes_and_what_comes() {
        let arguments = json!({ "file_path": "/w/a.rs", "old_string": "let a = 1;", "new_string": "let a = 2;" });
        let request = call("Edit", &arguments, &json!({ "write-files": ["/w/a.rs"] }));
        let seen = plain(&request, None);
        assert!(
            seen.ends_with("  file_path: /w/a.rs\n  old_string, new_string:\n    - let a = 1;\n    + let a = 2;\n"),
            "{seen}"
        );
        let edits =
            json!({ "path": "a", "edits": [{ "oldText": "x", "newText": "y" }, { "oldText": "p", "newText": "q" }] });
        let seen = plain(&call("edit", &edits, &json!({ "write-files": ["a"] })), None);
        assert!(seen.contains("  edits:\n") && seen.contains("- x\n") && seen.contains("+ q\n"), "{seen}");
    }

    #[test]
    fn no_argument_can_look_like_another_one() {
        let arguments =
            json!({ "command": "ls\n  timeout: 5\ncareful asks: nothing", "deep": { "list": ["a".repeat(90)] } });
        let seen = plain(&call("mcp__x__y", &arguments, &json!({ "other": "" })), None);
        assert_eq!(
            seen,
            format!(
                "careful asks: Really? [x.y]\nmcp__x__y\n  command:\n    ls\n      timeout: 5\n    careful asks: nothing\n  deep: {{\n      \
                 \"list\": [\n        \"{}\"\n      ]\n    }}\n",
                "a".repeat(90)
            )
        );
    }
}
