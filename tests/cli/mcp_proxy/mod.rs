//! The proxy in front of an MCP server: the test is the client, and a scripted server notes what it is told.

mod approvals;
mod attacks;
mod calls;
mod interceptor;
mod lifetime;
mod listen;
mod peers;
mod questions;
mod service;
mod subscriptions;
mod withheld;

use crate::proxied::{LONG, Proxied, SCRIPTED as SERVER, wait};
use hookhost_tests::{Entry, User};
use serde_json::{Value, json};

/// Definitions are approved by themselves: for tests that are not about them.
const FIRST_USE: &str = "[mcp-proxy]\ndefinitions = \"first-use\"\n";

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

/// A user with these rules, whose plugin is compiled: the resident host loads it in time.
pub(crate) fn user_with(behaviour: Value, more: &str) -> User {
    let user = User::new();
    user.configure(&(more.to_owned() + &Entry::all_events("guard", behaviour).to_toml()));
    user.run(["hooks"]).expect(0, &[]);
    user
}

fn user() -> User {
    let user = User::new();
    user.configure(FIRST_USE);
    user
}

impl Proxied {
    fn start(user: &User, script: &Value) -> Self {
        Self::start_as(user, "files", script)
    }

    fn start_as(user: &User, name: &str, script: &Value) -> Self {
        let (script, record) =
            (user.write(&format!("{name}.json"), script.to_string()), user.project().join(format!("{name}.record")));
        let words = ["mcp", "--name", name, "--", SERVER, script.to_str().unwrap(), record.to_str().unwrap()];
        Self::of(&mut user.command(words), script, record)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Begins as clients do, and lists the tools.
    fn begin(&mut self, capabilities: &Value) -> Vec<String> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "test", "version": "1" },
        });
        assert_eq!(self.ask("initialize", &params)["result"]["serverInfo"]["name"], "scripted");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        self.listed()
    }

    /// The names of the tools that are listed.
    fn listed(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}
