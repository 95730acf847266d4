//! The formats that are known: where such a secret may begin, what it then looks like, and what may stay of it.
//!
//! Sources: the issuers' documentation of their token prefixes (GitHub, GitLab, Slack, Stripe, AWS, Google, npm, PyPI,
//! Hugging Face, SendGrid), RFC 7519 for JWTs, RFC 7468 for PEM, RFC 4880 for OpenPGP's armour.

use crate::strength;

/// A known format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) kind: &'static str,
    /// The texts with which a match begins: the regex is asked nowhere else. Lower case where `fold` is set.
    pub(crate) starts: &'static [&'static str],
    /// Whether upper and lower case are the same in it.
    pub(crate) fold: bool,
    /// Anchored where a start stands. The first group, where there is one, is the secret; else all of it is.
    pub(crate) pattern: &'static str,
    /// How many bytes of the secret are a published prefix, and stay.
    pub(crate) prefix: usize,
    pub(crate) before: Before,
    /// What else must hold of the secret.
    pub(crate) check: fn(&str) -> bool,
}

/// What may stand before a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Anything,
    /// No ASCII letter or digit: `task-…` holds no `sk-…`.
    NoWord,
    /// None of those, and no `-` or `_`: the format may hold its own start, and must not be tried at each of them.
    NoToken,
}

const KNOWN: Rule =
    Rule { kind: "", starts: &[], fold: false, pattern: "", prefix: 0, before: Before::NoWord, check: |_| true };

/// How a name and its value meet: `=`, `:`, `:=`, `=>`, with quotes round either, which may be escaped.
macro_rules! assigned {
    ($name:literal, $value:literal) => {
        concat!("(?i)", $name, r#"["'`\\\]]{0,4}\s{0,5}(?::=|=>|[:=])\s{0,5}\\{0,3}["'`]?"#, $value)
    };
}

/// In this order: where two fit at one place, the first is it.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        kind: "private-key",
        starts: &["-----BEGIN "],
        // A key whose end is missing is masked to the end of the text.
        pattern: r"(?s)-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|$)",
        before: Before::Anything,
        ..KNOWN
    },
    Rule {
        kind: "aws-access-key-id",
        starts: &["AKIA", "ASIA"],
        pattern: r"(?:AKIA|ASIA)[A-Z2-7]{16}\b",
        prefix: 4,
        ..KNOWN
    },
    Rule {
        kind: "github-token",
        starts: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        pattern: r"gh[pousr]_[A-Za-z0-9]{36,}",
        prefix: 4,
        ..KNOWN
    },
    Rule { kind: "github-token", starts: &["github_pat_"], pattern: r"github_pat_\w{22,}", prefix: 11, ..KNOWN },
    Rule {
        kind: "gitlab-token",
        starts: &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"],
        pattern: r"gl[a-z]{2,3}t?-[\w.-]{20,}",
        prefix: 0,
        before: Before::NoToken,
        ..KNOWN
    },
    Rule {
        kind: "slack-token",
        starts: &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        pattern: r"x(?:ox[abeoprs]|app)[-.][\w.-]{10,}",
        prefix: 5,
        before: Before::NoToken,
        ..KNOWN
    },
    Rule {
        kind: "slack-webhook",
        starts: &["hooks.slack.com/"],
        pattern: r"hooks\.slack\.com/(?:services|workflows|triggers)/(\w[\w/]{20,})",
        before: Before::Anything,
        ..KNOWN
    },
    Rule {
        kind: "stripe-key",
        starts: &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        pattern: r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
        prefix: 8,
        ..KNOWN
    },
    Rule { kind: "stripe-key", starts: &["whsec_"], pattern: r"whsec_[A-Za-z0-9+/]{24,}=*", prefix: 6, ..KNOWN },
    Rule {
        kind: "anthropic-key",
        starts: &["sk-ant-"],
        pattern: r"sk-ant-[\w-]{20,}",
        prefix: 7,
        before: Before::NoToken,
        ..KNOWN
    },
    Rule {
        kind: "openai-key",
        starts: &["sk-"],
        pattern: r"sk-[\w-]{20,}",
        prefix: 3,
        before: Before::NoToken,
        check: strength::is_random_token,
        ..KNOWN
    },
    Rule { kind: "google-key", starts: &["AIza"], pattern: r"AIza[\w-]{35}", prefix: 4, ..KNOWN },
    Rule { kind: "google-key", starts: &["ya29."], pattern: r"ya29\.[\w-]{20,}", prefix: 5, ..KNOWN },
    Rule { kind: "google-key", starts: &["GOCSPX-"], pattern: r"GOCSPX-[\w-]{20,}", prefix: 7, ..KNOWN },
    Rule { kind: "npm-token", starts: &["npm_"], pattern: r"npm_[A-Za-z0-9]{36}\b", prefix: 4, ..KNOWN },
    Rule { kind: "pypi-token", starts: &["pypi-AgE"], pattern: r"pypi-AgE[\w-]{50,}", prefix: 5, ..KNOWN },
    Rule { kind: "hugging-face-token", starts: &["hf_"], pattern: r"hf_[A-Za-z0-9]{30,}", prefix: 3, ..KNOWN },
    Rule { kind: "sendgrid-key", starts: &["SG."], pattern: r"SG\.[\w-]{16,32}\.[\w-]{16,64}", prefix: 3, ..KNOWN },
    Rule {
        kind: "jwt",
        starts: &["eyJ"],
        pattern: r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",
        before: Before::NoToken,
        ..KNOWN
    },
    Rule {
        kind: "aws-secret-key",
        starts: &["secret"],
        fold: true,
        pattern: assigned!("secret[_-]?(?:access[_-]?)?key", r"([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"),
        before: Before::Anything,
        check: strength::is_random_token,
        ..KNOWN
    },
    Rule {
        kind: "authorization",
        starts: &["authorization"],
        fold: true,
        pattern: assigned!("authorization", r#"(?:bearer|basic|token|apikey|bot|digest)\s{1,5}([^\s"'`,;]{8,})"#),
        before: Before::Anything,
        check: strength::is_no_placeholder,
        ..KNOWN
    },
    Rule {
        kind: "authorization",
        starts: &["bearer "],
        fold: true,
        pattern: r"(?i)bearer\s{1,5}([A-Za-z0-9._~+/-]{16,}=*)",
        check: strength::is_strong,
        ..KNOWN
    },
    Rule {
        kind: "url-password",
        starts: &["://"],
        pattern: r#"://[^\s/:@"'`]{0,64}:([^\s/@"'`]{3,128})@"#,
        before: Before::Anything,
        check: strength::is_no_placeholder,
        ..KNOWN
    },
    Rule {
        kind: ASSIGNED,
        starts: SECRET_NAMES,
        fold: true,
        // Up to where the value begins; where that ends, the scanner finds out.
        pattern: assigned!(
            "(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|secret[_-]?key)",
            ""
        ),
        before: Before::Anything,
        check: strength::is_strong,
        ..KNOWN
    },
];

/// The kind of a value that only its name gives away.
pub(crate) const ASSIGNED: &str = "assigned-secret";

/// The ends of names whose values are secrets.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "privatekey",
    "private_key",
    "private-key",
    "authkey",
    "auth_key",
    "auth-key",
];

/// Whether a JSON member of that name holds a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| name.ends_with(secret))
        || name.ends_with("secret_key")
        || name.ends_with("secretkey")
}
