//! Puts the proxy in front of the MCP servers in an agent's file, and removes the proxy again.
//!
//! In a changed entry, the proxy's arguments end with the server's original command. So the change can be reversed without any
//! other record.

use crate::install::json::{NotEditable, input, parse};
use crate::mcp_servers::{ANY_KEY, PROXY_WORD_COUNT, looks_like_proxy, proxy_words, starts_proxy};
use crate::plan::JsonDialect;
use jsonc_parser::cst::{CstArray, CstNode, CstObject};
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;

/// The change of a server's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerChange {
    /// The entry was changed. It now starts the proxy, or the server itself if the proxy was removed.
    Changed,
    /// The entry was correct already.
    Unchanged,
    /// The server is reached at an address, so there is no command to change.
    Service,
    /// The entry was not changed, because it sets this variable. The variable would make the proxy use other rules.
    MisleadingVariable(String),
    /// The entry has no readable command, or the server's name cannot be turned into a name for rules.
    Unusable,
}

/// A server in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// Name of the server in the file.
    pub name: String,
    /// Project of the server, if the file has servers of several projects.
    pub project: Option<String>,
    /// The change of the entry.
    pub change: ServerChange,
}

/// The proxy that replaces the servers' commands.
#[derive(Clone, Copy)]
pub struct ProxyCommand<'a> {
    /// Path of the program `hookhost`.
    pub program: &'a Path,
    /// Converts the name of a server in the agent's file into the name by which rules refer to the server.
    pub name_of: &'a dyn Fn(&str) -> Option<String>,
    /// Returns true if a variable, given by name and value, makes the proxy use other directories than the directories
    /// of the user.
    pub misleads: &'a dyn Fn(&str, &str) -> bool,
}

impl fmt::Debug for ProxyCommand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyCommand").field("program", &self.program).finish_non_exhaustive()
    }
}

/// The members of a server's entry that set variables.
pub(crate) const VARIABLES: [&str; 2] = ["env", "environment"];

/// Returns the text with changed entries. With these entries, the agent starts the proxy in place of each server that is a program.
///
/// # Errors
/// If the text is not a JSON object in the agent's dialect.
pub fn with_proxy(
    text: &str,
    places: &[&[&str]],
    dialect: JsonDialect,
    proxy: &ProxyCommand<'_>,
) -> Result<(String, Vec<ServerEntry>), NotEditable> {
    edited(text, places, dialect, |name, server| {
        if let Some(variable) = misled(server, proxy) {
            return ServerChange::MisleadingVariable(variable);
        }
        let words = words_of(server);
        if starts_proxy(&words, proxy.program) {
            return ServerChange::Unchanged;
        }
        let program = proxy.program.to_string_lossy();
        if looks_like_proxy(&words) {
            set_program(server, &program);
            return ServerChange::Changed;
        }
        let Some(name) = (proxy.name_of)(name) else { return ServerChange::Unusable };
        let between = proxy_words(&name);
        if let Some(command) = text_of(server, "command") {
            let Some(arguments) = server.array_value_or_create("args") else { return ServerChange::Unusable };
            insert(&arguments, &[&between[..], &[command.as_str()]].concat());
            set_program(server, &program);
            return ServerChange::Changed;
        }
        if let Some(words) = server.array_value("command") {
            insert(&words, &[&[program.as_ref()], &between[..]].concat());
            return ServerChange::Changed;
        }
        otherwise(server)
    })
}

/// Returns the text with each server's own command restored.
///
/// # Errors
/// If the text is not a JSON object.
pub fn without_proxy(text: &str, places: &[&[&str]]) -> Result<(String, Vec<ServerEntry>), NotEditable> {
    edited(text, places, JsonDialect::CommentsAndCommas, |_, server| {
        if !looks_like_proxy(&words_of(server)) {
            return ServerChange::Unchanged;
        }
        if let Some(words) = server.array_value("command") {
            take_out(&words);
            return ServerChange::Changed;
        }
        let Some(arguments) = server.array_value("args") else { return ServerChange::Unusable };
        let words = arguments.elements();
        let Some(command) = words.get(PROXY_WORD_COUNT).and_then(CstNode::to_serde_value) else {
            return ServerChange::Unusable;
        };
        set(server, "command", &command);
        take_out(&arguments);
        if arguments.elements().is_empty()
            && let Some(property) = server.get("args")
        {
            property.remove();
        }
        ServerChange::Changed
    })
}

