//! Tells why a value is no secret that can be looked for.

use super::MIN_LENGTH;

/// Maximum number of digits in a row that are an ordinary number, such as a year or a port.
const MAX_DIGITS: usize = 6;

/// Returns the reason why a value is not looked for, as the end of a sentence that begins with the variable's name; `None` if it is
/// looked for.
pub(super) fn reason(name: &str, value: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    if upper.split('_').any(|part| part == "PUBLIC" || part == "PUBLISHABLE") {
        return Some("says by its name that its value is public");
    }
    if value.trim().len() < MIN_LENGTH {
        return Some("has a value of less than 12 characters");
    }
    if value.starts_with("${") || value.starts_with("$(") {
        return Some("takes its value from elsewhere");
    }
    if is_path(value) {
        return Some("has a path as its value");
    }
    if value.contains("://") && password(value).is_none() && !value.contains(['?', '#']) {
        return Some("has an address without a password as its value");
    }
    is_words(value).then_some("has a value of ordinary words and numbers")
}

/// Returns the password in an address: `postgres://user:password@host/database`.
pub(super) fn password(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    (!password.is_empty()).then_some(password)
}

fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~/", "C:\\"].iter().any(|begin| value.starts_with(begin));
    begins && value.split(['/', '\\']).all(|name| name.is_empty() || is_words(name))
}

/// Returns true if each part of a value is a word, or a short number: `my-database-2`, `Europe/Berlin`, `ada@example.com`.
fn is_words(value: &str) -> bool {
    let mut parts = value.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.all(|part| {
        // `Version2`, `v12`
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        part.len() - letters.len() <= MAX_DIGITS && is_word(letters)
    })
}

/// Returns true if letters look like words: of one case, capitalised, or joined like `camelCase`, with a vowel now and then.
fn is_word(letters: &str) -> bool {
    if letters.contains(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let is_changed = |pair: &[char]| pair[0].is_uppercase() && pair[1].is_lowercase();
    let chars: Vec<char> = letters.chars().collect();
    let capitals = chars.windows(2).filter(|pair| pair[0].is_lowercase() && pair[1].is_uppercase()).count();
    // In random letters, the case changes with every second letter.
    let is_joined =
        capitals * 4 <= chars.len() && chars.windows(2).filter(|pair| is_changed(pair)).count() <= capitals + 1;
    let run =
        chars.split(|c| "aeiouyäöüAEIOUY".contains(*c) || !c.is_ascii()).map(<[char]>::len).max().unwrap_or_default();
    is_joined && (run <= 5 || chars.len() <= 6)
}

#[cfg(test)]
mod tests {
    use super::{password, reason};

    #[test]
    fn a_random_value_is_looked_for() {
        for value in [
            "aB3dE5fG7hI9jK1l",
            "sk_live_51Hxyz8Kd92mQ",
            "123e4567-e89b-12d3-a456-426614174000",
            "0f8fad5bd9cb469fa165",
            "xkqjzrwvbtnmplds",
            "XkQjZrWvBtNmPlDs",
            "postgres://app:Tr0ub4dor&3xyz@db.example.com/app",
            "p@ss/w0rd!with#signs9",
            "/8Kd92mQx+aB3dE5fG7h=",
            "4815162342108",
        ] {
            assert_eq!(reason("KEY", value), None, "{value}");
        }
    }

    #[test]
    fn an_ordinary_value_would_be_found_everywhere() {
        for value in [
            "short",
            "development",
            "my-production-database",
            "https://api.example.com/v1",
            "postgres://localhost:5432/application",
            "/var/lib/application/data",
            "./target/release/server",
            "ada.lovelace@example.com",
            "Europe/Berlin and elsewhere",
            "eu-central-1.amazonaws.com",
            "true,false,true,false",
            "${OTHER_VARIABLE}",
            "applicationServerName",
            "2026-11-30 12:00:00",
            "correct horse battery staple",
        ] {
            assert!(reason("KEY", value).is_some(), "{value}");
        }
        assert!(reason("NEXT_PUBLIC_KEY", "aB3dE5fG7hI9jK1l").is_some());
    }

    #[test]
    fn the_password_of_an_address_is_a_value_of_its_own() {
        assert_eq!(password("postgres://app:secret@db/app"), Some("secret"));
        assert_eq!(password("https://a:b:c@d@host"), Some("b:c@d"));
        for address in ["https://example.com", "https://user@host", "user:password@host", "https://host/a:b@c"] {
            assert_eq!(password(address), None, "{address}");
        }
    }
}
