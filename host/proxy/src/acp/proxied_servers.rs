//! Puts each MCP server of a session behind the MCP proxy. `hookhost install --mcp` does the same with the servers in an agent's
//! configuration file. If this fails for a server, the server is left out, because the agent must not use the server without the
//! rules.

use crate::server_name::ServerName;
use hookhost_agents::directories::DIRECTORY_VARIABLES;
use hookhost_agents::mcp_servers::{proxy_words, starts_proxy};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The program of the MCP proxy, and the environment variables with which the program finds the user's settings.
#[derive(Clone, Debug)]
pub struct ProxyProgram {
    /// The path of `hookhost`.
    pub path: String,
    /// The variables that name hookhost's directories.
    pub variables: Vec<(String, String)>,
}

/// The servers of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProxiedServers {
    /// The entries that the agent gets.
    pub entries: Vec<Value>,
    /// The number of servers behind the proxy.
    pub proxied: usize,
    /// The servers that the agent does not get, one sentence for each.
    pub left_out: Vec<String>,
    /// Notes for the user about servers that were not left out, one sentence for each.
    pub notes: Vec<String>,
}

impl ProxiedServers {
    /// Puts the servers of this list behind the proxy.
    pub fn behind(list: &[Value], program: &ProxyProgram) -> Self {
        let mut servers = Self::default();
        for (entry, name) in list.iter().zip(names_for_rules(list, program)) {
            let shown: String = name_of(entry).unwrap_or("without a name").chars().take(40).collect();
            match name.and_then(|name| behind(entry, &name, program)) {
                Ok(entry) => {
                    servers.entries.push(entry);
                    servers.proxied += 1;
                }
                Err(why) => servers.left_out.push(format!("the MCP server {shown:?} was left out: {why}")),
            }
            if entry.get("type").and_then(Value::as_str) == Some("sse") {
                let note = "its transport was withdrawn from MCP, so it works only if it also supports streamable HTTP";
                servers.notes.push(format!("the MCP server {shown:?}: {note}"));
            }
        }
        servers
    }
}

fn name_of(entry: &Value) -> Option<&str> {
    entry.get("name").and_then(Value::as_str)
}

/// Returns the program of an entry, followed by its arguments.
fn words_of(entry: &Value) -> Result<Vec<String>, String> {
    let command = entry.get("command").and_then(Value::as_str).ok_or("it has no command")?;
    let arguments = texts(entry.get("args")).ok_or("its arguments are no texts")?;
    Ok([&[command.to_owned()], arguments.as_slice()].concat())
}

/// Returns true if these words start the MCP proxy, which means that the server is already behind the proxy. The path of the
/// program is compared, because another program can have the same name.
fn is_behind(words: &[String], program: &ProxyProgram) -> bool {
    starts_proxy(words, program.path.as_ref())
}

/// Returns the name that each server has in rules. The name is unique in the session. If the names of two servers lead to the same
/// name for rules, the server whose name needs no conversion gets this name.
fn names_for_rules(list: &[Value], program: &ProxyProgram) -> Vec<Result<ServerName, String>> {
    let is_second = |index: usize| list[..index].iter().any(|entry| name_of(entry) == name_of(&list[index]));
    let own_words = |entry: &Value| words_of(entry).ok().filter(|words| is_behind(words, program));
    let mut names = BTreeSet::new();
    let mut all: Vec<Option<Result<ServerName, String>>> = vec![None; list.len()];
    for (index, entry) in list.iter().enumerate() {
        if name_of(entry).is_none() {
            all[index] = Some(Err("it has no name".to_owned()));
        } else if is_second(index) {
            all[index] = Some(Err("another server has the same name".to_owned()));
        } else if let Some(words) = own_words(entry) {
            let name = ServerName::new(&words[3]).map_err(|why| why.to_string());
            let mut is_free = |name: &ServerName| names.insert(name.clone());
            let taken = || "another server has the same name for rules".to_owned();
            all[index] = Some(name.and_then(|name| is_free(&name).then_some(name).ok_or_else(taken)));
        }
    }
    for is_exact in [true, false] {
        for (entry, place) in list.iter().zip(&mut all).filter(|(_, place)| place.is_none()) {
            let name = name_of(entry).unwrap_or_default();
            if ServerName::new(name).is_ok() == is_exact {
                *place = Some(rule_name(name, &mut names));
            }
        }
    }
    all.into_iter().map(|name| name.unwrap_or_else(|| Err("it has no name".to_owned()))).collect()
}

