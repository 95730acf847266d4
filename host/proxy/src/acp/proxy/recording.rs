//! Records forwarded messages on which no rule decides, such as the agent's reports and the editor's answers.

use super::{ExpectedAnswer, Proxy};
use crate::acp::operation::Method;
use crate::jsonrpc::message::{Members, Message};
use bytes::Bytes;
use hookhost_agents::acp_proxy::Point;
use hookhost_contract::{Json, ToolResult};
use serde_json::{Value, json};
use std::path::Path;

/// Methods whose messages are not recorded, because these messages only begin a connection, may contain credentials for the agent's
/// service, or are frequent.
const UNRECORDED_METHODS: &[&str] =
    &["initialize", "authenticate", "session/list", "terminal/wait_for_exit", "terminal/kill"];

/// Kinds of session updates that are recorded. Updates of tool calls are recorded separately.
const RECORDED_UPDATES: &[&str] = &["plan", "current_mode_update", "config_option_update"];

/// Maximum size of a recorded message, in bytes.
const MAX_RECORDED: usize = 64 * 1024;

/// Maximum size of a call's result in an event, in bytes.
const MAX_RESULT: usize = 256 * 1024;

impl Proxy {
    /// Records a forwarded message of a session.
    pub(super) fn observe(&self, message: &Message) {
        let method = message.method().unwrap_or_default();
        let Ok(params) = message.params() else { return };
        let Some(session) = params.text("sessionId").filter(|_| !UNRECORDED_METHODS.contains(&method)) else { return };
        let said = bounded(params.to_value().unwrap_or_default());
        self.records.add(self.event(Point::Observed, &session, method, said));
    }

    /// Processes an agent's report about a session.
    pub(super) fn updated(&self, params: &Members) {
        let Some(session) = params.text("sessionId") else { return };
        let Some(update) = params.value("update") else { return };
        let kind = update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default();
        if !matches!(kind, "tool_call" | "tool_call_update") {
            if RECORDED_UPDATES.contains(&kind) {
                self.records.add(self.event(Point::Observed, &session, "session/update", bounded(update)));
            }
            return;
        }
        let run = {
            let mut state = self.state();
            // A replayed call has run in an earlier connection, so it is not recorded again.
            if state.sessions.is_loading(&session) {
                return;
            }
            let Some(run) = state.calls.update(&session, &update) else { return };
            state.summary.calls += 1;
            state.summary.ungated += usize::from(!run.is_asked);
            state.summary.cut += usize::from(run.is_cut);
            run
        };
        let result = result_of(&run.call, run.is_failed);
        let mut call = bounded(run.call);
        if run.is_cut {
            call["_meta"] = json!({ "hookhost": { "cut": true } });
        }
        let mut event = self.event(Point::Update, &session, "session/update", call);
        (event.ungated, event.result) = (!run.is_asked, Some(result));
        self.records.add(event);
    }

