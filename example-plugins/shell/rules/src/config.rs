//! The `[plugin.config]` table.

use crate::rules::{Catalogue, Mode, Rule, Settings, Unknown};
use litemap::LiteMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The `[plugin.config]` table of `shell-guard`. The plugin's documentation describes its keys.
#[derive(Debug, Default)]
pub struct Config {
    pub(crate) stacks: Option<Vec<String>>,
    pub(crate) rules: Settings,
}

/// The table before its values are checked.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct RawConfig {
    stacks: Option<Vec<String>>,
    mode: Mode,
    #[serde(deserialize_with = "table")]
    modes: LiteMap<String, Mode>,
    #[serde(deserialize_with = "table")]
    answers: LiteMap<String, String>,
    remove: Vec<String>,
    unknown: Unknown,
    custom_rules: Vec<Value>,
    catalogues: Vec<Value>,
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        let raw = RawConfig::deserialize(table)?;
        let RawConfig { stacks, mode, modes, answers, remove, unknown, custom_rules, catalogues } = raw;
        let wrong = serde::de::Error::custom::<String>;
        let custom_rules = custom_rules.into_iter().map(Rule::given).collect::<Result<_, _>>().map_err(wrong)?;
        let catalogues = catalogues.into_iter().map(Catalogue::given).collect::<Result<_, _>>().map_err(wrong)?;
        Ok(Self { stacks, rules: Settings { mode, modes, answers, remove, unknown, custom_rules, catalogues } })
    }
}

/// Reads a table with arbitrary keys.
fn table<'de, D: Deserializer<'de>, T: DeserializeOwned>(given: D) -> Result<LiteMap<String, T>, D::Error> {
    let given = serde_json::Map::deserialize(given)?;
    let mut table = LiteMap::new();
    for (key, value) in given {
        table.insert(key, T::deserialize(value).map_err(serde::de::Error::custom)?);
    }
    Ok(table)
}
