//! Checks each answer before it is forwarded. If a text replaces an answer, the text is recorded.

use super::{ExpectedAnswer, Judge, NOT_ASKED, failed, unsettled};
use crate::jsonrpc::message::{self, INTERNAL_ERROR, Id, Members, Message, OutgoingMessage, REJECTED, raw};
use crate::mcp::answer;
use crate::mcp::operation::{Method, Operation};
use crate::mcp::policy::{Mode, Policy};
use crate::resident_host::OTHER_EVENT;
use crate::server_name::folded;
use hookhost_agents::mcp_proxy::{Event, Point};
use hookhost_agents::proxies::ProxyReply;
use hookhost_agents::reason;
use hookhost_client::async_client::LongWaitCallback;
use hookhost_contract::ToolResult;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The members of a result that contains only questions to the client's user or model.
const QUESTION_KEYS: &[&str] = &["resultType", "inputRequests", "requestState"];

/// The members that rules see, and the members by which a client recognises the kind of a result.
const RESULT_KEYS: &[&str] = &[
    "action",
    "content",
    "contents",
    "error",
    "inputRequests",
    "isError",
    "messages",
    "requestState",
    "result",
    "resultType",
    "role",
    "status",
    "statusMessage",
    "structuredContent",
    "task",
    "taskId",
    "_meta",
];

/// The members of a server's question to the client's user or model.
const INPUT_REQUEST_KEYS: &[&str] = &["method", "params"];

/// The members of an answer that contains only the client's roots. Rules do not check such an answer.
const ROOTS_KEYS: &[&str] = &["roots", "_meta"];

/// The reason for withholding an answer that asks a question, if answers to this kind of request must not ask questions.
pub(super) const UNEXPECTED_QUESTION: &str =
    "the answer asks a user or a model something, but answers to this kind of request may not do this";

/// Maximum number of questions in one result. The number is limited because each question is a separate event for the resident
/// host.
const MAX_INPUT_REQUESTS: usize = 64;

/// The context in which an answer is checked.
#[derive(Clone, Copy)]
pub(super) struct AnswerContext<'a> {
    /// The request as it was forwarded.
    pub(super) operation: &'a Operation,
    /// The identifier of the event, unique in the session.
    pub(super) event: &'a str,
    /// The policy of the server.
    pub(super) policy: &'a Policy,
    /// Called before a long wait.
    pub(super) on_wait: LongWaitCallback<'a>,
}

impl Judge {
    /// Returns the message to forward as the answer to a request. `on_wait` is called before a long wait.
    pub async fn judge_answer(
        &self,
        id: &Id,
        expected: &ExpectedAnswer,
        message: &Message,
        on_wait: LongWaitCallback<'_>,
    ) -> OutgoingMessage {
        match expected {
            ExpectedAnswer::Anything | ExpectedAnswer::Capabilities | ExpectedAnswer::Subscription => message.into(),
            ExpectedAnswer::Question => {
                self.tell(UNEXPECTED_QUESTION);
                message::error(Some(id), INTERNAL_ERROR, &failed(UNEXPECTED_QUESTION)).into()
            }
            ExpectedAnswer::Listing { cursor } => match self.listing(cursor.as_deref(), message, on_wait).await {
                Ok(bytes) => bytes,
                Err(why) => {
                    self.tell(&why);
                    message::error(Some(id), INTERNAL_ERROR, &failed(&why)).into()
                }
            },
            ExpectedAnswer::Result { operation, event, is_stateless } => {
                let judged = self.judge_result(operation, event, message, on_wait).await;
                judged.unwrap_or_else(|why| answer::rejected(operation.method, id, &why, *is_stateless).into())
            }
            ExpectedAnswer::Task { event, is_stateless, operation, task } => {
                let judged = self.judge_task(operation, event, task, message, on_wait).await;
                judged.unwrap_or_else(|why| answer::rejected(Method::TaskResult, id, &why, *is_stateless).into())
            }
        }
    }

    /// Returns the answer with the changes that plugins made.
    ///
    /// # Errors
    /// If the answer must not be forwarded, the error is the text that replaces it.
    async fn judge_result(
        &self,
        operation: &Operation,
        event: &str,
        message: &Message,
        on_wait: LongWaitCallback<'_>,
    ) -> Result<OutgoingMessage, String> {
        let policy = self.rules.policy(&self.server).map_err(|why| failed(&why))?;
        let context = AnswerContext { operation, event, policy: &policy, on_wait };
        self.check_size(context, message.bytes.len()).await?;
        if let Some(error) = message.members.get("error") {
            return Ok(message.with_error(self.judge_error(context, error).await?));
        }
        let mut result = self.unambiguous(context, message.members.within("result")).await?;
        if let Err(why) = self.note_task(operation, &result) {
            return Err(self.withhold(context, &why).await);
        }
        if result.get("inputRequests").is_some() {
            result = match self.judge_input_requests(result, context).await {
                Ok(result) => result,
                Err(why) => return Err(self.record_substitute(context, why).await),
            };
        }
        // A result that contains only questions is not checked again as a result, because its questions were checked above.
        let is_question = result.text("resultType").as_deref() == Some("input_required")
            && result.keys().all(|key| QUESTION_KEYS.contains(&key));
        if !is_question && let Some(changed) = self.judge_members(context, &result).await? {
            return Ok(message.with_result(raw(&changed)));
        }
        // Most results contain no questions. They are forwarded byte for byte.
        let asks = result.get("inputRequests").is_some();
        Ok(if asks { message.with_result_or_as_it_came(&result) } else { message.into() })
    }

