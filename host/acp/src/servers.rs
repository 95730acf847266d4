//! The MCP servers of a session, each behind the proxy for them, as `hookhost install --mcp` does it in an agent's own file. A server
//! that cannot be put behind it is left out: the agent does not reach it past the rules.

use hookhost_adapters::mcp_servers::{between, starts_proxy};
use hookhost_relay::name::ServerName;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The program that is the proxy, and what it needs to find the user's settings.
#[derive(Clone, Debug)]
pub struct Program {
    /// `hookhost`.
    pub path: String,
    /// The variables that say where hookhost's directories are.
    pub variables: Vec<(String, String)>,
}

/// The servers of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Servers {
    /// Those that the agent gets.
    pub entries: Vec<Value>,
    /// How many of them are behind the proxy.
    pub proxied: usize,
    /// Those that it does not get, a sentence each.
    pub left_out: Vec<String>,
    /// What the user has to know of others, a sentence each.
    pub notes: Vec<String>,
}

impl Servers {
    /// Those of this list, behind the proxy.
    #[must_use]
    pub fn behind(list: &[Value], program: &Program) -> Self {
        let (mut servers, mut names) = (Self::default(), BTreeSet::new());
        for entry in list {
            let shown: String =
                entry.get("name").and_then(Value::as_str).unwrap_or("without a name").chars().take(40).collect();
            match behind(entry, program, &mut names) {
                Ok(entry) => {
                    servers.entries.push(entry);
                    servers.proxied += 1;
                }
                Err(why) => servers.left_out.push(format!("the MCP server {shown:?} was left out: {why}")),
            }
            if entry.get("type").and_then(Value::as_str) == Some("sse") {
                let note = "it is of the transport that MCP has withdrawn, and works only where it speaks streamable HTTP as well";
                servers.notes.push(format!("the MCP server {shown:?}: {note}"));
            }
        }
        servers
    }
}

/// A server's entry that starts the proxy.
fn behind(entry: &Value, program: &Program, names: &mut BTreeSet<ServerName>) -> Result<Value, String> {
    let fields = entry.as_object().ok_or("its entry is no object")?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let name = text("name").ok_or("it has no name")?;
    match text("type") {
        None | Some("stdio") => {
            let command = text("command").ok_or("it has no command")?;
            let arguments = texts(fields.get("args")).ok_or("its arguments are no texts")?;
            let words = [&[command.to_owned()], arguments.as_slice()].concat();
            if starts_proxy(&words) {
                return Ok(entry.clone());
            }
            let name = rule_name(name, names)?;
            let words: Vec<&str> = between(name.as_str()).into_iter().chain(words.iter().map(String::as_str)).collect();
            let mut fields = fields.clone();
            fields.insert("command".to_owned(), json!(program.path));
            fields.insert("args".to_owned(), json!(words));
            let variables = fields.get("env").cloned().unwrap_or_else(|| json!([]));
            fields.insert("env".to_owned(), with_variables(variables, program)?);
            Ok(Value::Object(fields))
        }
        Some("http" | "sse") => {
            let url = text("url").ok_or("it has no address")?;
            let name = rule_name(name, names)?;
            let mut words =
                vec!["mcp".to_owned(), "--name".to_owned(), name.to_string(), "--http".to_owned(), url.to_owned()];
            let mut variables = Vec::new();
            for (index, (header, value)) in headers(fields)?.into_iter().enumerate() {
                // The value is no argument: every user of the machine can read those.
                let variable = format!("HOOKHOST_ACP_HEADER_{index}");
                words.extend(["--header-variable".to_owned(), format!("{header}={variable}")]);
                variables.push(json!({ "name": variable, "value": value }));
            }
            let mut made = Map::new();
            // The agent knows it by the name that the editor has given it.
            made.insert("name".to_owned(), json!(text("name")));
            made.insert("command".to_owned(), json!(program.path));
            made.insert("args".to_owned(), json!(words));
            made.insert("env".to_owned(), with_variables(Value::Array(variables), program)?);
            if let Some(meta) = fields.get("_meta") {
                made.insert("_meta".to_owned(), meta.clone());
            }
            Ok(Value::Object(made))
        }
        Some(_) => Err("its kind is not known".to_owned()),
    }
}

/// The name for rules, which no other server of the session has.
fn rule_name(name: &str, names: &mut BTreeSet<ServerName>) -> Result<ServerName, String> {
    let made = ServerName::new(name).ok().or_else(|| ServerName::made_of(name));
    let made = made.ok_or("its name cannot be one for rules")?;
    let numbered = (2..100).filter_map(|number| ServerName::new(&format!("{made}-{number}")).ok());
    let mut free = std::iter::once(made.clone()).chain(numbered).filter(|name| !names.contains(name));
    let name = free.next().ok_or("too many servers have its name")?;
    names.insert(name.clone());
    Ok(name)
}