fn edited(
    text: &str,
    places: &[&[&str]],
    dialect: JsonDialect,
    edit: impl Fn(&str, &CstObject) -> ServerChange,
) -> Result<(String, Vec<ServerEntry>), NotEditable> {
    if text.trim().is_empty() {
        return Ok((text.to_owned(), Vec::new()));
    }
    let (mark, root, top) = parse(text, dialect)?;
    let mut servers = Vec::new();
    for (project, found) in places.iter().flat_map(|keys| objects(&top, keys, None)) {
        for property in found.properties() {
            let Some(name) = property.decoded_name() else { continue };
            let change = property.object_value().map_or(ServerChange::Unusable, |server| edit(&name, &server));
            servers.push(ServerEntry { name, project: project.clone(), change });
        }
    }
    let edited = format!("{mark}{root}");
    // Check that the agent can read the new text.
    parse(&edited, dialect)?;
    Ok((edited, servers))
}

/// Returns the objects at these keys. If the keys contain [`ANY_KEY`], each object is returned with the key that
/// matched.
fn objects(object: &CstObject, keys: &[&str], each: Option<String>) -> Vec<(Option<String>, CstObject)> {
    let Some((key, rest)) = keys.split_first() else { return vec![(each, object.clone())] };
    if *key != ANY_KEY {
        return object.object_value(key).map(|object| objects(&object, rest, each)).unwrap_or_default();
    }
    let members =
        object.properties().into_iter().filter_map(|member| Some((member.decoded_name()?, member.object_value()?)));
    members.flat_map(|(name, object)| objects(&object, rest, Some(name))).collect()
}

/// Returns the variable in a server's entry that would make the proxy use other rules.
fn misled(server: &CstObject, proxy: &ProxyCommand<'_>) -> Option<String> {
    let objects = VARIABLES.iter().filter_map(|key| server.object_value(key));
    let mut variables = objects.flat_map(|object| object.properties());
    variables.find_map(|variable| {
        let (name, value) = (variable.decoded_name()?, variable.value()?.to_serde_value()?);
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (proxy.misleads)(&name, &value).then_some(name)
    })
}

/// Replaces the program in a server's entry.
fn set_program(server: &CstObject, program: &str) {
    match server.array_value("command").and_then(|words| words.elements().into_iter().next()) {
        Some(first) => {
            if let Some(text) = first.as_string_lit() {
                text.set_raw_value(json!(program).to_string());
            }
        }
        None => set(server, "command", &json!(program)),
    }
}

/// Returns the words of the command line in a server's entry. The first word is the program.
fn words_of(server: &CstObject) -> Vec<String> {
    let words = |key: &str| server.array_value(key).map(|array| words(&array)).unwrap_or_default();
    match text_of(server, "command") {
        Some(command) => [vec![command], words("args")].concat(),
        None => words("command"),
    }
}

fn otherwise(server: &CstObject) -> ServerChange {
    let has_address = ["url", "httpUrl", "serverUrl"].iter().any(|key| text_of(server, key).is_some());
    if has_address { ServerChange::Service } else { ServerChange::Unusable }
}

