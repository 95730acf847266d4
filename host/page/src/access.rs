//! Who may use the page: a link gives one tab a token, once.
//!
//! The host keeps only digests of codes and tokens, and only in memory. Looking up a digest reveals nothing about a secret by its duration.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use rand::{TryRng as _, rngs::SysRng};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time in which a link can be opened.
pub(crate) const LINK_LIFETIME: Duration = Duration::from_secs(60);

/// Maximum number of links that wait to be opened. A further link takes the place of the oldest.
const MAX_LINKS: usize = 16;

/// A token that is not used for this time is forgotten.
const TOKEN_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);

/// Maximum number of tokens. A further token takes the place of the one that was not used for the longest time.
const MAX_TOKENS: usize = 256;

type Secret = [u8; 32];

/// What a link permits the tab that opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The directory in which the link was asked for. Its rules are shown.
    pub(crate) directory: PathBuf,
    /// True if the tab may register a passkey, because a person asked for this at a terminal.
    pub(crate) may_register: bool,
}

/// The links that wait to be opened, and the tabs that were opened.
#[derive(Debug, Default)]
pub(crate) struct Access(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The oldest first.
    links: Vec<(Secret, Instant, Grant)>,
    tabs: HashMap<Secret, Tab>,
}

#[derive(Debug)]
struct Tab {
    grant: Grant,
    used: Instant,
}

impl Access {
    /// Creates a code for a link.
    ///
    /// # Errors
    /// If the system gives no random number.
    pub(crate) fn link(&self, grant: Grant) -> Result<String, String> {
        let (code, digest) = secret()?;
        let mut known = self.known();
        let now = Instant::now();
        known.links.retain(|(_, made, _)| now.duration_since(*made) < LINK_LIFETIME);
        if known.links.len() >= MAX_LINKS {
            known.links.remove(0);
        }
        known.links.push((digest, now, grant));
        Ok(code)
    }

    /// Exchanges the code of a link for the token of a tab. A code is removed by its first use, whatever comes of it. Returns `None` if the
    /// code was used or its time has passed.
    ///
    /// # Errors
    /// If the system gives no random number.
    pub(crate) fn open(&self, code: &str) -> Result<Option<String>, String> {
        let used = digest(code);
        let mut known = self.known();
        let Some(place) = known.links.iter().position(|(link, ..)| *link == used) else { return Ok(None) };
        let (_, made, grant) = known.links.remove(place);
        if made.elapsed() >= LINK_LIFETIME {
            return Ok(None);
        }
        let (token, digest) = secret()?;
        known.insert(digest, grant);
        Ok(Some(token))
    }

    /// Returns what the tab with this token may do.
    pub(crate) fn grant(&self, token: &str) -> Option<Grant> {
        let digest = digest(token);
        let mut known = self.known();
        let tab = known.tabs.get_mut(&digest)?;
        if tab.used.elapsed() >= TOKEN_LIFETIME {
            known.tabs.remove(&digest);
            return None;
        }
        tab.used = Instant::now();
        Some(tab.grant.clone())
    }

    /// Returns the digests of the tokens and their directories as text, for the version of the program that takes over. A digest does not
    /// reveal its token. The right to register a passkey is not handed over.
    pub(crate) fn to_hand_over(&self) -> String {
        let known = self.known();
        let tabs = known.tabs.iter().map(|(digest, tab)| {
            format!(
                "{}{}",
                HEXLOWER.encode(digest),
                HEXLOWER.encode(tab.grant.directory.as_os_str().as_encoded_bytes())
            )
        });
        tabs.collect::<Vec<_>>().join(",")
    }

    /// Takes over the tokens that an earlier version handed over.
    pub(crate) fn take_over(&self, text: &str) {
        let mut known = self.known();
        for tab in text.split(',').filter_map(|tab| HEXLOWER.decode(tab.as_bytes()).ok()) {
            let Some((digest, directory)) = tab.split_first_chunk::<32>() else { continue };
            let directory = PathBuf::from(String::from_utf8_lossy(directory).into_owned());
            known.insert(*digest, Grant { directory, may_register: false });
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn insert(&mut self, digest: Secret, grant: Grant) {
        if self.tabs.len() >= MAX_TOKENS
            && let Some(oldest) = self.tabs.iter().min_by_key(|(_, tab)| tab.used).map(|(digest, _)| *digest)
        {
            self.tabs.remove(&oldest);
        }
        self.tabs.insert(digest, Tab { grant, used: Instant::now() });
    }
}

/// Returns a new secret of 256 bits, and its digest.
fn secret() -> Result<(String, Secret), String> {
    let mut bytes = [0; 32];
    SysRng.try_fill_bytes(&mut bytes).map_err(|error| format!("the system gives no random number: {error}"))?;
    let secret = BASE64URL_NOPAD.encode(&bytes);
    let digest = digest(&secret);
    Ok((secret, digest))
}

fn digest(secret: &str) -> Secret {
    Sha256::digest(secret).into()
}

#[cfg(test)]
mod tests {
    use super::{Access, Grant, MAX_LINKS};

    fn grant(directory: &str) -> Grant {
        Grant { directory: directory.into(), may_register: false }
    }

    #[test]
    fn a_link_is_opened_once() {
        let access = Access::default();
        let code = access.link(grant("/w")).unwrap();
        assert_eq!(code.len(), 43);
        let token = access.open(&code).unwrap().unwrap();
        assert_eq!(access.grant(&token), Some(grant("/w")));
        assert_eq!(access.open(&code), Ok(None));
        assert_eq!(access.grant(&code), None);
        assert_eq!(access.open("guessed"), Ok(None));
        assert_eq!(access.open(&token), Ok(None));
    }

    #[test]
    fn only_the_newest_links_can_be_opened() {
        let access = Access::default();
        let codes: Vec<_> = (0..=MAX_LINKS).map(|_| access.link(grant("/w")).unwrap()).collect();
        assert_eq!(access.open(&codes[0]), Ok(None));
        assert!(codes[1..].iter().all(|code| access.open(code).unwrap().is_some()));
    }

    #[test]
    fn another_version_knows_the_tabs_but_no_links_and_no_right_to_register() {
        let access = Access::default();
        let (first, second) = (access.link(grant("/a")).unwrap(), access.link(grant("/b")).unwrap());
        let registers = access.link(Grant { may_register: true, ..grant("/c") }).unwrap();
        let (token, register) = (access.open(&first).unwrap().unwrap(), access.open(&registers).unwrap().unwrap());
        let next = Access::default();
        next.take_over(&access.to_hand_over());
        next.take_over("zz,00,");
        assert_eq!(next.grant(&token), Some(grant("/a")));
        assert_eq!(next.grant(&register), Some(grant("/c")));
        assert_eq!(next.open(&second), Ok(None));
    }
}
