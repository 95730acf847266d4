//! Tasks, which are requests whose result arrives later. The server reports the progress of a task as states of the task.

use super::results::{AnswerContext, code};
use super::{ExpectedAnswer, Judge, failed};
use crate::jsonrpc::message::{Members, Message, OutgoingMessage, raw};
use crate::mcp::answer;
use crate::mcp::operation::{Method, Operation};
use hookhost_agents::mcp_proxy::Point;
use hookhost_client::async_client::LongWaitCallback;
use hookhost_contract::ToolResult;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};

/// Maximum number of tasks for which the proxy stores the request that started the task.
const MAX_TASKS: usize = 1000;

/// Maximum length of a task's name, in bytes.
const MAX_TASK_NAME: usize = 1024;

/// Maximum total size of the arguments of these requests, in bytes: 64 MiB.
const MAX_ARGUMENTS: usize = 64 * 1024 * 1024;

/// The values of `resultType`.
const RESULT_TYPES: &[&str] = &["complete", "task", "input_required"];

/// The values of `status`.
const STATUSES: &[&str] = &["working", "input_required", "completed", "failed", "cancelled"];

/// The key of a task. The flag is true if the client has started the task. The string is the identifier that the side that runs the
/// task has chosen.
type TaskKey = (bool, String);

/// The requests that have started tasks.
#[derive(Debug, Default)]
pub(super) struct StartedTasks {
    operations: HashMap<TaskKey, (Operation, usize)>,
    /// The keys, the oldest first.
    order: VecDeque<TaskKey>,
    /// Total size of the arguments, in bytes.
    bytes: usize,
}

impl StartedTasks {
    /// Stores the request that has started a task. Returns false if a different request has already started a task with this key.
    fn insert(&mut self, key: TaskKey, operation: &Operation) -> bool {
        if let Some((known, _)) = self.operations.get(&key) {
            return known == operation;
        }
        let bytes = operation.arguments.to_string().len();
        self.bytes += bytes;
        self.order.push_back(key.clone());
        self.operations.insert(key, (operation.clone(), bytes));
        while self.order.len() > MAX_TASKS || (self.bytes > MAX_ARGUMENTS && self.order.len() > 1) {
            let oldest = self.order.pop_front().and_then(|key| self.operations.remove(&key));
            self.bytes = self.bytes.saturating_sub(oldest.map_or(0, |(_, bytes)| bytes));
        }
        true
    }

    fn get(&self, key: &TaskKey) -> Option<&Operation> {
        self.operations.get(key).map(|(operation, _)| operation)
    }
}

impl Judge {
    /// Returns the expected answer to a request about a task. `name` is the method of this request. Rules check the answer as a
    /// result of the request that started the task.
    ///
    /// # Errors
    /// One sentence, if the proxy does not know the task.
    pub(super) fn expect_task(
        &self,
        name: &str,
        params: &Members,
        is_stateless: bool,
        is_of_client: bool,
    ) -> Result<ExpectedAnswer, String> {
        let (task, operation) = self.started(params, is_of_client)?;
        let event = self.event(Point::Result, None).id;
        Ok(match name {
            "tasks/result" => ExpectedAnswer::Result { operation, event, is_stateless },
            _ => ExpectedAnswer::Task { operation, event, is_stateless, task },
        })
    }

