//! Masks keys and tokens before the model or the user sees them. It masks them in the results of tools (`after-tool-call`, in the text and
//! in the JSON), in the final text of a task (`finalize-content`), and in streamed text (`stream-delta`).
//!
//! ```toml
//! [[plugin]]
//! name = "redact-secrets"
//! path = "plugins/redact_secrets.wasm"
//! sha256 = "…"
//! on-failure = "reject"           # the default: what could not be redacted is withheld
//!
//! [plugin.config]                 # all of it is optional
//! disable = ["url-password"]      # kinds that are not to be masked
//! keep = ["AKIAIOSFODNN7EXAMPLE"] # values that are no secrets, exactly as written
//! patterns = [                    # secrets of your own, as linear-time regular expressions
//!   { name = "staff-id", regex = 'ACME-[0-9]{8}' },
//!   { name = "build-key", regex = 'key is (?<secret>\S+)' },    # a group `secret` is masked alone
//! ]
//! values = "ask"                  # about a call with the value of a secret; the default is "reject"
//! ```
//!
//! A secret becomes `[redacted: github-token]`. If the format has a published prefix (`ghp_`), the prefix stays before the mark. No byte of
//! the random part stays. For each event with a masked secret, the plugin reports one finding per kind. The finding contains the number of
//! secrets and never their values.
//!
//! The kinds: `aws-access-key-id`, `aws-secret-key`, `github-token`, `gitlab-token`, `slack-token`, `slack-webhook`, `stripe-key`,
//! `anthropic-key`, `openai-key`, `google-key`, `npm-token`, `pypi-token`, `hugging-face-token`, `sendgrid-key`, `jwt`, `private-key` (PEM
//! and OpenPGP), `authorization` (headers), `url-password`, and `assigned-secret`. The last kind is a value that is assigned to a name with
//! an ending like `password`, `secret`, `token` or `api_key`. The value must be random enough, and must not be a placeholder or a path.
//!
//! With the grant `labels`, the session gets the label `read:secret` when the result of a tool contained a secret.
//!
//! # Secrets by value
//!
//! With the grant `secrets`, the plugin also knows the values of the project's secrets: those in its `.env*` files, and in the variables
//! that the grant names. It rejects a call whose arguments contain such a value (a request, a command, a call of an MCP server, a written
//! file), unless the call only writes the files from which the values come. In results and texts, it masks the values. The host finds the
//! values, also split over lines, percent-encoded, in base64 and in hexadecimal digits. Neither the plugin nor the log gets them. At the
//! beginning of a session, a finding lists the values that are not covered: those of less than 12 characters, and ordinary words, numbers,
//! paths and addresses.
//!
//! Limits: a secret of an unknown format is recognised only if a name stands beside it. A secret that a tool has encoded or split over
//! several lines is not recognised. Streamed text comes line by line, so the body of a private key in streamed text is recognised by its
//! form. Known formats cost about 50 to 100 units of fuel per byte of text, so the default limit is enough for a result of 1 MB. A
//! configured pattern that begins with fixed text (`ACME-`) adds little to this cost. Any other pattern adds 900 units per byte. If you use
//! such a pattern, raise `limits.fuel`, because otherwise results of more than 100 KB are withheld.

mod json;
mod patterns;
mod rules;
mod scan;
mod shape;
mod strength;
mod value;
mod values;

use hookhost_guest::prelude::*;
use scan::{Config, Counts, Scanner};

/// Masks the secrets in a JSON text as the plugin does with its default configuration, and adds their numbers to `counts`, by kind.
/// Returns `None` if the text contains no secret. hookhost uses this for what a person may pass on.
#[must_use]
pub fn mask_json(json: &str, counts: &mut std::collections::BTreeMap<String, usize>) -> Option<String> {
    json::mask(&Scanner::new(Config::default()).ok()?, json, counts)
}

static SCANNER: Configured<Scanner> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct RedactSecrets;

#[plugin]
impl Plugin for RedactSecrets {
    fn configure(config: Config) -> Result<(), String> {
        SCANNER.set(Scanner::new(config)?);
        Ok(())
    }

    // The finding is about the session, so it is reported once.
    fn session_start(_session: &Session) -> Vec<Task> {
        values::report_uncovered();
        Vec::new()
    }

    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        values::judge(call, SCANNER.get().on_value)
    }

    fn after_tool_call(
        _session: &Session,
        call: &ToolCall,
        tool_result: &ToolResult,
        _source: ResultSource,
    ) -> ToolResultVerdict {
        let scanner = SCANNER.get();
        let mut counts = Counts::default();
        let text = scanner.mask(&tool_result.text, &mut counts);
        let raw = tool_result.raw.as_deref().and_then(|raw| json::mask(scanner, raw, &mut counts));
        if text.is_none() && raw.is_none() {
            return Verdict::keep();
        }
        report(&counts, &format!("the result of `{}`", call.name));
        if grants::has("labels") {
            labels::add("read:secret");
        }
        ToolResultVerdict::replace(ToolResult {
            text: text.unwrap_or_else(|| tool_result.text.clone()),
            raw: raw.or_else(|| tool_result.raw.clone()),
            is_error: tool_result.is_error,
        })
    }

    fn finalize_content(_session: &Session, content: &str) -> TextVerdict {
        let mut counts = Counts::default();
        match SCANNER.get().mask(content, &mut counts) {
            Some(masked) => {
                report(&counts, "the final text");
                TextVerdict::replace(masked)
            }
            None => Verdict::keep(),
        }
    }

    // This reports no findings, because `finalize_content` gets the whole text again.
    fn stream_delta(_session: &Session, delta: &str) -> TextVerdict {
        let scanner = SCANNER.get();
        let masked = scanner.mask(delta, &mut Counts::default());
        let lines = scanner.mask_key_lines(masked.as_deref().unwrap_or(delta));
        lines.or(masked).map_or_else(Verdict::keep, TextVerdict::replace)
    }
}

fn report(counts: &Counts, place: &str) {
    for (kind, count) in counts {
        let (value, was) = if *count == 1 { ("value", "was") } else { ("values", "were") };
        let (code, explanation) = match kind.strip_prefix(values::KIND) {
            Some(name) => (values::CODE.to_owned(), format!("the value of `{name}` was masked in {place}")),
            None => {
                let explanation = format!("{count} {value} of the kind `{kind}` {was} masked in {place}");
                (format!("redact-secrets.{kind}"), explanation)
            }
        };
        let finding = Finding::new(code, Severity::Warning, explanation);
        effects::report(&finding.action("masked").details(&json!({ "kind": kind, "count": count })));
    }
}

#[cfg(test)]
mod tests;
