//! The setup of Claude Code.

use super::{KEY, RealAgent, Served, Way, documented};
use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::Start;
use anyhow::{Context as _, Result};
use serde_json::json;

pub(super) struct ClaudeCode;

const PACKAGE: Package = Package { short: "claude-code", name: "@anthropic-ai/claude-code", version: "2.1.330" };

impl RealAgent for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn package(&self) -> Package {
        PACKAGE
    }

    fn prepare(&self, _place: &Place) -> Result<()> {
        Ok(())
    }

    fn start(&self, place: &Place, prompt: &str) -> Start {
        // In this mode the agent allows all calls, so only the hook and the hook's questions can stop a call.
        let start = PACKAGE.start(&place.cache, "claude", &["-p", prompt, "--permission-mode", "bypassPermissions"]);
        start.with(&[
            // Without this variable, the agent refuses to run in this mode as root.
            ("IS_SANDBOX", "1"),
            ("ANTHROPIC_BASE_URL", &place.model),
            ("ANTHROPIC_API_KEY", KEY),
            // The agent does not start if another user owns its temporary directory.
            ("CLAUDE_CODE_TMPDIR", &place.temporary().to_string_lossy()),
            // Without this variable, the model has to search for the tools of MCP servers before it can call them.
            ("ENABLE_TOOL_SEARCH", "false"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ])
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("Bash", json!({ "command": command, "description": "Runs a command" }))
    }

    fn read(&self, path: &str) -> Option<Call> {
        Some(Call::new("Read", json!({ "file_path": path })))
    }

    fn write(&self, path: &str, text: &str) -> Option<Call> {
        Some(Call::new("Write", json!({ "file_path": path, "content": text })))
    }

    fn subagent(&self, prompt: &str) -> Option<Call> {
        let arguments = json!({ "description": "a part", "prompt": prompt, "subagent_type": "general-purpose" });
        Some(Call::new("Agent", arguments))
    }

    fn ways(&self) -> &'static [Way] {
        &[Way::Http, Way::McpTool]
    }

    fn ask_by(&self, way: Way, place: &Place, served: &Served) -> Result<()> {
        match way {
            Way::Http => {
                let [settings] = documented("Claude Code over HTTP", served)?;
                place.write_home(".claude/settings.json", &settings)
            }
            Way::McpTool => {
                let [settings, servers] = documented("Claude Code by an MCP tool", served)?;
                place.write_home(".claude/settings.json", &settings)?;
                place.write_home(".claude.json", &servers)
            }
        }
    }

    fn add_server(&self, place: &Place, name: &str, command: &[String]) -> Result<bool> {
        let (program, arguments) = command.split_first().context("a server has no program")?;
        let server = json!({ "type": "stdio", "command": program, "args": arguments });
        place.write_home(".claude.json", &json!({ "mcpServers": { name: server } }).to_string())?;
        Ok(true)
    }

    fn runs_without_hook(&self) -> bool {
        false
    }
}
