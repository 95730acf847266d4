//! Passkeys: keys with which a person signs a yes, so that no program of the same user can give it.
//!
//! A browser creates a passkey and signs with it (WebAuthn, <https://www.w3.org/TR/webauthn-3/>) after the person was
//! present and was verified by the authenticator. This module verifies the signatures. It parses neither CBOR nor COSE:
//! the key comes as a `SubjectPublicKeyInfo` from the browser's `getPublicKey()`.
//!
//! [`Passkeys`] is the result of all changes so far. Each change contains its own proofs, and each proof covers the
//! changes before it. So whoever has the list of changes can verify it, without trust in the program that wrote it.

use crate::config::Digest;
use crate::contract::PasskeyProof;
use crate::unseen::is_unseen;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The relying party of each passkey: the host name of the page.
const RELYING_PARTY: &str = "localhost";

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 64;

/// Maximum length of each part of a proof and of a key, in bytes of base64url. A key for RSA with 8192 bits has 1.5 KiB.
const MAX_PART: usize = 8192;

/// Flags of the authenticator's data: the person was present, and was verified.
/// <https://www.w3.org/TR/webauthn-3/#authdata-flags>
const PRESENT_AND_VERIFIED: u8 = 0b101;

/// The 32 bytes that an authenticator signs. The text form is base64url, as in the client data of a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge(Digest);

impl Challenge {
    /// Returns the challenge that is signed to answer a question with yes. `question` is the digest of the question as
    /// it is stored, which is the text that the person is shown.
    pub(crate) fn to_answer(question: Digest, for_session: bool) -> Self {
        let answer: &[u8] = if for_session { b"yes-for-session" } else { b"yes" };
        Self::over(&[b"hookhost approval 1", answer, question.as_bytes()])
    }

    fn over(parts: &[&[u8]]) -> Self {
        Self(Digest::of_bytes(&parts.join(&0)))
    }

    /// Returns the 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.as_bytes()))
    }
}

/// A passkey that a person wants to register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct NewPasskey {
    /// Identifier of the credential, base64url without padding (`rawId`).
    pub id: String,
    /// The public key as `SubjectPublicKeyInfo`, base64url without padding (`getPublicKey()`).
    pub key: String,
    /// A name by which the person recognises the passkey, at most 64 bytes.
    pub name: String,
}

/// A change of the registered passkeys, as the log records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PasskeyChange {
    /// A passkey was registered.
    Add {
        /// The passkey.
        #[serde(flatten)]
        new: NewPasskey,
        /// The new passkey's own signature, which proves that the person has it and that it verifies the person.
        own: PasskeyProof,
        /// The signature of a passkey that was registered before. Only the first passkey has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<PasskeyProof>,
    },
    /// A passkey was removed.
    Remove {
        /// Identifier of the credential.
        id: String,
        /// The signature of a registered passkey, which may be the removed one.
        by: PasskeyProof,
    },
}

/// A registered passkey.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passkey {
    /// Identifier of the credential, base64url without padding.
    pub id: String,
    /// The name that the person gave to it.
    pub name: String,
    /// Time of the registration, in milliseconds since the Unix epoch.
    pub added: u64,
    key: Vec<u8>,
}

/// The registered passkeys.
///
/// As soon as one is registered, each yes needs a [`PasskeyProof`]. A no needs none.
///
/// ```
/// use hookhost::approval::Approval;
/// use hookhost::contract::PasskeyProof;
/// use hookhost::passkey::NewPasskey;
/// use hookhost::{Config, Host};
///
/// # async fn example(state: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
/// let host = Host::builder(Config::empty()).store(state.join("hookhost.db")).share_questions().build().await?;
///
/// // Registration. The browser has created a credential (`navigator.credentials.create`, attestation `none`). Then it
/// // signs this challenge with the new passkey, and with an earlier one if there is one (`navigator.credentials.get`).
/// # let (sign, new): (fn(String) -> PasskeyProof, NewPasskey) = unimplemented!();
/// let challenge = host.passkeys().await?.challenge_to_add(&new).to_string();
/// host.add_passkey(new, sign(challenge), None).await?;
///
/// // An answer. `request` is what the person is shown, and `challenge` is what the browser signs.
/// for request in host.questions().await? {
///     let Some(challenge) = request.challenge(false) else { continue };
///     let yes = Approval::yes().by("ada").via("page").from("page").proof(sign(challenge.to_string()));
///     host.answer(&request.id, yes).await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passkeys {
    registered: Vec<Passkey>,
    /// After each change, the digest of all changes so far.
    history: Vec<Digest>,
    /// The reason why the list cannot be trusted.
    altered: Option<String>,
}

