//! The `[plugin.config]` table.

use crate::rules::{Catalogue, Mode, Rule, Settings};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// The `[plugin.config]` table of `shell-guard`; its keys are in that plugin's documentation.
#[derive(Debug, Default)]
pub struct Config {
    pub(crate) stacks: Option<Vec<String>>,
    pub(crate) rules: Settings,
}

/// The table as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct RawConfig {
    stacks: Option<Vec<String>>,
    mode: Mode,
    modes: BTreeMap<String, Mode>,
    answers: BTreeMap<String, String>,
    remove: Vec<String>,
    custom_rules: Vec<Rule>,
    catalogues: Vec<Catalogue>,
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        let raw = RawConfig::deserialize(table)?;
        let RawConfig { stacks, mode, modes, answers, remove, custom_rules, catalogues } = raw;
        Ok(Self { stacks, rules: Settings { mode, modes, answers, remove, custom_rules, catalogues } })
    }
}
