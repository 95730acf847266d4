//! Claude Code.

use super::{KEY, RealAgent, Served, TOKEN, Way};
use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::Start;
use anyhow::Result;
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
        // Without a terminal an unanswered question counts as no: these tools are not asked about.
        let start = PACKAGE.start(&place.cache, "claude", &["-p", prompt, "--allowedTools", "Bash", "Agent"]);
        start.with(&[
            ("ANTHROPIC_BASE_URL", &place.model),
            ("ANTHROPIC_API_KEY", KEY),
            // A temporary directory that another user owns stops it.
            ("CLAUDE_CODE_TMPDIR", &place.temporary().to_string_lossy()),
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

    fn subagent(&self, prompt: &str) -> Option<Call> {
        let arguments = json!({ "description": "a part", "prompt": prompt, "subagent_type": "general-purpose" });
        Some(Call::new("Agent", arguments))
    }

    fn ways(&self) -> &'static [Way] {
        &[Way::Http, Way::McpTool]
    }

    fn ask_by(&self, way: Way, place: &Place, served: &Served) -> Result<()> {
        let Served { url, token } = served;
        let hook = match way {
            Way::Http => json!({
                "type": "http", "url": format!("{url}/hooks/claude-code/PreToolUse"), "timeout": 20, "onFailure": "block",
                "headers": { "Authorization": format!("Bearer ${TOKEN}") }, "allowedEnvVars": [TOKEN],
            }),
            Way::McpTool => json!({
                "type": "mcp_tool", "server": "hookhost", "tool": "hook", "timeout": 20, "onFailure": "block",
                "input": {
                    "agent": "claude-code", "point": "PreToolUse", "hook_event_name": "PreToolUse",
                    "session_id": "${session_id}", "cwd": "${cwd}", "tool_name": "${tool_name}",
                    "tool_input": "${tool_input}", "tool_use_id": "${tool_use_id}",
                },
            }),
        };
        let hooks = json!({ "PreToolUse": [{ "matcher": "*", "hooks": [hook] }] });
        place.write_home(".claude/settings.json", &json!({ "hooks": hooks }).to_string())?;
        if way == Way::McpTool {
            let headers = json!({ "Authorization": format!("Bearer {token}") });
            let server = json!({ "type": "http", "url": format!("{url}/mcp"), "headers": headers });
            place.write_home(".claude.json", &json!({ "mcpServers": { "hookhost": server } }).to_string())?;
        }
        Ok(())
    }

    fn runs_without_hook(&self) -> bool {
        false
    }
}
