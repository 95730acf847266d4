//! A webhook with the signature of Standard Webhooks, which the receiver can verify.
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
//!
//! A message contains only metadata: no argument, result or reason.

use crate::described::{Described, machine_id};
use crate::error::TelemetryError;
use crate::http::Receiver;
use crate::lines::as_json;
use crate::sink::{Entry, Sent, Sink};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use hookhost::audit::{DeliveryKind, Record};
use hookhost::contract::{Cause, OutcomeKind};
use hookhost::store::Position;
use hookhost_agents::clock::now;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::json;
use sha2::Sha256;
use std::time::Duration;

/// Time to wait for the receiver.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Minimum length of a secret, in bytes. The specification demands it.
const MIN_SECRET: usize = 24;

/// What a message is sent about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Occasion {
    /// Rules rejected an event or withheld a value.
    Rejected,
    /// A person is asked.
    Escalated,
    /// An event was rejected because a plugin failed, or because hookhost could not judge it.
    Failed,
    /// An agent got no outcome in time.
    Unanswered,
}

impl Occasion {
    /// Returns what a record is an occasion for.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        match record {
            Record::Event(event) => match event.outcome {
                OutcomeKind::Escalated => Some(Self::Escalated),
                OutcomeKind::Rejected | OutcomeKind::Withheld => Some(match event.cause {
                    Some(Cause::Verdict | Cause::Disagreement | Cause::NotApproved | Cause::Overridable) | None => {
                        Self::Rejected
                    }
                    Some(_) => Self::Failed,
                }),
                _ => None,
            },
            Record::Delivery(delivery) if delivery.what == DeliveryKind::Unanswered => Some(Self::Unanswered),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Escalated => "escalated",
            Self::Failed => "failed",
            Self::Unanswered => "unanswered",
        }
    }
}

/// The secret of the signatures. It has neither `Display` nor `Debug`, so it cannot be printed.
pub(crate) struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// Reads a secret in the notation `whsec_` and base64.
    ///
    /// # Errors
    /// The fault of the secret.
    pub(crate) fn parse(text: &str) -> Result<Self, TelemetryError> {
        let bytes = text.trim().strip_prefix("whsec_").and_then(|text| STANDARD.decode(text).ok());
        match bytes {
            Some(bytes) if bytes.len() >= MIN_SECRET => Ok(Self(bytes)),
            _ => Err(TelemetryError::Setting(format!(
                "the secret of the webhook must be `whsec_` and at least {MIN_SECRET} bytes in base64"
            ))),
        }
    }

    /// Returns the signature of a message, as the value of the header `webhook-signature`.
    pub(crate) fn signature(&self, id: &str, seconds: u64, body: &str) -> String {
        // HMAC accepts keys of every length, so this has no other case.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        mac.update(format!("{id}.{seconds}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// The sink of the webhook.
pub(crate) struct Webhook {
    receiver: Receiver,
    secret: WebhookSecret,
    on: Vec<Occasion>,
    /// The last record that was sent. If a later one of its batch fails, the batch comes again.
    sent: u64,
}

impl Webhook {
    /// Creates the webhook.
    ///
    /// # Errors
    /// If the URL cannot be used.
    pub(crate) fn new(url: Url, secret: WebhookSecret, on: Vec<Occasion>) -> Result<Self, TelemetryError> {
        let receiver = Receiver::new(url, HeaderMap::new(), "application/json", TIMEOUT)?;
        Ok(Self { receiver, secret, on, sent: 0 })
    }

    async fn send_one(&self, entry: &Entry, occasion: Occasion) -> Sent {
        let machine = machine_id(&entry.log);
        let described = as_json(Described::of(entry, &machine, false));
        let body = json!({ "type": format!("hookhost.{}", occasion.name()), "timestamp": described["time"], "data": described });
        self.post(&format!("msg_{machine}_{}", entry.line.seq()), &body.to_string()).await
    }

    /// Sends a message that is marked as a test.
    pub(crate) async fn test(&self) -> Result<(), String> {
        let id = format!("msg_test_{}", now());
        self.post(&id, &json!({ "type": "hookhost.test", "data": {} }).to_string()).await.tested()
    }

    /// Sends one message. `id` is the same if the message is sent again, so that the receiver can ignore the copy.
    pub(crate) async fn post(&self, id: &str, body: &str) -> Sent {
        let seconds = now() / 1000;
        let mut headers = HeaderMap::new();
        let parts = [
            ("id", id.to_owned()),
            ("timestamp", seconds.to_string()),
            ("signature", self.secret.signature(id, seconds, body)),
        ];
        for (name, value) in parts {
            let name = HeaderName::try_from(format!("webhook-{name}"));
            if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        }
        match self.receiver.post(body.as_bytes().to_vec(), headers).await {
            Ok(_) => Sent::All,
            Err(sent) => sent,
        }
    }
}

impl Sink for Webhook {
    fn name(&self) -> &str {
        "webhook"
    }

    fn begin(&mut self, _: Option<&Position>) {
        self.sent = 0;
    }

    async fn send(&mut self, entries: &[Entry]) -> Sent {
        for entry in entries {
            let wanted = Occasion::of(&entry.record).filter(|occasion| self.on.contains(occasion));
            let Some(occasion) = wanted.filter(|_| entry.line.seq() > self.sent) else { continue };
            match self.send_one(entry, occasion).await {
                Sent::All => self.sent = entry.line.seq(),
                other => return other,
            }
        }
        Sent::All
    }
}

#[cfg(test)]
mod tests {
    use super::WebhookSecret;

    #[test]
    fn the_signature_is_that_of_the_specification() {
        // The example of the specification's libraries.
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = secret.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_that_is_too_short_or_has_no_prefix_is_refused() {
        for secret in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
            assert!(WebhookSecret::parse(secret).is_err(), "{secret}");
        }
    }
}
