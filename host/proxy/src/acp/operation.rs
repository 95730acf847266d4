//! The agent's requests to the editor to read files, write files and run commands. If rules change the arguments, the request is
//! rebuilt from the changed arguments before it is forwarded.

use crate::acp::ambiguous_keys::check_keys;
use crate::jsonrpc::message::{Members, raw};
use hookhost_agents::acp_proxy::reading::Readings;
use serde_json::Value;

/// The kinds of request that the agent sends to the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `fs/read_text_file`.
    ReadFile,
    /// `fs/write_text_file`.
    WriteFile,
    /// `terminal/create`.
    RunCommand,
}

impl Method {
    /// All kinds.
    pub const ALL: &[Self] = &[Self::ReadFile, Self::WriteFile, Self::RunCommand];

    /// Returns the name of the method in the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "fs/read_text_file",
            Self::WriteFile => "fs/write_text_file",
            Self::RunCommand => "terminal/create",
        }
    }

    /// Returns the kind of request whose method has this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|method| method.name() == name)
    }

    /// Returns the name and the type of each member of the parameters. The flag is true if the member is required.
    const fn members(self) -> &'static [(&'static str, MemberType, bool)] {
        match self {
            Self::ReadFile => &[
                ("path", MemberType::Text, true),
                ("line", MemberType::Number, false),
                ("limit", MemberType::Number, false),
            ],
            Self::WriteFile => &[("path", MemberType::Text, true), ("content", MemberType::Text, true)],
            Self::RunCommand => &[
                ("command", MemberType::Text, true),
                ("args", MemberType::Texts, false),
                ("env", MemberType::Variables, false),
                ("cwd", MemberType::Text, false),
                ("outputByteLimit", MemberType::Number, false),
            ],
        }
    }
}

/// The type of a member.
#[derive(Clone, Copy)]
enum MemberType {
    Text,
    Texts,
    Variables,
    Number,
}

impl MemberType {
    fn fits(self, value: &Value) -> bool {
        let all = |fits: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(fits));
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.is_u64(),
            Self::Texts => all(Value::is_string),
            Self::Variables => {
                all(|variable| ["name", "value"].iter().all(|key| variable.get(key).is_some_and(Value::is_string)))
            }
        }
    }
}

/// A request of the agent to the editor.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The kind of request.
    pub method: Method,
    /// The session.
    pub session: String,
    /// The parameters.
    pub params: Value,
}

impl Operation {
    /// Parses the parameters of a request of this kind.
    ///
    /// # Errors
    /// Returns a one-sentence message if the parameters do not fit the method.
    pub fn of(method: Method, params: &Members) -> Result<Self, String> {
        let name = method.name();
        let value = params.to_value().map_err(|why| format!("`params` of {name} {why}"))?;
        let known: Vec<&str> = method.members().iter().map(|(key, ..)| *key).chain(["sessionId", "_meta"]).collect();
        check_keys(&value, &known).map_err(|why| format!("`params` of {name} {why}"))?;
        let session = params.text("sessionId").ok_or_else(|| format!("`params.sessionId` of {name} is missing"))?;
        for (key, is, has_to_be) in method.members() {
            match value.get(key).filter(|value| !value.is_null()) {
                Some(value) if is.fits(value) => {}
                None if !has_to_be => {}
                _ => return Err(format!("`params.{key}` of {name} is missing or has the wrong type")),
            }
        }
        Ok(Self { method, session, params: value })
    }

    /// Returns `params` with its arguments replaced by `arguments`. In `arguments`, `command` may be a list that contains the
    /// program followed by its arguments.
    ///
    /// # Errors
    /// Returns a one-sentence message if this kind of request cannot contain `arguments`.
    pub fn write_back(&self, params: &Members, arguments: &Value) -> Result<Members, String> {
        let name = self.method.name();
        let cannot = || format!("a rule changed {name} to values that such a request cannot contain");
        let mut fields = arguments.as_object().cloned().ok_or_else(cannot)?;
        if let Some(Value::Array(words)) = fields.get("command").filter(|_| self.method == Method::RunCommand) {
            let mut words = words.clone().into_iter();
            let command = words.next().ok_or_else(cannot)?;
            fields.insert("args".to_owned(), Value::Array(words.collect()));
            fields.insert("command".to_owned(), command);
        }
        let members = self.method.members();
        let fits = |(key, value): (&String, &Value)| {
            members.iter().any(|(known, is, _)| known == key && (is.fits(value) || value.is_null()))
        };
        if !fields.iter().all(fits) {
            return Err(cannot());
        }
        let mut written = params.clone();
        for (key, _, has_to_be) in members {
            written = match fields.get(*key).filter(|value| !value.is_null()) {
                Some(value) => written.with(key, raw(value)),
                None if *has_to_be => return Err(cannot()),
                None => written.without(key),
            };
        }
        // Members that the protocol does not define are removed, because they come from the agent and no rule has checked them.
        let stays =
            |key: &str| members.iter().any(|(known, ..)| *known == key) || ["sessionId", "_meta"].contains(&key);
        let others: Vec<String> = written.keys().filter(|key| !stays(key)).map(str::to_owned).collect();
        let written = others.iter().fold(written, |written, key| written.without(key));
        if self.method == Method::RunCommand && !has_one_meaning(&written) {
            return Err(format!("a rule changed {name} to a command that editors run in different ways"));
        }
        Ok(written)
    }
}

