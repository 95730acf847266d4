//! Puts the proxy in front of the MCP servers in a TOML file, and removes the proxy again. Only the words of the commands are
//! edited. All other bytes of the file, such as line ends, a byte order mark and comments, stay unchanged.

use crate::install::json::{BYTE_ORDER_MARK, NotEditable};
use crate::install::mcp_servers::{ProxyCommand, ServerChange, ServerEntry, VARIABLES};
use crate::mcp_servers::{PROXY_WORD_COUNT, looks_like_proxy, proxy_words, starts_proxy};
use std::ops::Range;
use toml_edit::{Array, Document, Item, TableLike, TomlError, Value};

/// Returns the text with changed entries. With these entries, the agent starts the proxy in place of each server that is a program.
///
/// # Errors
/// If the text is not TOML.
pub fn with_proxy(
    text: &str,
    places: &[&[&str]],
    proxy: &ProxyCommand<'_>,
) -> Result<(String, Vec<ServerEntry>), NotEditable> {
    edited(text, places, |edits, name, server| {
        if let Some(variable) = misled(server, proxy) {
            return Some(ServerChange::MisleadingVariable(variable));
        }
        let words = words(server);
        if starts_proxy(&words, proxy.program) {
            return Some(ServerChange::Unchanged);
        }
        let Some(command) = server.get("command").filter(|command| command.is_str()).and_then(Item::span) else {
            return server.get("url").is_some_and(Item::is_str).then_some(ServerChange::Service);
        };
        let program = Value::from(&*proxy.program.to_string_lossy()).to_string();
        if !looks_like_proxy(&words) {
            let name = (proxy.name_of)(name)?;
            let before = proxy_words(&name).map(|word| Value::from(word).to_string()).join(", ");
            let all = format!("{before}, {}", edits.text.get(command.clone())?);
            match server.get("args") {
                None => edits.add_arguments(&command, &all),
                Some(arguments) => edits.put_first(arguments.as_array()?, &all)?,
            }
        }
        edits.replace(command, program);
        Some(ServerChange::Changed)
    })
}

/// Returns the text with each server's own command restored.
///
/// # Errors
/// If the text is not TOML.
pub fn without_proxy(text: &str, places: &[&[&str]]) -> Result<(String, Vec<ServerEntry>), NotEditable> {
    edited(text, places, |edits, _, server| {
        if !looks_like_proxy(&words(server)) {
            return Some(ServerChange::Unchanged);
        }
        let (key, arguments) = server.get_key_value("args")?;
        let (key, arguments) = (key.span()?, arguments.as_array()?);
        let command = edits.text.get(arguments.get(PROXY_WORD_COUNT)?.span()?)?.to_owned();
        let (first, whole) = (arguments.get(0)?.span()?.start, arguments.span()?);
        match arguments.get(PROXY_WORD_COUNT + 1) {
            Some(next) => edits.replace(first..next.span()?.start, String::new()),
            // The trailing comma shows that the list existed before the proxy was added, and that it was empty.
            None if arguments.trailing_comma() => {
                let comma = edits.text.get(..whole.end)?.rfind(',')?;
                edits.replace(first..comma + 1, String::new());
            }
            None => edits.take_out(key.start..whole.end),
        }
        edits.replace(server.get("command")?.span()?, command);
        Some(ServerChange::Changed)
    })
}

/// A list of edits of a text. Each edit replaces a range.
struct Edits<'a> {
    text: &'a str,
    all: Vec<(Range<usize>, String)>,
}