/// Returns an entry that starts the proxy for a server. The entry contains only known members, because an agent may interpret
/// unknown members in a way that bypasses the proxy.
fn behind(entry: &Value, name: &ServerName, program: &ProxyProgram) -> Result<Value, String> {
    let fields = entry.as_object().ok_or("its entry is no object")?;
    let kind = match fields.get("type") {
        None | Some(Value::Null) => "stdio",
        Some(kind) => kind.as_str().ok_or("its kind is no text")?,
    };
    let (words, variables) = match kind {
        "stdio" => {
            let words = words_of(entry)?;
            let variables = fields.get("env").cloned().unwrap_or_default();
            let words = if is_behind(&words, program) {
                words[1..].to_vec()
            } else {
                let before = proxy_words(name.as_str()).into_iter().map(str::to_owned);
                before.chain(words).collect()
            };
            (words, variables)
        }
        "http" | "sse" => service(fields, name)?,
        _ => return Err("its kind is not known".to_owned()),
    };
    let mut made = Map::new();
    // The agent uses the name that the editor has given to the server, and not the name for rules.
    made.insert("name".to_owned(), fields.get("name").cloned().unwrap_or_default());
    made.insert("command".to_owned(), json!(program.path));
    made.insert("args".to_owned(), json!(words));
    made.insert("env".to_owned(), with_variables(variables, program)?);
    if let Some(meta) = fields.get("_meta") {
        made.insert("_meta".to_owned(), meta.clone());
    }
    Ok(Value::Object(made))
}

/// Returns the arguments and the environment variables with which the proxy is started for an HTTP service.
fn service(fields: &Map<String, Value>, name: &ServerName) -> Result<(Vec<String>, Value), String> {
    let url = fields.get("url").and_then(Value::as_str).ok_or("it has no address")?;
    if has_secret_part(url) {
        return Err(
            "its address has a query or a user, which every user of the machine could read: use a header".to_owned()
        );
    }
    let mut words = vec!["mcp".to_owned(), "--name".to_owned(), name.to_string(), "--http".to_owned(), url.to_owned()];
    let mut variables = Vec::new();
    for (index, (header, value)) in headers(fields)?.into_iter().enumerate() {
        // The value is passed in a variable, because every user of the machine can read arguments.
        let variable = format!("HOOKHOST_ACP_HEADER_{index}");
        words.extend(["--header-variable".to_owned(), format!("{header}={variable}")]);
        variables.push(json!({ "name": variable, "value": value }));
    }
    Ok((words, Value::Array(variables)))
}

/// Returns true if an address has a query or a user name. Both can contain secret keys.
fn has_secret_part(url: &str) -> bool {
    let after_scheme = url.split_once(':').map_or(url, |(_, rest)| rest).trim_start_matches(['/', '\\']);
    let authority = after_scheme.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    url.contains('?') || authority.contains('@')
}

/// Returns a name for rules that no other server of the session has.
fn rule_name(name: &str, names: &mut BTreeSet<ServerName>) -> Result<ServerName, String> {
    let made = ServerName::new(name).ok().or_else(|| ServerName::made_of(name));
    let made = made.ok_or("its name cannot be converted to a name for rules")?;
    let numbered = (2..100).filter_map(|number| ServerName::new(&format!("{made}-{number}")).ok());
    let mut free = std::iter::once(made.clone()).chain(numbered).filter(|name| !names.contains(name));
    let name = free.next().ok_or("too many servers have the same name")?;
    names.insert(name.clone());
    Ok(name)
}

/// Returns the headers of an entry as names and values. Skips headers without a value.
fn headers(fields: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    let list = match fields.get("headers") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(list) => list.as_array().ok_or("its headers are no list")?,
    };
    let header = |header| Some((text_of(header, "name")?, text_of(header, "value")?));
    let all: Option<Vec<_>> = list.iter().map(header).collect();
    let all = all.ok_or("one of its headers has no name or no value")?;
    if all.iter().any(|(name, _)| name.contains('=')) {
        return Err("one of its headers has an invalid name".to_owned());
    }
    Ok(all.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect())
}

/// Returns a list of variables with the variables of the proxy added, except those that the editor has already set.
fn with_variables(list: Value, program: &ProxyProgram) -> Result<Value, String> {
    let mut list = match list {
        Value::Array(list) => list,
        Value::Null => Vec::new(),
        _ => return Err("its variables are no list".to_owned()),
    };
    let variable = |variable: &Value| Some((text_of(variable, "name")?, text_of(variable, "value")?));
    let set: Option<Vec<_>> = list.iter().map(variable).collect();
    for (name, value) in set.ok_or("one of its variables has no name or no value")? {
        // With another directory, the proxy would use another resident host, which can have other rules.
        let is_own = program.variables.iter().any(|(own, known)| *own == name && *known == value);
        if DIRECTORY_VARIABLES.contains(&name.as_str()) && !is_own {
            return Err(format!("its variable {name} sets another directory for hookhost's own files"));
        }
    }
    for (name, value) in &program.variables {
        if !list.iter().any(|variable| variable.get("name").and_then(Value::as_str) == Some(name)) {
            list.push(json!({ "name": name, "value": value }));
        }
    }
    Ok(Value::Array(list))
}

