use super::install::{Records, install, uninstall};
use super::{EXPORTERS, Export, edit};
use crate::plan::Treatment::{Hidden, Masked, ReadOnly, Writable};
use crate::plan::{Guard, Treatment};
use crate::policy::{Absent, FileFormat, Gap, NetworkAccess, Places, Policy, RestoredFile};
use hookhost_agents::install::json;
use hookhost_agents::plan::Scope;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a small policy with each treatment.
pub(crate) fn policy(network: NetworkAccess) -> Policy {
    let guard =
        |path: &str, treatment: Treatment, reason: &str| Guard { path: path.into(), treatment, reason: reason.into() };
    let restored = |path: &str, format, exists| RestoredFile {
        path: path.into(),
        exists,
        format,
        keys: Vec::new(),
        reason: "x".into(),
    };
    Policy {
        guards: vec![
            guard("/etc/claude-code", ReadOnly, "settings of claude-code"),
            guard("/home/me/.config/opencode", ReadOnly, "settings of opencode"),
            guard("/home/me/.config/opencode/node_modules", Writable, "written by opencode"),
            guard("/home/me/.ssh/id_ed25519", Hidden, "key"),
            guard("/run/docker.sock", Masked, "starts containers"),
            guard("/work/.git/hooks", ReadOnly, "runs later, outside"),
            guard("/work/a \"b\"/.env", Hidden, "rule `no-env`"),
        ],
        absent: vec![Absent {
            path: "/home/me/.claude/settings*.json".into(),
            treatment: ReadOnly,
            reason: "settings of claude-code".into(),
        }],
        restored: vec![
            restored("/home/me/.claude.json", FileFormat::Json, true),
            restored("/home/me/.copilot/config.json", FileFormat::Json, false),
            restored("/work/.git/config", FileFormat::GitConfig, true),
        ],
        gaps: Vec::new(),
        network,
        home: "/home/me".into(),
        project: "/work".into(),
    }
}

fn places(root: &Path) -> Places<'static> {
    Places {
        root: "/".into(),
        home: root.join("home/me"),
        config: root.join("c"),
        state: root.join("s"),
        cache: root.join("k"),
        runtime: None,
        project: root.join("work"),
        directory: root.join("work"),
        programs: Vec::new(),
        user: 1000,
        variable: &|_| None,
    }
}

/// Compares a text with a file of the repository. `HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-exec` writes the file.
pub(crate) fn golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens").join(name);
    if std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap_or_default() == text, "{name} differs:\n{text}");
}

#[test]
fn the_settings_of_each_agent_are_the_golden_ones() {
    for (agent, export) in EXPORTERS {
        let mut text = String::new();
        for network in [
            NetworkAccess::All,
            NetworkAccess::None,
            NetworkAccess::Hosts(vec!["github.com".into(), "*.crates.io".into()]),
        ] {
            for scope in [Scope::User, Scope::Project] {
                let export = export(&policy(network.clone()), &places(Path::new("/")), scope);
                let heading =
                    format!("{}, network {}", export.file.display(), serde_json::to_string(&network).unwrap());
                let said: String =
                    export.inexact.iter().map(|Gap { sentence, .. }| format!("- {sentence}\n")).collect();
                writeln!(text, "# {heading}\n{}{said}", export.text()).unwrap();
            }
        }
        golden(&format!("{agent}.txt"), &text);
    }
}

/// An installation in a scratch directory.
struct Scratch {
    root: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(path)
    }

    fn export(&self, agent: &str, network: NetworkAccess) -> Export {
        let (_, export) = EXPORTERS.into_iter().find(|(name, _)| *name == agent).unwrap();
        export(&policy(network), &places(&self.path("")), Scope::User)
    }

    fn install(&self, export: &Export) -> Vec<String> {
        install(export, &self.records()).unwrap().into_iter().map(|gap| gap.sentence).collect()
    }

    fn uninstall(&self, agent: &str) -> bool {
        uninstall(agent, Scope::User, &self.records()).unwrap()
    }

    fn records(&self) -> Records<'_> {
        Records { state: self.root.path(), project: Path::new("/work") }
    }

    fn write(&self, file: &Path, text: &str) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

