//! Begins a new session if the service has forgotten the old session.

use super::streams::is_stream;
use super::{SESSION_HEADER, Service, is_answer_to};
use crate::jsonrpc::message::{self, Message, MessageKind};
use bytes::Bytes;
use reqwest::Response;
use reqwest::header::HeaderValue;
use std::time::Duration;
use tokio::time::timeout;

/// Maximum time for beginning a new session. The time is limited because all messages wait until the session has begun.
const SESSION_RENEWAL_TIMEOUT: Duration = Duration::from_secs(30);

impl Service {
    /// Returns true if the response says that the service does not know the session. Also returns the response itself. If the
    /// response is a valid answer to the message, returns false, because the service has processed the message.
    pub(super) async fn check_refusal(
        &self,
        message: &Message,
        response: Response,
    ) -> Result<(bool, Response), String> {
        let mut again = hyper::http::Response::new(());
        *again.status_mut() = response.status();
        *again.headers_mut() = response.headers().clone();
        let (body, _room) = self.body(response).await?;
        let is_answer =
            |answer: Message| matches!(&message.kind, MessageKind::Request { id, .. } if is_answer_to(id, &answer));
        let is_forgotten =
            is_about_session(&String::from_utf8_lossy(&body)) && !Message::of(body.clone()).is_ok_and(is_answer);
        Ok((is_forgotten, again.map(|()| body).into()))
    }

    /// Begins a new session in place of a forgotten session, within a time limit.
    pub(super) async fn renew_in_time(&self, lost: &HeaderValue) -> Result<bool, String> {
        let renewed = timeout(SESSION_RENEWAL_TIMEOUT, self.renew(lost)).await;
        renewed.map_err(|_| "the service did not begin a new session in time".to_owned())?
    }

    /// Begins a new session in place of a forgotten session. Returns false if the service refuses. In this case, the forgotten
    /// session remains the current session, and the next message triggers another attempt.
    pub(super) async fn renew(&self, forgotten: &HeaderValue) -> Result<bool, String> {
        let _one = self.0.renewing.lock().await;
        let hello = {
            let state = self.state();
            // Another request has already begun a new session.
            if state.session.as_ref() != Some(forgotten) {
                return Ok(true);
            }
            state.hello.clone()
        };
        let Some(hello) = hello else { return Ok(false) };
        let response = self.post_in(None, &hello).await?;
        if !response.status().is_success() {
            return Ok(false);
        }
        let session = response.headers().get(SESSION_HEADER).cloned();
        if !is_stream(response.headers()) {
            let (answer, _room) = self.body(response).await?;
            if Message::of(answer).is_ok_and(|answer| answer.members.get("error").is_some()) {
                return Ok(false);
            }
        }
        let begun = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let begun = Message::of(begun).map_err(|error| error.to_string())?;
        if !self.post_in(session.as_ref(), &begun).await?.status().is_success() {
            return Ok(false);
        }
        let mut state = self.state();
        state.session = session;
        self.start_listening(&mut state);
        self.0.begun.notify_one();
        Ok(true)
    }
}

/// Phrases with which services report an unknown session. Each phrase is a list of words in lower case. A text matches a phrase if
/// it contains all of these words.
const UNKNOWN_SESSION_PHRASES: &[&[&str]] = &[
    &["session", "not found"],
    &["session", "invalid"],
    &["session", "no valid"],
    &["session", "unknown"],
    &["session", "expired"],
    &["session", "terminated"],
    &["session", "missing"],
    &["session", "required"],
    &["session", "not exist"],
    &["session", "no such"],
    &["no active session"],
    &["not initialized"],
];

/// Maximum length of a text about an unknown session, in bytes.
const MAX_REFUSAL: usize = 1024;

/// Returns true if a text says that the service does not know the session.
pub(super) fn is_about_session(text: &str) -> bool {
    let text = text.to_lowercase();
    text.len() <= MAX_REFUSAL
        && UNKNOWN_SESSION_PHRASES.iter().any(|words| words.iter().all(|word| text.contains(word)))
}

/// Returns true if an answer is an error which says that the service does not know the session.
pub(super) fn is_of_forgotten_session(answer: &Message) -> bool {
    let error = answer.members.value("error");
    let text = error.as_ref().and_then(|error| error.get("message")?.as_str());
    text.is_some_and(is_about_session)
}

/// Methods that change nothing on the server. Their requests can therefore be repeated.
const READ_ONLY_METHODS: &[&str] = &[
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// Returns true if a request may have changed something before it got this error. The error may be about a session that is not a
/// session of the protocol, such as the browser session of a tool. An "invalid request" error, however, is sent before any tool
/// runs.
pub(super) fn can_have_run(request: &Message, error: &Message) -> bool {
    let code = error.members.value("error").and_then(|error| error.get("code")?.as_i64());
    !request.method().is_some_and(|method| READ_ONLY_METHODS.contains(&method))
        && code != Some(message::INVALID_REQUEST)
}
