//! The capability `secrets`: where a text contains the value of a secret of the project. The values stay in the host.

use super::{Guest, VERSION_0_2, of_the_contract, wit_0_2};
use crate::config::{Digest, SecretsGrant};
use crate::contract::{Failure, FailureKind};
use crate::sandbox::TextWithSecrets;
use crate::sandbox::processor_time;
use crate::sandbox::trap::Limit;
use crate::secrets::{FoundSecret, KnownSecrets};
use std::path::Path;
use std::sync::Arc;
use wit_0_2::secrets as interface;

/// Maximum number of values that one call may find. Each has a place in the record.
const MAX_FOUND: usize = 1_000;

/// The capability `secrets`.
pub(super) struct ProjectSecrets;

of_the_contract!(ProjectSecrets = wit_0_2::secrets, VERSION_0_2, "secrets", Some("secrets = {}"), |grants| {
    grants.secrets.is_some()
});

impl interface::Host for Guest {
    fn find(&mut self, text: String) -> wasmtime::Result<Vec<interface::Found>> {
        self.count_call()?;
        let grant = self.secrets_grant()?;
        let found = match &self.given.replayed {
            Some(replayed) => replayed.found(&text),
            None => self.known_secrets(&grant)?.find(&text),
        };
        processor_time::check(self.compute())?;
        let used = self.did.inputs.secrets.get_or_insert_default();
        if !found.is_empty() {
            let before: usize = used.texts.iter().map(|text| text.found.len()).sum();
            if before + found.len() > MAX_FOUND {
                let detail = format!("found more than {MAX_FOUND} values of secrets about one event");
                return Err(Limit(Failure::new(FailureKind::CapabilityCalls, detail)).into());
            }
            used.texts.push(TextWithSecrets { text: Digest::of_bytes(text.as_bytes()), found: found.clone() });
        }
        let found = found.into_iter().map(|FoundSecret { name, start, end }| interface::Found { name, start, end });
        Ok(found.collect())
    }

    fn list_uncovered(&mut self) -> wasmtime::Result<Vec<interface::Uncovered>> {
        self.count_call()?;
        let grant = self.secrets_grant()?;
        let uncovered = match &self.given.replayed {
            Some(replayed) => replayed.uncovered(),
            None => self.known_secrets(&grant)?.uncovered.clone(),
        };
        processor_time::check(self.compute())?;
        self.did.inputs.secrets.get_or_insert_default().uncovered = Some(uncovered.clone());
        Ok(uncovered.into_iter().map(|one| interface::Uncovered { name: one.name, reason: one.reason }).collect())
    }

    fn is_source(&mut self, path: String) -> wasmtime::Result<bool> {
        self.count_call()?;
        let grant = self.secrets_grant()?;
        let session = self.given.event.world.session();
        Ok(grant.sources().contains(Path::new(&session.workspace), &Path::new(&session.cwd).join(path)))
    }
}

impl Guest {
    fn secrets_grant(&self) -> wasmtime::Result<SecretsGrant> {
        self.given.grants.secrets.clone().ok_or_else(|| {
            let detail = "used the secrets of the project without the grant `secrets`";
            Limit(Failure::invalid(detail)).into()
        })
    }

    /// Returns the secrets of the project, which a call reads once.
    fn known_secrets(&mut self, grant: &SecretsGrant) -> wasmtime::Result<Arc<KnownSecrets>> {
        if let Some(known) = &self.secrets {
            return Ok(Arc::clone(known));
        }
        let world = &self.given.event.world;
        let known = grant.sources().read(Path::new(&world.session().workspace), world.process()).map_err(|why| {
            let detail = format!("used the secrets of a project that cannot be read: {why}");
            Limit(Failure::new(FailureKind::Trap, detail))
        })?;
        self.secrets = Some(Arc::clone(&known));
        Ok(known)
    }
}
