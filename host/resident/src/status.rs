//! The status that `hookhost serve --status` shows.

use crate::rules::{DirectoryRules, real};
use crate::settler::Settler;
use serde_json::{Value, json};
use std::path::Path;

impl Settler {
    /// Returns the status as JSON: the active rules of `directory`, the number of open sessions, the version.
    pub async fn status(&self, directory: &Path) -> Value {
        let rules = match self.rules().of(&real(directory)).await {
            Ok(DirectoryRules { rules, notes, .. }) => {
                let plugins: Vec<Value> = rules
                    .plugins()
                    .iter()
                    .map(|plugin| json!({ "name": plugin.name(), "digest": plugin.code_id().to_string() }))
                    .collect();
                let files: Vec<String> = rules.config().files().iter().map(|file| file.display().to_string()).collect();
                json!({ "files": files, "plugins": plugins, "notes": *notes })
            }
            Err(why) => json!({ "problem": why }),
        };
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "process": std::process::id(),
            "sessions": self.sessions().len(),
            "directories": self.rules().len(),
            "rules": rules,
        })
    }
}
