//! Handles questions that rules want to ask a person. The proxy sends such a question to the client's user in an answer, and the
//! client repeats its request with the user's reply.

use super::{ExpectedAnswer, Judge, McpRequest, NOT_AGREED};
use crate::jsonrpc::handler::RequestDecision;
use crate::jsonrpc::message::{self, INVALID_PARAMS, Members, raw};
use crate::mcp::answer;
use crate::mcp::operation::{Method, Operation};
use crate::mcp::question_state::{self, QuestionDigest, StateSealer};
use bytes::Bytes;
use hookhost_agents::mcp_proxy::Point;
use serde_json::{Map, Value, json};

impl Judge {
    /// If the request contains a reply to a question of this proxy, removes the reply from the request. Returns the question and
    /// its round if the user agreed, and an error if the user did not agree.
    pub(super) fn take_reply(
        &self,
        params: &mut Members,
        operation: &Operation,
    ) -> Result<Option<(QuestionDigest, u32)>, ReplyRefusal> {
        let Some(state) = params.text("requestState").filter(|state| StateSealer::is_ours(state)) else {
            return Ok(None);
        };
        let sealed = self.sealer.open(&state, &self.server, operation).map_err(ReplyRefusal::Bad)?;
        let answers = params.value("inputResponses").unwrap_or_default();
        *params = params.without("requestState").without("inputResponses");
        for (key, value) in &sealed.inner {
            *params = params.with(key, raw(value));
        }
        match answers.get(question_state::QUESTION_KEY) {
            Some(answer) if question_state::is_yes(answer) => Ok(Some((sealed.asked, sealed.round))),
            _ => Err(ReplyRefusal::No),
        }
    }

    /// Returns an answer that makes the client ask its user and then send the request again. `params` are the parameters for the
    /// server. If they contain replies to the server's own questions, the client sends these replies again together with the user's
    /// reply.
    pub(super) fn input_required(
        &self,
        request: &McpRequest,
        params: &Members,
        form: Value,
        asked: QuestionDigest,
        round: u32,
    ) -> Result<Bytes, String> {
        let McpRequest { id, operation, .. } = request;
        let of_server = |key: &str| params.value(key).filter(|value| !value.as_str().is_some_and(StateSealer::is_ours));
        let inner: Map<String, Value> = match of_server("requestState") {
            Some(state) => {
                let responses =
                    params.value("inputResponses").map(|responses| ("inputResponses".to_owned(), responses));
                std::iter::once(("requestState".to_owned(), state)).chain(responses).collect()
            }
            None => Map::new(),
        };
        let mut form = form;
        form["mode"] = json!("form");
        let state = self.sealer.seal(&self.server, operation, asked, round, inner)?;
        let question = json!({ "method": Method::Elicit.name(), "params": form });
        let result = json!({
            "resultType": "input_required", "inputRequests": { question_state::QUESTION_KEY: question }, "requestState": state,
        });
        Ok(message::result(id, &result))
    }

    /// Records whether the client's user agreed. The client reports this, and the proxy cannot verify it.
    pub(super) async fn note_answer(&self, operation: &Operation, is_yes: bool) {
        let mut event = self.event(Point::Answered, Some(operation));
        event.arguments = json!({ "answer": if is_yes { "yes" } else { "no" }, "arguments": event.arguments });
        self.ask_host(&event, &|_| {}).await;
    }
}

/// The reason why a request that the client has sent again is refused before the rules decide on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyRefusal {
    Bad(question_state::StateError),
    No,
}

impl ReplyRefusal {
    pub(super) fn answer(&self, request: &McpRequest) -> RequestDecision<ExpectedAnswer> {
        let McpRequest { id, operation, client, .. } = request;
        RequestDecision::Answer(match self {
            Self::Bad(why) => message::error(Some(id), INVALID_PARAMS, &why.to_string()),
            Self::No => answer::rejected(operation.method, id, NOT_AGREED, client.is_stateless),
        })
    }
}
