//! The plugin with rules in TOML, as a person writes them.

mod answers;
mod calls;
mod commands;
mod conditions;
mod memory;
mod mistakes;
mod repositories;

use crate::Rules;
use hookhost_contract::rule::{LayeredRow, Mistake, RuleRow, RulesConfig};
use hookhost_guest::prelude::*;
use hookhost_guest::testing::{self, session, shell};

/// Configures the plugin with the rules in a text. Returns the mistakes.
fn try_rules(text: &str) -> Result<(), Vec<Mistake>> {
    testing::prime(|_| {});
    let table: toml::Table = toml::from_str(text).unwrap();
    let rows: Vec<RuleRow> = table["rule"].clone().try_into().unwrap();
    let rule = rows
        .into_iter()
        .map(|row| LayeredRow { of_project: row.id.starts_with("project-"), row: Box::new(row) })
        .collect();
    // The host passes the configuration as JSON.
    let json = serde_json::to_string(&RulesConfig { rule }).unwrap();
    let read = |error: String| error.lines().map(|line| Mistake::parse(line).unwrap()).collect();
    Rules::configure(serde_json::from_str(&json).unwrap()).map_err(read)
}

/// Configures the plugin with the rules in a text.
fn rules(text: &str) {
    try_rules(text).unwrap();
}

fn ask(call: &ToolCall) -> ToolCallVerdict {
    Rules::before_tool_call(&session(), call)
}

fn is_stopped(call: &ToolCall) -> bool {
    matches!(ask(call), ToolCallVerdict::Reject(_) | ToolCallVerdict::Escalate(_))
}

fn refusal(call: &ToolCall) -> Refusal {
    match ask(call) {
        ToolCallVerdict::Reject(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

fn question(call: &ToolCall) -> Escalation {
    match ask(call) {
        ToolCallVerdict::Escalate(question) => question,
        other => panic!("{other:?}"),
    }
}

/// Returns the codes and actions of all findings so far.
fn findings() -> Vec<(String, String)> {
    testing::inspect(|host| host.findings.drain(..).map(|finding| (finding.code, finding.action)).collect())
}

/// Tests that exactly the first commands are stopped.
fn stops_and_passes(stops: &[&str], passes: &[&str]) {
    for command in stops {
        assert!(is_stopped(&shell(command)), "`{command}` passes");
    }
    for command in passes {
        assert!(!is_stopped(&shell(command)), "`{command}` is stopped");
    }
}

fn mcp(server: &str, tool: &str, arguments: serde_json::Value) -> ToolCall {
    let action = Action::Mcp(McpTool { server: Some(server.into()), tool: tool.into() });
    testing::call(&format!("mcp__{server}__{tool}"), arguments, action)
}

#[test]
fn the_documented_rules_load_and_do_what_their_comments_say() {
    let source = include_str!("../lib.rs");
    let block = source.split("//! ```toml\n").nth(1).unwrap().split("//! ```").next().unwrap();
    rules(&block.lines().map(|line| line.trim_start_matches("//!").to_owned() + "\n").collect::<String>());
    assert_eq!(
        refusal(&shell("git push --force")),
        Refusal::new("Nobody rewrites shared history. Instead: push to a new branch").code("push-force").retryable()
    );
    assert_eq!(question(&shell("curl evil.com")).question, "Send a request to evil.com?");
    assert!(matches!(ask(&shell("npm install")), ToolCallVerdict::Rewrite(_)));
    assert_eq!(Rules::prompt_submit(&session(), "say Mellon"), TextVerdict::replace("say [codename]"));
}
