//! Masks secrets with the patterns of the plugin redact-secrets.

use serde_json::Value;
use std::collections::BTreeMap;

/// The beginning of a mark of redact-secrets.
const MARK: &str = "[redacted: ";

/// The secrets that were masked, by kind.
#[derive(Debug, Default)]
pub(super) struct Masked(BTreeMap<String, usize>);

impl Masked {
    /// Masks the secrets in a value.
    pub(super) fn mask(&mut self, value: &mut Value) {
        if let Some(masked) = redact_secrets::mask_json(&value.to_string(), &mut self.0) {
            *value = serde_json::from_str(&as_words(&masked)).unwrap_or(Value::Null);
        }
    }

    /// Returns what was masked: `2 × github-token, 1 × jwt`. The text is empty if nothing was.
    pub(super) fn in_words(&self) -> String {
        self.0.iter().map(|(kind, count)| format!("{count} × {kind}")).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the text with `redacted-KIND` in place of `[redacted: KIND]`, because a shell would read that mark as several words.
fn as_words(text: &str) -> String {
    let mut parts = text.split(MARK);
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        words.push_str("redacted-");
        match part.split_once(']') {
            Some((kind, rest)) => words.extend([kind, rest]),
            None => words.push_str(part),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::Masked;
    use serde_json::json;

    #[test]
    fn a_secret_becomes_one_word_of_the_shell_and_is_counted_by_its_kind() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let mut masked = Masked::default();
        let mut value =
            json!({ "command": format!("GH_TOKEN={token} gh api /user"), "password": "correct-Horse-7-battery" });
        masked.mask(&mut value);
        assert_eq!(
            value,
            json!({ "command": "GH_TOKEN=ghp_redacted-github-token gh api /user", "password": "redacted-assigned-secret" })
        );
        assert_eq!(masked.in_words(), "1 × assigned-secret, 1 × github-token");
        let mut plain = json!({ "command": "ls [a-z]" });
        masked.mask(&mut plain);
        assert_eq!(plain, json!({ "command": "ls [a-z]" }));
    }
}
