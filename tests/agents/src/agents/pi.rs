//! The setup of pi.

use super::{KEY, RealAgent};
use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::Start;
use anyhow::Result;
use serde_json::json;

pub(super) struct Pi;

const PACKAGE: Package = Package { short: "pi", name: "@earendil-works/pi-coding-agent", version: "0.87.1" };

impl RealAgent for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn package(&self) -> Package {
        PACKAGE
    }

    fn prepare(&self, place: &Place) -> Result<()> {
        let mock = json!({
            "baseUrl": format!("{}/v1", place.model), "api": "openai-completions", "apiKey": KEY,
            "models": [{ "id": "mock-model" }],
        });
        place.write_home(".pi/agent/models.json", &json!({ "providers": { "mock": mock } }).to_string())
    }

    fn start(&self, place: &Place, prompt: &str) -> Start {
        let arguments = ["--offline", "--provider", "mock", "--model", "mock-model", "-p", prompt];
        let start = PACKAGE.start(&place.cache, "pi", &arguments);
        start.with(&[("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0"), ("PI_SKIP_VERSION_CHECK", "1")])
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("bash", json!({ "command": command }))
    }

    fn read(&self, path: &str) -> Option<Call> {
        Some(Call::new("read", json!({ "path": path })))
    }

    fn write(&self, path: &str, text: &str) -> Option<Call> {
        Some(Call::new("write", json!({ "path": path, "content": text })))
    }

    fn subagent(&self, _prompt: &str) -> Option<Call> {
        None
    }

    fn runs_without_hook(&self) -> bool {
        false
    }
}