const CLAUDE: &str = "{\n  \"theme\": \"dark\",\n  \"sandbox\": { \"enabled\": true, \"filesystem\": { \"denyRead\": [\"~/mine\"] } }\n}\n";
const CODEX: &str = "# mine\nmodel = 'x'\n\n[projects.\"/work\"]\ntrust_level = \"trusted\" # yes\n";

#[test]
fn a_file_gets_back_its_content_byte_for_byte() {
    for (agent, text) in
        [("claude-code", CLAUDE), ("claude-code", "{}"), ("codex", CODEX), ("codex", ""), ("cursor", "{ \"a\": 1 }")]
    {
        let scratch = Scratch::new();
        let export = scratch.export(agent, NetworkAccess::None);
        scratch.write(&export.file, text);
        assert_eq!(scratch.install(&export), [""; 0], "{agent}");
        let now = fs::read_to_string(&export.file).unwrap();
        let value = edit::value(export.format, &now).unwrap();
        assert!(export.settings.iter().all(|setting| edit::has(&value, setting)), "{now}");
        // A second installation changes nothing.
        assert_eq!(scratch.install(&export), [""; 0]);
        assert_eq!(fs::read_to_string(&export.file).unwrap(), now);
        assert!(scratch.uninstall(agent) && !scratch.uninstall(agent));
        assert_eq!(fs::read_to_string(&export.file).unwrap(), text);
    }
}

#[test]
fn a_file_that_was_not_there_is_removed_with_its_directories() {
    for agent in ["claude-code", "codex", "cursor", "gemini-cli"] {
        let scratch = Scratch::new();
        let export = scratch.export(agent, NetworkAccess::None);
        scratch.install(&export);
        assert_eq!(fs::read_to_string(&export.file).unwrap(), export.text());
        assert!(scratch.uninstall(agent));
        assert!(!scratch.path("home").exists(), "{agent}");
    }
}

#[test]
fn only_what_was_added_leaves_a_file_that_somebody_has_changed() {
    let scratch = Scratch::new();
    let export = scratch.export("claude-code", NetworkAccess::All);
    scratch.write(&export.file, CLAUDE);
    scratch.install(&export);
    let text = fs::read_to_string(&export.file).unwrap();
    fs::write(&export.file, text.replace("dark", "light").replace("\"~/mine\"", "\"~/mine\", \"~/more\"")).unwrap();
    assert!(scratch.uninstall("claude-code"));
    let value = json::value(&fs::read_to_string(&export.file).unwrap()).unwrap();
    let expected = serde_json::json!({ "theme": "light", "sandbox": { "enabled": true, "filesystem": { "denyRead": ["~/mine", "~/more"] } } });
    assert_eq!(value, expected);

    let export = scratch.export("codex", NetworkAccess::All);
    scratch.write(&export.file, CODEX);
    scratch.install(&export);
    let text = fs::read_to_string(&export.file).unwrap();
    fs::write(&export.file, format!("{text}\n[permissions.mine]\nextends = ':read-only'\n").replace("'x'", "'y'"))
        .unwrap();
    assert!(scratch.uninstall("codex"));
    let text = fs::read_to_string(&export.file).unwrap();
    assert!(
        !text.contains("hookhost") && text.starts_with("# mine\nmodel = 'y'\n") && text.contains("# yes"),
        "{text}"
    );
    assert!(text.contains("[permissions.mine]\nextends = ':read-only'\n"), "{text}");
}

