//! With a passkey, an agent that asks its user itself gets no question.

use super::Lab;
use super::soft_authenticator::SoftAuthenticator;
use hookhost::approval::Approval;
use hookhost_agents::{Message, by_name};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Sends a call of Claude Code, which can ask its user itself.
async fn call_of_claude_code(lab: &Lab, command: &str) -> String {
    let message = json!({
        "session_id": "c", "transcript_path": "/t", "cwd": "/work", "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": command,
    });
    let bytes = message.to_string().into_bytes();
    let adapter = by_name("claude-code").unwrap();
    lab.settler.reply(adapter, &Message::new(&bytes, Path::new("/work")), &|_| {}).await.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_passkey_a_question_waits_here_also_if_the_agent_could_ask_its_user_itself() {
    let lab = Arc::new(Lab::new().await);
    let host = lab.settler.host().clone();
    let asks = r#""permissionDecision":"ask""#;
    assert!(call_of_claude_code(&lab, "deploy first").await.contains(asks));
    let passkey = SoftAuthenticator::new("first");
    let new = passkey.new_passkey("my key");
    let own = passkey.sign(&host.passkeys().await.unwrap().challenge_to_add(&new).to_string());
    host.add_passkey(new, own, None).await.unwrap();
    for answer in ["yes", "no"] {
        let asked = tokio::spawn({
            let lab = Arc::clone(&lab);
            async move { call_of_claude_code(&lab, &format!("deploy {answer}")).await }
        });
        lab.code_of_question().await;
        let request = host.questions().await.unwrap().remove(0);
        let id = &request.id;
        assert!(host.answer(id, Approval::yes()).await.is_err());
        let challenge = request.challenge(false).unwrap().to_string();
        let given = if answer == "yes" { Approval::yes().proof(passkey.sign(&challenge)) } else { Approval::no() };
        host.answer(id, given).await.unwrap();
        let reply = asked.await.unwrap();
        assert!(!reply.contains(asks) && reply.contains("deny") == (answer == "no"), "{reply}");
    }
}
