//! A JSON-RPC message. It is parsed so strictly that every other parser finds the same content in it.
//!
//! A message keeps its original bytes. If a member changes, only this member is serialized again, and all other members keep their
//! original bytes.

mod batch;
mod id;
mod members;
mod outgoing;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

pub use id::{Id, MAX_ID, Number};
use members::{DUPLICATE_ID, check, raw_text};
pub use members::{MAX_VALUES, Members, is_json, raw};
pub use outgoing::OutgoingMessage;

/// Maximum length of a message, in bytes: 16 MiB.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Number of bytes that are stored of each end of a message that is too long.
pub const KEPT_END_SIZE: usize = 1024;

/// Facts that are guessed from an unreadable message. They are used only to send an error to the side that waits for an answer.
#[derive(Default)]
struct EnvelopeGuess {
    id: Option<Id>,
    is_answer: bool,
    /// True if the message has a `result` or an `error`. The identifier alone proves nothing, because a log entry of a server can
    /// also have an `id`.
    has_outcome: bool,
}

impl EnvelopeGuess {
    fn of(text: &str) -> Self {
        match Members::of(text) {
            Ok(members) => Self::by(members.get("id").and_then(Id::of_raw), |key| members.get(key).is_some()),
            // If there are two identifiers, it is unclear which of them is meant.
            Err(why) if why.contains(DUPLICATE_ID) => Self::default(),
            Err(_) => match serde_json::from_str(text) {
                Ok(Value::Object(fields)) => {
                    Self::by(fields.get("id").and_then(Id::of), |key| fields.contains_key(key))
                }
                _ => Self::default(),
            },
        }
    }

    fn by(id: Option<Id>, has: impl Fn(&str) -> bool) -> Self {
        let has_outcome = has("result") || has("error");
        Self { id, is_answer: !has("method"), has_outcome }
    }
}

/// The members that determine the kind of a message.
const ENVELOPE_KEYS: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error"];

/// Returns the error for a message that is too long. `head` and `tail` are the two ends of the message. If one of the ends contains
/// the identifier, the error contains the identifier too. Then the side that waits can get an answer.
pub fn too_long(head: &[u8], tail: &[u8]) -> UnreadableMessage {
    let before = head.iter().skip(1).position(|byte| matches!(byte, b'{' | b'[')).map_or(head, |at| &head[..=at]);
    let after = tail.iter().rposition(|byte| matches!(byte, b'{' | b'[')).map_or(tail, |at| &tail[at..]);
    let is_in = |text: &[u8], key: &str| text.windows(key.len()).any(|part| part == key.as_bytes());
    UnreadableMessage {
        code: INVALID_REQUEST,
        id: id_in(before).or_else(|| id_in(after)),
        is_answer: !is_in(before, "\"method\"") && !is_in(after, "\"method\""),
        answers: Box::default(),
        why: format!("a message has more than {MAX_BYTES} bytes").into(),
    }
}

/// Returns the value after the last `"id"` in a part of a message.
fn id_in(text: &[u8]) -> Option<Id> {
    let key = b"\"id\"";
    let at = text.windows(key.len()).rposition(|part| part == key)?;
    let value = text.get(at + key.len()..)?.trim_ascii_start().strip_prefix(b":")?;
    let value = serde_json::Deserializer::from_slice(value).into_iter::<Value>().next()?.ok()?;
    Id::of(&value)
}

/// Memory that each member of a message takes in addition to its text, in bytes.
const MEMBER_SIZE: usize = 100;

/// The kind of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A request, which expects an answer.
    Request {
        /// The identifier, which the answer repeats.
        id: Id,
        /// The method.
        method: String,
    },
    /// A notification, which expects no answer.
    Notification {
        /// The method.
        method: String,
    },
    /// An answer to a request.
    Response {
        /// The identifier of the request.
        id: Id,
    },
    /// An error about a request whose identifier could not be read.
    ErrorAboutNoRequest,
}

/// A message, with its original bytes. Clones share the bytes and the members.
#[derive(Clone, Debug)]
pub struct Message {
    /// The kind of the message.
    pub kind: MessageKind,
    /// The members of the message.
    pub members: Members,
    /// The bytes of the message, without the line break.
    pub bytes: Bytes,
}

/// The error if a message cannot be parsed. Such a message is not forwarded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct UnreadableMessage {
    /// The JSON-RPC error code.
    pub code: i64,
    /// The identifier in the message, if it could be parsed. Unless the message is an answer, its sender may be waiting for an
    /// answer with this identifier.
    pub id: Option<Id>,
    /// True if the message is an answer, or a batch that contains only answers. In this case, the sender of the message waits for
    /// no answer.
    pub is_answer: bool,
    /// The identifiers of the requests that are answered in a batch. Empty if the message is not a batch.
    pub answers: Box<[Id]>,
    /// The reason, as one sentence.
    pub why: Box<str>,
}

