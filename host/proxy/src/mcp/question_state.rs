//! Questions that the proxy sends to the client's user in an answer, and the state that the client returns with the user's reply.
//!
//! The state passes through the client, which may change the state or send it twice. The state therefore contains the question, the
//! request and an expiry time. It is valid only once, and it is authenticated with a key that only this process has.
//!
//! If the user agrees, the agreement is valid only for exactly this question. Before the request is forwarded, the rules decide on
//! it again. If they now ask a different question, the user is asked again.

use crate::mcp::listing::IsUnseen;
use crate::mcp::operation::Operation;
use crate::server_name::ServerName;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, Mac as _};
use hookhost_agents::reason;
use hookhost_contract::{Question, canonical};
use rand::{TryRng as _, rngs::SysRng};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The prefix of the states that this proxy creates. States without this prefix belong to the server.
const STATE_PREFIX: &str = "hookhost.1.";

/// The key of this proxy's question in `inputRequests`, and of the user's reply in `inputResponses`.
pub const QUESTION_KEY: &str = "hookhost";

/// Time for which the user's reply is valid, counted from the question.
const STATE_LIFETIME: Duration = Duration::from_secs(600);

/// Maximum size of the arguments that a person is shown, in bytes. Larger arguments cannot be shown in full, and a person must not
/// agree to arguments that are not fully shown.
pub const MAX_SHOWN: usize = 8 * 1024;

/// Maximum number of rounds of questions about one request. The engine has the same limit. If the rules ask a third time, the
/// request is rejected.
pub const MAX_ROUNDS: u32 = 2;

/// A digest of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionDigest(String);

impl QuestionDigest {
    /// Creates the digest of these questions about a request. `arguments` are the arguments with which the request would be
    /// forwarded, and `rules` is the digest of the rules.
    pub fn of(operation: &Operation, questions: &[Question], arguments: &Value, rules: &str) -> Self {
        let asked = json!([operation.method.name(), operation.tool, questions, arguments, rules]);
        Self(digest(&asked))
    }
}

/// The content of a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionState {
    /// The question.
    pub asked: QuestionDigest,
    /// The number of rounds of questions about the request so far.
    pub round: u32,
    /// Members of the request that are meant for the server. They are stored here because the members for this proxy's question
    /// have the same names.
    pub inner: Map<String, Value>,
    /// Digest of the server and of the request as the client sent it.
    about: String,
    /// The expiry time, in seconds since the key was created.
    expires: u64,
    once: String,
}

/// The reason why a state is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// This proxy did not write the state, or the state was changed.
    #[error("`requestState` was not written by this proxy, or was changed")]
    Forged,
    /// The state is too old.
    #[error("`requestState` is older than {} seconds", STATE_LIFETIME.as_secs())]
    Expired,
    /// The state was used before.
    #[error("`requestState` was used before")]
    Replayed,
    /// The state is about another request.
    #[error("`requestState` is about another request")]
    OtherRequest,
}

/// Creates and verifies states. Contains the key, and the identifiers of the states that were already used.
#[derive(Debug)]
pub struct StateSealer {
    key: [u8; 32],
    used: Mutex<HashMap<String, Instant>>,
    /// The time of creation of the key. Expiry times are measured from this instant, so that changes of the system clock have no
    /// effect.
    began: Instant,
}

impl StateSealer {
    /// Creates a new random key.
    ///
    /// # Errors
    /// If the system provides no random number.
    pub fn new() -> Result<Self, String> {
        Ok(Self { key: random()?, used: Mutex::default(), began: Instant::now() })
    }

    /// Returns true if a state begins like the states of this proxy.
    pub fn is_ours(state: &str) -> bool {
        state.starts_with(STATE_PREFIX)
    }

    /// Creates the state of a question about a request.
    ///
    /// # Errors
    /// If the system provides no random number.
    pub fn seal(
        &self,
        server: &ServerName,
        operation: &Operation,
        asked: QuestionDigest,
        round: u32,
        inner: Map<String, Value>,
    ) -> Result<String, String> {
        let once = BASE64.encode(random()?);
        let expires = (self.began.elapsed() + STATE_LIFETIME).as_secs();
        let sealed = QuestionState { asked, round, inner, about: about(server, operation), expires, once };
        let text = serde_json::to_string(&sealed).map_err(|error| error.to_string())?;
        let body = BASE64.encode(text);
        Ok(format!("{STATE_PREFIX}{body}.{}", BASE64.encode(self.code(&body).finalize().into_bytes())))
    }

    /// Verifies the state that came back with this request, and returns its content. A state is valid only once.
    ///
    /// # Errors
    /// If the state is invalid.
    pub fn open(&self, state: &str, server: &ServerName, operation: &Operation) -> Result<QuestionState, StateError> {
        let (body, code) =
            state.strip_prefix(STATE_PREFIX).and_then(|rest| rest.split_once('.')).ok_or(StateError::Forged)?;
        let code = BASE64.decode(code).map_err(|_| StateError::Forged)?;
        self.code(body).verify_slice(&code).map_err(|_| StateError::Forged)?;
        let text = BASE64.decode(body).map_err(|_| StateError::Forged)?;
        let sealed: QuestionState = serde_json::from_slice(&text).map_err(|_| StateError::Forged)?;
        if sealed.about != about(server, operation) {
            return Err(StateError::OtherRequest);
        }
        if sealed.expires <= self.began.elapsed().as_secs() {
            return Err(StateError::Expired);
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, since| since.elapsed() <= STATE_LIFETIME);
        if used.insert(sealed.once.clone(), Instant::now()).is_some() {
            return Err(StateError::Replayed);
        }
        Ok(sealed)
    }