    /// Returns the members of a result, if every JSON parser finds the same members in it.
    ///
    /// # Errors
    /// If the answer must not be forwarded, the error is the text that replaces it.
    pub(super) async fn unambiguous(
        &self,
        context: AnswerContext<'_>,
        result: Result<Members, String>,
    ) -> Result<Members, String> {
        match result.map(|result| (result.ambiguity(RESULT_KEYS).is_none(), result)) {
            Ok((true, result)) => Ok(result),
            Ok((false, _)) => Err(self.withhold(context, "the result has keys that differ only in case").await),
            Err(why) => Err(self.withhold(context, &why).await),
        }
    }

    /// Checks the size of a result or an error against the policy. The returned error is the text that replaces the answer.
    pub(super) async fn check_size(&self, context: AnswerContext<'_>, bytes: usize) -> Result<(), String> {
        let max = context.policy.max_result;
        if bytes <= max {
            return Ok(());
        }
        let tool = &context.operation.tool;
        let why = format!(
            "The result of {tool} has {bytes} bytes, but at most {max} bytes are passed on (`max-result-bytes` of \
             `[mcp-proxy]`). Ask for less."
        );
        Err(self.record_substitute(context, why).await)
    }

    /// Records that a result cannot be checked, and returns the text that replaces the result.
    pub(super) async fn withhold(&self, context: AnswerContext<'_>, why: &str) -> String {
        let tool = &context.operation.tool;
        let why = why.trim_end_matches('.');
        self.record_substitute(
            context,
            format!("hookhost withholds the result of {tool}, which cannot be judged: {why}."),
        )
        .await
    }

    /// Records the text that replaces a result, and returns it.
    pub(super) async fn record_substitute(&self, context: AnswerContext<'_>, why: String) -> String {
        let mut event = self.result_event(context, ToolResult::error(why.clone()));
        event.observe = true;
        self.ask_host(&event, context.on_wait).await;
        why
    }

    /// Returns an error with the changes that plugins made, or `None` if they did not change it.
    pub(super) async fn judge_error(
        &self,
        context: AnswerContext<'_>,
        error: &RawValue,
    ) -> Result<Option<Value>, String> {
        let whole: Value = match hookhost_agents::json::value(error.get()) {
            Ok(whole) => whole,
            Err(why) => return Err(self.withhold(context, &why).await),
        };
        let mut before = ToolResult::error(answer::said(&whole));
        before.raw = Some((&whole).into());
        let after = self.ask_about_result(context, before).await?;
        Ok(after.map(|after| json!({ "code": code(&whole), "message": after.text })))
    }

    /// Lets the rules check the questions that the server asks the client's user and model before it sends a result.
    pub(super) async fn judge_input_requests(
        &self,
        result: Members,
        context: AnswerContext<'_>,
    ) -> Result<Members, String> {
        let mut requests = result.within("inputRequests").map_err(|why| failed(&why))?;
        let keys: Vec<String> = requests.keys().map(str::to_owned).collect();
        if keys.len() > MAX_INPUT_REQUESTS {
            return Err(failed(&format!("the server asks more than {MAX_INPUT_REQUESTS} questions at once")));
        }
        for key in keys {
            let request = requests.within(&key).map_err(|_| failed("a question of the server is not an object"))?;
            if request.ambiguity(INPUT_REQUEST_KEYS).is_some() {
                return Err(failed("a question of the server has keys that differ only in case"));
            }
            let name = request.text("method").unwrap_or_default();
            let params = request.within("params").map_err(|why| failed(&why))?;
            let method = match Method::of(&name).filter(|method| Method::FROM_SERVER.contains(method)) {
                Some(method) => method,
                None if name == "roots/list" => continue,
                // The error does not contain the name of the method, because no rule has checked the name.
                None => return Err(failed("the server asks a question with an unknown method")),
            };
            let operation = Operation::of(method, &params)
                .map_err(|_| failed("the parameters of a question of the server cannot be read"))?;
            let mut event = self.event(Point::Request, Some(&operation));
            event.observe = context.policy.mode == Mode::Observe;
            // With this flag, the host returns a question instead of waiting for a person. A wait would delay this answer and all
            // messages behind it.
            event.asks = true;
            match self.ask_host(&event, context.on_wait).await {
                ProxyReply::Allowed { notices } => self.notifier.tell_all(&notices),
                ProxyReply::Ask { questions, .. } if event.observe => self.tell(&reason::asked(&questions)),
                ProxyReply::Ask { .. } => return Err(NOT_ASKED.to_owned()),
                ProxyReply::Changed { arguments } => {
                    let params = operation.write_back(&params, &arguments)?;
                    requests = requests.with(&key, request.with("params", params.to_raw()).to_raw());
                }
                ProxyReply::Rejected { why } => return Err(why),
                ProxyReply::Failed { why } => return Err(unsettled(&why)),
                _ => return Err(failed("a plugin answered in place of the client's user or model")),
            }
        }
        if requests.to_json() == result.within("inputRequests").unwrap_or_default().to_json() {
            return Ok(result);
        }
        Ok(result.with("inputRequests", requests.to_raw()))
    }