fn text_of(server: &CstObject, key: &str) -> Option<String> {
    match server.get(key)?.value()?.to_serde_value()? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn words(array: &CstArray) -> Vec<String> {
    let texts = array.elements().into_iter().map(|word| match word.to_serde_value() {
        Some(Value::String(text)) => text,
        _ => String::new(),
    });
    texts.collect()
}

fn insert(array: &CstArray, words: &[&str]) {
    for (index, word) in words.iter().enumerate() {
        array.insert(index, input(&json!(word)));
    }
    // Each insertion leaves white space before the next element, so the superfluous white space is removed.
    if let Some(next) = array.elements().get(words.len()) {
        let spaces: Vec<CstNode> = next.previous_siblings().take_while(CstNode::is_whitespace).collect();
        spaces.into_iter().skip(1).for_each(CstNode::remove);
    }
}

/// Removes the proxy's words and the white space between them.
fn take_out(array: &CstArray) {
    array.elements().into_iter().take(PROXY_WORD_COUNT + 1).for_each(CstNode::remove);
    let Some(first) = array.elements().into_iter().next() else { return };
    let before: Vec<CstNode> = first.previous_siblings().take_while(CstNode::is_whitespace).collect();
    before.into_iter().for_each(CstNode::remove);
}

fn set(server: &CstObject, key: &str, value: &Value) {
    if let Some(property) = server.get(key) {
        property.set_value(input(value));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{ProxyCommand, ServerChange, ServerEntry, with_proxy, without_proxy};
    use crate::mcp_servers::ANY_KEY;
    use crate::plan::JsonDialect;
    use std::path::Path;

    const PLACES: &[&[&str]] = &[&["mcpServers"], &["projects", ANY_KEY, "mcpServers"]];

    pub(crate) fn proxy() -> ProxyCommand<'static> {
        ProxyCommand {
            program: Path::new("/opt/bin/hookhost"),
            name_of: &|name| Some(name.to_owned()),
            misleads: &|name, value| name == "HOME" && value != "/home/me",
        }
    }

    const TEXT: &str = r#"{
  // mine
  "theme": "dark",
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "server-filesystem", "."], "env": { "A": "b" } },
    "bare": { "command": "/opt/server" },
    "issues": { "url": "https://mcp.example.com/mcp" },
    "odd": []
  }
}
"#;

    fn wrap(text: &str) -> (String, Vec<(String, ServerChange)>) {
        let (text, servers) = with_proxy(text, PLACES, JsonDialect::CommentsAndCommas, &proxy()).unwrap();
        (text, servers.into_iter().map(|server| (server.name, server.change)).collect())
    }

    #[test]
    fn each_program_is_started_by_the_proxy_and_nothing_else_changes() {
        let (wrapped, servers) = wrap(TEXT);
        let files = r#""files": { "command": "/opt/bin/hookhost", "args": ["mcp", "--name", "files", "--", "npx", "-y", "server-filesystem", "."], "env": { "A": "b" } }"#;
        assert!(wrapped.contains(files) && wrapped.contains("// mine"), "{wrapped}");
        let expected = [
            ("files", ServerChange::Changed),
            ("bare", ServerChange::Changed),
            ("issues", ServerChange::Service),
            ("odd", ServerChange::Unusable),
        ];
        assert_eq!(servers, expected.map(|(name, change)| (name.to_owned(), change)));
        let (again, servers) = wrap(&wrapped);
        assert_eq!((again, &servers[0].1), (wrapped, &ServerChange::Unchanged));
    }

    #[test]
    fn the_way_back_leads_to_the_same_text() {
        let (wrapped, _) = wrap(TEXT);
        let (back, servers) = without_proxy(&wrapped, PLACES).unwrap();
        // The edit added a member to an object on one line. From then on, each member of the object has a separate
        // line.
        let bare = "{\n      \"command\": \"/opt/server\"\n    }";
        assert_eq!(back, TEXT.replace(r#"{ "command": "/opt/server" }"#, bare));
        assert_eq!(servers.iter().filter(|server| server.change == ServerChange::Changed).count(), 2);
        assert_eq!(without_proxy(TEXT, PLACES).unwrap().0, TEXT);
    }

    #[test]
    fn a_command_that_is_a_list_is_led_by_the_proxy() {
        let text = r#"{ "mcp": { "a": { "type": "local", "command": ["npx", "x"] } } }"#;
        let places: &[&[&str]] = &[&["mcp"]];
        let (wrapped, _) = with_proxy(text, places, JsonDialect::Strict, &proxy()).unwrap();
        assert!(wrapped.contains(r#"["/opt/bin/hookhost", "mcp", "--name", "a", "--", "npx", "x"]"#), "{wrapped}");
        assert_eq!(without_proxy(&wrapped, places).unwrap().0, text);
        let moved = wrapped.replace("/opt/bin", "./tools");
        assert_eq!(with_proxy(&moved, places, JsonDialect::Strict, &proxy()).unwrap().0, wrapped);
    }

    #[test]
    fn a_program_that_is_only_called_like_the_proxy_is_replaced_by_it() {
        let fake = r#"{ "mcpServers": { "a": { "command": "./tools/hookhost", "args": ["mcp", "--name", "a", "--", "npx"] } } }"#;
        let (wrapped, servers) = wrap(fake);
        assert_eq!(wrapped, fake.replace("./tools/hookhost", "/opt/bin/hookhost"));
        assert_eq!(servers[0].1, ServerChange::Changed);
    }

    #[test]
    fn a_server_whose_variables_lead_to_other_rules_is_left_and_named() {
        for env in [r#""env": { "HOME": "/evil" }"#, r#""environment": { "A": "b", "HOME": 7 }"#] {
            for command in [
                r#""command": "npx""#,
                r#""command": "/opt/bin/hookhost", "args": ["mcp", "--name", "a", "--", "npx"]"#,
            ] {
                let text = format!("{{ \"mcpServers\": {{ \"a\": {{ {command}, {env} }} }} }}");
                let (wrapped, servers) = wrap(&text);
                assert_eq!(
                    (wrapped, servers[0].1.clone()),
                    (text, ServerChange::MisleadingVariable("HOME".to_owned()))
                );
            }
        }
        let own = r#"{ "mcpServers": { "a": { "command": "npx", "args": [], "env": { "HOME": "/home/me" } } } }"#;
        assert_eq!(wrap(own).1[0].1, ServerChange::Changed);
    }

    #[test]
    fn servers_of_each_project_are_behind_the_proxy() {
        let text = r#"{ "projects": { "/a": { "mcpServers": { "x": { "command": "npx", "args": [] } } }, "/b": {}, "/c": 7 } }"#;
        let (wrapped, servers) = with_proxy(text, PLACES, JsonDialect::Strict, &proxy()).unwrap();
        let change = ServerChange::Changed;
        assert_eq!(servers, [ServerEntry { name: "x".to_owned(), project: Some("/a".to_owned()), change }]);
        assert!(wrapped.contains(r#""args": ["mcp", "--name", "x", "--", "npx"]"#), "{wrapped}");
    }
}
