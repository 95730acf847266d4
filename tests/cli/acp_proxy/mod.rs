//! The proxy between an editor and an agent: the test is the editor, and a scripted agent notes what it is told.

mod attacks;
mod delegated;
mod lifetime;
mod permissions;
mod prompts;
mod reports;
mod servers;

use crate::mcp_proxy::user_with;
use crate::proxied::{LONG, Proxied, SCRIPTED as AGENT};
use hookhost_tests::User;
use serde_json::{Value, json};

/// What the agent answers a prompt with, once the editor has answered the agent.
const END: &str = r#"{"jsonrpc":"2.0","id":"p","result":{"stopReason":"end_turn"}}"#;

/// The answers that an agent offers.
fn options() -> Value {
    json!([
        { "optionId": "aa", "name": "Always", "kind": "allow_always" }, { "optionId": "a", "name": "Yes", "kind": "allow_once" },
        { "optionId": "rr", "name": "Never", "kind": "reject_always" }, { "optionId": "r", "name": "No", "kind": "reject_once" },
    ])
}

fn shell(command: &str) -> Value {
    let given = json!({ "command": command });
    json!({ "toolCallId": "c1", "title": "Run", "kind": "execute", "rawInput": given })
}

/// A request or a notification, as a line of the agent.
fn line(id: Option<&str>, method: &str, params: &Value) -> String {
    let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    if let Some(id) = id {
        message["id"] = json!(id);
    }
    message.to_string()
}

impl Proxied {
    /// An editor whose session `s1` has begun.
    fn editor(user: &User) -> Self {
        let mut editor = Self::editor_without_session(user);
        let opened = editor.ask("session/new", &json!({ "cwd": user.project(), "mcpServers": [] }));
        assert_eq!(opened["result"]["sessionId"], "s1", "{opened}");
        editor
    }

    fn editor_without_session(user: &User) -> Self {
        let script = user.write("agent.json", "{}");
        let record = user.project().join("agent.record");
        let words = ["acp", "--name", "tester", "--", AGENT, script.to_str().unwrap(), record.to_str().unwrap()];
        let mut editor = Self::of(&mut user.command(words), script, record);
        let said =
            json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "readTextFile": true }, "terminal": true } });
        assert!(editor.ask("initialize", &said)["result"].is_object());
        editor
    }

    /// Sends the prompt `p`, upon which the agent says these lines. It ends the prompt once the editor has answered one of them.
    fn has_agent_say(&mut self, lines: &[String]) {
        let end = json!([{ "on": "session/prompt", "say": lines }, { "on": "answer", "say": [END] }]);
        self.rewrite(&json!({ "rules": end }));
        let prompt = json!([{ "type": "text", "text": "do it" }]);
        self.send(&json!({ "jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": { "sessionId": "s1", "prompt": prompt } }));
    }

    fn has_agent_ask(&mut self, method: &str, params: &Value) {
        let mut params = params.clone();
        params["sessionId"] = json!("s1");
        self.has_agent_say(&[line(Some("q"), method, &params)]);
    }

    /// Has the agent ask for permission to make this call.
    fn has_agent_ask_for(&mut self, call: &Value) {
        self.has_agent_ask("session/request_permission", &json!({ "toolCall": call, "options": options() }));
    }

    /// What the agent was answered, once its prompt has ended.
    fn agent_got(&mut self) -> Value {
        self.answer_to(&json!("p"));
        let mut answers = self.told().into_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap());
        answers.rfind(|answer| answer["id"] == "q" && answer["method"].is_null()).unwrap()
    }

    /// Has the agent ask, and returns what it was answered without the editor.
    fn permission(&mut self, call: &Value) -> Value {
        self.has_agent_ask_for(call);
        let got = self.agent_got();
        assert!(self.others.is_empty(), "the editor was asked: {:?}", self.others);
        got
    }
}

fn selected(option: &str) -> Value {
    json!({ "outcome": "selected", "optionId": option })
}