    /// Returns the task that the parameters name, and the request that started it.
    fn started(&self, params: &Members, is_of_client: bool) -> Result<(String, Operation), String> {
        let named = Operation::of(Method::TaskResult, params)?;
        let task = named.arguments.get("taskId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = (is_of_client, task);
        let operation = self.state().tasks.get(&key).cloned();
        let unknown = "the proxy does not know the task: it was started without this proxy, or long ago";
        operation.map(|operation| (key.1, operation)).ok_or_else(|| unknown.to_owned())
    }

    /// If the result says that a request has started a task, stores the request.
    ///
    /// # Errors
    /// If the task's name is too long to be stored, or if another request has started a task with the same name. In the latter
    /// case, a result of the task could belong to either request.
    pub(super) fn note_task(&self, operation: &Operation, result: &Members) -> Result<(), String> {
        let task = match result.text("resultType").as_deref() {
            Some("task") => result.text("taskId"),
            _ => result.value("task").and_then(|task| Some(task.get("taskId")?.as_str()?.to_owned())),
        };
        let Some(task) = task else { return Ok(()) };
        if task.len() > MAX_TASK_NAME {
            return Err(format!("the name of a task has more than {MAX_TASK_NAME} bytes"));
        }
        let key = (Method::FROM_CLIENT.contains(&operation.method), task);
        let is_its_own = self.state().tasks.insert(key, operation);
        if is_its_own { Ok(()) } else { Err("the server named a task that belongs to another request".to_owned()) }
    }

    /// Returns an answer that contains the state of a task, with the changes that plugins made.
    pub(super) async fn judge_task(
        &self,
        operation: &Operation,
        event: &str,
        task: &str,
        message: &Message,
        on_wait: LongWaitCallback<'_>,
    ) -> Result<OutgoingMessage, String> {
        let policy = self.rules.policy(&self.server).map_err(|why| failed(&why))?;
        let context = AnswerContext { operation, event, policy: &policy, on_wait };
        self.check_size(context, message.bytes.len()).await?;
        if let Some(error) = message.members.get("error") {
            return Ok(message.with_error(self.judge_error(context, error).await?));
        }
        let state = self.unambiguous(context, message.members.within("result")).await?;
        let state = self.judge_task_state(context, task, state).await?;
        Ok(message.with_result_or_as_it_came(&state))
    }

    /// Lets the rules check a notification of a task's state. Returns the notification with the changes that plugins made.
    /// `on_wait` is called before a long wait.
    ///
    /// # Errors
    /// The reason why the notification is not forwarded.
    pub async fn judge_task_notification(
        &self,
        message: &Message,
        on_wait: LongWaitCallback<'_>,
    ) -> Result<OutgoingMessage, String> {
        let policy = self.rules.policy(&self.server)?;
        let (task, operation) = self.started(&message.params()?, true)?;
        let event = self.event(Point::Result, None).id;
        let context = AnswerContext { operation: &operation, event: &event, policy: &policy, on_wait };
        self.check_size(context, message.bytes.len()).await?;
        let state = self.unambiguous(context, message.params()).await?;
        let judged = self.judge_task_state(context, &task, state.clone()).await?;
        Ok(if judged.to_json() == state.to_json() { message.into() } else { message.with_params(&judged) })
    }

    /// Lets the rules check the whole state as one result, because the model can read all parts of the state.
    async fn judge_task_state(
        &self,
        context: AnswerContext<'_>,
        task: &str,
        mut state: Members,
    ) -> Result<Members, String> {
        if state.get("inputRequests").is_some() {
            state = match self.judge_input_requests(state, context).await {
                Ok(state) => state,
                Err(why) => return Err(self.record_substitute(context, why).await),
            };
        }
        // If the state contains a result, the members of that result are parsed separately.
        let result = match state.get("result") {
            Some(_) => Some(self.unambiguous(context, state.within("result")).await?),
            None => None,
        };
        let before = match read(context.operation.method, &state, result.as_ref()) {
            Ok(before) => before,
            Err(why) => return Err(self.withhold(context, &why).await),
        };
        match self.ask_about_result(context, before.clone()).await? {
            None => Ok(state),
            Some(after) => write_back(context.operation, task, &before, &after, &state, result.as_ref()),
        }
    }
}

/// Converts the state of a task to the result that plugins get.
fn read(method: Method, state: &Members, result: Option<&Members>) -> Result<ToolResult, String> {
    let whole = state.to_value().map_err(|why| format!("the state of a task {why}"))?;
    let result = result.map(|result| answer::read(method, result)).transpose()?;
    let mut said: Vec<String> = result.iter().map(|result| result.text.clone()).collect();
    for (key, value) in whole.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("statusMessage", Value::String(text)) => said.push(text.clone()),
            ("error", error) => said.push(answer::said(error)),
            // The result was converted above, and rules check each question separately.
            ("result" | "inputRequests", Value::Object(_)) | ("taskId", Value::String(_)) => {}
            (key, value) if is_bare(key, value) => {}
            (key, value) => said.push(format!("{key}: {value}")),
        }
    }
    said.retain(|text| !text.is_empty());
    let text = said.join("\n");
    let is_error = result.is_some_and(|result| result.is_error) || whole.get("error").is_some();
    Ok(ToolResult { text, is_error, raw: Some((&whole).into()) })
}

