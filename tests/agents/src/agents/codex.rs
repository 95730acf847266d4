//! The setup of Codex.

use super::{KEY, RealAgent, Served, Way, codex_trust, documented};
use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::Start;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

pub(super) struct Codex;

const PACKAGE: Package = Package { short: "codex", name: "@openai/codex", version: "0.169.0" };

impl RealAgent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn package(&self) -> Package {
        PACKAGE
    }

    fn prepare(&self, place: &Place) -> Result<()> {
        let config = format!(
            "model = \"mock-model\"\nmodel_provider = \"mock\"\napproval_policy = \"never\"\n\
             sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n\n\
             [analytics]\nenabled = false\n\n[feedback]\nenabled = false\n\n\
             [otel]\nexporter = \"none\"\nmetrics_exporter = \"none\"\n\n\
             [model_providers.mock]\nname = \"mock\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"MOCK_KEY\"\n",
            place.model
        );
        place.write_home(".codex/config.toml", &config)
    }

    fn after_install(&self, place: &Place) -> Result<()> {
        codex_trust::trust_all(&PACKAGE.program(&place.cache, "codex"), place, &[("MOCK_KEY", KEY)])
    }

    fn start(&self, place: &Place, prompt: &str) -> Start {
        let arguments = ["exec", "--skip-git-repo-check", prompt];
        PACKAGE.start(&place.cache, "codex", &arguments).with(&[("MOCK_KEY", KEY)])
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("exec_command", json!({ "cmd": command }))
    }

    fn read(&self, _path: &str) -> Option<Call> {
        None
    }

    fn subagent(&self, prompt: &str) -> Option<Call> {
        Some(Call::new("spawn_agent", json!({ "message": prompt })))
    }

    fn ways(&self) -> &'static [Way] {
        &[Way::McpTool]
    }

    fn ask_by(&self, _way: Way, place: &Place, served: &Served) -> Result<()> {
        let [hooks, server] = documented("Codex by an MCP tool", served)?;
        let config = std::fs::read_to_string(place.home().join(".codex/config.toml"))?;
        place.write_home(".codex/config.toml", &format!("{config}\n{server}"))?;
        place.write_home(".codex/hooks.json", &hooks)
    }

    fn add_server(&self, place: &Place, name: &str, command: &[String]) -> Result<bool> {
        let (program, arguments) = command.split_first().context("a server has no program")?;
        let config = std::fs::read_to_string(place.home().join(".codex/config.toml"))?;
        // JSON strings and lists of JSON strings are valid TOML.
        let server = format!("[mcp_servers.{name}]\ncommand = {}\nargs = {}\n", json!(program), json!(arguments));
        place.write_home(".codex/config.toml", &format!("{config}\n{server}"))?;
        Ok(true)
    }

    fn call(&self, _server: &str, tool: &str, arguments: Value) -> Call {
        // The group of an MCP tool is the name of its server.
        Call::new(tool, arguments)
    }

    fn runs_without_hook(&self) -> bool {
        true
    }
}
