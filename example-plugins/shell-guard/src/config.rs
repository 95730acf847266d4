//! The `[plugin.config]` table, and what is made of it.

use crate::rules::{Registry, Settings};
use serde::Deserialize;

#[cfg(any(feature = "classifier", not(target_arch = "wasm32")))]
use crate::classifier::{Classifier, ClassifierConfig};

/// The `[plugin.config]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Config {
    stacks: Option<Vec<String>>,
    mode: crate::rules::Mode,
    modes: std::collections::BTreeMap<String, crate::rules::Mode>,
    remove: Vec<String>,
    custom_rules: Vec<crate::rules::Rule>,
    catalogues: Vec<crate::rules::Catalogue>,
    #[cfg(any(feature = "classifier", not(target_arch = "wasm32")))]
    classifier: Option<ClassifierConfig>,
}

/// What every event starts from.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) registry: Registry,
    pub(crate) stacks: Option<Vec<String>>,
    #[cfg(any(feature = "classifier", not(target_arch = "wasm32")))]
    pub(crate) classifier: Option<Classifier>,
}

impl Guard {
    pub(crate) fn new(config: Config) -> Result<Self, String> {
        let settings = Settings {
            mode: config.mode,
            modes: config.modes,
            remove: config.remove,
            custom_rules: config.custom_rules,
            catalogues: config.catalogues,
        };
        Ok(Self {
            registry: Registry::new(settings)?,
            stacks: config.stacks,
            #[cfg(any(feature = "classifier", not(target_arch = "wasm32")))]
            classifier: config.classifier.map(Classifier::new).transpose()?,
        })
    }
}