    fn code(&self, body: &str) -> Hmac<Sha256> {
        // HMAC accepts keys of any length.
        let mut code = Hmac::<Sha256>::new_from_slice(&self.key).unwrap_or_else(|_| unreachable!());
        code.update(body.as_bytes());
        code
    }
}

/// Returns the parameters of `elicitation/create`. The user agrees by the action `accept`. Characters that are invisible when they
/// are displayed are escaped.
pub fn elicitation(
    server: &ServerName,
    operation: &Operation,
    questions: &[Question],
    arguments: &Value,
    is_unseen: IsUnseen,
) -> Value {
    let shown = serde_json::to_string_pretty(arguments).unwrap_or_default();
    let message = format!(
        "{}\n\nMCP server {server}, {} with exactly this:\n{shown}",
        reason::asked(questions),
        match operation.method {
            crate::mcp::operation::Method::CallTool => format!("tool {}", operation.tool),
            method => method.name().to_owned(),
        }
    );
    // A person must see everything to which they agree.
    let seen = |c: char| if c != '\n' && is_unseen(c) { c.escape_unicode().collect() } else { String::from(c) };
    let message: String = message.chars().map(seen).collect();
    json!({ "message": message, "requestedSchema": { "type": "object", "properties": {} } })
}

/// Returns true if the user has agreed in this answer to an elicitation.
pub fn is_yes(answer: &Value) -> bool {
    answer.get("action").and_then(Value::as_str) == Some("accept")
}

fn about(server: &ServerName, operation: &Operation) -> String {
    digest(&json!([server.as_str(), operation.method.name(), operation.tool, operation.arguments]))
}

fn digest(value: &Value) -> String {
    let text = value.to_string();
    let text = canonical(&text).map_or(text, String::from);
    BASE64.encode(Sha256::digest(text))
}

pub(crate) fn random() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    SysRng.try_fill_bytes(&mut bytes).map_err(|error| format!("the system provides no random number: {error}"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{QuestionDigest, StateError, StateSealer};
    use crate::mcp::operation::{Method, Operation};
    use crate::server_name::ServerName;
    use serde_json::{Map, json};

    #[test]
    fn a_person_sees_each_character_of_what_they_agree_to() {
        let call = Operation {
            method: Method::CallTool,
            tool: "say".to_owned(),
            arguments: json!({ "text": "rm \u{202e}x" }),
        };
        let server = ServerName::new("files").unwrap();
        let form = super::elicitation(&server, &call, &[], &call.arguments, |c| c == '\u{202e}');
        let message = form["message"].as_str().unwrap();
        assert!(message.contains("rm \\u{202e}x") && !message.contains('\u{202e}'), "{message}");
    }

    #[test]
    fn a_state_counts_once_for_the_request_that_it_is_about_and_as_it_was_written() {
        let (sealer, server) = (StateSealer::new().unwrap(), ServerName::new("files").unwrap());
        let call = |text: &str| Operation {
            method: Method::CallTool,
            tool: "say".to_owned(),
            arguments: json!({ "text": text }),
        };
        let asked = QuestionDigest::of(&call("a"), &[], &json!({ "text": "a" }), "the rules");
        assert_ne!(asked, QuestionDigest::of(&call("a"), &[], &json!({ "text": "a" }), "other rules"));
        let state = sealer.seal(&server, &call("a"), asked.clone(), 1, Map::new()).unwrap();
        assert!(StateSealer::is_ours(&state) && !StateSealer::is_ours("the server's own"));
        let other = ServerName::new("mail").unwrap();
        assert_eq!(sealer.open(&state, &other, &call("a")), Err(StateError::OtherRequest));
        assert_eq!(sealer.open(&state, &server, &call("b")), Err(StateError::OtherRequest));
        for at in [12, state.len() / 2, state.len() - 3] {
            let mut forged = state.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            assert_eq!(sealer.open(&forged, &server, &call("a")), Err(StateError::Forged), "{at}");
        }
        assert_eq!(
            StateSealer::new().unwrap().open(&state, &server, &call("a")),
            Err(StateError::Forged),
            "another key"
        );
        let opened = sealer.open(&state, &server, &call("a")).unwrap();
        assert_eq!((opened.asked, opened.round), (asked, 1));
        assert_eq!(sealer.open(&state, &server, &call("a")), Err(StateError::Replayed));
    }

    #[test]
    fn an_answer_counts_for_ten_minutes_of_the_process_whatever_the_clock_says() {
        let (mut sealer, server) = (StateSealer::new().unwrap(), ServerName::new("files").unwrap());
        let call = Operation { method: Method::CallTool, tool: "say".to_owned(), arguments: json!({}) };
        let state = sealer.seal(&server, &call, QuestionDigest::of(&call, &[], &json!({}), ""), 1, Map::new()).unwrap();
        sealer.began = sealer.began.checked_sub(super::STATE_LIFETIME).unwrap();
        assert_eq!(sealer.open(&state, &server, &call), Err(StateError::Expired));
    }
}
