//! Variants of a provider. A variant is a file of `key=value` lines that names a protocol and its server, in the format of
//! <https://github.com/wedow/harness> (`providers/NAME.conf`).

use crate::section::{ModelLimits, ProviderKind, ProviderSection};
use std::num::NonZeroU32;

/// Maximum size of a file, in bytes.
pub(crate) const MAX_FILE: u64 = 64 * 1024;

/// Keys that have no effect here. The description is only for people, and every provider streams its answers.
const WITHOUT_EFFECT: [&str; 2] = ["description", "stream"];

/// Parses a variant file into a provider section.
///
/// # Errors
/// Returns an error if a line or key is invalid, or if the protocol is missing. The text of the error completes a sentence whose
/// subject is the file.
pub(crate) fn read(text: &str) -> Result<ProviderSection, String> {
    let mut section = ProviderSection::default();
    let mut max_tokens = None;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').ok_or_else(|| format!("has a line without `=`: line {number}"))?;
        let value = value.trim().trim_matches('"').to_owned();
        match key.trim() {
            "protocol" => {
                section.kind = Some(match value.as_str() {
                    "openai" => ProviderKind::OpenAi,
                    "anthropic" => ProviderKind::Anthropic,
                    other => return Err(format!("speaks `{other}`: the protocols here are `openai` and `anthropic`")),
                });
            }
            "model" => section.model = Some(value),
            // The file contains the complete address of the endpoint, but the section needs only the base URL.
            "url" => {
                let base =
                    value.trim_end_matches('/').trim_end_matches("/chat/completions").trim_end_matches("/messages");
                section.base_url = Some(base.to_owned());
            }
            "auth_env" => section.key_variable = Some(value),
            "max_tokens" => {
                let tokens = value.parse::<NonZeroU32>();
                max_tokens = Some(tokens.map_err(|_| format!("has no number of tokens in line {number}"))?);
            }
            key if WITHOUT_EFFECT.contains(&key) => {}
            other => return Err(format!("has an unknown key `{other}` in line {number}")),
        }
    }
    if section.kind.is_none() {
        return Err("names no `protocol`".to_owned());
    }
    if let (Some(model), Some(tokens)) = (&section.model, max_tokens) {
        let limits = ModelLimits { max_output_tokens: Some(tokens), ..ModelLimits::default() };
        section.limits.insert(model.clone(), limits);
    }
    Ok(section)
}
