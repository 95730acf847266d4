//! Tests the canary calls with which `hookhost doctor --prove` shows that an agent follows its hook's replies. Each agent's decoder must
//! read its canary calls. Each adapter must recognise the agent's own form of a denial, and no other reply.

use crate::goldens::{Fixture, fixtures};
use hookhost_agents::{Adapter, Answer, HookEvent, Message, Outcome, Reply, all, by_name, canary};
use hookhost_contract::action::ActionMap;
use hookhost_contract::{Action, EventKind, Refusal, Rejection, Stop};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The agents without a canary, each with the reason.
const WITHOUT_CANARY: &[(&str, &str)] = &[
    ("acs", "it posts to the resident host"),
    ("agentgateway", "it posts to the resident host"),
    ("amp", "a plugin in its process calls the hook"),
    ("claude-code-mods", "a plugin in its process calls the hook"),
    ("litellm", "it posts to the resident host"),
    ("opencode", "a plugin in its process calls the hook"),
    ("pi", "a plugin in its process calls the hook"),
];

/// The agents that cannot be run without a person, each with the reason.
const NOT_HEADLESS: &[(&str, &str)] = &[
    ("acs", "it is a standard, and no program"),
    ("agentgateway", "it is a service"),
    ("kiro", "its command line without a person is known of versions that do not read our hooks"),
    ("litellm", "it is a service"),
    ("windsurf", "it is an editor"),
];

/// Returns the names of the agents for which `has` returns false.
fn without(has: impl Fn(&Adapter) -> bool) -> Vec<&'static str> {
    all().iter().filter(|adapter| !has(adapter)).map(|adapter| adapter.agent().name).collect()
}

