//! The hooks of the plugin for the marketplaces of Claude Code and Codex are those that `hookhost install` writes.
//! `HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents agent_plugin` writes them.

use hookhost_agents::by_name;
use hookhost_agents::install::json::with_entries;
use hookhost_agents::plan::{Context, FilePlan, OnFailure, Scope};
use std::fs;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "/the/program";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agent-plugin")
}

/// The file of hooks for an agent, whose command is the plugin's script.
fn hooks(agent: &str, script: &str) -> String {
    let adapter = by_name(agent).unwrap();
    let context = Context {
        scope: Scope::User,
        home: Path::new("/home/a"),
        project: Path::new("/project"),
        program: Path::new(PROGRAM),
        on_failure: OnFailure::Deny,
        directories: None,
        variable: &|_| None,
    };
    let plan = adapter.install(&context).unwrap();
    let [FilePlan::Json { entries, .. }, ..] = plan.files.as_slice() else { panic!("{:?}", plan.files) };
    with_entries("", entries, adapter.json_dialect(), agent).unwrap().replace(PROGRAM, script)
}

#[test]
fn the_plugin_has_the_hooks_that_install_writes() {
    for (agent, file, script) in [
        // Claude Code runs a program with arguments, and Codex a command of the shell.
        ("claude-code", "hooks/hooks.json", "${CLAUDE_PLUGIN_ROOT}/hook"),
        ("codex", "hooks/codex.json", "\\\"${PLUGIN_ROOT}/hook\\\""),
    ] {
        let (path, planned) = (directory().join(file), hooks(agent, script));
        serde_json::from_str::<serde_json::Value>(&planned).unwrap();
        if std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some() {
            fs::write(&path, &planned).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == planned,
            "{file} is stale: HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents agent_plugin"
        );
    }
}

#[test]
fn both_manifests_have_the_version_of_the_program() {
    for file in [".claude-plugin/plugin.json", ".codex-plugin/plugin.json"] {
        let text = fs::read_to_string(directory().join(file)).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"), "{file}");
    }
}
