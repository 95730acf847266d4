//! Signs and verifies envelopes. A signature is the HMAC-SHA256 of the canonical JSON (RFC 8785) of an envelope without
//! its signature. The key of a session is derived from the secret with HKDF-SHA256, without a salt and with the
//! session's id as the info.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hkdf::Hkdf;
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

/// The algorithm's name.
pub const ALGORITHM: &str = "HMAC-SHA256";

/// Minimum length of a secret, in bytes. A shorter secret can be guessed.
pub const MIN_SECRET: usize = 32;

/// The id of the agent's key. The standard does not define the names of keys.
const KEY_ID: &str = "default";

/// The secret that an agent and the Guardian share.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Creates a secret that consists of exactly these bytes.
    ///
    /// # Errors
    /// Returns an error if there are fewer than [`MIN_SECRET`] bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, String> {
        let bytes = bytes.into();
        if bytes.len() < MIN_SECRET {
            return Err(format!("the secret has {} bytes, and needs at least {MIN_SECRET}", bytes.len()));
        }
        Ok(Self(bytes))
    }

    /// Signs the response.
    pub(super) fn sign(&self, mut response: Value, session: &str) -> Value {
        let Ok(mac) = self.mac(&response, session) else { return response };
        let value = STANDARD.encode(mac.finalize().into_bytes());
        let part = if response.get("error").is_some() { "error" } else { "result" };
        response[part]["signature"] = json!({ "algorithm": ALGORITHM, "value": value, "key_id": KEY_ID });
        response
    }

    /// Verifies the signature of a request. `unsigned` is the envelope without its signature.
    pub(super) fn verify(&self, unsigned: &Value, signature: Option<&Value>, session: &str) -> Result<(), String> {
        let signature = signature.ok_or("the request is not signed")?;
        if signature["algorithm"] != ALGORITHM {
            return Err(format!("the signature is not of {ALGORITHM}"));
        }
        let value = signature["value"].as_str().and_then(|value| STANDARD.decode(value).ok());
        let value = value.ok_or("the signature is not base64")?;
        let mac = self.mac(unsigned, session)?;
        mac.verify_slice(&value).map_err(|_| "the signature is not of this request and this session".to_owned())
    }

    fn mac(&self, envelope: &Value, session: &str) -> Result<Hmac<Sha256>, String> {
        let mut key = [0; 32];
        let derived = Hkdf::<Sha256>::new(None, &self.0).expand(session.as_bytes(), &mut key);
        derived.map_err(|error| format!("no key can be derived: {error}"))?;
        let canonical = serde_json_canonicalizer::to_vec(envelope);
        let canonical = canonical.map_err(|error| format!("the envelope has no canonical form: {error}"))?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|error| error.to_string())?;
        mac.update(&canonical);
        Ok(mac)
    }
}

/// Returns true if a value contains an integer beyond ±(2^53 - 1). The canonical form writes such an integer as a
/// double, so adjacent integers can have the same canonical form.
pub(super) fn is_ambiguous(value: &Value) -> bool {
    const MAX_EXACT: u64 = (1 << 53) - 1;
    match value {
        Value::Number(number) => {
            let beyond = |size: u64| size > MAX_EXACT;
            number.as_u64().is_some_and(beyond) || number.as_i64().is_some_and(|number| beyond(number.unsigned_abs()))
        }
        Value::Array(list) => list.iter().any(is_ambiguous),
        Value::Object(object) => object.values().any(is_ambiguous),
        _ => false,
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Returns a request that is signed as an agent would sign it.
#[cfg(test)]
pub(super) fn signed(secret: &Secret, mut request: Value, session: &str) -> Value {
    let mac = secret.mac(&request, session).unwrap();
    let value = STANDARD.encode(mac.finalize().into_bytes());
    request["params"]["signature"] = json!({ "algorithm": ALGORITHM, "value": value, "key_id": KEY_ID });
    request
}

#[cfg(test)]
mod tests {
    use super::{Secret, signed};
    use serde_json::{Value, json};

    fn secret() -> Secret {
        Secret::new(b"0123456789abcdef0123456789abcdef".to_vec()).unwrap()
    }

    fn verified(request: &Value, session: &str) -> Result<(), String> {
        let mut request = request.clone();
        let signature = request["params"].as_object_mut().unwrap().remove("signature");
        secret().verify(&request, signature.as_ref(), session)
    }

    #[test]
    fn a_signature_is_of_one_request_and_one_session() {
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "steps/userMessage", "params": { "a": [1.0, "é"] } });
        let request = signed(&secret(), request, "s-1");
        assert_eq!(verified(&request, "s-1"), Ok(()));
        assert!(verified(&request, "s-2").is_err());
        for changed in ["/id", "/method", "/params/a/0"] {
            let mut other = request.clone();
            *other.pointer_mut(changed).unwrap() = json!("changed");
            assert!(verified(&other, "s-1").is_err(), "{changed}");
        }
        let mut other = request.clone();
        other["params"].as_object_mut().unwrap().remove("signature");
        assert_eq!(verified(&other, "s-1"), Err("the request is not signed".to_owned()));
        let mut other = request;
        other["params"]["signature"]["algorithm"] = json!("none");
        assert!(verified(&other, "s-1").is_err());
    }

    #[test]
    fn the_order_of_members_and_the_spelling_of_numbers_are_not_signed() {
        let request = signed(&secret(), json!({ "b": 1.0, "a": "x", "params": {} }), "s");
        let text = request.to_string();
        let spelt = text.replacen("1.0", "1", 1);
        assert_ne!(text, spelt);
        assert_eq!(verified(&serde_json::from_str(&spelt).unwrap(), "s"), Ok(()));
    }

    #[test]
    fn an_integer_that_a_double_does_not_hold_is_ambiguous() {
        for (text, ambiguous) in [("9007199254740991", false), ("9007199254740992", true), ("-9007199254740992", true)]
        {
            let value = serde_json::from_str(&format!(r#"{{"a":[{text}]}}"#)).unwrap();
            assert_eq!(super::is_ambiguous(&value), ambiguous, "{text}");
        }
    }

    #[test]
    fn a_short_secret_is_refused() {
        assert!(Secret::new(b"short".to_vec()).is_err());
    }
}
