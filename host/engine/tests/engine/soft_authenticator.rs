//! An authenticator in software, for tests: what it creates and signs is what a browser returns.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hookhost::contract::PasskeyProof;
use hookhost::passkey::NewPasskey;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};

/// The beginning of a `SubjectPublicKeyInfo` of a P-256 key (RFC 5480), which the 65 bytes of the point follow.
const P256: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";

/// An ES256 key, and what the authenticator and the browser say about a signature.
pub(crate) struct SoftAuthenticator {
    key: EcdsaKeyPair,
    pub(crate) id: String,
    pub(crate) origin: &'static str,
    pub(crate) relying_party: &'static str,
    pub(crate) purpose: &'static str,
    pub(crate) more_client_data: &'static str,
    pub(crate) flags: u8,
}

impl SoftAuthenticator {
    pub(crate) fn new(id: &str) -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random).unwrap();
        let (origin, relying_party) = ("http://localhost:40123", "localhost");
        let (purpose, more_client_data) = ("webauthn.get", "");
        let id = URL_SAFE_NO_PAD.encode(id);
        Self { key, id, origin, relying_party, purpose, more_client_data, flags: 0b101 }
    }

    pub(crate) fn new_passkey(&self, name: &str) -> NewPasskey {
        let key = [P256, self.key.public_key().as_ref()].concat();
        let new = serde_json::json!({ "id": self.id, "key": URL_SAFE_NO_PAD.encode(key), "name": name });
        serde_json::from_value(new).unwrap()
    }

    /// Signs a challenge in base64url.
    pub(crate) fn sign(&self, challenge: &str) -> PasskeyProof {
        let Self { purpose, origin, more_client_data, .. } = self;
        let client_data = format!(
            r#"{{"type":"{purpose}","challenge":"{challenge}","origin":"{origin}","crossOrigin":false{more_client_data}}}"#
        );
        let relying_party = digest(&SHA256, self.relying_party.as_bytes());
        let authenticator_data = [relying_party.as_ref(), &[self.flags], &[0; 4]].concat();
        let signed = [&authenticator_data, digest(&SHA256, client_data.as_bytes()).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        PasskeyProof {
            credential: self.id.clone(),
            client_data: URL_SAFE_NO_PAD.encode(client_data),
            authenticator_data: URL_SAFE_NO_PAD.encode(authenticator_data),
            signature: URL_SAFE_NO_PAD.encode(signature),
        }
    }
}
