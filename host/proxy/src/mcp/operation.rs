//! The requests on which plugins decide. Plugins see each request as a tool call.
//!
//! | request | tool | arguments |
//! |---|---|---|
//! | `tools/call` | the tool's name | `params.arguments` |
//! | `resources/read` | `resources/read` | `uri` |
//! | `prompts/get` | `prompts/get` | `name` and `arguments` |
//! | `sampling/createMessage`, asked by the server | the method | the parameters without `_meta` |
//! | `elicitation/create`, asked by the server | the method | the parameters without `_meta` |
//! | `tasks/update` | the method | the parameters without `_meta` |
//!
//! If plugins change the arguments, the request is rebuilt from the changed arguments before it is forwarded.

use crate::jsonrpc::message::{Members, raw};
use hookhost_agents::json;
use hookhost_contract::action::ActionMap;
use serde_json::{Map, Value, json};

/// The kinds of request on which plugins decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `tools/call`.
    CallTool,
    /// `resources/read`.
    ReadResource,
    /// `prompts/get`.
    GetPrompt,
    /// `sampling/createMessage`: the server asks for a model's answer.
    Sample,
    /// `elicitation/create`: the server asks for a person's answer.
    Elicit,
    /// `tasks/update`: replies of a client's user and model to an earlier call.
    UpdateTask,
    /// `tasks/result`, `tasks/get` and other requests about a task: the result of an earlier call. Plugins check only the answer,
    /// and not the request.
    TaskResult,
}

impl Method {
    /// All kinds of request from a client to a server.
    pub const FROM_CLIENT: &[Self] = &[Self::CallTool, Self::ReadResource, Self::GetPrompt, Self::UpdateTask];

    /// All kinds of request from a server to a client.
    pub const FROM_SERVER: &[Self] = &[Self::Sample, Self::Elicit];

    /// Returns the name of the method in the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::GetPrompt => "prompts/get",
            Self::Sample => "sampling/createMessage",
            Self::Elicit => "elicitation/create",
            Self::UpdateTask => "tasks/update",
            Self::TaskResult => "tasks/result",
        }
    }

    /// Returns the kind of request whose method has this name. [`Self::TaskResult`] is never returned.
    pub fn of(name: &str) -> Option<Self> {
        Self::FROM_CLIENT.iter().chain(Self::FROM_SERVER).copied().find(|method| method.name() == name)
    }
}

/// The members of parameters that determine what is requested. A key that differs from one of them only in case is an error.
const PARAMS_KEYS: &[&str] = &["name", "arguments", "uri", "_meta", "task", "taskId", "requestState", "inputResponses"];

/// Returns true if no tool of a server can have this name, because plugins see another kind of request under this name.
pub fn is_reserved(tool: &str) -> bool {
    Method::of(tool).is_some_and(|method| method != Method::CallTool)
        || tool == Method::TaskResult.name()
        || tool == "tasks/list"
}

/// A request on which plugins decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The kind of request.
    pub method: Method,
    /// The tool's name, without the server's name before it.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Value,
}

impl Operation {
    /// Parses the parameters of a request of this kind.
    ///
    /// # Errors
    /// One sentence, if the parameters do not fit the method.
    pub fn of(method: Method, params: &Members) -> Result<Self, String> {
        if let Some(why) = params.ambiguity(PARAMS_KEYS) {
            return Err(format!("`params` of {} {why}", method.name()));
        }
        let text = |key: &str| {
            params.text(key).ok_or_else(|| format!("`params.{key}` of {} is missing or no text", method.name()))
        };
        let (tool, arguments) = match method {
            Method::CallTool => {
                let name = text("name")?;
                if is_reserved(&name) {
                    return Err(format!("Unknown tool: {name}"));
                }
                (name, object(params, "arguments", method)?)
            }
            Method::ReadResource => (method.name().to_owned(), json!({ "uri": text("uri")? })),
            Method::GetPrompt => {
                let arguments = object(params, "arguments", method)?;
                (method.name().to_owned(), json!({ "name": text("name")?, "arguments": arguments }))
            }
            Method::Sample | Method::Elicit | Method::UpdateTask => {
                let all = params.without("_meta").to_value().map_err(|why| format!("`params` {why}"))?;
                (method.name().to_owned(), all)
            }
            Method::TaskResult => (method.name().to_owned(), json!({ "taskId": text("taskId")? })),
        };
        Ok(Self { method, tool, arguments })
    }