impl UnreadableMessage {
    /// Returns the identifiers of those requests of the other side that the message would have answered.
    pub fn answered_requests(&self) -> impl Iterator<Item = &Id> {
        self.id.iter().filter(|_| self.is_answer).chain(&self.answers)
    }

    /// Returns the error for a message that contains only the answers of this batch. Its sender waits for no answer.
    #[must_use]
    pub fn answers_only(self) -> Self {
        Self { is_answer: true, ..self }
    }
}

/// The error code for a message that is not valid JSON.
pub const PARSE_ERROR: i64 = -32_700;
/// The error code for a message that is not a request.
pub const INVALID_REQUEST: i64 = -32_600;
/// The error code for a request with wrong parameters.
pub const INVALID_PARAMS: i64 = -32_602;
/// The error code for a request that failed internally.
pub const INTERNAL_ERROR: i64 = -32_603;
/// The error code for a request that the rules reject. It is outside of the range that JSON-RPC reserves.
pub const REJECTED: i64 = -31_000;

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// If the bytes are not a JSON-RPC 2.0 message in UTF-8, if an object has a duplicate key at any depth, or if the message is
    /// too large.
    pub fn of(bytes: Bytes) -> Result<Self, UnreadableMessage> {
        let unreadable = |code, EnvelopeGuess { id, is_answer, .. }, why: String| {
            let answers = Box::default();
            UnreadableMessage { code, id, is_answer, answers, why: why.into() }
        };
        if bytes.len() > MAX_BYTES {
            return Err(too_long(&bytes[..KEPT_END_SIZE], &bytes[bytes.len() - KEPT_END_SIZE..]));
        }
        let is_batch = |text: &str| text.trim_start().starts_with('[');
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let text = String::from_utf8_lossy(&bytes);
            if is_batch(&text) {
                return batch::refused(&text);
            }
            unreadable(PARSE_ERROR, EnvelopeGuess::of(&text), format!("a message is not UTF-8: {error}"))
        })?;
        if is_batch(text) {
            return Err(batch::refused(text));
        }
        let members = Members::of(text)
            .map_err(|why| unreadable(PARSE_ERROR, EnvelopeGuess::of(text), format!("a message {why}")))?;
        let has_id = members.get("id").map(|id| id.get() != "null");
        let known = members.get("id").and_then(Id::of_raw);
        let is_answer = members.get("method").is_none();
        let refused = |why: &str| {
            let guess = EnvelopeGuess { id: known.clone(), is_answer, has_outcome: false };
            unreadable(INVALID_REQUEST, guess, why.to_owned())
        };
        // This check is done only after the identifier is known, because the error then names the message that was refused.
        check(text).map_err(|why| refused(&format!("a message {why}")))?;
        if let Some(why) = members.ambiguity(ENVELOPE_KEYS) {
            // No rule has checked the answer yet, so the error must not contain text of the answer.
            let why = if is_answer { "has keys that differ only in case" } else { &why };
            return Err(refused(&format!("a message {why}")));
        }
        let mended = corrected(&members);
        let (members, bytes) = mended.map_or((members, bytes), |mended| (mended.clone(), mended.to_bytes()));
        if members.text("jsonrpc").as_deref() != Some("2.0") {
            return Err(refused("a message is not of JSON-RPC 2.0"));
        }
        let method = match members.get("method") {
            None => None,
            Some(_) => Some(members.text("method").ok_or_else(|| refused("the `method` of a message is not a text"))?),
        };
        let answers = ["result", "error"].iter().filter(|key| members.get(key).is_some()).count();
        let kind = match (method, has_id, known.clone(), answers) {
            (Some(method), None, _, 0) => MessageKind::Notification { method },
            (Some(method), Some(_), Some(id), 0) => MessageKind::Request { id, method },
            (Some(_), Some(_), None, 0) => {
                return Err(refused(
                    "the `id` of a request is neither a text nor a number, or is too large (1024 bytes, integers of 64 bits)",
                ));
            }
            (Some(_), ..) => return Err(refused("a message is both a request and an answer")),
            (None, Some(_), Some(id), 1) => MessageKind::Response { id },
            (None, None | Some(false), None, 1) if members.get("error").is_some() => MessageKind::ErrorAboutNoRequest,
            (None, ..) => return Err(refused("a message is neither a request nor one answer")),
        };
        Ok(Self { kind, members, bytes })
    }

    /// Returns the approximate memory that the message takes, in bytes: its text, the copy of the text in the members, and the members
    /// themselves.
    pub fn memory_size(&self) -> usize {
        2 * self.bytes.len() + MEMBER_SIZE * self.members.len()
    }

    /// Returns the method of a request or a notification.
    pub fn method(&self) -> Option<&str> {
        match &self.kind {
            MessageKind::Request { method, .. } | MessageKind::Notification { method } => Some(method),
            _ => None,
        }
    }

    /// Returns the members of the parameters. Returns no members if the message has no parameters.
    ///
    /// # Errors
    /// If the parameters are not an object.
    pub fn params(&self) -> Result<Members, String> {
        match self.members.get("params") {
            Some(null) if null.get() == "null" => Ok(Members::default()),
            _ => self.members.within("params"),
        }
    }

    /// Returns the answer with its identifier replaced by `id`, which has the spelling that the request used.
    #[must_use]
    pub fn with_id(self, id: &Id) -> Self {
        let is_as_asked = match (&self.kind, id) {
            (MessageKind::Response { id: Id::Number(own) }, Id::Number(asked)) => own.spelling == asked.spelling,
            (MessageKind::Response { id: Id::Text(own) }, Id::Text(asked)) => own == asked,
            _ => false,
        };
        if is_as_asked {
            return self;
        }
        let members = self.members.with("id", raw_text(id.to_json()));
        Self { kind: MessageKind::Response { id: id.clone() }, bytes: members.to_bytes(), members }
    }

    /// Returns the message with other parameters.
    pub fn with_params(&self, params: &Members) -> OutgoingMessage {
        self.members.with("params", params.to_raw()).to_bytes().into()
    }

    /// Returns the message with this result. If the result is unchanged, returns the original message.
    pub fn with_result_or_as_it_came(&self, result: &Members) -> OutgoingMessage {
        let is_own = self.members.within("result").is_ok_and(|own| own.to_json() == result.to_json());
        if is_own { self.into() } else { self.with_result(result.to_raw()) }
    }

    /// Returns the message with this error. If `error` is `None`, returns the original message.
    pub fn with_error(&self, error: Option<Value>) -> OutgoingMessage {
        error.map_or_else(|| self.into(), |error| self.members.with("error", raw(&error)).to_bytes().into())
    }

    /// Returns the message with another result.
    pub fn with_result(&self, result: Box<RawValue>) -> OutgoingMessage {
        self.members.with("result", result).to_bytes().into()
    }
}