/// The reason why a proof does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidProof {
    /// There is no signature of a passkey.
    #[error("it has no signature of a passkey")]
    Missing,
    /// A part of the proof cannot be read.
    #[error("its proof cannot be read: {0}")]
    Unreadable(&'static str),
    /// No such passkey is registered.
    #[error("it is signed with a passkey that is not registered")]
    NotRegistered,
    /// The signature was made for another purpose than to sign in.
    #[error("its signature was made for another purpose (`{0}`)")]
    OtherPurpose(String),
    /// The signature belongs to another question, another answer or another change.
    #[error("its signature belongs to another question or answer")]
    OtherChallenge,
    /// The signature was made on another page.
    #[error("its signature was made on the page of another server (`{0}`)")]
    OtherOrigin(String),
    /// The signature was made in a frame of another page.
    #[error("its signature was made in a frame of another page")]
    Framed,
    /// The passkey belongs to another relying party.
    #[error("its passkey does not belong to `localhost`")]
    OtherRelyingParty,
    /// The authenticator did not verify the person.
    #[error("its authenticator did not check that the person is there and is the right one")]
    NotVerified,
    /// The signature is wrong, or the key is of a kind that is not supported.
    #[error("its signature is wrong, or its key is none of ES256, EdDSA and RS256")]
    Signature,
    /// The approval is too old, or was used before.
    #[error("it is too old, or was used before")]
    Used,
    /// The list of passkeys was changed by something else than hookhost.
    #[error("the list of passkeys cannot be trusted: {0}")]
    Altered(String),
}

/// The reason why a change of the passkeys is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidChange {
    /// A proof does not count.
    #[error("the passkeys are not changed, because of a signature: {0}")]
    Proof(#[from] InvalidProof),
    /// The passkey is registered already.
    #[error("this passkey is registered already")]
    Registered,
    /// The name cannot be used.
    #[error("the name of a passkey has 1 to {MAX_NAME} bytes, and no control character")]
    Name,
    /// No such passkey is registered.
    #[error("no passkey `{0}` is registered: `hookhost passkey` lists them")]
    Unknown(String),
}

impl Passkeys {
    /// Returns the passkeys after these changes, each with its time. Each must have the necessary proofs. After a change
    /// without them, the list is not trusted, so no yes counts.
    pub(crate) fn after(changes: impl IntoIterator<Item = Option<(PasskeyChange, u64)>>) -> Self {
        let mut passkeys = Self::default();
        for (number, change) in (1..).zip(changes) {
            let problem = match change {
                Some((change, time)) => passkeys.apply(&change, time).err().map(|error| error.to_string()),
                None => Some("it is not a record about a passkey".to_owned()),
            };
            if let Some(problem) = problem {
                passkeys.altered = Some(format!("change {number} of the passkeys is not valid: {problem}"));
                break;
            }
        }
        passkeys
    }

