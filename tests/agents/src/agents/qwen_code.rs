//! The setup of Qwen Code.

use super::{KEY, RealAgent};
use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::Start;
use anyhow::Result;
use hookhost_contract::EventKind;
use serde_json::json;

pub(super) struct QwenCode;

const PACKAGE: Package = Package { short: "qwen-code", name: "@qwen-code/qwen-code", version: "0.24.4" };

impl RealAgent for QwenCode {
    fn name(&self) -> &'static str {
        "qwen-code"
    }

    fn package(&self) -> Package {
        PACKAGE
    }

    fn prepare(&self, place: &Place) -> Result<()> {
        let settings = json!({
            "security": { "auth": { "selectedType": "openai" }, "folderTrust": { "enabled": false } },
            "general": { "enableAutoUpdate": false, "disableAutoUpdate": true },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
        });
        place.write_home(".qwen/settings.json", &settings.to_string())
    }

    fn start(&self, place: &Place, prompt: &str) -> Start {
        started(place, &["--yolo", "-p", prompt])
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("run_shell_command", json!({ "command": command, "is_background": false }))
    }

    fn read(&self, path: &str) -> Option<Call> {
        Some(Call::new("read_file", json!({ "file_path": path })))
    }

    fn subagent(&self, prompt: &str) -> Option<Call> {
        let arguments = json!({ "description": "a part", "prompt": prompt, "subagent_type": "general-purpose" });
        Some(Call::new("agent", arguments))
    }

    fn untold(&self) -> &'static [EventKind] {
        &[EventKind::SessionEnd]
    }

    fn acp(&self, place: &Place) -> Result<Option<Start>> {
        Ok(Some(started(place, &["--acp"])))
    }

    fn runs_without_hook(&self) -> bool {
        true
    }
}

fn started(place: &Place, arguments: &[&str]) -> Start {
    PACKAGE.start(&place.cache, "qwen", arguments).with(&[
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", &format!("{}/v1", place.model)),
        ("OPENAI_MODEL", "mock-model"),
        ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1"),
    ])
}
