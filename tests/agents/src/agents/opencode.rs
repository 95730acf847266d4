//! The setup of OpenCode.

use super::{KEY, RealAgent};
use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::Start;
use anyhow::Result;
use hookhost_contract::EventKind;
use serde_json::{Value, json};

pub(super) struct OpenCode;

const PACKAGE: Package = Package { short: "opencode", name: "opencode-ai", version: "1.18.33" };

impl RealAgent for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn package(&self) -> Package {
        PACKAGE
    }

    fn prepare(&self, place: &Place) -> Result<()> {
        place.write_project("opencode.json", &config(place).to_string())
    }

    fn start(&self, place: &Place, prompt: &str) -> Start {
        started(place, &["run", prompt])
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("bash", json!({ "command": command, "description": "Runs a command" }))
    }

    fn read(&self, path: &str) -> Option<Call> {
        Some(Call::new("read", json!({ "filePath": path })))
    }

    fn write(&self, path: &str, text: &str) -> Option<Call> {
        Some(Call::new("write", json!({ "filePath": path, "content": text })))
    }

    fn subagent(&self, prompt: &str) -> Option<Call> {
        let arguments = json!({ "description": "a part", "prompt": prompt, "subagent_type": "general" });
        Some(Call::new("task", arguments))
    }

    fn untold(&self) -> &'static [EventKind] {
        // The agent reports when a session is deleted, not when it ends.
        &[EventKind::SessionEnd]
    }

    fn add_server(&self, place: &Place, name: &str, command: &[String]) -> Result<bool> {
        let path = place.project().join("opencode.json");
        let mut config: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        config["mcp"][name] = json!({ "type": "local", "command": command, "enabled": true });
        place.write_project("opencode.json", &config.to_string())?;
        Ok(true)
    }

    fn call(&self, server: &str, tool: &str, arguments: Value) -> Call {
        Call::new(&format!("{server}_{tool}"), arguments)
    }

    fn acp(&self, place: &Place) -> Result<Option<Start>> {
        let mut config = config(place);
        config["permission"] = json!({ "bash": "ask" });
        place.write_project("opencode.json", &config.to_string())?;
        Ok(Some(started(place, &["acp"])))
    }

    fn runs_without_hook(&self) -> bool {
        false
    }
}

fn config(place: &Place) -> Value {
    let models = json!({ "mock-model": {
        "name": "Mock", "tool_call": true, "limit": { "context": 100_000, "output": 8000 },
    } });
    let options = json!({ "baseURL": format!("{}/v1", place.model), "apiKey": KEY });
    json!({
        "autoupdate": false, "share": "disabled", "model": "mock/mock-model", "small_model": "mock/mock-model",
        "provider": { "mock": {
            "npm": "@ai-sdk/openai-compatible", "name": "Mock", "options": options, "models": models,
        } },
    })
}

fn started(place: &Place, arguments: &[&str]) -> Start {
    PACKAGE.start(&place.cache, "opencode", arguments).with(&[
        // The agent fetches a package from npm before it loads plugins. With a registry that has no packages, it continues at once.
        ("npm_config_registry", &place.model),
        ("npm_config_fetch_retries", "0"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
    ])
}
