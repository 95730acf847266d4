//! The setup of Cline's command line.

use super::{KEY, RealAgent};
use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::{self, Start};
use anyhow::{Result, ensure};
use hookhost_contract::EventKind;
use serde_json::json;

pub(super) struct Cline;

const PACKAGE: Package = Package { short: "cline", name: "cline", version: "3.0.65" };

const NO_TELEMETRY: &[(&str, &str)] =
    &[("DO_NOT_TRACK", "1"), ("CLINE_NO_AUTO_UPDATE", "1"), ("CLINE_TELEMETRY_DISABLED", "1")];

impl RealAgent for Cline {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn package(&self) -> Package {
        PACKAGE
    }

    fn prepare(&self, place: &Place) -> Result<()> {
        let url = format!("{}/v1", place.model);
        let arguments = ["auth", "-p", "openai-compatible", "-k", KEY, "-m", "mock-model", "-b", &url];
        let start = PACKAGE.start(&place.cache, "cline", &arguments).with(NO_TELEMETRY);
        let ended = process::run(place, &start, process::LIMIT)?;
        ensure!(ended.code == Some(0), "cline auth failed: {}", ended.said());
        Ok(())
    }

    fn start(&self, place: &Place, prompt: &str) -> Start {
        PACKAGE
            .start(&place.cache, "cline", &["-P", "openai-compatible", "-m", "mock-model", prompt])
            .with(NO_TELEMETRY)
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("run_commands", json!({ "commands": [command] }))
    }

    fn read(&self, path: &str) -> Option<Call> {
        Some(Call::new("read_files", json!({ "files": [{ "path": path }] })))
    }

    fn subagent(&self, prompt: &str) -> Option<Call> {
        Some(Call::new("spawn_agent", json!({ "systemPrompt": "You do a part.", "task": prompt })))
    }

    fn says(&self, event: EventKind) -> Option<&'static str> {
        Some(match event {
            EventKind::SessionStart => "agent_start",
            EventKind::PromptSubmit => "prompt_submit",
            EventKind::BeforeToolCall => "tool_call",
            EventKind::AfterToolCall => "tool_result",
            EventKind::QueueEmpty => "agent_end",
            EventKind::SessionEnd => "session_shutdown",
            _ => return None,
        })
    }

    fn untold(&self) -> &'static [EventKind] {
        &[EventKind::PromptSubmit, EventKind::SessionEnd]
    }

    fn ends_at_denials(&self) -> bool {
        true
    }

    fn runs_without_hook(&self) -> bool {
        true
    }
}
