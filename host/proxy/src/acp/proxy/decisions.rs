//! Asks rules about requests, and judges answers.

use super::{Asked, Expected, Proxy, What, failed, unsettled};
use crate::acp::operation::{Method, Operation, text_key};
use crate::acp::permission::Options;
use crate::acp::prompt;
use crate::acp::summary::Summary;
use crate::jsonrpc::handler::Decision;
use crate::jsonrpc::message::{self, INTERNAL_ERROR, Id, Message, REJECTED, raw};
use bytes::Bytes;
use hookhost_agents::acp_proxy::Point;
use hookhost_agents::proxies::Settled;
use hookhost_agents::reason;
use hookhost_client::resident::Waits;
use hookhost_contract::ToolResult;
use serde_json::Value;

/// The reason if the resident host returns an outcome that does not fit the event.
const OTHER_EVENT: &str = "the outcome is of another event";

impl Proxy {
    pub(super) async fn decide(&self, asked: &Asked, waits: Waits<'_>) -> Decision<Expected> {
        match &asked.what {
            What::Prompt { session, blocks, text } => self.decide_prompt(asked, session, blocks, text, waits).await,
            What::Permission { session, call, earlier, options } => {
                self.decide_permission(asked, session, (call, earlier), options, waits).await
            }
            What::Operation(operation) => self.decide_operation(asked, operation, waits).await,
        }
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Summary)) {
        count(&mut self.state().summary);
    }

    async fn decide_prompt(
        &self,
        asked: &Asked,
        session: &str,
        blocks: &Value,
        text: &str,
        waits: Waits<'_>,
    ) -> Decision<Expected> {
        self.count(|summary| summary.prompts.all += 1);
        let event = self.event(Point::Prompt, session, super::PROMPT, Value::from(text));
        let passed = |bytes| Decision::Passed { bytes, expected: Expected::Anything };
        let no = |why: &str| {
            self.count(|summary| summary.prompts.rejected += 1);
            Decision::Answered(message::error(Some(&asked.id), REJECTED, why))
        };
        match self.settle(&event, waits).await {
            Settled::Allowed { notices } => {
                notices.iter().for_each(|notice| (self.tell)(notice));
                passed(asked.message.bytes.clone())
            }
            Settled::ReplacedText { text } => {
                self.count(|summary| summary.prompts.changed += 1);
                let params = asked.params.with("prompt", raw(&prompt::with_text(blocks, &text)));
                passed(asked.message.with_params(&params))
            }
            Settled::Rejected { why } => no(&why),
            Settled::Failed { why } => no(&unsettled(&why)),
            _ => no(&failed(OTHER_EVENT)),
        }
    }

    async fn decide_permission(
        &self,
        asked: &Asked,
        session: &str,
        (call, earlier): (&Value, &[Value]),
        options: &Options,
        waits: Waits<'_>,
    ) -> Decision<Expected> {
        self.count(|summary| summary.permissions.all += 1);
        let to_the_user = |why: &str| {
            (self.tell)(why);
            self.count(|summary| summary.to_the_user += 1);
            let (session, call, options) = (session.to_owned(), call.clone(), options.clone());
            let expected = Expected::Permission { session, call, options };
            Decision::Passed { bytes: asked.message.bytes.clone(), expected }
        };
        let no = |why: &str| {
            self.count(|summary| summary.permissions.rejected += 1);
            (self.tell)(&format!("the call {} was rejected: {why}", title(call)));
            Decision::Answered(options.no(&asked.id, why))
        };
        let mut asks = None;
        // The agent may run any of the calls that it has reported under this identifier.
        for (one, is_earlier) in earlier.iter().map(|one| (one, true)).chain([(call, false)]) {
            let event = self.event(Point::Permission, session, super::PERMISSION, one.clone());
            match self.settle(&event, waits).await {
                Settled::Allowed { notices } => notices.iter().for_each(|notice| (self.tell)(notice)),
                Settled::Ask { questions, .. } => asks = asks.or_else(|| Some(reason::asked(&questions))),
                Settled::Rejected { why } if is_earlier => {
                    return no(&format!("the agent has reported it as {} before: {why}", title(one)));
                }
                Settled::Rejected { why } => return no(&why),
                Settled::Failed { why } => return no(&unsettled(&why)),
                _ => return no(&failed(OTHER_EVENT)),
            }
        }
        match (asks, options.yes(&asked.id)) {
            (Some(why), _) => to_the_user(&why),
            (None, Some(answer)) => Decision::Answered(answer),
            // Only the user can allow more than this call.
            (None, None) => to_the_user("the agent offers no answer that counts once: you are asked"),
        }
    }

    async fn decide_operation(&self, asked: &Asked, operation: &Operation, waits: Waits<'_>) -> Decision<Expected> {
        let (session, method) = (&operation.session, operation.method);
        self.count(|summary| counted(summary, method).all += 1);
        let event = self.event(Point::Request, session, method.name(), operation.params.clone());
        let no = |why: &str| {
            self.count(|summary| counted(summary, method).rejected += 1);
            (self.tell)(&format!("{} was rejected: {why}", method.name()));
            Decision::Answered(message::error(Some(&asked.id), REJECTED, why))
        };
        let passed = |bytes, operation| Decision::Passed { bytes, expected: Expected::Done(operation) };
        match self.settle(&event, waits).await {
            Settled::Allowed { notices } => {
                notices.iter().for_each(|notice| (self.tell)(notice));
                passed(asked.message.bytes.clone(), operation.clone())
            }
            Settled::Changed { arguments } => {
                let written = operation.write_back(&asked.params, &arguments);
                // The request is read again, as the editor will read it.
                let written = written.and_then(|params| Ok((Operation::of(method, &params)?, params)));
                match written {
                    Ok((changed, params)) => {
                        self.count(|summary| counted(summary, method).changed += 1);
                        passed(asked.message.with_params(&params), changed)
                    }
                    Err(why) => no(&why),
                }
            }
            Settled::Rejected { why } => no(&why),
            Settled::Failed { why } => no(&unsettled(&why)),
            _ => no(&failed(OTHER_EVENT)),
        }
    }

    /// Returns the content of a file or a terminal as the agent may have it.
    pub(super) async fn judged(&self, id: &Id, expected: &Expected, message: &Message, waits: Waits<'_>) -> Bytes {
        let (Expected::Done(operation) | Expected::Output(operation)) = expected else { return message.bytes.clone() };
        let method = if matches!(expected, Expected::Output(_)) { "terminal/output" } else { operation.method.name() };
        let no = |why: &str| message::error(Some(id), REJECTED, why);
        let key = text_key(method).unwrap_or_default();
        let result = match message.members.within("result") {
            Ok(result) => result,
            Err(why) => return message::error(Some(id), INTERNAL_ERROR, &format!("the answer to {method}: {why}")),
        };
        let Some(text) = result.text(key) else {
            let why = format!("the answer to {method} has no text `{key}`");
            return message::error(Some(id), INTERNAL_ERROR, &why);
        };
        let mut event =
            self.event(Point::Result, &operation.session, operation.method.name(), operation.params.clone());
        event.result = Some(ToolResult::text(text));
        match self.settle(&event, waits).await {
            Settled::Allowed { notices } => {
                notices.iter().for_each(|notice| (self.tell)(notice));
                message.bytes.clone()
            }
            Settled::Replaced { result: after } => {
                message.with_result(result.with(key, raw(&Value::from(after.text))).to_raw())
            }
            Settled::Rejected { why } => no(&why),
            Settled::Failed { why } => no(&unsettled(&why)),
            _ => no(&failed(OTHER_EVENT)),
        }
    }
}

fn counted(summary: &mut Summary, method: Method) -> &mut crate::acp::summary::Asked {
    if method == Method::RunCommand { &mut summary.commands } else { &mut summary.files }
}

/// Returns the name by which a person knows a call.
pub(super) fn title(call: &Value) -> String {
    let title = call.get("title").or_else(|| call.get("toolCallId")).and_then(Value::as_str).unwrap_or_default();
    format!("{:?}", title.chars().take(80).collect::<String>())
}