fn text_of(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn texts(list: Option<&Value>) -> Option<Vec<String>> {
    match list {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(list) => list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{DIRECTORY_VARIABLES, ProxiedServers, ProxyProgram};
    use serde_json::{Value, json};

    fn behind(list: &Value) -> ProxiedServers {
        let variables = vec![("HOOKHOST_STATE_DIR".to_owned(), "/state".to_owned())];
        ProxiedServers::behind(list.as_array().unwrap(), &ProxyProgram { path: "/bin/hookhost".to_owned(), variables })
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
    fn an_address_with_a_key_in_it_is_left_out() {
        for url in ["https://h/mcp?apiKey=sk-1", "https://me:sk-1@h/mcp", "https:\\\\sk-1@h/mcp"] {
            let servers = behind(&json!([{ "type": "http", "name": "x", "url": url }]));
            assert!(servers.entries.is_empty() && servers.left_out[0].contains("a query or a user"), "{url}");
            assert!(!servers.left_out[0].contains("sk-1"), "{servers:?}");
        }
        let servers = behind(&json!([{ "type": "http", "name": "x", "url": "https://h:8443/@scope/mcp" }]));
        assert_eq!(servers.entries.len(), 1, "{servers:?}");
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
    fn an_entry_has_nothing_but_what_starts_the_proxy() {
        let servers =
            behind(&json!([{ "name": "x", "command": "true", "url": "http://evil/mcp", "headers": [], "type": null }]));
        let variables = json!([{ "name": "HOOKHOST_STATE_DIR", "value": "/state" }]);
        let args = json!(["mcp", "--name", "x", "--", "true"]);
        let made = json!({ "name": "x", "command": "/bin/hookhost", "args": args, "env": variables });
        assert_eq!(servers.entries, [made]);
        let servers = behind(&json!([{ "name": "x", "command": "true", "type": 5, "url": "http://evil/mcp" }]));
        assert_eq!((servers.entries.len(), servers.left_out.len()), (0, 1), "{servers:?}");
    }

    #[test]
    fn no_server_names_the_directories_of_the_host_that_judges_it() {
        let with = |name: &str, value: &str| {
            behind(&json!([{ "name": "x", "command": "true", "env": [{ "name": name, "value": value }] }]))
        };
        for name in DIRECTORY_VARIABLES {
            let servers = with(name, "/evil");
            assert!(servers.entries.is_empty() && servers.left_out[0].contains(name), "{servers:?}");
        }
        assert_eq!(with("HOOKHOST_STATE_DIR", "/state").entries.len(), 1, "its own value");
        assert_eq!(with("PATH", "/bin").entries.len(), 1);
    }

    #[test]
    fn another_program_with_the_name_of_the_proxy_is_put_behind_it() {
        let args = json!(["mcp", "--name", "x", "--", "true"]);
        let servers = behind(&json!([{ "name": "x", "command": "/repo/hookhost", "args": args }]));
        let words = json!(["mcp", "--name", "x", "--", "/repo/hookhost", "mcp", "--name", "x", "--", "true"]);
        assert_eq!((&servers.entries[0]["command"], &servers.entries[0]["args"]), (&json!("/bin/hookhost"), &words));
    }

    #[test]
    fn a_server_that_has_a_name_exactly_has_it_before_one_whose_name_is_made_into_it() {
        let names = |servers: &ProxiedServers| -> Vec<_> {
            let name = |entry: &Value| (entry["args"][2].clone(), entry["args"][4].clone());
            servers.entries.iter().map(name).collect()
        };
        let servers =
            behind(&json!([{ "name": "github!", "command": "evil" }, { "name": "github", "command": "real" }]));
        assert_eq!(names(&servers), [(json!("github-2"), json!("evil")), (json!("github"), json!("real"))]);
        let servers = behind(&json!([{ "name": "github", "command": "a" }, { "name": "github", "command": "b" }]));
        assert_eq!((names(&servers), servers.left_out.len()), (vec![(json!("github"), json!("a"))], 1));
        let wrapper =
            json!({ "name": "own", "command": "/bin/hookhost", "args": ["mcp", "--name", "github", "--", "real"] });
        let servers = behind(&json!([{ "name": "github", "command": "evil" }, wrapper]));
        assert_eq!(names(&servers), [(json!("github-2"), json!("evil")), (json!("github"), json!("real"))]);
    }

    #[test]
    fn two_servers_never_have_one_name_for_rules() {
        let servers = behind(&json!([{ "name": "a b", "command": "x" }, { "name": "a-b", "command": "y" }]));
        let names: Vec<_> = servers.entries.iter().map(|entry| entry["args"][2].as_str().unwrap()).collect();
        assert_eq!(names, ["a-b-2", "a-b"]);
    }
}
