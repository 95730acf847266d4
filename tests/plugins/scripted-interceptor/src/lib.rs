//! An interceptor of AGENT-HOOKS-0.1 as a plugin. Eight events of the loop are its interception points. The plugin converts each of
//! them to an agent context, asks the script about the context, and converts the script's verdict to the event's verdict.
//!
//! | module | content |
//! |---|---|
//! | `emission` | one context, the script's verdict, and what the plugin answers |

mod emission;

use agent_hooks::AgentContext;
use emission::{Answer, emit};
use hookhost_guest::prelude::*;
use hookhost_guest::state::Scope;
use serde::Deserialize;
use serde_json::{Value, json};

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "kit" });
}

/// The key in the state under which the end of the session's last task is stored.
const ENDED: &str = "ended";

/// The script that the program gives to this interceptor. It is not part of the configuration, so that all interceptors have the same
/// configuration and the component is compiled only once.
#[derive(Deserialize)]
struct Script {
    rules: Vec<Value>,
    tools: Vec<String>,
    identity: String,
}

impl Script {
    fn of_this_plugin() -> Self {
        match serde_json::from_str(&bindings::agent_hooks::kit::emission::script()) {
            Ok(script) => script,
            Err(error) => panic!("the program gave no script: {error}"),
        }
    }
}

/// The plugin.
#[derive(Debug)]
pub struct ScriptedInterceptor;

#[plugin]
impl Plugin for ScriptedInterceptor {
    fn provider_resolve(session: &Session, _resolution: &Resolution) -> ResolutionVerdict {
        match emit(session, |contexts| contexts.agent_startup(Script::of_this_plugin().tools)) {
            Answer::Allow => ResolutionVerdict::Allow,
            Answer::Deny(refusal) | Answer::Ask(refusal) => refusal.into(),
            // The kit itself rejects a script that changes the context here.
            Answer::Change(_) => unusable(),
        }
    }

    fn task_start(session: &Session, task: &Task) -> TaskVerdict {
        match emit(session, |contexts| contexts.input(json!(task.prompt), "user")) {
            Answer::Allow => TaskVerdict::Allow,
            Answer::Deny(refusal) => refusal.into(),
            Answer::Ask(refusal) => question(refusal).into(),
            Answer::Change(context) => match context["input"]["content"].as_str() {
                Some(prompt) => TaskVerdict::Modify(Task { prompt: prompt.into(), title: task.title.clone() }),
                None => unusable(),
            },
        }
    }

    fn request_send(session: &Session, request: &RawRequest) -> RequestVerdict {
        let mut body = read(&request.body);
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        match emit(session, |contexts| contexts.pre_model_call(&request.model, messages)) {
            Answer::Allow => RequestVerdict::Allow,
            Answer::Deny(refusal) => refusal.into(),
            Answer::Ask(refusal) => question(refusal).into(),
            Answer::Change(mut context) => {
                body["messages"] = taken(&mut context, "messages");
                RequestVerdict::Modify(body.to_string())
            }
        }
    }

    fn response_receive(session: &Session, response: &RawResponse) -> ResponseVerdict {
        let mut body = read(&response.body);
        let calls = body["tool-calls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| json!({ "id": call["id"], "name": call["name"], "args": call["arguments"] }));
        let calls: Vec<Value> = calls.collect();
        let text = body["text"].as_str().filter(|text| !text.is_empty());
        let reason = body["stop-reason"].as_str().unwrap_or_default();
        match emit(session, |contexts| contexts.post_model_call(&response.model, json!(text), calls, reason)) {
            Answer::Allow => ResponseVerdict::Keep,
            Answer::Deny(refusal) | Answer::Ask(refusal) => refusal.into(),
            Answer::Change(mut context) => {
                let mut changed = taken(&mut context, "response");
                let calls = changed["tool_calls"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|call| json!({ "id": call["id"], "name": call["name"], "arguments": call["args"] }));
                body["tool-calls"] = calls.collect();
                body["text"] = json!(changed["content"].as_str().unwrap_or_default());
                body["stop-reason"] = changed["finish_reason"].take();
                ResponseVerdict::Replace(body.to_string())
            }
        }
    }

    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        match emit(session, |contexts| contexts.pre_tool_call(&call.id, &call.name, read(&call.arguments))) {
            Answer::Allow => ToolCallVerdict::Allow,
            Answer::Deny(refusal) => refusal.into(),
            Answer::Ask(refusal) => question(refusal).into(),
            Answer::Change(mut context) => ToolCallVerdict::Modify(taken(&mut context, "target").to_string()),
        }
    }

    fn after_tool_call(
        session: &Session,
        call: &ToolCall,
        tool_result: &ToolResult,
        _source: ResultSource,
    ) -> ToolResultVerdict {
        let value = tool_result.raw.as_deref().map_or_else(|| json!(tool_result.text), read);
        let context = |contexts: &mut agent_hooks::AgentContextBuilder| {
            contexts.post_tool_call(&call.id, &call.name, read(&call.arguments), value, tool_result.is_error)
        };
        match emit(session, context) {
            Answer::Allow => ToolResultVerdict::Keep,
            Answer::Deny(refusal) | Answer::Ask(refusal) => refusal.into(),
            Answer::Change(mut context) => {
                let value = taken(&mut context, "target");
                let (text, raw) = match value.as_str() {
                    Some(text) => (text.to_owned(), None),
                    None => (value.to_string(), Some(value.to_string())),
                };
                ToolResultVerdict::Replace(ToolResult { text, is_error: tool_result.is_error, raw })
            }
        }
    }

    fn finalize_content(session: &Session, content: &str) -> TextVerdict {
        match emit(session, |contexts| contexts.output(json!(content))) {
            Answer::Allow => TextVerdict::Keep,
            Answer::Deny(refusal) | Answer::Ask(refusal) => refusal.into(),
            Answer::Change(context) => match context["output"]["content"].as_str() {
                Some(text) => TextVerdict::replace(text),
                None => unusable(),
            },
        }
    }

    fn task_complete(_session: &Session, completion: &Completion) -> CompletionVerdict {
        let reason = match completion.status.as_str() {
            "success" => "completed",
            "cancelled" => "cancelled",
            _ => "error",
        };
        // Without this value, `session_end` reports an error as the reason.
        let _ = state::set(Scope::Session, ENDED, reason.as_bytes());
        CompletionVerdict::Finish
    }

    fn session_end(session: &Session, _usage: &Usage) {
        let ended = state::get(Scope::Session, ENDED).ok().flatten().and_then(|reason| String::from_utf8(reason).ok());
        // The answer is ignored, because the session has already ended.
        let _ = emit(session, |contexts| contexts.agent_shutdown(ended.as_deref().unwrap_or("error")));
    }
}

/// Parses JSON that the host has written.
fn read(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

fn taken(context: &mut AgentContext, key: &str) -> Value {
    context.remove(key).unwrap_or_default()
}

/// Returns the question to a person about lifting this refusal.
fn question(refusal: Refusal) -> Escalation {
    Escalation { question: refusal.reason, code: refusal.code }
}

/// Refuses an event because the script's change results in a value that the event cannot have.
fn unusable<V: From<Refusal>>() -> V {
    Refusal::new("the change leaves no text").code("host_error:transform_invalid").into()
}