/// Returns an answer with an error.
pub fn error(id: Option<&Id>, code: i64, why: &str) -> Bytes {
    let id = id.map_or_else(|| "null".to_owned(), Id::to_json);
    let why = Value::from(why);
    Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{why}}}}}"#))
}

/// Returns an answer with a result.
pub fn result(id: &Id, result: &Value) -> Bytes {
    Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// Replaces line feeds and carriage returns by spaces, so that the message is a single line. The content of the message stays the
/// same.
pub fn on_one_line(bytes: Bytes) -> Bytes {
    if !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return bytes;
    }
    // Valid JSON can contain these bytes only between tokens.
    bytes.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

/// Returns the members of a message that was corrected to follow JSON-RPC 2.0. Only clear deviations are corrected: a missing
/// version, or an answer that contains both a result and an error if one of the two is `null`. Returns `None` if there is nothing
/// to correct.
fn corrected(members: &Members) -> Option<Members> {
    let is_null = |key| members.get(key).is_some_and(|value| value.get() == "null");
    // A missing version is not added if there are unknown members, because the object may be a log entry of a server.
    if members.get("jsonrpc").is_none() && members.keys().all(|key| ENVELOPE_KEYS.contains(&key)) {
        let versioned = members.with("jsonrpc", raw(&Value::from("2.0")));
        return Some(corrected(&versioned).unwrap_or(versioned));
    }
    match (members.get("result"), members.get("error")) {
        (Some(_), Some(_)) if is_null("error") => Some(members.without("error")),
        (Some(_), Some(_)) if is_null("result") => Some(members.without("result")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, Message, MessageKind, UnreadableMessage};
    use bytes::Bytes;

    fn read(text: &str) -> Result<Message, UnreadableMessage> {
        Message::of(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn a_message_is_a_request_a_notification_or_one_answer() {
        let kind = |text: &str| read(text).unwrap().kind;
        let (one, method) = (Id::from(1), "ping".to_owned());
        assert_eq!(
            kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
            MessageKind::Request { id: one.clone(), method: method.clone() }
        );
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"ping"}"#), MessageKind::Notification { method });
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), MessageKind::Response { id: one });
        assert_eq!(
            kind(r#"{"jsonrpc":"2.0","id":"1","error":{}}"#),
            MessageKind::Response { id: Id::Text("1".into()) }
        );
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#), MessageKind::ErrorAboutNoRequest);
    }

    #[test]
    fn an_object_of_many_keys_is_read_soon_or_refused() {
        let of = |count: usize, last: &str| {
            let keys: String = (0..count).map(|n| format!("\"k{n}\":0,")).collect();
            read(&format!(r#"{{{keys}"{last}":0}}"#)).unwrap_err().to_string()
        };
        assert!(of(90_000, "k0").contains("twice") && of(90_000, "k89999").contains("twice"));
        assert!(of(1_000_000, "k").contains("more than 100000"));
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        for (text, says) in [
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "batch"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#, "twice"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#, "twice"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"b":1,"b":2}}}"#, "twice"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, "both"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, "neither"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "neither"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"tools/call"}"#, "neither a text nor a number"),
            (r#"{"jsonrpc":"2.0","id":1,"method":["tools/call"]}"#, "not a text"),
            (r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"tools/call"}"#, "64 bits"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"tools/call"}"#, "neither a text nor a number"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "2.0"),
            (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, "2.0"),
            (r#"{"jsonrpc":null,"id":1,"method":"ping"}"#, "2.0"),
            (r#"{"level":30,"id":1,"method":"GET"}"#, "2.0"),
            ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "JSON object"),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\0\"}", "JSON object"),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0", "JSON object"),
            (r#"{"jsonrpc":"2.0"} {}"#, "JSON object"),
            ("nonsense", "JSON object"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{"a":{"$serde_json::private::RawValue":"{}"}}}"#, "reserves"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"$serde_json::private::Number":"1"}}"#, "reserves"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.why.contains(says), "{text}: {refused}");
        }
    }

    #[test]
    fn a_number_that_is_too_long_keeps_its_digits_and_rules_read_them_as_a_text() {
        let long = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        for number in [long, "-9223372036854775809", "1E400"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"n":{number},"z":1}}}}"#);
            let message = read(&text).unwrap();
            assert_eq!(message.bytes, text);
            assert_eq!(message.params().unwrap().value("n"), Some(number.into()));
        }
        let refused = read(&format!(r#"{{"jsonrpc":"2.0","id":{long},"error":{{}}}}"#));
        assert!(refused.is_err(), "nobody knows whose answer it is");
    }

    #[test]
    fn what_each_reader_reads_alike_is_taken() {
        for (text, read_as) in [
            (r#"{"id":1,"method":"ping"}"#, r#"{"id":1,"method":"ping","jsonrpc":"2.0"}"#),
            (r#"{"id":1,"result":{},"error":null}"#, r#"{"id":1,"result":{},"jsonrpc":"2.0"}"#),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"x"}}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
            ),
            (r#"{"jsonrpc":"2.0", "id":1.50,"method":"x"}"#, r#"{"jsonrpc":"2.0", "id":1.50,"method":"x"}"#),
        ] {
            assert_eq!(read(text).unwrap().bytes, read_as, "{text}");
        }
        let nothing = read(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#).unwrap();
        assert_eq!(nothing.params().unwrap().keys().count(), 0);
        assert!(read(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":7}"#).unwrap().params().is_err());
    }

    #[test]
    fn an_id_is_a_value_and_an_answer_has_it_as_its_request_wrote_it() {
        let id = |text: &str| match read(&format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"x"}}"#)).unwrap().kind {
            MessageKind::Request { id, .. } => id,
            other => panic!("{other:?}"),
        };
        for (one, other, is_same) in [
            ("2", "2.0", true),
            ("100", "1e2", true),
            ("0", "-0", true),
            ("1.5", "15e-1", true),
            ("1", "\"1\"", false),
            ("9007199254740993", "9007199254740992", false),
            ("9007199254740993", "9007199254740993.0", false),
            ("1.5", "1.25", false),
        ] {
            assert_eq!(id(one) == id(other), is_same, "{one} {other}");
            assert_eq!((id(one).to_json(), id(other).to_json()), (one.to_owned(), other.to_owned()));
        }
        let answered = |answer: &str, request: &str| read(answer).unwrap().with_id(&id(request)).bytes;
        let answer = r#"{"jsonrpc":"2.0","id":2.0,"result": [ 1 ]}"#;
        assert_eq!(answered(answer, "2"), r#"{"jsonrpc":"2.0","id":2,"result":[ 1 ]}"#);
        assert_eq!(answered(answer, "2.0"), answer, "it is as it came");
        assert_eq!(answered(answer, "\"2\""), r#"{"jsonrpc":"2.0","id":"2","result":[ 1 ]}"#);
    }

    #[test]
    fn a_message_that_is_not_utf_8_is_refused_by_its_id_where_that_can_be_read() {
        let of = |bytes: &[u8]| {
            let refused = Message::of(Bytes::copy_from_slice(bytes)).unwrap_err();
            (refused.id, refused.is_answer)
        };
        let answer = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"text\":\"caf\xe9\"}}";
        assert_eq!(of(answer), (Some(Id::from(7)), true));
        assert_eq!(of(&answer[..answer.len() - 2]), (None, false), "half of a message");
        assert_eq!(of(b"{\"id\":7,\"id\":8,\"result\":\"\xff\"}"), (None, false));
    }

    #[test]
    fn an_identifier_that_is_too_long_is_refused() {
        let of = |bytes: usize| read(&format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(bytes)));
        assert!(of(super::MAX_ID).is_ok());
        assert!(of(super::MAX_ID + 1).is_err_and(|refused| refused.id.is_none()));
    }

    #[test]
    fn nothing_of_what_an_answer_says_is_repeated_in_why_it_is_refused() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"sk-1":1,"sk-1":2}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"sk-1":1,"sk-1":2}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"sk-1":1,"SK-1":2}"#,
            r#"{"jsonrpc":"sk-1","id":1,"result":{}}"#,
            r#""sk-1""#,
        ] {
            let refused = read(text).unwrap_err();
            assert!(!refused.why.to_lowercase().contains("sk-1"), "{text}: {refused}");
        }
        for text in ["\"sk-1\"", " [\"sk-1\"]", "sk-1"] {
            assert_eq!(super::Members::of(text).unwrap_err(), "is not a JSON object");
        }
    }

    #[test]
    fn a_key_that_some_readers_take_for_another_one_is_refused() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","PARAMS":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"re\u017fult":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","x":1,"X":2}"#,
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.why.contains("only in case") && refused.id == Some(Id::from(1)), "{text}: {refused}");
        }
    }

    #[test]
    fn a_message_of_which_only_both_ends_are_known_says_whose_it_is() {
        let of = |head: &str, tail: &str| {
            let refused = super::too_long(head.as_bytes(), tail.as_bytes());
            (refused.id, refused.is_answer)
        };
        assert_eq!(of(r#"{"jsonrpc":"2.0","id": 7 ,"result":{"id":8,"#, "xxx\"}}"), (Some(Id::from(7)), true));
        assert_eq!(
            of(r#"{"result":{"id":8,"#, r#"xx"}],"jsonrpc":"2.0","id":"a"}"#),
            (Some(Id::Text("a".into())), true)
        );
        assert_eq!(of(r#"{"method":"x","id":7,"params":["#, "]}"), (Some(Id::from(7)), false));
        assert_eq!(of(r#"{"result":{"id":8,"#, r#""id":9}}"#), (Some(Id::from(9)), true), "only a guess");
        assert_eq!(of("", ""), (None, true));
    }

    #[test]
    fn a_message_that_can_be_told_apart_is_refused_by_its_id() {
        let refused = read(r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"b":1,"b":2}}"#).unwrap_err();
        assert_eq!((refused.id, refused.is_answer), (Some(Id::from(7)), false));
        let refused = read(r#"{"jsonrpc":"2.0","id":7,"result":{"b":1,"b":2}}"#).unwrap_err();
        assert_eq!((refused.id, refused.is_answer), (Some(Id::from(7)), true));
    }

    #[test]
    fn many_small_values_are_counted_before_anything_is_made_of_them() {
        let many = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":[{}0]}}}}"#, "0,".repeat(super::MAX_VALUES));
        assert!(read(&many).unwrap_err().why.contains("values"));
        let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        assert!(read(&deep).is_err());
    }

    #[test]
    fn all_but_what_changes_keeps_its_bytes() {
        let text = r#"{ "jsonrpc" : "2.0", "id": 1.0e0, "x": [ 1.50 ] }"#;
        let members = super::Members::of(text).unwrap();
        let changed = members.with("id", super::raw(&2.into()));
        assert_eq!(changed.to_json(), r#"{"jsonrpc":"2.0","id":2,"x":[ 1.50 ]}"#);
    }
}
