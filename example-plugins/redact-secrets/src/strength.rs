//! Distinguishes secrets from words, paths and placeholders.

/// Minimum entropy of a secret, in bits per character. English words of this length have about 2.5 bits, and random hexadecimal digits have
/// 3.3 bits or more.
const BITS: f64 = 2.7;

/// Returns true if a value may be a secret. This is for values whose name shows that they are secrets.
pub(crate) fn is_strong(value: &str) -> bool {
    let has_letter = value.chars().any(char::is_alphabetic);
    let has_other = value.chars().any(|c| c.is_ascii_digit() || "!@#$%^&*?~+|".contains(c));
    is_no_placeholder(value) && !is_path(value) && has_letter && has_other && entropy(value) >= BITS
}

/// Returns true if a token mixes characters like a random token. `sk-loading-spinner-container` does not.
pub(crate) fn is_random_token(value: &str) -> bool {
    let has = |class: fn(&char) -> bool| value.chars().any(|c| class(&c));
    has(char::is_ascii_digit)
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_lowercase)
        && is_no_placeholder(value)
}

/// Returns true for forty characters of random base64, the format of AWS secret keys.
pub(crate) fn is_aws_secret(value: &str) -> bool {
    let is_base64 = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/');
    value.len() == 40 && is_base64 && is_random_token(value)
}

/// Returns false for placeholders for a secret: variables, templates, and repetitions of one character.
pub(crate) fn is_no_placeholder(value: &str) -> bool {
    let reference = value.starts_with(['$', '<', '{', '%', '[']) || value.contains("${") || value.contains("{{");
    let mut rest = value.chars().skip(1);
    let one_character = value.chars().next().is_some_and(|first| rest.all(|c| c == first));
    !reference && !one_character
}

fn is_path(value: &str) -> bool {
    value.starts_with(['/', '~']) || value.starts_with("./") || value.starts_with("../") || value.contains("://")
}

/// Returns the Shannon entropy of the characters in the value, in bits per character.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length: u32 = counts.iter().sum();
    let length = f64::from(length.max(1));
    let parts = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    parts.map(|part| -part * part.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::{is_random_token, is_strong};

    #[test]
    fn words_paths_and_placeholders_are_no_secrets() {
        for value in [
            "response",
            "changeme",
            "/run/secrets/db1",
            "$DB_PASSWORD1",
            "${{ secrets.X1 }}",
            "xxxxxxxxxx",
            "<your-token-1>",
            "12345678",
            "https://a/b1",
        ] {
            assert!(!is_strong(value), "{value}");
        }
    }

    #[test]
    fn what_is_mixed_enough_is_a_secret() {
        for value in ["hunter2hunter", "S3cr3t!pass", "3f8a9c1e7b", "correct-horse!battery"] {
            assert!(is_strong(value), "{value}");
        }
    }

    #[test]
    fn a_name_of_several_words_is_not_a_token() {
        assert!(!is_random_token("sk-loading-spinner-container-2"));
        assert!(is_random_token("sk-aB3dE5fG7hI9jK1lM3nO5"));
    }
}