    /// Returns `params` with the arguments replaced by `arguments`.
    ///
    /// # Errors
    /// One sentence, if a request of this kind cannot contain these arguments.
    pub fn write_back(&self, params: &Members, arguments: &Value) -> Result<Members, String> {
        let cannot = || format!("a plugin changed {} to values that this request cannot contain", self.method.name());
        let fields = arguments.as_object().ok_or_else(cannot)?;
        let only = |keys: &[&str]| fields.keys().all(|key| keys.contains(&key.as_str()));
        // Unchanged members keep their original bytes, because parsing a number can lose some of its digits.
        let kept = |own: &Members| {
            fields.iter().try_fold(Members::default(), |all, (key, value)| {
                let raw = match own.get(key) {
                    Some(own) if json::value(own.get()).as_ref() == Ok(value) => own.to_owned(),
                    Some(own) if json::exact(own.get()).is_err() => return Err(cannot()),
                    _ => raw(value),
                };
                Ok(all.with(key, raw))
            })
        };
        Ok(match self.method {
            Method::CallTool => {
                let own = params.within("arguments").unwrap_or_default();
                params.with("arguments", kept(&own)?.to_raw())
            }
            Method::ReadResource => match fields.get("uri") {
                Some(uri @ Value::String(_)) if only(&["uri"]) => params.with("uri", raw(uri)),
                _ => return Err(cannot()),
            },
            Method::GetPrompt => match (fields.get("name"), fields.get("arguments")) {
                (Some(name @ Value::String(_)), Some(arguments @ Value::Object(_))) if only(&["name", "arguments"]) => {
                    params.with("name", raw(name)).with("arguments", raw(arguments))
                }
                _ => return Err(cannot()),
            },
            Method::Sample | Method::Elicit | Method::UpdateTask => {
                let all = kept(params)?;
                match params.get("_meta") {
                    Some(meta) => all.with("_meta", meta.to_owned()),
                    None => all,
                }
            }
            Method::TaskResult => return Err(cannot()),
        })
    }
}

