//! Lets the rules decide on requests and answers.

use super::{AcpRequest, ExpectedAnswer, Proxy, RequestSubject, failed, unsettled};
use crate::acp::coverage::{CoverageSummary, QuestionCounts};
use crate::acp::operation::{Method, Operation, text_key};
use crate::acp::permission::PermissionOptions;
use crate::acp::prompt;
use crate::jsonrpc::handler::RequestDecision;
use crate::jsonrpc::message::{self, INTERNAL_ERROR, Id, Message, OutgoingMessage, REJECTED, raw};
use crate::resident_host::OTHER_EVENT;
use hookhost_agents::acp_proxy::Point;
use hookhost_agents::proxies::ProxyReply;
use hookhost_agents::reason;
use hookhost_client::async_client::LongWaitCallback;
use hookhost_contract::ToolResult;
use serde_json::Value;

impl Proxy {
    pub(super) async fn decide(
        &self,
        request: &AcpRequest,
        on_wait: LongWaitCallback<'_>,
    ) -> RequestDecision<ExpectedAnswer> {
        match &request.subject {
            RequestSubject::Prompt { session, blocks, text } => {
                self.decide_prompt(request, session, blocks, text, on_wait).await
            }
            RequestSubject::Permission { session, call, earlier, options } => {
                self.decide_permission(request, session, (call, earlier), options, on_wait).await
            }
            RequestSubject::Operation(operation) => self.decide_operation(request, operation, on_wait).await,
        }
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut CoverageSummary)) {
        count(&mut self.state().summary);
    }

    async fn decide_prompt(
        &self,
        request: &AcpRequest,
        session: &str,
        blocks: &Value,
        text: &str,
        on_wait: LongWaitCallback<'_>,
    ) -> RequestDecision<ExpectedAnswer> {
        self.count(|summary| summary.prompts.all += 1);
        let event = self.event(Point::Prompt, session, super::PROMPT_METHOD, Value::from(text));
        let passed = |message| RequestDecision::Forward { message, expected: ExpectedAnswer::Anything };
        let no = |why: &str| {
            self.count(|summary| summary.prompts.rejected += 1);
            RequestDecision::Answer(message::error(Some(&request.id), REJECTED, why))
        };
        match self.ask_host(&event, on_wait).await {
            ProxyReply::Allowed { notices } => {
                self.notifier.tell_all(&notices);
                passed((&request.message).into())
            }
            ProxyReply::ReplacedText { text } => {
                self.count(|summary| summary.prompts.changed += 1);
                let params = request.params.with("prompt", raw(&prompt::with_text(blocks, &text)));
                passed(request.message.with_params(&params))
            }
            ProxyReply::Rejected { why } => no(&why),
            ProxyReply::Failed { why } => no(&unsettled(&why)),
            _ => no(&failed(OTHER_EVENT)),
        }
    }

    async fn decide_permission(
        &self,
        request: &AcpRequest,
        session: &str,
        (call, earlier): (&Value, &[Value]),
        options: &PermissionOptions,
        on_wait: LongWaitCallback<'_>,
    ) -> RequestDecision<ExpectedAnswer> {
        self.count(|summary| summary.permissions.all += 1);
        let to_the_user = |why: &str| {
            self.notifier.tell(why);
            self.count(|summary| summary.to_the_user += 1);
            let (session, call, options) = (session.to_owned(), call.clone(), options.clone());
            let expected = ExpectedAnswer::Permission { session, call, options };
            RequestDecision::Forward { message: (&request.message).into(), expected }
        };
        let no = |why: &str| {
            self.count(|summary| summary.permissions.rejected += 1);
            self.notifier.tell(&format!("the call {} was rejected: {why}", title(call)));
            RequestDecision::Answer(options.no(&request.id, why))
        };
        let mut asks = None;
        // The agent may run any version of the call that it has reported under this identifier, so rules decide on all of them.
        for (one, is_earlier) in earlier.iter().map(|one| (one, true)).chain([(call, false)]) {
            let event = self.event(Point::Permission, session, super::PERMISSION_METHOD, one.clone());
            match self.ask_host(&event, on_wait).await {
                ProxyReply::Allowed { notices } => self.notifier.tell_all(&notices),
                ProxyReply::Ask { questions, .. } => asks = asks.or_else(|| Some(reason::asked(&questions))),
                ProxyReply::Rejected { why } if is_earlier => {
                    return no(&format!("the agent has reported it as {} before: {why}", title(one)));
                }
                ProxyReply::Rejected { why } => return no(&why),
                ProxyReply::Failed { why } => return no(&unsettled(&why)),
                _ => return no(&failed(OTHER_EVENT)),
            }
        }
        match (asks, options.yes(&request.id)) {
            (Some(why), _) => to_the_user(&why),
            (None, Some(answer)) => RequestDecision::Answer(answer),
            // Only the user may choose an option that allows more than this call.
            (None, None) => to_the_user("the agent offers no answer that allows only this call, so you are asked"),
        }
    }

    async fn decide_operation(
        &self,
        request: &AcpRequest,
        operation: &Operation,
        on_wait: LongWaitCallback<'_>,
    ) -> RequestDecision<ExpectedAnswer> {
        let (session, method) = (&operation.session, operation.method);
        self.count(|summary| counted(summary, method).all += 1);
        let event = self.event(Point::Request, session, method.name(), operation.params.clone());
        let no = |why: &str| {
            self.count(|summary| counted(summary, method).rejected += 1);
            self.notifier.tell(&format!("{} was rejected: {why}", method.name()));
            RequestDecision::Answer(message::error(Some(&request.id), REJECTED, why))
        };
        let passed = |message, operation| RequestDecision::Forward {
            message,
            expected: ExpectedAnswer::OperationResult(operation),
        };
        match self.ask_host(&event, on_wait).await {
            ProxyReply::Allowed { notices } => {
                self.notifier.tell_all(&notices);
                passed((&request.message).into(), operation.clone())
            }
            ProxyReply::Changed { arguments } => {
                let written = operation.write_back(&request.params, &arguments);
                // The changed request is parsed again, to check that it is still a valid request for the editor.
                let written = written.and_then(|params| Ok((Operation::of(method, &params)?, params)));
                match written {
                    Ok((changed, params)) => {
                        self.count(|summary| counted(summary, method).changed += 1);
                        passed(request.message.with_params(&params), changed)
                    }
                    Err(why) => no(&why),
                }
            }
            ProxyReply::Rejected { why } => no(&why),
            ProxyReply::Failed { why } => no(&unsettled(&why)),
            _ => no(&failed(OTHER_EVENT)),
        }
    }

    /// Lets rules decide on an answer that contains the content of a file or the output of a terminal. Returns the answer that the
    /// agent gets.
    pub(super) async fn decide_answer(
        &self,
        id: &Id,
        expected: &ExpectedAnswer,
        message: &Message,
        on_wait: LongWaitCallback<'_>,
    ) -> OutgoingMessage {
        let (ExpectedAnswer::OperationResult(operation) | ExpectedAnswer::TerminalOutput(operation)) = expected else {
            return message.into();
        };
        let method = if matches!(expected, ExpectedAnswer::TerminalOutput(_)) {
            "terminal/output"
        } else {
            operation.method.name()
        };
        let no = |why: &str| message::error(Some(id), REJECTED, why).into();
        let key = text_key(method).unwrap_or_default();
        let result = match message.members.within("result") {
            Ok(result) => result,
            Err(why) => {
                return message::error(Some(id), INTERNAL_ERROR, &format!("the answer to {method}: {why}")).into();
            }
        };
        let Some(text) = result.text(key) else {
            let why = format!("the answer to {method} has no text `{key}`");
            return message::error(Some(id), INTERNAL_ERROR, &why).into();
        };
        let mut event =
            self.event(Point::Result, &operation.session, operation.method.name(), operation.params.clone());
        event.result = Some(ToolResult::text(text));
        match self.ask_host(&event, on_wait).await {
            ProxyReply::Allowed { notices } => {
                self.notifier.tell_all(&notices);
                message.into()
            }
            ProxyReply::Replaced { result: after } => {
                message.with_result(result.with(key, raw(&Value::from(after.text))).to_raw())
            }
            ProxyReply::Rejected { why } => no(&why),
            ProxyReply::Failed { why } => no(&unsettled(&why)),
            _ => no(&failed(OTHER_EVENT)),
        }
    }
}

fn counted(summary: &mut CoverageSummary, method: Method) -> &mut QuestionCounts {
    if method == Method::RunCommand { &mut summary.commands } else { &mut summary.files }
}

/// Returns the title of a call, or its identifier if it has no title.
pub(super) fn title(call: &Value) -> String {
    let title = call.get("title").or_else(|| call.get("toolCallId")).and_then(Value::as_str).unwrap_or_default();
    format!("{:?}", title.chars().take(80).collect::<String>())
}
