//! Tests the required contents of files. Paths reach the hook program unchanged, whatever characters they contain.

use hookhost_agents::by_name;
use hookhost_agents::directories::Directories;
use hookhost_agents::plan::{Context, FilePlan, JsonEntry, OnFailure, PROGRAM, Plan, Scope};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const AGENTS: &[&str] =
    &["amp", "claude-code-mods", "cline", "copilot-cli", "cursor", "goose", "opencode", "pi", "windsurf"];

fn plan(agent: &str, scope: Scope, program: &Path, on_failure: OnFailure) -> Option<Plan> {
    let context = Context {
        scope,
        home: Path::new("/home/me"),
        project: Path::new("/project"),
        program,
        on_failure,
        directories: None,
        variable: &|_| None,
    };
    by_name(agent).unwrap().install(&context).ok()
}

/// Returns all strings in a plan that are commands for a shell.
fn commands(plan: &Plan) -> Vec<String> {
    fn within(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    match value {
                        Value::String(text)
                            if ["command", "bash"].contains(&key.as_str()) && text.contains(PROGRAM) =>
                        {
                            found.push(text.clone());
                        }
                        value => within(value, found),
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|value| within(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for file in &plan.files {
        match file {
            FilePlan::Json { entries, .. } => entries.iter().for_each(|entry| {
                if let JsonEntry::Element { value, .. } = entry {
                    within(value, &mut found);
                }
            }),
            FilePlan::Whole { content, .. } => {
                if let Ok(value) = serde_json::from_str(content) {
                    within(&value, &mut found);
                }
            }
        }
    }
    found
}

/// Creates a program that prints its arguments, one per line. The program's path contains characters that have a
/// special meaning in shells.
fn odd_program(root: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = root.join("it's $(touch pwned) \"q\" `touch pwned` & ;");
    fs::create_dir_all(&directory).unwrap();
    let program = directory.join(PROGRAM);
    fs::write(&program, "#!/bin/sh\nfor word in \"$@\"; do echo \"$word\"; done\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn a_command_runs_the_hook_program_whatever_its_path_has_in_it() {
    let root = tempfile::tempdir().unwrap();
    let program = odd_program(root.path());
    for agent in ["copilot-cli", "cursor", "goose", "windsurf"] {
        let plan = plan(agent, Scope::User, &program, OnFailure::Allow).unwrap();
        let commands = commands(&plan);
        let installed = by_name(agent).unwrap().agent().points.iter().filter(|point| point.installed).count();
        assert_eq!(commands.len(), installed, "{agent}");
        let output = Command::new("sh").arg("-c").arg(&commands[0]).current_dir(root.path()).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let words: Vec<&str> = printed.lines().collect();
        assert_eq!(words.len(), 3, "{agent}: {printed}");
        assert_eq!((words[0], words[2]), (agent, "--on-failure=allow"));
        assert!(by_name(agent).unwrap().agent().point(words[1]).is_some(), "{agent}: {printed}");
    }
    assert!(!root.path().join("pwned").exists());
}

#[test]
fn the_programs_of_cline_run_the_hook_program_whatever_its_path_has_in_it() {
    let root = tempfile::tempdir().unwrap();
    let program = odd_program(root.path());
    let plan = plan("cline", Scope::User, &program, OnFailure::Deny).unwrap();
    for file in &plan.files {
        let FilePlan::Whole { path, content, is_program: true } = file else { panic!("{file:?}") };
        let script = root.path().join("script");
        fs::write(&script, content).unwrap();
        let output = Command::new("sh").arg(&script).current_dir(root.path()).output().unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("cline\n{name}\n"));
    }
    assert!(!root.path().join("pwned").exists());
}

#[test]
fn each_agent_says_where_its_files_are_and_names_the_program_in_each_hook() {
    for &agent in AGENTS {
        for scope in [Scope::User, Scope::Project] {
            let plan = plan(agent, scope, Path::new("/opt/hookhost-hook"), OnFailure::Deny).unwrap();
            let (below, program) =
                if scope == Scope::User { ("/home/me", "/opt/hookhost-hook") } else { ("/project", PROGRAM) };
            assert!(plan.files.iter().all(|file| file.path().starts_with(below)), "{agent}: {:?}", plan.files);
            let text = format!("{plan:?}");
            assert!(text.contains(program) && text.contains(agent), "{agent}");
            assert!(!text.contains("--on-failure=allow"), "{agent}");
        }
        let open = plan(agent, Scope::User, Path::new("/opt/hookhost-hook"), OnFailure::Allow).unwrap();
        assert!(format!("{open:?}").contains("--on-failure=allow"), "{agent}: the operator's choice is lost");
    }
    for agent in ["amp", "cline", "goose", "opencode", "pi"] {
        assert_eq!(plan(agent, Scope::Managed, Path::new("/opt/hookhost-hook"), OnFailure::Deny), None, "{agent}");
    }
    for agent in ["acs", "litellm", "agentgateway"] {
        let plan = plan(agent, Scope::Managed, Path::new("/opt/hookhost-hook"), OnFailure::Deny).unwrap();
        assert!(plan.files.is_empty() && !plan.steps.is_empty());
    }
}

#[test]
fn gates_are_closed_where_the_agent_can_close_them() {
    let element = |plan: &Plan, name: &str| {
        plan.files.iter().find_map(|file| match file {
            FilePlan::Json { entries, .. } => entries.iter().find_map(|entry| match entry {
                JsonEntry::Element { at, value } if at.last().is_some_and(|last| last == name) => Some(value.clone()),
                _ => None,
            }),
            FilePlan::Whole { .. } => None,
        })
    };
    let program = Path::new("/opt/hookhost-hook");
    let closed = plan("cursor", Scope::User, program, OnFailure::Deny).unwrap();
    for gate in ["preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeSubmitPrompt"] {
        assert_eq!(element(&closed, gate).unwrap()["failClosed"], true, "{gate}");
    }
    assert_eq!(element(&closed, "stop").unwrap().get("failClosed"), None);
    let open = plan("cursor", Scope::User, program, OnFailure::Allow).unwrap();
    assert_eq!(element(&open, "preToolUse").unwrap().get("failClosed"), None);
    let goose = |on_failure| format!("{:?}", plan("goose", Scope::User, program, on_failure).unwrap());
    assert!(goose(OnFailure::Deny).contains("on_failure") && !goose(OnFailure::Allow).contains("on_failure"));
}

#[test]
fn the_command_of_a_user_fixes_the_directories_of_hookhost_and_no_other_does() {
    let directories = Directories {
        config: Some("/home/it's me/.config/hookhost".into()),
        state: Some("/state $(x)".into()),
        cache: None,
        home: Some("/home/it's me".into()),
    };
    let plan = |agent: &str, scope| {
        let context = Context {
            scope,
            home: Path::new("/home/me"),
            project: Path::new("/project"),
            program: Path::new("/opt/hookhost-hook"),
            on_failure: OnFailure::Allow,
            directories: Some(&directories),
            variable: &|_| None,
        };
        by_name(agent).unwrap().install(&context).ok()
    };
    let flags = directories.flags();
    assert_eq!(flags.len(), 3);
    for adapter in hookhost_agents::all() {
        let agent = adapter.agent().name;
        let Some(user) = plan(agent, Scope::User).filter(|plan| !plan.files.is_empty()) else { continue };
        let text = format!("{user:?}");
        assert!(["--config-dir=", "--state-dir=", "--home="].iter().all(|flag| text.contains(flag)), "{agent}: {text}");
        for command in commands(&user).iter().filter(|command| command.contains("--config-dir")) {
            let printed =
                Command::new("sh").arg("-c").arg(format!("set -- {command}; printf '%s\\n' \"$@\"")).output().unwrap();
            let printed = String::from_utf8(printed.stdout).unwrap();
            let words: Vec<&str> = printed.lines().skip(3).collect();
            assert_eq!(words[..3], flags, "{agent}");
            assert_eq!(words[3], "--on-failure=allow", "{agent}");
        }
        for scope in [Scope::Project, Scope::Managed] {
            let shared = plan(agent, scope).map(|plan| format!("{plan:?}")).unwrap_or_default();
            assert!(!shared.contains("--config-dir"), "{agent}: several users have the file");
        }
    }
}

#[test]
fn a_quote_in_a_path_is_doubled_for_powershell() {
    let plan = plan("copilot-cli", Scope::User, Path::new("C:\\it's $x\\hookhost-hook.exe"), OnFailure::Deny).unwrap();
    let FilePlan::Whole { content, .. } = &plan.files[0] else { panic!() };
    let file: Value = serde_json::from_str(content).unwrap();
    assert_eq!(
        file["hooks"]["preToolUse"][0]["powershell"],
        "& 'C:\\it''s $x\\hookhost-hook.exe' 'copilot-cli' 'preToolUse'"
    );
}

#[test]
fn the_files_of_a_project_name_no_directory_of_the_person_who_installs() {
    let program = Path::new("/home/me/.cargo/bin").join(PROGRAM);
    let mut checked = 0;
    for adapter in hookhost_agents::all() {
        let Some(plan) = plan(adapter.agent().name, Scope::Project, &program, OnFailure::Deny) else { continue };
        for file in &plan.files {
            let text = format!("{file:?}");
            assert!(!text.contains("/home/me"), "{text}");
            checked += usize::from(text.contains(PROGRAM));
        }
    }
    assert!(checked > 10, "only {checked} files name the program");
}