impl Edits<'_> {
    fn replace(&mut self, range: Range<usize>, new: String) {
        self.all.push((range, new));
    }

    /// Adds a list of arguments after the command of a server that has no such list. If the server is an inline table,
    /// the list is added to that table. Otherwise, the list is added on a new line.
    fn add_arguments(&mut self, command: &Range<usize>, words: &str) {
        let before = &self.text[..command.start];
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        let inline = before[line..].rfind(['{', ',']).map(|at| line + at + 1);
        // The text before the key's name consists of white space and the parents of a dotted key.
        let key = &before[inline.unwrap_or(line)..];
        let parents = key.rsplit_once("command").map_or("", |(parents, _)| parents.trim_end_matches(['"', '\'']));
        if inline.is_some() {
            let parents = parents.trim_start();
            return self.replace(command.end..command.end, format!(", {parents}args = [{words}]"));
        }
        let line_end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let added = format!("{parents}args = [{words}]");
        match self.text[command.end..].find('\n').map(|end| command.end + end + 1) {
            Some(next) => self.replace(next..next, format!("{added}{line_end}")),
            // The last line has no line end, so the new last line gets no line end either.
            None => self.replace(self.text.len()..self.text.len(), format!("{line_end}{added}")),
        }
    }

    /// Inserts words before the elements of a list.
    fn put_first(&mut self, array: &Array, words: &str) -> Option<()> {
        let (at, after) = match array.get(0) {
            Some(first) => (first.span()?.start, ", "),
            // When the proxy is removed, this trailing comma shows that the list existed before.
            None => (array.span()?.start + 1, ","),
        };
        self.replace(at..at, format!("{words}{after}"));
        Some(())
    }

    /// Removes a member. If the member is in an inline table, its comma is removed too. Otherwise, its line is removed.
    fn take_out(&mut self, member: Range<usize>) {
        let before = &self.text[..member.start];
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        if let Some(at) = before[line..].rfind(['{', ',']).map(|at| line + at) {
            let start = if before[at..].starts_with(',') { at } else { member.start };
            return self.replace(start..member.end, String::new());
        }
        let rest = &self.text[member.end..];
        let (to_end, end) = rest.find('\n').map_or((rest, rest.len()), |end| (&rest[..end], end + 1));
        // If a comment follows the member on the same line, the comment stays.
        if !to_end.trim().is_empty() {
            return self.replace(line..member.end, String::new());
        }
        let is_last = end == rest.len() && !rest.ends_with('\n');
        let above = before[..line].strip_suffix('\n').map_or("", |above| above.strip_suffix('\r').unwrap_or(above));
        let start = if is_last { above.len() } else { line };
        self.replace(start..member.end + end, String::new());
    }

    fn applied(mut self) -> String {
        self.all.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut text = self.text.to_owned();
        for (range, new) in self.all {
            text.replace_range(range, &new);
        }
        text
    }
}

fn edited(
    text: &str,
    places: &[&[&str]],
    edit: impl Fn(&mut Edits<'_>, &str, &dyn TableLike) -> Option<ServerChange>,
) -> Result<(String, Vec<ServerEntry>), NotEditable> {
    let not_toml = |error: TomlError| NotEditable(format!("is not TOML: {error}"));
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let document = Document::parse(text).map_err(not_toml)?;
    let mut edits = Edits { text, all: Vec::new() };
    let mut servers = Vec::new();
    for keys in places {
        let found = keys.iter().try_fold(document.as_item(), |item, key| item.get(key));
        for (name, server) in found.and_then(Item::as_table_like).into_iter().flat_map(|table| table.iter()) {
            let done = edits.all.len();
            let change = server.as_table_like().and_then(|server| edit(&mut edits, name, server));
            let change = change.unwrap_or_else(|| {
                edits.all.truncate(done);
                ServerChange::Unusable
            });
            servers.push(ServerEntry { name: name.to_owned(), project: None, change });
        }
    }
    let edited = edits.applied();
    // Check that the agent can read the new text.
    Document::parse(edited.as_str()).map_err(not_toml)?;
    Ok((format!("{mark}{edited}"), servers))
}

/// Returns the variable in a server's entry that would make the proxy use other rules.
fn misled(server: &dyn TableLike, proxy: &ProxyCommand<'_>) -> Option<String> {
    let tables = VARIABLES.iter().filter_map(|key| server.get(key)?.as_table_like());
    let mut variables = tables.flat_map(|table| table.iter());
    variables.find_map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (proxy.misleads)(name, &value).then(|| name.to_owned())
    })
}

/// Returns the words of a server's command line. The first word is the program.
fn words(server: &dyn TableLike) -> Vec<String> {
    let arguments = server.get("args").and_then(Item::as_array);
    let arguments = arguments.into_iter().flatten().map(|word| word.as_str().unwrap_or_default().to_owned());
    let command = server.get("command").and_then(Item::as_str).map(str::to_owned);
    command.into_iter().chain(arguments).collect()
}

#[cfg(test)]
mod tests {
    use super::{with_proxy, without_proxy};
    use crate::install::mcp_servers::{ServerChange, tests::proxy};

    const PLACES: &[&[&str]] = &[&["mcp_servers"]];