fn names(list: &[(&'static str, &str)]) -> Vec<&'static str> {
    list.iter().map(|(name, _)| *name).collect()
}

#[test]
fn an_agent_has_a_canary_and_a_command_without_a_person_unless_there_is_a_reason() {
    let directory = Path::new("/project");
    assert_eq!(without(|adapter| adapter.canary("ls", directory).is_some()), names(WITHOUT_CANARY));
    assert_eq!(without(|adapter| adapter.headless("hello").is_some()), names(NOT_HEADLESS));
    for adapter in all() {
        let Some(words) = adapter.headless("say hello") else { continue };
        assert_eq!(words.iter().filter(|word| *word == "say hello").count(), 1, "{words:?}");
        let agent = adapter.agent();
        assert!(agent.programs.contains(&words[0].as_str()), "{}: {words:?}", agent.name);
    }
}

/// Returns all canaries. Each has its agent, the hook point at which the agent's files name the hook, and the message.
fn canaries(command: &str, directory: &Path) -> Vec<(&'static Adapter, &'static str, Vec<u8>)> {
    let of = |adapter: &&'static Adapter| {
        let (point, message) = adapter.canary(command, directory)?;
        Some((*adapter, point, message))
    };
    all().iter().filter_map(of).collect()
}

#[test]
fn a_canary_is_a_call_of_the_agents_shell_and_its_no_is_told_from_a_yes_and_from_a_failure() {
    let directory = Path::new("/project");
    for command in [canary::DENIED, canary::PASSED] {
        for (adapter, point, bytes) in canaries(command, directory) {
            let agent = adapter.agent();
            let name = agent.name;
            assert!(agent.point(point).unwrap().installed, "{name}: {point}");
            let mut message = Message::new(&bytes, Path::new("/elsewhere"));
            message.point = Some(point);
            let call = adapter.decode(&message).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(agent.point(&call.point).map(|point| point.event), Some(EventKind::BeforeToolCall), "{name}");
            assert_eq!(call.session.cwd, directory, "{name}");
            assert_eq!(call.session.id.as_deref(), Some(canary::SESSION), "{name}");
            assert_eq!(call.session.subagent, None, "{name}");
            let HookEvent::BeforeToolCall(tool) = &call.event else { panic!("{name}: {:?}", call.event) };
            // A call with an identifier that was reported before gets the same answer again. A proof needs a new answer, so a canary has no
            // identifier.
            assert_eq!(tool.id, None, "{name}");
            let action = ActionMap::default().of(name).action(&tool.name, &tool.arguments, &tool.origin, "/project");
            assert!(matches!(&action, Action::Shell(shell) if shell.command == command), "{name}: {action:?}");
            let rejected = Rejection::verdict("p", Refusal::new("no"), Stop::Run);
            let no = adapter.encode(&call, &Outcome::new(Answer::Rejected(rejected)));
            assert!(adapter.denies(point, &no), "{name}: {no:?}");
            for no in [adapter.fail(Some(point), "nobody answers"), adapter.unsettled(&call, "nobody answers")] {
                assert!(adapter.denies(point, &no), "{name}: {no:?}");
            }
            for yes in [adapter.neutral(Some(point)), adapter.encode(&call, &Outcome::new(Answer::Neutral))] {
                assert!(!adapter.denies(point, &yes), "{name}: {yes:?}");
            }
            let mut failed = Reply::text("Segmentation fault");
            failed.exit = 139;
            assert!(!adapter.denies(point, &failed), "{name}");
            // At a hook point at which nothing can be refused, no reply is a denial.
            let told = agent.points.iter().find(|point| point.installed && !point.abilities.rejects);
            if let Some(told) = told {
                assert!(!adapter.denies(told.name, &Reply::exit_2("no")), "{name}: {}", told.name);
            }
        }
    }
}

fn object(value: &[u8]) -> Map<String, Value> {
    serde_json::from_slice(value).unwrap()
}

#[test]
fn a_canary_has_the_keys_of_a_message_that_the_agent_was_seen_or_is_documented_to_send() {
    /// Keys for the identifier of a call, which a canary does not have.
    const NUMBERS: &[&str] = &["tool_use_id", "tool_call_id"];
    for (adapter, _, bytes) in canaries(canary::DENIED, Path::new("/project")) {
        let name = adapter.agent().name;
        let found: BTreeSet<String> = object(&bytes).into_iter().map(|(key, _)| key).collect();
        let real = fixtures().into_iter().filter(|(agent, ..)| agent == name).map(|(_, _, file)| {
            let fixture: Fixture = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
            let keys = fixture.input.as_object().unwrap().keys();
            keys.filter(|key| !NUMBERS.contains(&key.as_str())).cloned().collect::<BTreeSet<_>>()
        });
        let real: Vec<_> = real.collect();
        assert!(real.contains(&found), "{name}: no fixture has the keys {found:?}");
    }
}

#[test]
fn what_an_agent_does_not_take_for_a_no_proves_nothing() {
    let exit_2 = |stderr: &str| {
        let mut reply = Reply::text("");
        (reply.exit, reply.stderr) = (2, stderr.to_owned());
        reply
    };
    let claude = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#;
    for (agent, point, reply, denies) in [
        // Codex and Gemini CLI continue if exit code 2 comes without a text.
        ("codex", "PreToolUse", exit_2(""), false),
        ("codex", "PreToolUse", exit_2("no"), true),
        ("codex", "PreToolUse", Reply::text(claude), false),
        ("gemini-cli", "BeforeTool", exit_2(""), false),
        ("gemini-cli", "BeforeTool", exit_2("no"), true),
        ("gemini-cli", "BeforeTool", Reply::text(claude), false),
        ("claude-code", "PreToolUse", Reply::text(claude), true),
        ("claude-code", "PreToolUse", Reply::text(claude.replace("PreToolUse", "Stop")), false),
        ("claude-code", "PreToolUse", Reply::text(r#"{"permissionDecision":"deny"}"#), false),
        ("copilot-cli", "preToolUse", Reply::text(claude), false),
        ("copilot-cli", "preToolUse", exit_2(""), true),
        ("cline", "PreToolUse", exit_2("no"), false),
        ("cursor", "preToolUse", exit_2("no"), true),
        ("cursor", "preToolUse", Reply::text(""), false),
        ("antigravity", "PreToolUse", Reply::text(r#"{"decision":"force_ask"}"#), false),
        ("goose", "PreToolUse", Reply::text(r#"{"decision":"deny"}"#), false),
        ("goose", "PreToolUse", Reply::text(r#"{"decision":"block"}"#), true),
        ("windsurf", "pre_run_command", Reply::text(r#"{"decision":"block"}"#), false),
    ] {
        assert_eq!(by_name(agent).unwrap().denies(point, &reply), denies, "{agent}: {reply:?}");
    }
}
