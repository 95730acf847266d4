//! The setup of GitHub Copilot CLI. The tests configure a separate model provider, so the agent needs no login.

use super::{KEY, RealAgent, Served, Way, documented};
use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::Start;
use anyhow::Result;
use serde_json::json;

pub(super) struct Copilot;

const PACKAGE: Package = Package { short: "copilot", name: "@github/copilot", version: "1.0.102" };

impl RealAgent for Copilot {
    fn name(&self) -> &'static str {
        "copilot-cli"
    }

    fn package(&self) -> Package {
        PACKAGE
    }

    fn prepare(&self, _place: &Place) -> Result<()> {
        Ok(())
    }

    fn start(&self, place: &Place, prompt: &str) -> Start {
        started(place, &["--allow-all-tools", "-p", prompt])
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("bash", json!({ "command": command, "description": "Runs a command" }))
    }

    fn read(&self, path: &str) -> Option<Call> {
        Some(Call::new("view", json!({ "path": path })))
    }

    fn subagent(&self, prompt: &str) -> Option<Call> {
        let arguments = json!({
            "agent_type": "general-purpose", "name": "part", "description": "a part", "prompt": prompt,
        });
        Some(Call::new("task", arguments))
    }

    fn ways(&self) -> &'static [Way] {
        &[Way::Http]
    }

    fn ask_by(&self, _way: Way, place: &Place, served: &Served) -> Result<()> {
        let [hooks] = documented("Copilot CLI over HTTP", served)?;
        place.write_home(".copilot/hooks/hookhost.json", &hooks)
    }

    fn acp(&self, place: &Place) -> Result<Option<Start>> {
        Ok(Some(started(place, &["--acp"])))
    }

    fn runs_without_hook(&self) -> bool {
        false
    }
}

fn started(place: &Place, arguments: &[&str]) -> Start {
    PACKAGE.start(&place.cache, "copilot", arguments).with(&[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_BASE_URL", &format!("{}/v1", place.model)),
        ("COPILOT_PROVIDER_API_KEY", KEY),
        ("COPILOT_MODEL", "mock-model"),
        // Without this variable the agent skips hooks that post to loopback.
        ("COPILOT_HOOK_ALLOW_LOCALHOST", "1"),
    ])
}
