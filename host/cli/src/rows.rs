//! Rules in words that are not in force yet, and their check beside the rules that are.

use crate::configuration::{self, SECTIONS};
use crate::exit::CliError;
use crate::loading;
use anyhow::anyhow;
use hookhost::config::{Config, ConfigError, Problems, Rule};
use std::path::Path;

/// Maximum size of the rules, in bytes.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// Rules that can be put into force.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The `[[rule]]` tables.
    pub(crate) text: String,
    /// The configuration that has these rules alone, with the plugin that judges them.
    pub(crate) alone: Config,
}

impl Rows {
    /// Returns the rules.
    pub(crate) fn rules(&self) -> &[Rule] {
        self.alone.rules()
    }

    /// Returns the ids of the rules.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.rules().iter().map(|rule| rule.row.id.clone()).collect()
    }
}

/// Checks rules beside those in force here: their keys, their conditions, and their examples. `name` stands for the file in messages.
/// Returns the rules, or a description of all mistakes.
pub(crate) async fn check(text: &str, name: &str) -> Result<Result<Rows, String>, CliError> {
    if text.len() > MAX_BYTES {
        return Ok(Err(format!("{name} has {} bytes, and {MAX_BYTES} are possible", text.len())));
    }
    let (places, file) = (configuration::places()?, Path::new(name));
    let found = Config::discover_with_rules(text, file, &configuration::cwd()?, &places, SECTIONS);
    let merged = match found {
        Ok(found) => found.config,
        Err(ConfigError::Invalid(problems)) if are_about(&problems, file) => return Ok(Err(problems.to_string())),
        Err(error) => return Err(CliError::not_loaded(error)),
    };
    if !merged.rules().iter().any(|rule| rule.origin.file == file) {
        return Ok(Err(format!("{name} has no [[rule]] table")));
    }
    let merged = configuration::with_rules_plugin(merged, &places)?;
    match loading::mistakes_in_rules(&merged).await? {
        Some(problems) if are_about(&problems, file) => return Ok(Err(problems.to_string())),
        Some(problems) => return Err(CliError::not_loaded(anyhow!("{problems}"))),
        None => {}
    }
    let alone = configuration::with_rules_entry(merged.only_rules_of(file), &places)?;
    Ok(Ok(Rows { text: text.to_owned(), alone }))
}

fn are_about(problems: &Problems, file: &Path) -> bool {
    problems.iter().any(|problem| problem.file == file)
}