/// Returns the parameter `key`, which must be an object. Returns `{}` if the parameter is missing or `null`.
fn object(params: &Members, key: &str, method: Method) -> Result<Value, String> {
    match params.get(key) {
        None => Ok(Value::Object(Map::new())),
        Some(found) => match json::value(found.get()) {
            Ok(Value::Null) => Ok(Value::Object(Map::new())),
            Ok(object @ Value::Object(_)) => match ActionMap::default().ambiguity(&object) {
                Some(why) => Err(format!("`params.{key}` of {} {why}", method.name())),
                None => Ok(object),
            },
            Ok(_) => Err(format!("`params.{key}` of {} is no object", method.name())),
            Err(why) => Err(format!("`params.{key}` of {} cannot be read: {why}", method.name())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Method, Operation};
    use crate::jsonrpc::message::Members;
    use serde_json::json;

    #[test]
    fn only_what_was_changed_is_written_again() {
        let params =
            Members::of(r#"{"_meta":{"progressToken": 1.50},"name":"say","arguments":{"text": "a"}}"#).unwrap();
        let call = Operation::of(Method::CallTool, &params).unwrap();
        assert_eq!((call.tool.as_str(), &call.arguments), ("say", &json!({ "text": "a" })));
        let changed = call.write_back(&params, &json!({ "text": "b" })).unwrap();
        assert_eq!(changed.to_json(), r#"{"_meta":{"progressToken": 1.50},"name":"say","arguments":{"text":"b"}}"#);
    }

    #[test]
    fn a_change_that_a_request_cannot_carry_is_refused() {
        let params = Members::of(r#"{"uri":"file:///a"}"#).unwrap();
        let read = Operation::of(Method::ReadResource, &params).unwrap();
        assert_eq!(
            read.write_back(&params, &json!({ "uri": "file:///b" })).unwrap().to_json(),
            r#"{"uri":"file:///b"}"#
        );
        for other in [json!({ "uri": 1 }), json!({ "uri": "a", "range": 1 }), json!([])] {
            assert!(read.write_back(&params, &other).is_err(), "{other}");
        }
    }

    #[test]
    fn what_a_server_asks_is_written_back_whole_and_keeps_its_meta() {
        let params = Members::of(r#"{"message":"who?","requestedSchema":{},"_meta":{"a":1}}"#).unwrap();
        let asked = Operation::of(Method::Elicit, &params).unwrap();
        assert_eq!(asked.arguments, json!({ "message": "who?", "requestedSchema": {} }));
        let changed = asked.write_back(&params, &json!({ "message": "x" })).unwrap();
        assert_eq!(changed.to_json(), r#"{"message":"x","_meta":{"a":1}}"#);
    }

    #[test]
    fn an_argument_that_no_rule_reads_passes_in_whatever_spellings_it_has() {
        let of = |arguments: &str| {
            let params = format!(r#"{{"name":"a","arguments":{arguments}}}"#);
            Operation::of(Method::CallTool, &Members::of(&params).unwrap())
        };
        for arguments in [
            r#"{"text":"x","guid":"a","Guid":"b"}"#,
            r#"{"text":"x","headers":{"Content-Type":"a","content-type":"b"}}"#,
            r#"{"env":{"a":1,"A":2}}"#,
        ] {
            assert!(of(arguments).is_ok(), "{arguments}");
        }
    }

    #[test]
    fn a_number_that_is_too_long_is_written_back_with_all_its_digits() {
        let params = Members::of(r#"{"name":"pay","arguments":{"wei":100000000000000000000,"to":"a"}}"#).unwrap();
        let call = Operation::of(Method::CallTool, &params).unwrap();
        assert_eq!(call.arguments, json!({ "wei": "100000000000000000000", "to": "a" }));
        let changed = call.write_back(&params, &json!({ "wei": "100000000000000000000", "to": "b" })).unwrap();
        assert_eq!(changed.to_json(), r#"{"name":"pay","arguments":{"wei":100000000000000000000,"to":"b"}}"#);
        assert!(call.write_back(&params, &json!({ "wei": "2", "to": "b" })).is_err(), "a text is no number");
    }

    #[test]
    fn a_call_whose_arguments_are_no_object_or_whose_tool_stands_for_something_else_is_refused() {
        let of = |params: &str| Operation::of(Method::CallTool, &Members::of(params).unwrap());
        assert!(of(r#"{"name":"a","arguments":[1]}"#).unwrap_err().contains("no object"));
        assert!(of(r#"{"name":"a","arguments":{"a":{"b":1,"b":2}}}"#).unwrap_err().contains("twice"));
        for (params, key) in [(r#"{"name":"a","Name":"b"}"#, "Name"), (r#"{"name":"a","ARGUMENTS":{}}"#, "ARGUMENTS")] {
            assert!(of(params).unwrap_err().contains(&format!("has the key \"{key}\"")), "{params}");
        }
        for arguments in [
            r#"{"path":"a","Path":"b"}"#,
            r#"{"edits":[{"file_path":"a","File_Path":"b"}]}"#,
            r#"{"command":"ls","comman\u0064":"ls","COMMAND":"rm"}"#,
        ] {
            assert!(of(&format!(r#"{{"name":"a","arguments":{arguments}}}"#)).is_err(), "{arguments}");
        }
        assert!(of(r#"{"name":1}"#).is_err());
        assert!(of(r#"{"name":"resources/read"}"#).unwrap_err().contains("Unknown tool"));
    }
}
