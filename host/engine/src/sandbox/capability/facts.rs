//! The capability `facts`: facts about the world of the agent, which the host reads.

use super::{Guest, VERSION_0_2, of_the_contract, wit_0_2};
use crate::contract::bytes::written_size;
use crate::contract::{Fact, FactName, Failure};
use crate::sandbox::FactRead;
use crate::sandbox::processor_time;
use crate::sandbox::trap::Limit;
use wit_0_2::facts as interface;

/// Maximum size of the facts in the record of one call, in bytes of JSON. A call that exceeds this size cannot be
/// replayed.
const RECORDED: usize = 256 * 1024;

impl From<Fact> for interface::Fact {
    fn from(fact: Fact) -> Self {
        match fact {
            Fact::Absent => Self::Absent,
            Fact::Unreadable(why) => Self::Unreadable(why),
            Fact::Text(text) => Self::Text(text),
            Fact::Number(number) => Self::Number(number),
            Fact::Flag(flag) => Self::Flag(flag),
        }
    }
}

/// The capability `facts`.
pub(super) struct WorldFacts;

of_the_contract!(WorldFacts = wit_0_2::facts, VERSION_0_2, "facts", Some(r#"facts = ["git.branch"]"#), |grants| {
    !grants.facts.is_empty()
});

impl interface::Host for Guest {
    fn read(&mut self, name: String, at: Option<String>) -> wasmtime::Result<interface::Fact> {
        self.count_call()?;
        let name = self.granted(&name)?;
        let fact = match &self.given.replayed {
            Some(replayed) => replayed.fact(&name, at.as_deref()),
            None => self.given.event.world.read(&name, at.as_deref()),
        };
        self.note_fact(FactRead { name, at, value: fact.clone() });
        // Check the time again, because the access may have waited for a disk.
        processor_time::check(self.compute())?;
        Ok(fact.into())
    }
}

impl Guest {
    /// Returns the fact of this name, if the plugin's entry grants it.
    fn granted(&self, name: &str) -> wasmtime::Result<FactName> {
        let known = FactName::from_name(name).filter(|name| self.given.grants.facts.contains(name));
        known.ok_or_else(|| {
            let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
            let detail = format!("asked for the fact `{shown}`, which `facts` under [plugin.grants] does not list");
            Limit(Failure::invalid(detail)).into()
        })
    }

    /// Records a fact that the call has read, if the record does not become too large.
    fn note_fact(&mut self, read: FactRead) {
        if self.did.inputs.facts.contains(&read) {
            return;
        }
        self.fact_bytes = self.fact_bytes.saturating_add(written_size(&read));
        if self.fact_bytes > RECORDED {
            self.did.unrepeatable.insert("the plugin read more facts than the log stores");
            return;
        }
        self.did.inputs.facts.push(read);
    }
}
