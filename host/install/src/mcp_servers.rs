//! The proxy in the place of the MCP servers that an agent's file names, and the servers in its place again.
//!
//! An entry that was changed says itself what it was: the proxy's arguments end with the server's command. So nothing else has to
//! be kept for the way back.

use crate::json::{NotEditable, input, parse};
use hookhost_adapters::install::JsonDialect;
use hookhost_adapters::mcp_servers::{BETWEEN, between, starts_proxy};
use jsonc_parser::cst::{CstArray, CstNode, CstObject};
use serde_json::{Value, json};
use std::path::Path;

/// What happens to a server of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The proxy is started in its place, or it is started by itself again.
    Changed,
    /// It is as it is to be.
    AsItIs,
    /// It is reached by an address.
    Service,
    /// Its entry has no command that could be read, or its name cannot be one for rules.
    Unusable,
}

/// A server of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// Its name there.
    pub name: String,
    /// What happens to it.
    pub change: Change,
}

/// The text with the proxy in the place of each server that is a program. `program` is `hookhost`; `name_of` makes a name for
/// rules of the agent's own name of a server.
///
/// # Errors
/// If the text is not a JSON object in what the agent reads.
pub fn with_proxy(
    text: &str,
    keys: &[&str],
    dialect: JsonDialect,
    program: &Path,
    name_of: impl Fn(&str) -> Option<String>,
) -> Result<(String, Vec<Server>), NotEditable> {
    edited(text, keys, dialect, |name, server| {
        if is_proxied(server) {
            return Change::AsItIs;
        }
        let Some(name) = name_of(name) else { return Change::Unusable };
        let program = program.to_string_lossy();
        let between = between(&name);
        if let Some(command) = text_of(server, "command") {
            let Some(arguments) = server.array_value_or_create("args") else { return Change::Unusable };
            insert(&arguments, &[&between[..], &[command.as_str()]].concat());
            set(server, "command", &json!(program));
            return Change::Changed;
        }
        if let Some(words) = server.array_value("command") {
            insert(&words, &[&[program.as_ref()], &between[..]].concat());
            return Change::Changed;
        }
        otherwise(server)
    })
}

/// The text with each server started by itself again.
///
/// # Errors
/// If the text is not a JSON object.
pub fn without_proxy(text: &str, keys: &[&str]) -> Result<(String, Vec<Server>), NotEditable> {
    edited(text, keys, JsonDialect::CommentsAndCommas, |_, server| {
        if !is_proxied(server) {
            return Change::AsItIs;
        }
        if let Some(words) = server.array_value("command") {
            take_out(&words);
            return Change::Changed;
        }
        let Some(arguments) = server.array_value("args") else { return Change::Unusable };
        let words = arguments.elements();
        let Some(command) = words.get(BETWEEN).and_then(CstNode::to_serde_value) else { return Change::Unusable };
        set(server, "command", &command);
        take_out(&arguments);
        if arguments.elements().is_empty()
            && let Some(property) = server.get("args")
        {
            property.remove();
        }
        Change::Changed
    })
}

fn edited(
    text: &str,
    keys: &[&str],
    dialect: JsonDialect,
    edit: impl Fn(&str, &CstObject) -> Change,
) -> Result<(String, Vec<Server>), NotEditable> {
    if text.trim().is_empty() {
        return Ok((text.to_owned(), Vec::new()));
    }
    let (mark, root, top) = parse(text, dialect)?;
    let found = keys.iter().try_fold(top, |object, key| object.object_value(key));
    let mut servers = Vec::new();
    for property in found.iter().flat_map(CstObject::properties) {
        let Some(name) = property.decoded_name() else { continue };
        let change = property.object_value().map_or(Change::Unusable, |server| edit(&name, &server));
        servers.push(Server { name, change });
    }
    let edited = format!("{mark}{root}");
    // Nothing that an agent could not read is written.
    parse(&edited, dialect)?;
    Ok((edited, servers))
}