    /// Applies a change, if it has the necessary proofs.
    pub(crate) fn apply(&mut self, change: &PasskeyChange, time: u64) -> Result<(), InvalidChange> {
        let (id, key) = match change {
            PasskeyChange::Add { new, own, by } => {
                let passkey = new.parsed(time)?;
                if self.registered.iter().any(|known| known.id == passkey.id) {
                    return Err(InvalidChange::Registered);
                }
                let challenge = self.challenge_to_add(new);
                let new_alone = Self { registered: vec![passkey.clone()], ..Self::default() };
                new_alone.verify(Some(own), challenge)?;
                if self.is_required() {
                    self.verify(by.as_ref(), challenge)?;
                }
                self.registered.push(passkey);
                (&new.id, new.key.as_str())
            }
            PasskeyChange::Remove { id, by } => {
                if !self.registered.iter().any(|known| known.id == *id) {
                    return Err(InvalidChange::Unknown(id.clone()));
                }
                self.verify(Some(by), self.challenge_to_remove(id))?;
                self.registered.retain(|known| known.id != *id);
                (id, "")
            }
        };
        let after = Challenge::over(&[b"hookhost passkeys 1", self.head().as_bytes(), id.as_bytes(), key.as_bytes()]);
        self.history.push(after.0);
        Ok(())
    }

    /// Returns the list as it is trusted by a process that has read `earlier` before. The changes that it has read
    /// cannot be undone, only followed by further ones.
    pub(crate) fn following(mut self, earlier: &Self) -> Self {
        if self.altered.is_none() && !self.history.starts_with(&earlier.history) {
            self.altered = Some("changes that were there are gone".to_owned());
        }
        self
    }

    /// Returns true if a yes needs a proof: a passkey is registered, or the list was altered.
    #[must_use]
    pub fn is_required(&self) -> bool {
        !self.registered.is_empty() || self.altered.is_some()
    }

    /// Returns the registered passkeys, the earliest first.
    #[must_use]
    pub fn registered(&self) -> &[Passkey] {
        &self.registered
    }

    /// Returns the reason why the list cannot be trusted, if something else than hookhost changed it. Then no yes
    /// counts.
    #[must_use]
    pub fn altered(&self) -> Option<&str> {
        self.altered.as_deref()
    }

    /// Returns the number of changes so far.
    pub(crate) fn changes(&self) -> u32 {
        u32::try_from(self.history.len()).unwrap_or(u32::MAX)
    }

    /// Returns the challenge that the new passkey signs, and one that is registered already, if there is one.
    #[must_use]
    pub fn challenge_to_add(&self, new: &NewPasskey) -> Challenge {
        let NewPasskey { id, key, name } = new;
        let head = self.head();
        let parts: [&[u8]; 5] =
            [b"hookhost passkey-add 1", head.as_bytes(), id.as_bytes(), key.as_bytes(), name.as_bytes()];
        Challenge::over(&parts)
    }

    /// Returns the challenge that a registered passkey signs to remove the passkey with this identifier.
    #[must_use]
    pub fn challenge_to_remove(&self, id: &str) -> Challenge {
        Challenge::over(&[b"hookhost passkey-remove 1", self.head().as_bytes(), id.as_bytes()])
    }

    fn head(&self) -> Digest {
        self.history.last().copied().unwrap_or(Digest::zero())
    }

    /// Verifies a proof, and returns the passkey that signed.
    ///
    /// The counter of the authenticator is ignored: each challenge counts once, and most passkeys always send 0. The
    /// port of the origin is ignored, too, because the process that asks may not know the port of the page.
    ///
    /// # Errors
    /// If the proof is missing or does not prove that a registered passkey signed this challenge.
    pub fn verify(&self, proof: Option<&PasskeyProof>, challenge: Challenge) -> Result<&Passkey, InvalidProof> {
        if let Some(why) = &self.altered {
            return Err(InvalidProof::Altered(why.clone()));
        }
        let proof = proof.ok_or(InvalidProof::Missing)?;
        let passkey = self.registered.iter().find(|passkey| passkey.id == proof.credential);
        let passkey = passkey.ok_or(InvalidProof::NotRegistered)?;
        let client_data = decoded(&proof.client_data, "client-data")?;
        let authenticator_data = decoded(&proof.authenticator_data, "authenticator-data")?;
        let signature = decoded(&proof.signature, "signature")?;
        check_client_data(&client_data, challenge)?;
        check_authenticator_data(&authenticator_data)?;
        let mut signed = authenticator_data;
        signed.extend(Digest::of_bytes(&client_data).as_bytes());
        if is_signed(&passkey.key, &signed, &signature) { Ok(passkey) } else { Err(InvalidProof::Signature) }
    }
}