    const TEXT: &str = r#"model = "gpt" # mine

[mcp_servers.files]
command = "npx" # the package runner
args = ["-y", "server-filesystem"]

[mcp_servers.bare]
command = "/opt/server"

[mcp_servers.issues]
url = "https://mcp.example.com/mcp"

[mcp_servers.inline]
args = [
  "a", # first
]
command = 'x'

[mcp_servers."none"]
args = [ ]
command = "x"
env.KEY = "v"
"#;

    fn wrap(text: &str) -> (String, Vec<(String, ServerChange)>) {
        let (text, servers) = with_proxy(text, PLACES, &proxy()).unwrap();
        (text, servers.into_iter().map(|server| (server.name, server.change)).collect())
    }

    #[test]
    fn each_program_is_started_by_the_proxy_and_nothing_else_changes() {
        let (wrapped, servers) = wrap(TEXT);
        let expected = [
            ("files", ServerChange::Changed),
            ("bare", ServerChange::Changed),
            ("issues", ServerChange::Service),
            ("inline", ServerChange::Changed),
            ("none", ServerChange::Changed),
        ];
        assert_eq!(servers, expected.map(|(name, change)| (name.to_owned(), change)));
        for line in [
            r#"command = "/opt/bin/hookhost" # the package runner"#,
            r#"args = ["mcp", "--name", "files", "--", "npx", "-y", "server-filesystem"]"#,
            r#"args = ["mcp", "--name", "bare", "--", "/opt/server"]"#,
            r#"  "mcp", "--name", "inline", "--", 'x', "a", # first"#,
            r#"args = ["mcp", "--name", "none", "--", "x", ]"#,
            r#"model = "gpt" # mine"#,
        ] {
            assert!(wrapped.contains(line), "{line}\n{wrapped}");
        }
        let (again, servers) = wrap(&wrapped);
        assert_eq!((again, &servers[0].1), (wrapped, &ServerChange::Unchanged));
    }

    #[test]
    fn line_ends_and_marks_stay_and_the_way_back_leads_to_the_same_bytes() {
        for text in [
            TEXT,
            "[mcp_servers.a]\ncommand = \"b\"",
            "mcp_servers.a.command = \"b\"",
            "[mcp_servers]\na.command = \"b\"\na.env.KEY = \"v\"",
            "[mcp_servers]\na = { command = \"b\" }",
            "[mcp_servers]\na = { args = [], command = \"b\", enabled = true }\n",
            "mcp_servers = { a = { command = \"b\", args = [\"c\"] }, d.command = \"e\" }",
            "[mcp_servers.a]\nargs = [\n]\ncommand = \"b\"\n",
            "[mcp_servers.a]\ncommand = \"b\" # why\n# below\n",
        ] {
            for (mark, end) in [("", "\n"), ("", "\r\n"), ("\u{feff}", "\r\n")] {
                let text = format!("{mark}{}", text.replace('\n', end));
                let (wrapped, servers) = wrap(&text);
                assert!(servers.iter().any(|(_, change)| *change == ServerChange::Changed), "{text}");
                assert!(wrapped.starts_with(mark), "{wrapped:?}");
                let all = wrapped.matches('\n').count();
                let other = if text.contains("\r\n") { all } else { 0 };
                assert_eq!(wrapped.matches("\r\n").count(), other, "{wrapped:?}");
                assert_eq!(without_proxy(&wrapped, PLACES).unwrap().0, text, "{wrapped}");
                assert_eq!(wrap(&wrapped).0, wrapped);
            }
        }
        assert_eq!(without_proxy(TEXT, PLACES).unwrap().0, TEXT);
        assert!(without_proxy("= 1", PLACES).is_err());
    }

    #[test]
    fn another_program_of_its_name_is_replaced_and_variables_that_mislead_are_named() {
        let fake = "[mcp_servers.a]\ncommand = \"./hookhost\"\nargs = [\"mcp\", \"--name\", \"a\", \"--\", \"x\"]\n";
        assert_eq!(wrap(fake).0, fake.replace("./hookhost", "/opt/bin/hookhost"));
        for env in ["env = { HOME = \"/evil\" }", "env.HOME = \"/evil\"", "[mcp_servers.a.env]\nHOME = \"/evil\""] {
            let text = format!("[mcp_servers.a]\ncommand = \"x\"\n{env}\n");
            assert_eq!(
                wrap(&text),
                (text, vec![("a".to_owned(), ServerChange::MisleadingVariable("HOME".to_owned()))])
            );
        }
    }
}
