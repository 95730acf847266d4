//! The known formats of secrets: their beginnings, their shapes, and the part that stays readable.
//!
//! Sources: the issuers' documentation of their token prefixes (GitHub, GitLab, Slack, Stripe, AWS, Google, npm, PyPI,
//! Hugging Face, SendGrid), RFC 7519 for JWTs, RFC 7468 for PEM, RFC 4880 for OpenPGP's armour.

use crate::shape::Part::{self, Just, Run, Text};
use crate::shape::{Set, Shape};
use crate::strength;

/// A known format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) kind: &'static str,
    /// The texts with which a match begins. The shape is tested only where one of these texts occurs. The texts are in lower case if `fold`
    /// is set.
    pub(crate) starts: &'static [&'static str],
    /// True if upper and lower case are treated as equal.
    pub(crate) fold: bool,
    pub(crate) shape: Shape,
    /// Number of bytes of the secret that are a published prefix and stay readable.
    pub(crate) prefix: usize,
    pub(crate) before: Before,
    /// An additional check of the secret.
    pub(crate) check: fn(&str) -> bool,
}

/// The condition on the byte before a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Anything,
    /// The byte must not be an ASCII letter or digit, so `task-…` does not contain the token `sk-…`.
    NoWord,
    /// Like `NoWord`, but the byte must not be `-` or `_` either. This is for formats that can contain their own start, because the shape
    /// must not be tested again at each of these starts.
    NoToken,
}

const KNOWN: Rule = Rule {
    kind: "",
    starts: &[],
    fold: false,
    shape: Shape::Assigned,
    prefix: 0,
    before: Before::NoWord,
    check: |_| true,
};

/// The formats in order of precedence. If two formats match at one position, the first of them is used.
pub(crate) const RULES: &[Rule] = &[
    Rule { kind: "private-key", starts: &["-----BEGIN "], shape: Shape::Key, before: Before::Anything, ..KNOWN },
    token("aws-access-key-id", &["AKIA", "ASIA"], 4, &[Just(Set::Base32, 16)]),
    token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], 4, &[Run(Set::Alnum, 36)]),
    token("github-token", &["github_pat_"], 11, &[Run(Set::Word, 22)]),
    Rule {
        before: Before::NoToken,
        ..token("gitlab-token", &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"], 0, &[Run(Set::Dotted, 20)])
    },
    Rule {
        before: Before::NoToken,
        ..token(
            "slack-token",
            &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
            5,
            &[Run(Set::Dotted, 10)],
        )
    },
    Rule {
        kind: "slack-webhook",
        starts: &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"],
        shape: Shape::After(&[Run(Set::Path, 20)]),
        before: Before::Anything,
        ..KNOWN
    },
    token("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], 8, &[Run(Set::Alnum, 16)]),
    token("stripe-key", &["whsec_"], 6, &[Run(Set::Base64, 24)]),
    Rule { before: Before::NoToken, ..token("anthropic-key", &["sk-ant-"], 7, &[Run(Set::Token, 20)]) },
    Rule {
        before: Before::NoToken,
        check: strength::is_random_token,
        ..token("openai-key", &["sk-"], 3, &[Run(Set::Token, 20)])
    },
    token("google-key", &["AIza"], 4, &[Just(Set::Token, 35)]),
    token("google-key", &["ya29."], 5, &[Run(Set::Token, 20)]),
    token("google-key", &["GOCSPX-"], 7, &[Run(Set::Token, 20)]),
    token("npm-token", &["npm_"], 4, &[Just(Set::Alnum, 36)]),
    token("pypi-token", &["pypi-AgE"], 5, &[Run(Set::Token, 50)]),
    token("hugging-face-token", &["hf_"], 3, &[Run(Set::Alnum, 30)]),
    token("sendgrid-key", &["SG."], 3, &[Run(Set::Token, 16), Text("."), Run(Set::Token, 16)]),
    Rule {
        before: Before::NoToken,
        ..token(
            "jwt",
            &["eyJ"],
            0,
            &[Run(Set::Token, 8), Text(".eyJ"), Run(Set::Token, 8), Text("."), Run(Set::Token, 0)],
        )
    },
    Rule {
        kind: "aws-secret-key",
        starts: &["secret_access_key", "secretaccesskey", "secret-access-key", "secret_key", "secretkey"],
        fold: true,
        before: Before::Anything,
        check: strength::is_aws_secret,
        ..KNOWN
    },
    Rule {
        kind: "authorization",
        starts: &["authorization"],
        fold: true,
        shape: Shape::Header,
        before: Before::Anything,
        check: strength::is_no_placeholder,
        ..KNOWN
    },
    Rule {
        kind: "authorization",
        starts: &["bearer "],
        fold: true,
        shape: Shape::After(&[Run(Set::Bearer, 16)]),
        check: strength::is_strong,
        ..KNOWN
    },
    Rule {
        kind: "url-password",
        starts: &["://"],
        shape: Shape::Url,
        before: Before::Anything,
        check: strength::is_no_placeholder,
        ..KNOWN
    },
    Rule {
        kind: ASSIGNED,
        starts: SECRET_NAMES,
        fold: true,
        before: Before::Anything,
        check: strength::is_strong,
        ..KNOWN
    },
];

/// Returns the rule for a token that begins with one of its published prefixes.
const fn token(kind: &'static str, starts: &'static [&'static str], prefix: usize, parts: &'static [Part]) -> Rule {
    Rule { kind, starts, prefix, shape: Shape::Parts(parts), ..KNOWN }
}

/// The kind for a value that only its name identifies as a secret.
pub(crate) const ASSIGNED: &str = "assigned-secret";

/// The endings of names whose values are secrets.
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
    "secretkey",
    "secret_key",
    "secret-key",
];

/// Returns true if the value of a JSON member with this name is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| name.ends_with(secret))
        || name.ends_with("secret_key")
        || name.ends_with("secretkey")
}