    /// Lets the rules check the replies of the client's user and model to questions of the server. Returns the parameters with the
    /// changed replies.
    pub(super) async fn judge_input_responses(
        &self,
        params: Members,
        policy: &Policy,
        on_wait: LongWaitCallback<'_>,
    ) -> Result<Members, String> {
        if params.get("inputResponses").is_none() {
            return Ok(params);
        }
        let mut responses = params.within("inputResponses")?;
        let keys: Vec<String> = responses.keys().map(str::to_owned).collect();
        for key in keys {
            let response = responses.within(&key)?;
            let is_of_roots = |key: &str| ROOTS_KEYS.contains(&key);
            let method = if response.get("action").is_some() {
                Method::Elicit
            } else if response.get("roots").is_some() && response.keys().all(is_of_roots) {
                continue;
            } else {
                Method::Sample
            };
            let operation = Operation { method, tool: method.name().to_owned(), arguments: json!({}) };
            let id = self.event(Point::Result, None).id;
            let context = AnswerContext { operation: &operation, event: &id, policy, on_wait };
            let response = self.unambiguous(context, Ok(response)).await?;
            if let Some(changed) = self.judge_members(context, &response).await? {
                responses = responses.with(&key, raw(&changed));
            }
        }
        Ok(params.with("inputResponses", responses.to_raw()))
    }

    fn result_event(&self, context: AnswerContext<'_>, result: ToolResult) -> Event {
        let mut told = self.event(Point::Result, Some(context.operation));
        context.event.clone_into(&mut told.id);
        told.observe = context.policy.mode == Mode::Observe;
        told.result = Some(result);
        told
    }

    /// Returns the result with the changes that plugins made, or `None` if they did not change it.
    ///
    /// # Errors
    /// If the answer must not be forwarded, the error is the text that replaces it.
    async fn judge_members(&self, context: AnswerContext<'_>, result: &Members) -> Result<Option<Value>, String> {
        let before = match answer::read(context.operation.method, result) {
            Ok(before) => before,
            Err(why) => return Err(self.withhold(context, &why).await),
        };
        let after = self.ask_about_result(context, before.clone()).await?;
        after.map(|after| answer::write_back(context.operation, &before, &after, result)).transpose()
    }

    /// Returns the result with which plugins replace this result, or `None` if they allow it unchanged.
    ///
    /// # Errors
    /// If the answer must not be forwarded, the error is the text that replaces it.
    pub(super) async fn ask_about_result(
        &self,
        context: AnswerContext<'_>,
        before: ToolResult,
    ) -> Result<Option<ToolResult>, String> {
        match self.ask_host(&self.result_event(context, before), context.on_wait).await {
            ProxyReply::Allowed { notices } => {
                self.notifier.tell_all(&notices);
                Ok(None)
            }
            ProxyReply::Replaced { result } => Ok(Some(result)),
            ProxyReply::Rejected { why } => Err(why),
            ProxyReply::Failed { why } => Err(unsettled(&why)),
            _ => Err(failed(OTHER_EVENT)),
        }
    }
}

/// Checks that each reply of the client to a question of the server is an object.
///
/// # Errors
/// Fails if a reply is not an object. The error is one sentence.
pub(super) fn check_responses(params: &Members) -> Result<(), String> {
    let responses = params.within("inputResponses")?;
    responses.keys().try_for_each(|key| responses.within(key).map(drop))
}

/// Returns true if a result contains questions to the client's user or model. The case of keys is ignored, because some clients
/// ignore it.
pub(super) fn asks(result: &Members) -> bool {
    result.keys().any(|key| folded(key) == folded("inputRequests"))
}

/// Returns true if an answer asks the client's user or model something. Used for answers that rules do not check.
pub fn is_question(answer: &Message) -> bool {
    answer.members.within("result").is_ok_and(|result| asks(&result))
}

/// Returns the code of an error. If the error has no integer code, returns a code of the proxy.
pub(super) fn code(error: &Value) -> i64 {
    error.get("code").and_then(Value::as_i64).unwrap_or(REJECTED)
}
