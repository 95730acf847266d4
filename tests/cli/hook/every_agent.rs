//! One component under every agent: one table of calls has the same verdicts everywhere, through the built programs.

use super::{Home, Reply, policy, started};
use hookhost_agents::{Abilities, Degradation, Message, by_name};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// How each agent tells its hook of a shell command, by the message that was recorded or documented.
const AGENTS: [(&str, &str); 21] = [
    ("acs", "tool-call"),
    ("amp", "tool.call"),
    ("antigravity", "PreToolUse"),
    ("claude-code", "PreToolUse"),
    ("claude-code-mods", "tool.call"),
    ("cline", "tool_call"),
    ("codex", "PreToolUse"),
    ("copilot-cli", "preToolUse"),
    ("crush", "PreToolUse"),
    ("cursor", "preToolUse"),
    ("droid", "PreToolUse"),
    ("gemini-cli", "BeforeTool"),
    ("goose", "PreToolUse"),
    ("grok-build", "PreToolUse"),
    ("kiro", "preToolUse"),
    ("litellm", "response.tool-call"),
    ("opencode", "tool.execute.before"),
    ("openhands", "PreToolUse"),
    ("pi", "tool_call"),
    ("qwen-code", "PreToolUse"),
    ("windsurf", "pre_run_command"),
];

/// The agents that tell of no call, and why.
const WITHOUT_CALLS: [(&str, &str); 1] =
    [("agentgateway", "its webhook has the texts of a conversation, and no calls of tools")];

/// The calls: a command, the event's outcome in the log, and what the reply has to hold and must not.
const CALLS: [(&str, &str, &str, &str); 6] = [
    ("touch allowed.txt", "allowed", "", "by-policy"),
    ("touch denied.txt", "rejected", "denied-by-policy", "rewritten"),
    ("touch stopped.txt", "rejected", "stopped-by-policy", "rewritten"),
    // What an agent cannot take becomes a rejection with the result, or the call, in its reason.
    ("touch answered.txt", "responded", "answer-of-policy", "denied-by-policy"),
    ("echo original", "allowed", "echo rewritten", "denied-by-policy"),
    // Asked by the agent itself, or by the approval queue, where nobody answers in time.
    ("touch asked.txt", "escalated", "asked-by-policy", "denied-by-policy"),
];

/// The agent's message about this command, with its hook point and environment.
struct AgentMessage {
    message: Value,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

fn message_of(agent: &str, fixture: &str, command: &str) -> AgentMessage {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../host/agents/fixtures").join(agent);
    let text = fs::read_to_string(directory.join(format!("{fixture}.json"))).unwrap();
    let fixture: Value = serde_json::from_str(&text).unwrap();
    let arguments = &fixture["about"]["arguments"];
    let found = ["command", "CommandLine", "command_line"].iter().find_map(|key| arguments[key].as_str());
    let found = found.or_else(|| arguments["commands"][0].as_str()).unwrap_or_else(|| panic!("{agent}: {arguments}"));
    let mut message = fixture["input"].clone();
    assert!(replace(&mut message, found, command), "{agent}: {message}");
    let point = fixture["point"].as_str().map(str::to_owned);
    let variables = fixture["variables"].as_object().into_iter().flatten();
    let variables = variables.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
    AgentMessage { message, arguments: [agent.to_owned()].into_iter().chain(point).collect(), variables }
}

/// What an agent can do where its hook is told of this message.
fn abilities(agent: &str, fixture: &str) -> Abilities {
    let AgentMessage { message, arguments, variables } = message_of(agent, fixture, "ls");
    let bytes = message.to_string().into_bytes();
    let mut sent = Message::new(&bytes, Path::new("/work"));
    sent.point = arguments.get(1).map(String::as_str);
    sent.variables = &variables;
    let adapter = by_name(agent).unwrap();
    adapter.abilities(&adapter.decode(&sent).unwrap())
}

/// Puts another text in the place of one, also where it is within JSON in a text. Whether it was there.
fn replace(value: &mut Value, from: &str, to: &str) -> bool {
    match value {
        Value::String(text) => {
            let is_there = text.contains(from);
            *text = text.replace(from, to);
            is_there
        }
        Value::Array(values) => values.iter_mut().map(|value| replace(value, from, to)).fold(false, |a, b| a | b),
        Value::Object(fields) => fields.values_mut().map(|value| replace(value, from, to)).fold(false, |a, b| a | b),
        _ => false,
    }
}

#[test]
fn one_component_gives_each_call_the_same_verdict_under_every_agent() {
    let mut known: Vec<_> =
        AGENTS.iter().map(|(agent, _)| *agent).chain(WITHOUT_CALLS.map(|(agent, _)| agent)).collect();
    known.sort_unstable();
    let all: Vec<_> = hookhost_agents::all().iter().map(|adapter| adapter.agent().name).collect();
    assert_eq!(known, all, "each agent is in the table");
    let home = Home::with(&format!("[settings]\napproval-deadline = \"1s\"\n{}", policy().to_toml()));
    home.serve();
    for (command, ..) in CALLS {
        let hooks: Vec<_> = AGENTS
            .iter()
            .map(|(agent, fixture)| {
                let told = message_of(agent, fixture, command);
                let arguments: Vec<_> = told.arguments.iter().map(String::as_str).collect();
                let mut hook = home.hook(&arguments);
                (*agent, started(hook.envs(told.variables), told.message.to_string().as_bytes()))
            })
            .collect();
        let (_, _, has, lacks) = CALLS.iter().find(|call| call.0 == command).unwrap();
        for (agent, hook) in hooks {
            let reply = Reply::of(hook);
            let said = format!("{}{}", reply.stdout, reply.stderr);
            let fits = said.contains(has) && !said.contains(lacks) && !said.contains("could not settle");
            assert!(fits, "{agent}: {command}: {reply:?}");
        }
    }
    let events = home.events("before-tool-call", AGENTS.len() * CALLS.len());
    for (agent, _) in AGENTS {
        let of_agent =
            events.iter().filter(|event| event["session"].as_str().unwrap().starts_with(&format!("{agent}:")));
        let outcomes: Vec<_> = of_agent.map(|event| event["outcome"].as_str().unwrap()).collect();
        assert_eq!(outcomes, CALLS.map(|(_, outcome, ..)| outcome), "{agent}");
    }
    // An agent that takes no result, or no changed call, gets a rejection; one that cannot be ended continues. The log says so, once
    // for each.
    let cannot = |can: fn(&Abilities) -> bool, what: Degradation| {
        let agents = AGENTS.iter().filter(|(agent, fixture)| !can(&abilities(agent, fixture)));
        agents.map(move |(agent, _)| (*agent, what.sentence())).collect::<Vec<_>>()
    };
    let mut expected = cannot(|can| can.responds, Degradation::ResponseToRejection);
    expected.extend(cannot(|can| can.changes, Degradation::ChangeToRejection));
    expected.extend(cannot(|can| can.stops, Degradation::StopNotPossible));
    assert!(expected.len() > AGENTS.len(), "{expected:?}");
    let degraded = home.records(expected.len(), |record| record["what"] == "degraded");
    for (agent, sentence) in expected {
        let is_it = |record: &&Value| {
            record["session"].as_str().unwrap().starts_with(&format!("{agent}:")) && record["note"] == sentence
        };
        assert_eq!(degraded.iter().filter(is_it).count(), 1, "{agent}: {sentence}");
    }
    home.verify_log();
}
