//! The setup of Gemini CLI.

use super::{KEY, RealAgent};
use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::Start;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

pub(super) struct GeminiCli;

const PACKAGE: Package = Package { short: "gemini-cli", name: "@google/gemini-cli", version: "0.61.0" };

impl RealAgent for GeminiCli {
    fn name(&self) -> &'static str {
        "gemini-cli"
    }

    fn package(&self) -> Package {
        PACKAGE
    }

    fn prepare(&self, place: &Place) -> Result<()> {
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
            "general": { "enableAutoUpdate": false, "disableAutoUpdate": true, "disableUpdateNag": true },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
        });
        place.write_home(".gemini/settings.json", &settings.to_string())
    }

    fn start(&self, place: &Place, prompt: &str) -> Start {
        // Without `--yolo`, the agent does not offer its shell tool to the model in a run without a terminal.
        started(place, &["--yolo", "-p", prompt])
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("run_shell_command", json!({ "command": command, "description": "Runs a command" }))
    }

    fn read(&self, path: &str) -> Option<Call> {
        Some(Call::new("read_file", json!({ "file_path": path })))
    }

    fn write(&self, path: &str, text: &str) -> Option<Call> {
        Some(Call::new("write_file", json!({ "file_path": path, "content": text })))
    }

    fn subagent(&self, prompt: &str) -> Option<Call> {
        Some(Call::new("invoke_agent", json!({ "agent_name": "generalist", "prompt": prompt })))
    }

    fn add_server(&self, place: &Place, name: &str, command: &[String]) -> Result<bool> {
        let (program, arguments) = command.split_first().context("a server has no program")?;
        let path = place.home().join(".gemini/settings.json");
        let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        settings["mcpServers"][name] = json!({ "command": program, "args": arguments, "trust": true });
        place.write_home(".gemini/settings.json", &settings.to_string())?;
        Ok(true)
    }

    fn call(&self, server: &str, tool: &str, arguments: Value) -> Call {
        Call::new(&format!("mcp_{server}_{tool}"), arguments)
    }

    fn acp(&self, place: &Place) -> Result<Option<Start>> {
        Ok(Some(started(place, &["--acp"])))
    }

    fn names_commands_in_titles(&self) -> bool {
        true
    }

    fn runs_without_hook(&self) -> bool {
        false
    }
}

fn started(place: &Place, arguments: &[&str]) -> Start {
    let arguments = [&["-m", "gemini-2.5-flash"], arguments].concat();
    PACKAGE.start(&place.cache, "gemini", &arguments).with(&[
        ("GEMINI_API_KEY", KEY),
        ("GOOGLE_GEMINI_BASE_URL", &place.model),
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
    ])
}
