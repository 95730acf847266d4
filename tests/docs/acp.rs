//! `docs/acp.md`: the commands and the settings that it shows start the proxy before the agent that they name, and the summary is the
//! one that it prints.

use crate::guide::{blocks_of, page};
use hookhost_tests::{User, hookhost};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Command, Stdio};

const AGENT: &str = env!("CARGO_BIN_EXE_mcp_scripted");

/// A stand-in for an agent, on the user's PATH.
fn agent(user: &User, name: &str) {
    let (script, record) = (user.write("agent.json", "{}"), user.project().join("record"));
    let program = user.write(
        &format!("../bin/{name}"),
        format!(
            "#!/bin/sh\necho \"$0 $*\" >> {}\nexec {AGENT} {} {}\n",
            user.project().join("started").display(),
            script.display(),
            record.display()
        ),
    );
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a program can be made executable");
}

/// Starts a command as an editor does, says hello, and returns what came on both streams.
fn hello(user: &User, words: &[&str]) -> (String, String) {
    let mut command = Command::new(hookhost().with_file_name(words[0]));
    command.args(&words[1..]).current_dir(user.project());
    for (key, value) in user.command([""; 0]).get_envs().filter_map(|(key, value)| Some((key, value?))) {
        command.env(key, value);
    }
    command.env("PATH", format!("{}:{}", user.path("bin").display(), std::env::var("PATH").expect("PATH")));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("hookhost");
    let mut input = child.stdin.take().expect("a pipe");
    for (id, method, params) in [
        (1, "initialize", json!({ "protocolVersion": 1 })),
        (2, "session/new", json!({ "cwd": user.project(), "mcpServers": [] })),
        (3, "session/prompt", json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "hi" }] })),
    ] {
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .expect("it reads");
    }
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn each_command_and_the_settings_start_the_agent_that_they_name() {
    let text = page("docs/acp.md");
    let mut commands: Vec<Vec<String>> = Vec::new();
    for block in blocks_of(&text, "sh") {
        commands.extend(block.lines().map(|line| line.split(' ').map(str::to_owned).collect()));
    }
    for block in blocks_of(&text, "json") {
        let settings: Value = serde_json::from_str(&block).expect("JSON");
        for (_, entry) in settings["agent_servers"].as_object().expect("agents") {
            let words = entry["args"].as_array().expect("arguments").iter();
            let words = words.map(|word| word.as_str().expect("a text").to_owned());
            commands
                .push(std::iter::once(entry["command"].as_str().expect("a command").to_owned()).chain(words).collect());
        }
    }
    assert_eq!(commands.len(), 3, "{commands:?}");
    for words in commands {
        let user = User::new();
        let agent_words = words.split(|word| word == "--").nth(1).expect("an agent");
        agent(&user, &agent_words[0]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (said, told) = hello(&user, &words);
        let started = std::fs::read_to_string(user.project().join("started")).expect("the agent was started");
        assert!(started.trim_end().ends_with(&agent_words.join(" ")), "{words:?} started {started}");
        assert!(said.contains("end_turn"), "{words:?}: {said}{told}");
        assert!(told.contains("an agent that does not ask is not restricted"), "{told}");
    }
}

#[test]
fn the_summary_has_the_rows_that_the_page_shows() {
    let user = User::new();
    agent(&user, "gemini");
    let (_, told) = hello(&user, &["hookhost", "acp", "--", "gemini"]);
    let rows = |text: &str| {
        let rows = text.lines().skip_while(|line| !line.starts_with("note: what the agent"));
        rows.filter_map(|row| row.split_once(':')).map(|(row, _)| row.to_owned()).collect::<Vec<_>>()
    };
    let shown = blocks_of(&page("docs/acp.md"), "text").concat();
    assert_eq!(rows(&shown), rows(&told), "{told}");
    assert_eq!(rows(&shown).len(), 7);
}