#[test]
fn a_new_policy_takes_the_place_of_the_old_one() {
    let scratch = Scratch::new();
    let export = scratch.export("claude-code", NetworkAccess::Hosts(vec!["github.com".into()]));
    scratch.write(&export.file, CLAUDE);
    scratch.install(&export);
    fs::write(&export.file, fs::read_to_string(&export.file).unwrap().replace("dark", "light")).unwrap();
    let mut changed = scratch.export("claude-code", NetworkAccess::All);
    changed.settings.truncate(1);
    scratch.install(&changed);
    let text = fs::read_to_string(&export.file).unwrap();
    assert!(!text.contains("github.com") && text.contains("/etc/claude-code") && text.contains("light"), "{text}");
    // An export without settings leaves nothing.
    changed.settings.clear();
    scratch.install(&changed);
    let value = json::value(&fs::read_to_string(&export.file).unwrap()).unwrap();
    assert_eq!(value, json::value(&CLAUDE.replace("dark", "light")).unwrap());
    assert!(!scratch.uninstall("claude-code"));
}

#[test]
fn settings_of_the_user_stay_and_are_named() {
    let scratch = Scratch::new();
    let export = scratch.export("codex", NetworkAccess::All);
    let text = "default_permissions = 'mine'\nsandbox_mode = 'workspace-write'\n";
    scratch.write(&export.file, text);
    let said = scratch.install(&export);
    assert!(
        said[0].contains("has another `default_permissions`") && said[1].contains("`sandbox_mode` makes Codex ignore"),
        "{said:?}"
    );
    assert!(fs::read_to_string(&export.file).unwrap().starts_with(text));
    assert!(scratch.uninstall("codex"));
    assert_eq!(fs::read_to_string(&export.file).unwrap(), text);
    for broken in ["{", "[]", r#"{ "a": 1, "a": 2 }"#] {
        let export = scratch.export("claude-code", NetworkAccess::All);
        scratch.write(&export.file, broken);
        let error = install(&export, &scratch.records()).unwrap_err().to_string();
        assert!(error.contains("so it is left as it is: correct it, and try again"), "{error}");
        assert_eq!(fs::read_to_string(&export.file).unwrap(), broken);
        assert!(!scratch.uninstall("claude-code"));
    }
    let export = scratch.export("claude-code", NetworkAccess::All);
    scratch.write(&export.file, r#"{ "sandbox": { "filesystem": 7 } }"#);
    assert!(scratch.install(&export).iter().all(|said| said.contains("has another `sandbox.filesystem.deny")));
}

proptest! {
    /// A file of the user, as JSON and as TOML, loses the settings again and nothing else.
    #[test]
    fn adding_and_removing_leads_back(
        sandbox in prop_oneof![Just("{}"), Just("7"), Just(r#"{ "filesystem": {} }"#), Just(r#"{ "filesystem": { "denyWrite": [] }, "x": [1] }"#),
            Just(r#"{ "filesystem": { "denyRead": ["~/a", "~/.ssh/id_ed25519"] } }"#), Just(r#"{ "filesystem": { "denyWrite": ["~/a"] } }"#)],
        before in prop_oneof![Just(""), Just("\"theme\": 1,"), Just("\"permissions\": { \"hookhost\": {} },")],
    ) {
        let scratch = Scratch::new();
        let text = format!("{{ {before} \"sandbox\": {sandbox} }}");
        let value = json::value(&text).unwrap();
        let settings = scratch.export("claude-code", NetworkAccess::All).settings;
        let added = edit::added(FileFormat::Json, &text, &settings).unwrap();
        let back = edit::removed(FileFormat::Json, &added.text, &added.settings, &value).unwrap();
        prop_assert_eq!(json::value(&back).unwrap(), value.clone());
        let text = toml::to_string(&value).unwrap();
        let value = edit::value(FileFormat::Toml, &text).unwrap();
        let settings = scratch.export("codex", NetworkAccess::None).settings;
        let added = edit::added(FileFormat::Toml, &text, &settings).unwrap();
        prop_assert!(added.refused.is_empty());
        let back = edit::removed(FileFormat::Toml, &added.text, &added.settings, &value).unwrap();
        prop_assert_eq!(edit::value(FileFormat::Toml, &back).unwrap(), value);
    }
}