/// Returns the state with the changes that plugins made. If a plugin changed the raw state, returns the changed raw state. If a
/// plugin changed only the text, returns a state with the new text, which keeps only those original members that describe progress.
fn write_back(
    operation: &Operation,
    task: &str,
    before: &ToolResult,
    after: &ToolResult,
    state: &Members,
    result: Option<&Members>,
) -> Result<Members, String> {
    let cannot = || "a plugin changed the state of a task to a value that a state cannot have".to_owned();
    if let Some(raw) = after.raw.as_ref().filter(|raw| before.raw.as_ref() != Some(*raw)) {
        return Members::of(raw).map_err(|_| cannot());
    }
    let mut written = Map::from_iter([("taskId".to_owned(), json!(task))]);
    written.insert("status".to_owned(), json!("failed"));
    let bare = state.keys().filter_map(|key| Some((key.to_owned(), state.value(key)?)));
    written.extend(bare.filter(|(key, value)| is_bare(key, value)));
    match (result, state.value("error")) {
        (Some(result), _) => {
            let own = ToolResult { raw: None, ..before.clone() };
            let after = ToolResult { raw: None, ..after.clone() };
            written.insert("result".to_owned(), answer::write_back(operation, &own, &after, result)?);
        }
        (None, Some(error)) => {
            written.insert("error".to_owned(), json!({ "code": code(&error), "message": after.text }));
        }
        (None, None) => {
            written.insert("statusMessage".to_owned(), json!(after.text));
        }
    }
    let mut members = Members::default();
    for (key, value) in &written {
        members = members.with(key, raw(value));
    }
    // The questions are kept, because rules have checked each of them separately.
    Ok(match state.get("inputRequests") {
        Some(requests) => members.with("inputRequests", requests.to_owned()),
        None => members,
    })
}

/// Returns true if this member describes the progress of a task and cannot contain any other text.
fn is_bare(key: &str, value: &Value) -> bool {
    let is_one = |values: &[&str]| value.as_str().is_some_and(|value| values.contains(&value));
    match key {
        "status" => is_one(STATUSES),
        "resultType" => is_one(RESULT_TYPES),
        "createdAt" | "lastUpdatedAt" => value.as_str().is_some_and(is_time),
        "ttl" | "ttlMs" | "pollInterval" | "pollIntervalMs" => value.is_number() || value.is_null(),
        _ => false,
    }
}

/// Returns true if a text looks like a timestamp and cannot contain words.
fn is_time(text: &str) -> bool {
    text.len() <= 35 && text.bytes().all(|byte| byte.is_ascii_digit() || b"TZ:.+-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{Method, Operation, StartedTasks, read, write_back};
    use crate::jsonrpc::message::Members;
    use hookhost_contract::ToolResult;
    use serde_json::{Value, json};

    fn call(text: &str) -> Operation {
        Operation { method: Method::CallTool, tool: "say".to_owned(), arguments: json!({ "text": text }) }
    }

    fn members(value: &Value) -> Members {
        Members::of(&value.to_string()).unwrap()
    }

    #[test]
    fn the_oldest_task_makes_room_and_no_task_is_that_of_two_requests() {
        let mut tasks = StartedTasks::default();
        for n in 0..=super::MAX_TASKS {
            assert!(tasks.insert((true, n.to_string()), &call(&n.to_string())));
        }
        assert!(tasks.get(&(true, "0".to_owned())).is_none(), "the oldest");
        assert_eq!(tasks.get(&(true, "1".to_owned())), Some(&call("1")));
        assert!(tasks.insert((true, "1".to_owned()), &call("1")), "the same");
        assert!(!tasks.insert((true, "1".to_owned()), &call("other")));
        assert!(tasks.get(&(false, "1".to_owned())).is_none(), "of the other side");
    }

    #[test]
    fn whatever_a_state_says_is_there_for_plugins_and_nothing_of_it_is_left_of_a_replaced_one() {
        let (secret, call) = (json!({ "content": [{ "type": "text", "text": "sk-1" }] }), call("x"));
        for more in [
            json!({ "statusMessage": "sk-1" }),
            json!({ "content": secret["content"] }),
            json!({ "result": secret }),
            json!({ "error": { "code": "sk-1", "message": "sk-1" } }),
            json!({ "createdAt": "sk-1", "ttl": "sk-1", "resultType": "sk-1", "status": "sk-1" }),
        ] {
            let mut state =
                json!({ "taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 5 });
            state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let state = members(&state);
            let result = state.get("result").map(|_| state.within("result").unwrap());
            let before = read(call.method, &state, result.as_ref()).unwrap();
            assert!(before.raw.as_ref().is_some_and(|raw| raw.contains("sk-1")), "{more}");
            let after = ToolResult { text: "[hidden]".to_owned(), ..before.clone() };
            let written = write_back(&call, "t", &before, &after, &state, result.as_ref()).unwrap().to_json();
            assert!(written.contains("[hidden]") && !written.contains("sk-1"), "{written}");
        }
    }
}
