//! Binary data in values: what plugins get in its place, and what the agent gets of it.

use crate::support::{component, plugin, session};
use hookhost::config::{Digest, Entry};
use hookhost::contract::{FailureKind, ResultSource, ToolOrigin, ToolResult};
use hookhost::{Session, TransformOutcome};
use serde_json::{Value, json};

/// Base64 of so many bytes that are no text.
fn picture(length: usize) -> String {
    let bytes: Vec<u8> = (0..length).map(|at| 0x80 | (at % 125) as u8).collect();
    base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes)
}

/// Returns the outcome of a result, and the record of it.
async fn after(session: &Session, result: ToolResult) -> hookhost::RecordedOutcome<TransformOutcome<ToolResult>> {
    let call = session.tool_call("1", "Read", &json!({ "file_path": "/a.png" }), ToolOrigin::Builtin);
    session.after_tool_call(&call.into_call(), result, ResultSource::Tool).await
}

/// A result as an agent tells it: the text is all of it once more.
fn result(whole: &Value) -> ToolResult {
    ToolResult { text: whole.to_string(), is_error: false, raw: Some(whole.into()) }
}

/// A plugin that does not ask for the agent's message.
fn redacting() -> Entry {
    let path = component("redact_secrets.wasm");
    Entry::new("redact-secrets", &path, Digest::of_file(&path).expect("a component"))
}

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

#[tokio::test]
async fn a_plugin_that_changes_a_result_leaves_the_pictures_in_it_as_they_are() {
    let data = picture(2_000_000);
    let whole = |token: &str| {
        json!({
            "content": [
                { "type": "text", "text": format!("the token is {token}") },
                { "type": "image", "data": data, "mimeType": "image/png" },
            ]
        })
    };
    let session = session(vec![redacting()]).await;
    let settled = after(&session, result(&whole(TOKEN))).await;
    let TransformOutcome::Passed { value } = settled.outcome else { panic!("{:?}", settled.record.reason) };
    assert_eq!(settled.record.changed_by, ["redact-secrets"]);
    let raw: Value = value.raw.unwrap().read().unwrap();
    assert_eq!(raw["content"][1], whole(TOKEN)["content"][1]);
    for text in [raw.to_string(), value.text] {
        assert!(text.contains(&data) && !text.contains(TOKEN) && !text.contains("hookhost:binary"));
    }
    // What it answered is in the log with the marker, and the outcome with the data.
    let verdict = settled.record.calls[0].verdict.as_ref().unwrap().get();
    assert!(verdict.contains("[hookhost:binary image/png, 2000000 bytes, sha256 ") && verdict.len() < 10_000);
    assert!(settled.record.last.as_ref().unwrap().get().contains(&data));
}

#[tokio::test]
async fn pictures_do_not_count_towards_the_input_limit_and_what_is_no_picture_does() {
    let session = session(vec![redacting()]).await;
    let image =
        |kind: &str| json!({ "type": kind, "file": { "base64": picture(3_000_000), "type": format!("{kind}/png") } });
    let passed = after(&session, result(&image("image"))).await;
    assert_eq!(passed.outcome, TransformOutcome::Passed { value: result(&image("image")) });
    let withheld = after(&session, result(&image("text"))).await;
    let failure = withheld.record.calls[0].failure.as_ref().expect("a failure");
    assert_eq!(failure.kind, FailureKind::Oversized);
}

#[tokio::test]
async fn a_plugin_that_imports_the_agents_message_gets_the_pictures() {
    let mut asks = plugin("asks", json!({"after-tool-call": {"verdict": "reject", "reason": "{value}"}}));
    asks.limits.input = std::num::NonZeroUsize::new(20_000).unwrap();
    let session = session(vec![asks]).await;
    let image = |length| json!({ "type": "image", "data": picture(length), "mimeType": "image/png" });
    let settled = after(&session, result(&image(4_000))).await;
    let reason = settled.record.reason.unwrap();
    assert!(reason.contains(&picture(600)[..700]) && !reason.contains("hookhost:binary"), "{reason}");
    let settled = after(&session, result(&image(9_000))).await;
    assert_eq!(settled.record.calls[0].failure.as_ref().unwrap().kind, FailureKind::Oversized);
}