/// Whether a server's entry starts the proxy.
fn is_proxied(server: &CstObject) -> bool {
    let words = |key: &str| server.array_value(key).map(|array| words(&array)).unwrap_or_default();
    let all = match text_of(server, "command") {
        Some(command) => [vec![command], words("args")].concat(),
        None => words("command"),
    };
    starts_proxy(&all)
}

fn otherwise(server: &CstObject) -> Change {
    let has_address = ["url", "httpUrl", "serverUrl"].iter().any(|key| text_of(server, key).is_some());
    if has_address { Change::Service } else { Change::Unusable }
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
    // Each of them leaves its space before what follows.
    if let Some(next) = array.elements().get(words.len()) {
        let spaces: Vec<CstNode> = next.previous_siblings().take_while(CstNode::is_whitespace).collect();
        spaces.into_iter().skip(1).for_each(CstNode::remove);
    }
}

/// Takes the proxy's words out, and the white space that was between them.
fn take_out(array: &CstArray) {
    array.elements().into_iter().take(BETWEEN + 1).for_each(CstNode::remove);
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
mod tests {
    use super::{Change, with_proxy, without_proxy};
    use hookhost_adapters::install::JsonDialect;
    use std::path::Path;

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

    fn wrap(text: &str) -> (String, Vec<(String, Change)>) {
        let name_of = |name: &str| Some(name.to_owned());
        let program = Path::new("/opt/bin/hookhost");
        let (text, servers) =
            with_proxy(text, &["mcpServers"], JsonDialect::CommentsAndCommas, program, name_of).unwrap();
        (text, servers.into_iter().map(|server| (server.name, server.change)).collect())
    }

    #[test]
    fn each_program_is_started_by_the_proxy_and_nothing_else_changes() {
        let (wrapped, servers) = wrap(TEXT);
        let files = r#""files": { "command": "/opt/bin/hookhost", "args": ["mcp", "--name", "files", "--", "npx", "-y", "server-filesystem", "."], "env": { "A": "b" } }"#;
        assert!(wrapped.contains(files) && wrapped.contains("// mine"), "{wrapped}");
        let expected = [
            ("files", Change::Changed),
            ("bare", Change::Changed),
            ("issues", Change::Service),
            ("odd", Change::Unusable),
        ];
        assert_eq!(servers, expected.map(|(name, change)| (name.to_owned(), change)));
        let (again, servers) = wrap(&wrapped);
        assert_eq!((again, servers[0].1), (wrapped, Change::AsItIs));
    }

    #[test]
    fn the_way_back_leads_to_the_same_text() {
        let (wrapped, _) = wrap(TEXT);
        let (back, servers) = without_proxy(&wrapped, &["mcpServers"]).unwrap();
        // An object on one line to which something was added has a line for each member from then on.
        let bare = "{\n      \"command\": \"/opt/server\"\n    }";
        assert_eq!(back, TEXT.replace(r#"{ "command": "/opt/server" }"#, bare));
        assert_eq!(servers.iter().filter(|server| server.change == Change::Changed).count(), 2);
        assert_eq!(without_proxy(TEXT, &["mcpServers"]).unwrap().0, TEXT);
    }

    #[test]
    fn a_command_that_is_a_list_is_led_by_the_proxy() {
        let text = r#"{ "mcp": { "a": { "type": "local", "command": ["npx", "x"] } } }"#;
        let name_of = |name: &str| Some(name.to_owned());
        let (wrapped, _) = with_proxy(text, &["mcp"], JsonDialect::Strict, Path::new("/b/hookhost"), name_of).unwrap();
        assert!(wrapped.contains(r#"["/b/hookhost", "mcp", "--name", "a", "--", "npx", "x"]"#), "{wrapped}");
        assert_eq!(without_proxy(&wrapped, &["mcp"]).unwrap().0, text);
    }
}
