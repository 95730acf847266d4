//! Compares the data of each agent with its fixtures and its installed files.

use crate::goldens::{Fixture, fixtures};
use crate::judge::AGENTS;
use hookhost_agents::plan::{Context, FilePlan, JsonEntry, OnFailure, PROGRAM, Plan, Scope};
use hookhost_agents::{Message, all, by_name};
use hookhost_contract::EventKind;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn agents_are_in_the_order_of_their_names_and_each_name_is_one_agents() {
    let names: Vec<&str> = all().iter().map(|adapter| adapter.agent().name).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(AGENTS.iter().all(|agent| names.contains(agent)));
}

#[test]
fn each_message_means_what_the_table_of_hook_points_says() {
    let known = fixtures().into_iter().filter(|(agent, ..)| AGENTS.contains(&agent.as_str()));
    for (agent, name, file) in known {
        let fixture: Fixture = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let adapter = by_name(&agent).unwrap();
        let bytes = serde_json::to_vec(&fixture.input).unwrap();
        let mut message = Message::new(&bytes, Path::new("/project"));
        message.point = fixture.point.as_deref();
        let call = adapter.decode(&message).unwrap();
        let Some(point) = adapter.agent().point(&call.point) else {
            assert_eq!(call.event.kind(), EventKind::CustomEvent, "{agent}/{name}");
            continue;
        };
        // There are two exceptions. At the hook point for results, an agent can report a step without a call. At the hook point for
        // prompts, Qwen Code can report results.
        let is_call = point.abilities.rejects && point.event != EventKind::PromptSubmit;
        let is_observed = call.event.kind() == EventKind::CustomEvent && !is_call;
        assert!(call.event.kind() == point.event || is_observed, "{agent}/{name}: {}", call.event.kind());
    }
}

#[test]
fn every_hook_point_that_is_installed_has_a_message_that_was_read() {
    for agent in AGENTS {
        let seen: BTreeSet<String> = fixtures()
            .into_iter()
            .filter(|(of, ..)| of == agent)
            .map(|(_, name, _)| name.split('.').next().unwrap_or_default().to_ascii_lowercase())
            .collect();
        for point in by_name(agent).unwrap().agent().points.iter().filter(|point| point.installed) {
            assert!(seen.contains(&point.name.to_ascii_lowercase()), "{agent}: {}", point.name);
        }
    }
}

#[test]
fn a_hook_point_that_nobody_can_object_to_is_a_custom_event_or_has_abilities_that_its_event_knows() {
    for agent in AGENTS {
        for point in by_name(agent).unwrap().agent().points {
            let can = point.abilities;
            assert!(!can.merges || can.changes, "{agent}: {}", point.name);
            let is_of_calls = point.event == EventKind::BeforeToolCall;
            assert!(is_of_calls || !(can.changes || can.asks || can.approves), "{agent}: {}", point.name);
            let is_end = matches!(point.event, EventKind::QueueEmpty | EventKind::SubagentEnd);
            assert!(!can.goes_on || is_end, "{agent}: {}", point.name);
            assert!(!is_end || !can.rejects, "{agent}: a stop cannot be refused at {}", point.name);
        }
    }
}

#[test]
fn a_sub_agents_call_names_it_and_its_start_and_end_are_told_in_the_session_that_started_it() {
    let session = |agent: &str, name: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(agent).join(name).with_extension("json");
        let fixture: Fixture = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let bytes = serde_json::to_vec(&fixture.input).unwrap();
        by_name(agent).unwrap().decode(&Message::new(&bytes, Path::new("/project"))).unwrap().session.subagent
    };
    for (agent, name, subagent) in [
        ("claude-code", "PreToolUse.subagent.json", Some("a803ab681f6239a33")),
        ("claude-code", "SubagentStart.json", None),
        ("claude-code", "SubagentStop.json", None),
        ("codex", "PreToolUse.subagent.json", Some("01a20c0d-bdd5-7893-9291-a4e60cfd2589")),
        ("codex", "SubagentStart.json", None),
        ("qwen-code", "PreToolUse.subagent.json", Some("general-purpose-call_mock00000001")),
        ("grok-build", "SubagentStart.json", None),
    ] {
        assert_eq!(session(agent, name).as_deref(), subagent, "{agent}/{name}");
    }
}

fn plan(agent: &str, scope: Scope, on_failure: OnFailure) -> Option<Plan> {
    let context = Context {
        scope,
        home: Path::new("/home/me"),
        project: Path::new("/home/me/shop"),
        program: Path::new("/opt/hook host/hookhost-hook"),
        on_failure,
        directories: None,
        variable: &|_| None,
    };
    by_name(agent).unwrap().install(&context).ok()
}

