//! Writes findings in the format SARIF 2.1.0 (OASIS), which code hosts show beside the changed lines.

use super::{Finding, Kind};
use serde_json::{Value, json};

/// Returns the log of one run.
pub(super) fn log(findings: &[Finding]) -> Value {
    let rules: Vec<Value> = Kind::ALL
        .iter()
        .map(|kind| {
            let (name, severity, description) = kind.details();
            json!({
                "id": name,
                "shortDescription": { "text": description },
                "helpUri": "https://github.com/hookhost/hookhost/blob/main/docs/cli.md#check-a-repository",
                "defaultConfiguration": { "level": severity },
            })
        })
        .collect();
    let results: Vec<Value> = findings
        .iter()
        .map(|Finding { kind, file, line, message }| {
            json!({
                "ruleId": kind.name(),
                "level": kind.severity(),
                "message": { "text": message },
                "locations": [{
                    "physicalLocation": {
                        "artifactLocation": { "uri": uri(&file.to_string_lossy()), "uriBaseId": "%SRCROOT%" },
                        "region": { "startLine": line },
                    },
                }],
            })
        })
        .collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "hookhost",
                    "version": env!("CARGO_PKG_VERSION"),
                    "informationUri": "https://github.com/hookhost/hookhost",
                    "rules": rules,
                },
            },
            "results": results,
        }],
    })
}

/// Returns a relative path as a URI reference (RFC 3986).
fn uri(path: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
    path.bytes().fold(String::new(), |mut uri, byte| {
        if is_plain(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
        uri
    })
}
