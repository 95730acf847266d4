//! Requests of ACS (JSON-RPC 2.0), refusals of requests, and responses.

use super::VERSION;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// A request that has a valid envelope. Some members of `params` may still be missing or invalid.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) session: Option<String>,
}

impl Request {
    pub(super) fn of(mut envelope: Value) -> Result<Self, Refusal> {
        if envelope.is_array() {
            return Err(Refusal::invalid("a request is one JSON object; batches are not taken"));
        }
        let text = |key: &str| envelope.get(key).and_then(Value::as_str);
        if text("jsonrpc") != Some("2.0") {
            return Err(Refusal::invalid("`jsonrpc` is not \"2.0\""));
        }
        let id = envelope.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
        let id = id.ok_or_else(|| {
            Refusal::invalid(
                "`id` must be a string or a number; notifications (requests without `id`) are not supported",
            )
        })?;
        let method = text("method").ok_or_else(|| Refusal::invalid("`method` is missing"))?.to_owned();
        let params = envelope.get_mut("params").map(Value::take).filter(Value::is_object);
        let params = params.ok_or_else(|| Refusal::invalid("`params` is not an object"))?;
        let session = params["metadata"]["session_id"].as_str().filter(|session| !session.is_empty());
        let session = session.map(str::to_owned);
        Ok(Self { id, method, params, session })
    }

    pub(super) fn session(&self) -> Result<&str, Refusal> {
        self.session.as_deref().ok_or_else(|| Refusal::params("`metadata.session_id` is missing"))
    }

    pub(super) fn request_id(&self) -> Result<Uuid, Refusal> {
        let id = self.params["request_id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
        id.ok_or_else(|| Refusal::params("`request_id` is not a UUID"))
    }

    pub(super) fn timestamp(&self) -> Result<Timestamp, Refusal> {
        let sent = self.params["timestamp"].as_str().and_then(|time| time.parse().ok());
        sent.ok_or_else(|| Refusal::params("`timestamp` is not an ISO 8601 time with a UTC offset"))
    }

    pub(super) fn check_version(&self) -> Result<(), Refusal> {
        match self.params["acs_version"].as_str() {
            Some(version) if is_ours(version) => Ok(()),
            Some(_) => Err(Refusal::version()),
            None => Err(Refusal::params("`acs_version` is missing")),
        }
    }

    /// Returns the method's payload, or an empty object if there is none.
    pub(super) fn payload(&self) -> &Map<String, Value> {
        static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        self.params["payload"].as_object().unwrap_or(&NONE)
    }

    /// Returns the response with this result.
    pub(super) fn response(&self, mut result: Value) -> Value {
        result["type"] = json!("final");
        result["acs_version"] = json!(VERSION);
        result["request_id"] = self.params["request_id"].clone();
        json!({ "jsonrpc": "2.0", "id": self.id, "result": result })
    }
}

/// Returns true if this Guardian supports a version. The Guardian supports all versions that have the same major number
/// as its own version.
pub(super) fn is_ours(version: &str) -> bool {
    let numbers: Vec<&str> = version.split('.').collect();
    numbers.len() == 3 && numbers[0] == "0" && numbers.iter().all(|number| number.parse::<u32>().is_ok())
}

/// A refusal of a request. It consists of the error code, the name of the reason and a sentence.
#[derive(Debug)]
pub(super) struct Refusal {
    code: i32,
    reason: &'static str,
    message: String,
    more: Option<Box<(&'static str, Value)>>,
}

impl Refusal {
    fn new(code: i32, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), more: None }
    }

    pub(super) fn parse(why: &str) -> Self {
        Self::new(-32700, "parse_error", why)
    }

    pub(super) fn invalid(why: &str) -> Self {
        Self::new(-32600, "invalid_request", why)
    }

    pub(super) fn method(method: &str) -> Self {
        Self::new(-32601, "method_not_found", format!("there is no method `{method}` here"))
    }

    pub(super) fn params(why: &str) -> Self {
        Self::new(-32602, "invalid_params", why)
    }

    pub(super) fn session(why: &str) -> Self {
        Self::new(-32000, "session_refused", why)
    }

    pub(super) fn version() -> Self {
        let mut refusal = Self::new(-32001, "unsupported_version", format!("this Guardian speaks {VERSION}"));
        refusal.more = Some(Box::new(("supported_versions", json!([VERSION]))));
        refusal
    }

    pub(super) fn not_negotiated(method: &str) -> Self {
        let why = "nothing is negotiated for this session: send `handshake/hello` first";
        let mut refusal = Self::new(-32003, "capability_not_negotiated", why);
        refusal.more = Some(Box::new(("method", json!(method))));
        refusal
    }

    pub(super) fn signature(why: &str) -> Self {
        Self::new(-32004, "signature_invalid", why)
    }

    pub(super) fn replay(why: &str) -> Self {
        Self::new(-32005, "replay_detected", why)
    }

    pub(super) fn out_of_window(skew: SignedDuration) -> Self {
        let why = "the request is too old or too new, or was sent before this Guardian began";
        let mut refusal = Self::new(-32006, "timestamp_out_of_window", why);
        refusal.more = Some(Box::new(("skew_window_ms", json!(u64::try_from(skew.as_millis()).unwrap_or(u64::MAX)))));
        refusal
    }

    /// Returns the reason as a sentence for the log.
    pub(super) fn sentence(&self) -> String {
        format!("the agent's request was refused with {} ({}): {}", self.code, self.reason, self.message)
    }

    pub(super) fn response(&self, id: &Value) -> Value {
        let mut data = json!({ "reason": self.reason, "message": self.message });
        if let Some(more) = &self.more {
            let (key, value) = &**more;
            data[*key] = value.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": self.code, "message": self.message, "data": data } })
    }
}
