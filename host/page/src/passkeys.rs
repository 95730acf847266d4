//! Makes the challenges that a passkey of the person signs, and registers and removes passkeys. The host verifies each signature itself.

use crate::access::Grant;
use crate::routes::Site;
use data_encoding::BASE64URL_NOPAD;
use hookhost::contract::PasskeyProof;
use hookhost::passkey::{NewPasskey, Passkeys};
use hyper::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// An answer: JSON, or a status and a sentence.
type Answer = Result<Value, (StatusCode, String)>;

#[derive(Deserialize)]
struct GivenAnswer {
    answer: String,
}

#[derive(Deserialize)]
struct Addition {
    new: NewPasskey,
    #[serde(default)]
    own: Option<PasskeyProof>,
    #[serde(default)]
    by: Option<PasskeyProof>,
}

#[derive(Deserialize)]
struct Removal {
    by: PasskeyProof,
}

/// Does what a `POST` about passkeys asks for. Returns `None` if it is about something else.
pub(crate) async fn act(site: &Site, grant: &Grant, path: &str, body: &[u8]) -> Option<Answer> {
    let parts: Vec<_> = path.trim_matches('/').split('/').collect();
    Some(match parts.as_slice() {
        ["approvals", code, "challenge"] => challenge_to_answer(site, code, body).await,
        ["passkeys", "challenge"] => challenge_to_add(site, grant, body).await,
        ["passkeys"] => add(site, grant, body).await,
        ["passkeys", id, "challenge"] => {
            registered(site).await.map(|passkeys| to_sign(&passkeys.challenge_to_remove(id).to_string(), &passkeys))
        }
        ["passkeys", id] => remove(site, id, body).await,
        _ => return None,
    })
}

/// Fails if a proof in the body was signed on the page of another port. The host itself does not know the port.
pub(crate) fn check_port(body: &[u8], port: u16) -> Result<(), String> {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return Ok(()) };
    let own = format!("http://localhost:{port}");
    for proof in ["proof", "own", "by"].iter().filter_map(|name| body.get(*name)?.get("client-data")?.as_str()) {
        let data = BASE64URL_NOPAD.decode(proof.as_bytes()).unwrap_or_default();
        let data = serde_json::from_slice::<Value>(&data).unwrap_or_default();
        if data["origin"] != own.as_str() {
            return Err(format!("the passkey signed on another page than {own}"));
        }
    }
    Ok(())
}

async fn challenge_to_answer(site: &Site, code: &str, body: &[u8]) -> Answer {
    let GivenAnswer { answer } = parsed(body)?;
    let passkeys = registered(site).await?;
    if !passkeys.is_required() {
        return Ok(json!({ "challenge": null }));
    }
    let open = site.host.questions().await.map_err(internal)?;
    let request = open.iter().find(|request| !code.is_empty() && request.code == code);
    let gone = || (StatusCode::CONFLICT, "This question no longer waits for an answer.".to_owned());
    let request = request.ok_or_else(gone)?;
    let challenge = site.host.challenge_to_answer(&request.id, answer == "yes-for-session").await;
    Ok(to_sign(&challenge.map_err(|error| (StatusCode::CONFLICT, error.to_string()))?.to_string(), &passkeys))
}

async fn challenge_to_add(site: &Site, grant: &Grant, body: &[u8]) -> Answer {
    let Addition { new, .. } = parsed(body)?;
    let passkeys = registered(site).await?;
    check_first(&passkeys, grant)?;
    Ok(to_sign(&passkeys.challenge_to_add(&new).to_string(), &passkeys))
}

async fn add(site: &Site, grant: &Grant, body: &[u8]) -> Answer {
    let Addition { new, own, by } = parsed(body)?;
    check_first(&registered(site).await?, grant)?;
    let own = own.ok_or_else(|| refused("the new passkey has not signed"))?;
    site.host.add_passkey(new, own, by).await.map_err(refused)?;
    Ok(
        json!({ "said": "The passkey is registered. Each yes needs a passkey from now on. Register a second one, in case you lose this one." }),
    )
}

async fn remove(site: &Site, id: &str, body: &[u8]) -> Answer {
    let Removal { by } = parsed(body)?;
    site.host.remove_passkey(id, by).await.map_err(refused)?;
    Ok(json!({ "said": "The passkey is removed." }))
}

/// Fails if this tab may not register the first passkey. Further ones need the signature of a registered one instead.
fn check_first(passkeys: &Passkeys, grant: &Grant) -> Result<(), (StatusCode, String)> {
    if passkeys.is_required() || grant.may_register {
        return Ok(());
    }
    Err(refused("The first passkey is registered from a terminal: hookhost passkey add"))
}

async fn registered(site: &Site) -> Result<Passkeys, (StatusCode, String)> {
    site.host.passkeys().await.map_err(internal)
}

fn to_sign(challenge: &str, passkeys: &Passkeys) -> Value {
    let credentials: Vec<_> = passkeys.registered().iter().map(|passkey| &passkey.id).collect();
    json!({ "challenge": challenge, "credentials": credentials })
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, (StatusCode, String)> {
    serde_json::from_slice(body).map_err(|error| (StatusCode::BAD_REQUEST, format!("this cannot be read: {error}")))
}

fn refused(why: impl ToString) -> (StatusCode, String) {
    (StatusCode::FORBIDDEN, why.to_string())
}

fn internal(error: impl ToString) -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}