/// Returns true if every editor runs the command in the form that the rules have checked.
fn has_one_meaning(written: &Members) -> bool {
    let Ok(params) = written.to_value() else { return false };
    let readings = Readings::of_request(Method::RunCommand.name(), &params);
    readings.is_some_and(|readings| readings.all.len() == 1) || is_plain_script(&params)
}

/// Returns true if a command is `sh -c` with a script of plain words. A command line that a rule has changed has this form. If an
/// editor joins the arguments to one command line, the shell runs only the first word of the script, so nothing else can run.
fn is_plain_script(params: &Value) -> bool {
    let is_of_words = |script: &str| script.chars().all(|c| c.is_ascii_alphanumeric() || " -_./=:,@%+".contains(c));
    let has_variables = params.get("env").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let args = params.get("args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_shell = params.get("command").and_then(Value::as_str) == Some("sh");
    let script = match args {
        [flag, script] if flag == "-c" => script.as_str(),
        _ => None,
    };
    is_shell && !has_variables && script.is_some_and(is_of_words)
}

/// Returns the name of the member that contains the text of a result. Returns `None` if rules do not check the results of this
/// method.
pub fn text_key(method: &str) -> Option<&'static str> {
    match method {
        "fs/read_text_file" => Some("content"),
        "terminal/output" => Some("output"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Method, Operation};
    use crate::jsonrpc::message::Members;
    use serde_json::json;

    fn of(method: Method, params: &str) -> Result<(Operation, Members), String> {
        let params = Members::of(params).unwrap();
        Ok((Operation::of(method, &params)?, params))
    }

    #[test]
    fn a_changed_command_is_written_back_as_it_was_asked_for() {
        let text = r#"{"sessionId":"s","command":"npm","args":["test"],"cwd":"/p","_meta":{"a": 1.50},"own":1}"#;
        let (operation, params) = of(Method::RunCommand, text).unwrap();
        let written =
            operation.write_back(&params, &json!({ "command": ["sh", "-c", "timeout 9 npm test"], "cwd": "/q" }));
        let expected =
            r#"{"sessionId":"s","command":"sh","args":["-c","timeout 9 npm test"],"cwd":"/q","_meta":{"a": 1.50}}"#;
        assert_eq!(written.unwrap().to_json(), expected);
        let (operation, params) = of(Method::RunCommand, r#"{"sessionId":"s","command":"ls | wc"}"#).unwrap();
        let written = operation.write_back(&params, &json!({ "command": "ls" })).unwrap();
        assert_eq!(written.to_json(), r#"{"sessionId":"s","command":"ls"}"#);
    }

    #[test]
    fn a_changed_command_that_editors_run_differently_is_refused() {
        let (operation, params) =
            of(Method::RunCommand, r#"{"sessionId":"s","command":"npm","args":["test"]}"#).unwrap();
        for changed in [
            json!({ "command": ["echo", "$(rm x)"] }),
            json!({ "command": ["sh", "-c", "'rm -rf ~'"] }),
            json!({ "command": ["sh", "-c", "npm test; rm x"] }),
            json!({ "command": ["npm", "test"], "env": [{ "name": "NODE_OPTIONS", "value": "-r /x" }] }),
        ] {
            assert!(operation.write_back(&params, &changed).is_err(), "{changed}");
        }
        assert!(operation.write_back(&params, &json!({ "command": ["npm", "ci"] })).is_ok());
    }

    #[test]
    fn a_change_that_the_request_cannot_carry_is_refused() {
        let (operation, params) = of(Method::WriteFile, r#"{"sessionId":"s","path":"/a","content":"x"}"#).unwrap();
        let written = operation.write_back(&params, &json!({ "path": "/a", "content": "y" })).unwrap();
        assert_eq!(written.to_json(), r#"{"sessionId":"s","path":"/a","content":"y"}"#);
        for other in [
            json!({ "path": "/a" }),
            json!({ "path": 1, "content": "x" }),
            json!([]),
            json!({ "path": "/a", "content": "x", "mode": 7 }),
        ] {
            assert!(operation.write_back(&params, &other).is_err(), "{other}");
        }
    }

    #[test]
    fn parameters_that_an_editor_could_read_otherwise_are_refused() {
        for (method, params) in [
            (Method::ReadFile, r#"{"sessionId":"s","path":["/a"]}"#),
            (Method::ReadFile, r#"{"sessionId":"s","path":"/a","Path":"/b"}"#),
            (Method::ReadFile, r#"{"path":"/a"}"#),
            (Method::RunCommand, r#"{"sessionId":"s","command":"ls","args":"x"}"#),
            (Method::RunCommand, r#"{"sessionId":"s","command":"ls","args":[1]}"#),
            (Method::RunCommand, r#"{"sessionId":"s","command":"ls","env":[{"name":"A","value":"1","Value":"2"}]}"#),
        ] {
            assert!(of(method, params).is_err(), "{params}");
        }
    }
}
