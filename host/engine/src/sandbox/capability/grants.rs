//! The capability `grants`: the plugin finds out which optional grants it has.

use super::{Guest, VERSION_0_2, of_the_contract, wit_0_2};
use crate::contract::FactName;
use wit_0_2::grants as interface;

/// The name of the interface.
pub(crate) const GRANTS: &str = "grants";

/// The capability `grants`.
pub(super) struct KnownGrants;

of_the_contract!(KnownGrants = wit_0_2::grants, VERSION_0_2, GRANTS, None, |_| true);

impl interface::Host for Guest {
    fn has(&mut self, name: String) -> wasmtime::Result<bool> {
        self.count_call()?;
        let grants = &self.given.grants;
        Ok(match name.as_str() {
            "labels" => grants.labels,
            "secrets" => grants.secrets.is_some(),
            name => FactName::from_name(name).is_some_and(|name| grants.facts.contains(&name)),
        })
    }
}
