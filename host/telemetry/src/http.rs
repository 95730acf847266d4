//! Sends a message over HTTP, and says what the receiver's status means for the records in it.

use crate::error::TelemetryError;
use crate::sink::Sent;
use hookhost_models::origin::{carries_a_key, is_in_the_clear};
use hookhost_models::{Timeouts, http_client};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use std::time::Duration;

/// Maximum length of an answer that is read, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// Maximum length of a receiver's words in a message, in characters.
const MAX_REASON: usize = 200;

/// A receiver. It has neither `Display` nor `Debug`, because its headers may contain a key.
pub(crate) struct Receiver {
    client: Client,
    url: Url,
    headers: HeaderMap,
    content_type: &'static str,
    timeout: Duration,
}

impl Receiver {
    /// Creates a receiver.
    ///
    /// # Errors
    /// If a header would be sent unencrypted to another machine, or TLS cannot be set up.
    pub(crate) fn new(
        url: Url,
        headers: HeaderMap,
        content_type: &'static str,
        timeout: Duration,
    ) -> Result<Self, TelemetryError> {
        let setting = |problem: String| TelemetryError::Setting(problem);
        if (!headers.is_empty() || carries_a_key(&url)) && is_in_the_clear(&url) {
            let receiver = url.origin().ascii_serialization();
            return Err(setting(format!("the headers for {receiver} would travel unencrypted: use https")));
        }
        let mut timeouts = Timeouts::default();
        timeouts.connect = timeout;
        timeouts.idle = timeout;
        let client = http_client(&url, timeouts).map_err(|error| setting(error.to_string()))?;
        Ok(Self { client, url, headers, content_type, timeout })
    }

    /// Returns the URL without anything secret.
    pub(crate) fn shown(&self) -> String {
        shown(&self.url)
    }

    /// Sends a message. Returns the body of the answer if the receiver has accepted it.
    ///
    /// # Errors
    /// What has to happen with the records instead.
    pub(crate) async fn post(&self, body: Vec<u8>, headers: HeaderMap) -> Result<Vec<u8>, Sent> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).headers(headers);
        let request = request.header(CONTENT_TYPE, self.content_type).timeout(self.timeout).body(body);
        let later = |because: String| Sent::Later { because: format!("{}: {because}", self.shown()), after: None };
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_builder() => {
                return Err(Sent::Misconfigured { because: "the request cannot be made: check the headers".into() });
            }
            Err(error) if error.is_timeout() => return Err(later("no answer in time".into())),
            Err(error) => return Err(later(root_cause(&error))),
        };
        let status = response.status();
        if status.is_success() {
            return read(response).await.map_err(|error| later(root_cause(&error)));
        }
        let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let words = self.quoted(&read(response).await.unwrap_or_default());
        let because = format!("{}: {status}{words}", self.shown());
        Err(match status.as_u16() {
            300..=399 => Sent::Misconfigured { because: format!("{because}; set the final address") },
            // The address or the credentials are wrong, whatever is sent.
            401..=405 | 407 | 410 => Sent::Misconfigured { because },
            408 | 425 | 429 => Sent::Later { because, after: after.map(Duration::from_secs) },
            400..=499 => Sent::Refused { because },
            _ => Sent::Later { because, after: after.map(Duration::from_secs) },
        })
    }

    /// Returns the receiver's words on one line, without the values of headers.
    fn quoted(&self, body: &[u8]) -> String {
        let mut words = String::from_utf8_lossy(body).into_owned();
        for value in self.headers.values().filter_map(|value| value.to_str().ok()).filter(|value| !value.is_empty()) {
            let secret = value.strip_prefix("Bearer ").unwrap_or(value);
            words = words.replace(secret, "(masked)");
        }
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_shown = |character: &char| !character.is_control() && !hookhost::is_unseen(*character);
        let words: String = words.chars().filter(is_shown).take(MAX_REASON).collect();
        if words.is_empty() { words } else { format!(": {words}") }
    }
}

async fn read(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        body.extend_from_slice(&piece);
        if body.len() >= MAX_ANSWER {
            body.truncate(MAX_ANSWER);
            break;
        }
    }
    Ok(body)
}

/// Reads the address of a receiver.
///
/// # Errors
/// If it is not an http or https URL.
pub(crate) fn parsed(address: &str) -> Result<Url, TelemetryError> {
    let url = address.parse::<Url>().ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| {
        // An address with a user or a query may contain a key.
        let shown = if address.contains(['@', '?']) { "the address" } else { &format!("`{address}`") };
        TelemetryError::Setting(format!("{shown} is not an http or https URL: write one such as http://localhost:4318"))
    })
}

/// Returns a URL without user, password and query.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}

/// Returns the innermost cause, such as "Connection refused".
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