/// Returns the strings in a plan that name the hook program.
fn commands(plan: &Plan) -> Vec<String> {
    fn texts(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) if text.contains(PROGRAM) => found.push(text.clone()),
            Value::Array(list) => list.iter().for_each(|value| texts(value, found)),
            Value::Object(object) => object.values().for_each(|value| texts(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for file in &plan.files {
        match file {
            FilePlan::Json { entries, .. } => {
                for entry in entries {
                    let (JsonEntry::Element { value, .. } | JsonEntry::Default { value, .. }) = entry;
                    texts(value, &mut found);
                }
            }
            // A skill is a text for the model, without a command.
            FilePlan::Whole { path, .. } if path.ends_with("SKILL.md") => {}
            FilePlan::Whole { content, .. } => texts(&serde_json::from_str(content).unwrap(), &mut found),
        }
    }
    found
}

#[test]
fn each_agent_is_installed_for_a_user_and_a_project_at_each_hook_point_in_its_own_file() {
    for (agent, user, project) in [
        ("antigravity", ".gemini/config/hooks.json", ".agents/hooks.json"),
        ("claude-code", ".claude/settings.json", ".claude/settings.json"),
        ("codex", ".codex/hooks.json", ".codex/hooks.json"),
        ("crush", ".config/crush/crush.json", "crush.json"),
        ("droid", ".factory/hooks.json", ".factory/hooks.json"),
        ("gemini-cli", ".gemini/settings.json", ".gemini/settings.json"),
        ("grok-build", ".grok/hooks/hookhost.json", ".grok/hooks/hookhost.json"),
        ("kiro", ".kiro/hooks/hookhost.json", ".kiro/hooks/hookhost.json"),
        ("openhands", ".openhands/hooks.json", ".openhands/hooks.json"),
        ("qwen-code", ".qwen/settings.json", ".qwen/settings.json"),
    ] {
        let known = by_name(agent).unwrap().agent();
        let installed = known.points.iter().filter(|point| point.installed).count();
        for (scope, file) in [
            (Scope::User, PathBuf::from("/home/me").join(user)),
            (Scope::Project, Path::new("/home/me/shop").join(project)),
        ] {
            let plan = plan(agent, scope, OnFailure::Deny).unwrap();
            let with_hooks: Vec<_> = plan.files.iter().filter(|file| !file.path().ends_with("SKILL.md")).collect();
            let [only] = with_hooks.as_slice() else { panic!("{agent}: {plan:?}") };
            assert_eq!(only.path(), file, "{agent}");
            assert_eq!(commands(&plan).len(), installed, "{agent}");
        }
    }
}

#[test]
fn a_command_for_a_shell_is_quoted_and_names_the_agent_the_hook_point_and_what_a_failure_means() {
    for agent in AGENTS {
        let commands = commands(&plan(agent, Scope::User, OnFailure::Allow).unwrap());
        if *agent == "claude-code" {
            // Claude Code starts the program without a shell, with a list of arguments.
            assert!(commands.iter().all(|command| command == "/opt/hook host/hookhost-hook"));
            continue;
        }
        for command in commands {
            let rest = command.strip_prefix(&format!("'/opt/hook host/hookhost-hook' {agent} "));
            let point = rest.and_then(|rest| rest.strip_suffix(" --on-failure=allow"));
            assert!(point.is_some_and(|point| by_name(agent).unwrap().agent().point(point).is_some()), "{command}");
        }
    }
}

#[test]
fn an_agent_waits_longer_for_the_hook_than_a_person_has_for_an_answer_in_its_own_unit() {
    for (agent, key, timeout) in [
        ("antigravity", "timeout", 330),
        ("claude-code", "timeout", 330),
        ("codex", "timeout", 330),
        ("crush", "timeout", 330),
        ("droid", "timeout", 330),
        ("gemini-cli", "timeout", 330_000),
        ("grok-build", "timeout", 330),
        ("kiro", "timeout", 330),
        ("openhands", "timeout", 330),
        ("qwen-code", "timeout", 330_000),
    ] {
        let plan = format!("{:?}", plan(agent, Scope::User, OnFailure::Deny).unwrap());
        let plan = plan.replace("\\\"", "\"");
        let number = if plan.contains("Json {") {
            format!("\"{key}\": Number({timeout})")
        } else {
            format!("\"{key}\": {timeout}")
        };
        assert!(plan.contains(&number), "{agent}: {plan}");
    }
}

#[test]
fn an_agent_that_fixes_how_long_it_waits_is_not_told_otherwise() {
    for (agent, point, seconds) in
        [("codex", "SessionEnd", 3), ("codex", "Interrupt", 3), ("claude-code", "SessionEnd", 1)]
    {
        let FilePlan::Json { entries, .. } = &plan(agent, Scope::User, OnFailure::Deny).unwrap().files[0] else {
            panic!()
        };
        let value = entries.iter().find_map(|entry| match entry {
            JsonEntry::Element { at, value } if at.last().is_some_and(|key| key == point) => Some(value),
            _ => None,
        });
        assert_eq!(value.unwrap()["hooks"][0]["timeout"], seconds, "{agent} {point}");
    }
}

#[test]
fn where_the_machine_has_no_hooks_of_an_agent_the_reason_says_what_to_do() {
    for agent in AGENTS {
        let context = Context {
            scope: Scope::Managed,
            home: Path::new("/home/me"),
            project: Path::new("/home/me/shop"),
            program: Path::new("/usr/bin/hookhost-hook"),
            on_failure: OnFailure::Deny,
            directories: None,
            variable: &|_| None,
        };
        match by_name(agent).unwrap().install(&context) {
            Ok(plan) => assert!(plan.files.iter().all(|file| !file.path().starts_with("/home")), "{agent}"),
            Err(error) => assert!(error.to_string().contains("user"), "{agent}: {error}"),
        }
    }
}

#[test]
fn the_steps_that_only_a_person_can_take_are_in_the_plan() {
    for (agent, scope, says) in [
        ("codex", Scope::User, "/hooks"),
        ("codex", Scope::Project, "Trust the project"),
        ("gemini-cli", Scope::Project, "trust its hooks"),
        ("grok-build", Scope::Project, "/hooks-trust"),
        ("kiro", Scope::User, "--v3"),
        ("openhands", Scope::User, "pre_tool_use"),
    ] {
        let steps = plan(agent, scope, OnFailure::Deny).unwrap().steps;
        assert!(steps.iter().any(|step| step.contains(says)), "{agent}: {steps:?}");
    }
}