/// Headers with a value, by their names.
fn headers(fields: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    let list = match fields.get("headers") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(list) => list.as_array().ok_or("its headers are no list")?,
    };
    let text = |header: &Value, key: &str| header.get(key).and_then(Value::as_str).map(str::to_owned);
    let header = |header| Some((text(header, "name")?, text(header, "value")?));
    let all: Option<Vec<_>> = list.iter().map(header).collect();
    let all = all.ok_or("a header of it has no name or no value")?;
    if all.iter().any(|(name, _)| name.contains('=')) {
        return Err("a header of it has a name that no header can have".to_owned());
    }
    Ok(all.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect())
}

/// A list of variables with the proxy's own, where the editor has not set them.
fn with_variables(list: Value, program: &Program) -> Result<Value, String> {
    let mut list = match list {
        Value::Array(list) => list,
        Value::Null => Vec::new(),
        _ => return Err("its variables are no list".to_owned()),
    };
    for (name, value) in &program.variables {
        if !list.iter().any(|variable| variable.get("name").and_then(Value::as_str) == Some(name)) {
            list.push(json!({ "name": name, "value": value }));
        }
    }
    Ok(Value::Array(list))
}

fn texts(list: Option<&Value>) -> Option<Vec<String>> {
    match list {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(list) => list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Program, Servers};
    use serde_json::{Value, json};

    fn behind(list: &Value) -> Servers {
        let variables = vec![("HOOKHOST_STATE_DIR".to_owned(), "/state".to_owned())];
        Servers::behind(list.as_array().unwrap(), &Program { path: "/bin/hookhost".to_owned(), variables })
    }

    #[test]
    fn a_program_is_started_by_the_proxy_with_its_own_variables() {
        let entry = json!({ "name": "My files", "command": "npx", "args": ["-y", "files"], "env": [{ "name": "A", "value": "b" }], "_meta": 1 });
        let servers = behind(&json!([entry]));
        assert_eq!(
            servers.entries,
            [json!({
                "name": "My files", "command": "/bin/hookhost", "args": ["mcp", "--name", "my-files", "--", "npx", "-y", "files"],
                "env": [{ "name": "A", "value": "b" }, { "name": "HOOKHOST_STATE_DIR", "value": "/state" }], "_meta": 1,
            })]
        );
        assert_eq!(behind(&json!(servers.entries)).entries, servers.entries, "one that is behind it stays as it is");
    }

    #[test]
    fn a_service_becomes_a_program_and_no_header_is_an_argument() {
        let headers = json!([{ "name": "Authorization", "value": "Bearer sk-1" }, { "name": "X-Empty", "value": "" }]);
        let servers = behind(&json!([
            { "type": "http", "name": "issues", "url": "https://e.com/mcp", "headers": headers },
            { "type": "sse", "name": "old", "url": "https://e.com/sse", "headers": [] },
        ]));
        let words = [
            "mcp",
            "--name",
            "issues",
            "--http",
            "https://e.com/mcp",
            "--header-variable",
            "Authorization=HOOKHOST_ACP_HEADER_0",
        ];
        assert_eq!(servers.entries[0]["args"], json!(words));
        assert_eq!(servers.entries[0]["env"][0], json!({ "name": "HOOKHOST_ACP_HEADER_0", "value": "Bearer sk-1" }));
        assert_eq!((servers.entries[0].get("url"), servers.entries[0].get("headers")), (None, None));
        assert_eq!((servers.proxied, servers.left_out.len(), servers.notes.len()), (2, 0, 1));
    }

    #[test]
    fn a_server_that_cannot_be_put_behind_the_proxy_is_left_out() {
        let servers = behind(&json!([
            { "type": "acp", "name": "editor", "id": "1" }, { "name": "…", "command": "x" }, { "name": "a" }, "x",
            { "name": "b", "command": "x", "args": "y" }, { "type": "http", "name": "c" },
        ]));
        assert_eq!((servers.entries.len(), servers.left_out.len()), (0, 6), "{servers:?}");
        assert!(servers.left_out[0].contains("\"editor\" was left out"), "{servers:?}");
    }

    #[test]
    fn two_servers_never_have_one_name_for_rules() {
        let servers = behind(&json!([{ "name": "a b", "command": "x" }, { "name": "a-b", "command": "y" }]));
        let names: Vec<_> = servers.entries.iter().map(|entry| entry["args"][2].as_str().unwrap()).collect();
        assert_eq!(names, ["a-b", "a-b-2"]);
    }
}
