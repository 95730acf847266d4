//! Passes request bodies to `request-send` and whole answers to `response-receive`. This is done only if a plugin
//! subscribes to these events, because each request contains the whole conversation. A log of all requests would grow
//! with the square of the session's length.

use super::request::OutgoingRequest;
use super::run::Run;
use super::state::TaskEnd;
use hookhost::contract::{EventKind, Json, ModelRef, RawRequest, RawResponse};
use hookhost_models::message::{Thinking, TokenUsage, ToolUse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A complete answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct WholeResponse {
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) tool_calls: Vec<ToolUse>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) thinking: Vec<Thinking>,
    pub(super) stop_reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<TokenUsage>,
}

impl Run<'_> {
    /// Asks plugins about the body of a request. The body that the plugins allow, possibly with changes, is then sent.
    ///
    /// # Errors
    /// Returns the end of the task if the request must not be sent.
    pub(super) async fn gate_body(&self, outgoing: &mut OutgoingRequest) -> Result<(), TaskEnd> {
        if !self.agent.host.has_subscriber(EventKind::RequestSend) {
            return Ok(());
        }
        let ModelRef { provider, model, .. } = outgoing.model();
        let body = outgoing.provider.body(&outgoing.request);
        let asked = RawRequest { provider, model, body: Json::from(&body) };
        let (value, _, by) = self.gated(EventKind::RequestSend, self.open.session.request_send(asked)).await?;
        let after: Value = value.body.read().unwrap_or_default();
        self.report_change(EventKind::RequestSend, &by, &body, &after);
        outgoing.body = Some(after);
        Ok(())
    }

    /// Passes a whole answer to the plugins before any part of the answer is used.
    ///
    /// # Errors
    /// Returns the end of the task if the answer must not be used.
    pub(super) async fn receive_whole(
        &self,
        outgoing: &OutgoingRequest,
        whole: WholeResponse,
    ) -> Result<WholeResponse, TaskEnd> {
        if !self.agent.host.has_subscriber(EventKind::ResponseReceive) {
            return Ok(whole);
        }
        let ModelRef { provider, model, .. } = outgoing.model();
        let body = Json::of(&whole).unwrap_or_default();
        let response = RawResponse { provider, model, body };
        let receiving = self.open.session.response_receive(response);
        let (value, by) = self.passed(EventKind::ResponseReceive, receiving).await?;
        // The original answer is not reported, because a plugin may have changed it in order to hide a part of it.
        value.body.read().map_err(|error| {
            let by = by.join(", ");
            TaskEnd::error(format!("the answer of the model is no longer valid after the changes by {by}: {error}"))
        })
    }
}