impl NewPasskey {
    fn parsed(&self, added: u64) -> Result<Passkey, InvalidChange> {
        let Self { id, key, name } = self;
        if name.trim().is_empty() || name.len() > MAX_NAME || name.chars().any(|c| c.is_control() || is_unseen(c)) {
            return Err(InvalidChange::Name);
        }
        decoded(id, "id")?;
        Ok(Passkey { id: id.clone(), name: name.clone(), added, key: decoded(key, "key")? })
    }
}

/// The client data of a signature. <https://www.w3.org/TR/webauthn-3/#dictdef-collectedclientdata>
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    purpose: String,
    challenge: String,
    origin: String,
    #[serde(rename = "crossOrigin", default)]
    is_cross_origin: bool,
    #[serde(rename = "topOrigin", default)]
    top_origin: Option<String>,
}

fn check_client_data(text: &[u8], challenge: Challenge) -> Result<(), InvalidProof> {
    let data: ClientData =
        serde_json::from_slice(text).map_err(|_| InvalidProof::Unreadable("client-data is not that of a browser"))?;
    if data.purpose != "webauthn.get" {
        return Err(InvalidProof::OtherPurpose(shortened(&data.purpose)));
    }
    if data.challenge != challenge.to_string() {
        return Err(InvalidProof::OtherChallenge);
    }
    if !is_page(&data.origin) {
        return Err(InvalidProof::OtherOrigin(shortened(&data.origin)));
    }
    if data.is_cross_origin || data.top_origin.is_some() {
        return Err(InvalidProof::Framed);
    }
    Ok(())
}

/// Returns true if the origin is that of a page of this machine: `http://localhost:PORT`.
fn is_page(origin: &str) -> bool {
    let port = origin.strip_prefix("http://localhost:");
    port.is_some_and(|port| port.bytes().all(|digit| digit.is_ascii_digit()) && port.parse::<u16>().is_ok())
}

fn check_authenticator_data(data: &[u8]) -> Result<(), InvalidProof> {
    let Some((relying_party, rest)) = data.split_first_chunk::<32>() else {
        return Err(InvalidProof::Unreadable("authenticator-data is too short"));
    };
    if relying_party != Digest::of_bytes(RELYING_PARTY.as_bytes()).as_bytes() {
        return Err(InvalidProof::OtherRelyingParty);
    }
    // The flags, and 4 bytes of the counter.
    match rest {
        [flags, _, _, _, _, ..] if flags & PRESENT_AND_VERIFIED == PRESENT_AND_VERIFIED => Ok(()),
        [_, _, _, _, _, ..] => Err(InvalidProof::NotVerified),
        _ => Err(InvalidProof::Unreadable("authenticator-data is too short")),
    }
}

/// Returns true if the signature is that of the key over these bytes.
#[cfg(feature = "store")]
fn is_signed(key: &[u8], signed: &[u8], signature: &[u8]) -> bool {
    use webpki::ring::{ECDSA_P256_SHA256, ED25519, RSA_PKCS1_2048_8192_SHA256};
    let key = rustls_pki_types::SubjectPublicKeyInfoDer::from(key);
    let Ok(key) = webpki::RawPublicKeyEntity::try_from(&key) else { return false };
    let mut algorithms = [ECDSA_P256_SHA256, ED25519, RSA_PKCS1_2048_8192_SHA256].into_iter();
    algorithms.any(|algorithm| key.verify_signature(algorithm, signed, signature).is_ok())
}

/// Returns false, because without a store no passkey is registered.
#[cfg(not(feature = "store"))]
fn is_signed(_: &[u8], _: &[u8], _: &[u8]) -> bool {
    false
}

fn decoded(text: &str, part: &'static str) -> Result<Vec<u8>, InvalidProof> {
    if text.is_empty() || text.len() > MAX_PART {
        return Err(InvalidProof::Unreadable(part));
    }
    URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidProof::Unreadable(part))
}

/// Returns the beginning of a text that anybody can have written.
fn shortened(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_debug).collect()
}