    /// Returns an update for the editor that replaces an update that cannot be forwarded. `head` and `tail` are the beginning and
    /// the end of the original update. If the original update was about a tool call, the new update has the identifier and the
    /// status of the call.
    pub(super) fn update_in_place_of(head: &[u8], tail: &[u8], why: &str) -> Option<Bytes> {
        let ends = [String::from_utf8_lossy(head), String::from_utf8_lossy(tail)];
        if !ends.iter().any(|end| end.contains("\"session/update\"")) {
            return None;
        }
        let said = |key: &str| ends.iter().find_map(|end| text_in(end, key));
        let text = format!("hookhost did not pass on a message of the agent: {why}.");
        let content = json!({ "type": "text", "text": text });
        let update = match said("toolCallId") {
            Some(call) => {
                let content = json!([{ "type": "content", "content": content }]);
                let mut update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "content": content });
                if let Some(status) = said("status") {
                    update["status"] = Value::from(status);
                }
                update
            }
            None => json!({ "sessionUpdate": "agent_message_chunk", "content": content }),
        };
        let params = json!({ "sessionId": said("sessionId")?, "update": update });
        Some(json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string().into())
    }

    /// Processes the answer to a request that begins or continues a session. `asked` is the session that the request named.
    /// `opened` is the session that was opened, or `None` if the request failed.
    fn opened(&self, asked: Option<&str>, opened: Option<&str>, cwd: &Path) {
        let unknown = {
            let mut state = self.state();
            if asked.is_none() {
                state.sessions.begun(cwd);
            }
            let known = opened.map(|session| state.sessions.open(session, cwd));
            if known.is_none()
                && let Some(session) = asked
                && !state.sessions.not_loaded(session)
            {
                state.calls.close(session);
            }
            known.and_then(Result::err)
        };
        match (opened, unknown) {
            (_, Some(why)) => self.notifier.tell(&format!("the proxy rejects every request of this session: {why}")),
            (Some(session), None) => self.records.add(self.event(Point::SessionStart, session, "", Value::Null)),
            (None, None) => {}
        }
    }

    /// Updates the state of the connection from an answer. If rules must decide on the answer, returns `expected`.
    pub(super) fn learn(&self, expected: ExpectedAnswer, message: &Message) -> Option<ExpectedAnswer> {
        let result = message.members.value("result");
        match expected {
            ExpectedAnswer::Anything => None,
            ExpectedAnswer::Opened { session, cwd } => {
                let named = || Some(result.as_ref()?.get("sessionId")?.as_str()?.to_owned());
                let opened = session.clone().or_else(named).filter(|_| message.members.get("error").is_none());
                self.opened(session.as_deref(), opened.as_deref(), &cwd);
                None
            }
            ExpectedAnswer::Closed(session) => {
                if message.members.get("error").is_none() {
                    let event = self.event(Point::SessionEnd, &session, "", Value::Null);
                    let was_open = {
                        let mut state = self.state();
                        state.calls.close(&session);
                        state.sessions.close(&session)
                    };
                    if was_open {
                        self.records.add(event);
                    }
                }
                None
            }
            ExpectedAnswer::Permission { session, call, options } => {
                let answer = options.meaning(result.as_ref());
                let said = json!({ "answer": answer, "call": bounded(call) });
                self.records.add(self.event(Point::Answered, &session, super::PERMISSION_METHOD, said));
                None
            }
            ExpectedAnswer::OperationResult(operation) if operation.method == Method::ReadFile && result.is_some() => {
                Some(ExpectedAnswer::OperationResult(operation))
            }
            ExpectedAnswer::TerminalOutput(operation) => {
                result.is_some().then_some(ExpectedAnswer::TerminalOutput(operation))
            }
            ExpectedAnswer::OperationResult(operation) => {
                let session = &operation.session;
                let terminal = result.as_ref().and_then(|result| result.get("terminalId")).and_then(Value::as_str);
                if let Some(terminal) = terminal.filter(|_| operation.method == Method::RunCommand)
                    && !self.state().sessions.add_terminal(session, terminal, operation.params.clone())
                {
                    self.notifier
                        .tell("the proxy cannot store the command of a terminal, so the agent does not get the output");
                }
                let is_error = message.members.get("error").is_some();
                let said = if is_error { message.members.value("error") } else { result };
                let text = said.filter(|said| !said.is_null()).map(|said| said.to_string()).unwrap_or_default();
                let mut event = self.event(Point::Result, session, operation.method.name(), operation.params);
                let text = excerpt(text);
                event.result = Some(if is_error { ToolResult::error(text) } else { ToolResult::text(text) });
                self.records.add(event);
                None
            }
        }
    }
}

/// Returns the first string value of this key in a part of a message.
fn text_in(piece: &str, key: &str) -> Option<String> {
    let (_, rest) = piece.split_once(&format!("\"{key}\""))?;
    let value = rest.trim_start().strip_prefix(':')?;
    serde_json::Deserializer::from_str(value).into_iter::<String>().next()?.ok()
}

/// Converts the result of a call into the form that rules get.
fn result_of(call: &Value, is_failed: bool) -> ToolResult {
    let parts = call.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = parts.filter_map(|part| part.get("content")?.get("text")?.as_str());
    let text = excerpt(texts.collect::<Vec<_>>().join("\n"));
    let raw =
        call.get("rawOutput").filter(|raw| !raw.is_null()).map(|raw| Json::from(&bounded_to(raw.clone(), MAX_RESULT)));
    let mut result = if is_failed { ToolResult::error(text) } else { ToolResult::text(text) };
    result.raw = raw;
    result
}

/// If a text is too long for the log, cuts it and appends its length.
fn excerpt(mut text: String) -> String {
    let bytes = text.len();
    if bytes > MAX_RESULT {
        let end = (0..=MAX_RESULT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
        text.push_str(&format!("\n[cut: it has {bytes} bytes]"));
    }
    text
}

fn bounded(value: Value) -> Value {
    bounded_to(value, MAX_RECORDED)
}

/// Returns a value for the log, or its size if it is too large.
fn bounded_to(value: Value, max: usize) -> Value {
    let bytes = value.to_string().len();
    if bytes > max { json!({ "bytes": bytes }) } else { value }
}
