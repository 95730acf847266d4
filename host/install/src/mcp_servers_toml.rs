//! The proxy in the place of the MCP servers that a file in TOML names, and the servers in its place again. All else in the file
//! stays as it is written.

use crate::json::NotEditable;
use crate::mcp_servers::{Change, Server};
use hookhost_adapters::mcp_servers::{BETWEEN, between, starts_proxy};
use std::path::Path;
use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

/// The text with the proxy in the place of each server that is a program. `program` is `hookhost`; `name_of` makes a name for
/// rules of the agent's own name of a server.
///
/// # Errors
/// If the text is not TOML.
pub fn with_proxy(
    text: &str,
    keys: &[&str],
    program: &Path,
    name_of: impl Fn(&str) -> Option<String>,
) -> Result<(String, Vec<Server>), NotEditable> {
    edited(text, keys, |name, server| {
        if starts_proxy(&words(server)) {
            return Change::AsItIs;
        }
        let Some(command) = text_of(server, "command") else {
            return if text_of(server, "url").is_some() { Change::Service } else { Change::Unusable };
        };
        let Some(name) = name_of(name) else { return Change::Unusable };
        if server.get("args").is_none() {
            server.insert("args", Item::Value(Array::new().into()));
        }
        let Some(arguments) = server.get_mut("args").and_then(Item::as_array_mut) else { return Change::Unusable };
        // The first one has no space before it, and is not the first any more.
        if let Some(first) = arguments.get_mut(0)
            && first.decor().prefix().and_then(|space| space.as_str()).is_none_or(str::is_empty)
        {
            first.decor_mut().set_prefix(" ");
        }
        let before = between(&name).into_iter().chain([command.as_str()]);
        before.enumerate().for_each(|(index, word)| arguments.insert(index, word));
        set(server, &program.to_string_lossy());
        Change::Changed
    })
}

/// The text with each server started by itself again.
///
/// # Errors
/// If the text is not TOML.
pub fn without_proxy(text: &str, keys: &[&str]) -> Result<(String, Vec<Server>), NotEditable> {
    edited(text, keys, |_, server| {
        if !starts_proxy(&words(server)) {
            return Change::AsItIs;
        }
        let Some(command) = words(server).get(BETWEEN + 1).cloned() else { return Change::Unusable };
        let Some(arguments) = server.get_mut("args").and_then(Item::as_array_mut) else { return Change::Unusable };
        for _ in 0..=BETWEEN {
            arguments.remove(0);
        }
        match arguments.get_mut(0) {
            // The space before it was the one behind a comma.
            Some(first) if first.decor().prefix().and_then(|space| space.as_str()) == Some(" ") => {
                first.decor_mut().set_prefix("");
            }
            Some(_) => {}
            None => {
                server.remove("args");
            }
        }
        set(server, &command);
        Change::Changed
    })
}

fn edited(
    text: &str,
    keys: &[&str],
    edit: impl Fn(&str, &mut dyn TableLike) -> Change,
) -> Result<(String, Vec<Server>), NotEditable> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| NotEditable(format!("is not TOML: {error}")))?;
    let mut found = Some(document.as_item_mut());
    for key in keys {
        found = found.and_then(|item| item.get_mut(*key));
    }
    let mut servers = Vec::new();
    for (name, server) in found.and_then(Item::as_table_like_mut).into_iter().flat_map(|table| table.iter_mut()) {
        let change = server.as_table_like_mut().map_or(Change::Unusable, |table| edit(name.get(), table));
        servers.push(Server { name: name.get().to_owned(), change });
    }
    Ok((document.to_string(), servers))
}

/// A server's command, its program first.
fn words(server: &dyn TableLike) -> Vec<String> {
    let arguments = server.get("args").and_then(Item::as_array);
    let arguments = arguments.into_iter().flatten().map(|word| word.as_str().unwrap_or_default().to_owned());
    text_of(server, "command").into_iter().chain(arguments).collect()
}

fn text_of(server: &dyn TableLike, key: &str) -> Option<String> {
    server.get(key)?.as_str().map(str::to_owned)
}

/// Sets a server's program, and keeps what is written around it.
fn set(server: &mut dyn TableLike, program: &str) {
    if let Some(value) = server.get_mut("command").and_then(Item::as_value_mut) {
        let decor = value.decor().clone();
        *value = Value::from(program);
        *value.decor_mut() = decor;
    }
}

#[cfg(test)]
mod tests {
    use super::{with_proxy, without_proxy};
    use crate::mcp_servers::Change;
    use std::path::Path;

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
command = "x"
"#;

    fn wrap(text: &str) -> (String, Vec<(String, Change)>) {
        let name_of = |name: &str| Some(name.to_owned());
        let (text, servers) = with_proxy(text, &["mcp_servers"], Path::new("/opt/bin/hookhost"), name_of).unwrap();
        (text, servers.into_iter().map(|server| (server.name, server.change)).collect())
    }

    #[test]
    fn each_program_is_started_by_the_proxy_and_nothing_else_changes() {
        let (wrapped, servers) = wrap(TEXT);
        let expected = [
            ("files", Change::Changed),
            ("bare", Change::Changed),
            ("issues", Change::Service),
            ("inline", Change::Changed),
        ];
        assert_eq!(servers, expected.map(|(name, change)| (name.to_owned(), change)));
        for line in [
            r#"command = "/opt/bin/hookhost" # the package runner"#,
            r#"args = ["mcp", "--name", "files", "--", "npx", "-y", "server-filesystem"]"#,
            r#"args = ["mcp", "--name", "bare", "--", "/opt/server"]"#,
            r#"model = "gpt" # mine"#,
        ] {
            assert!(wrapped.contains(line), "{line}\n{wrapped}");
        }
        let (again, servers) = wrap(&wrapped);
        assert_eq!((again, servers[0].1), (wrapped, Change::AsItIs));
    }

    #[test]
    fn the_way_back_leads_to_the_same_text() {
        let (wrapped, _) = wrap(TEXT);
        assert_eq!(without_proxy(&wrapped, &["mcp_servers"]).unwrap().0, TEXT);
        assert_eq!(without_proxy(TEXT, &["mcp_servers"]).unwrap().0, TEXT);
        assert!(without_proxy("= 1", &["mcp_servers"]).is_err());
    }
}
