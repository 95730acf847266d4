//! Checks the proxy between an editor and the agent. The editor of this case allows all calls, so if a call does not run, the proxy has
//! stopped it.

use crate::hook::command;
use crate::model::Script;
use crate::place::Place;
use crate::process::{LIMIT, Start, variables};
use crate::run::Run;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

/// The observations of the editor during a prompt.
#[derive(Debug, Default)]
struct Seen {
    /// The reason for the end of the prompt.
    stop: Option<String>,
    /// The questions for permission that reached the editor.
    asked: Vec<Value>,
    /// The standard error of the proxy and of the agent.
    said: String,
}

pub(super) fn acp(run: &mut Run<'_>) -> Result<()> {
    let Some(start) = run.agent.acp(&run.place)? else {
        run.skip("ACP: this agent has no mode for it");
        return Ok(());
    };
    // Remove the agent's hook, so that only the proxy decides.
    command::succeeds(&run.place, &["uninstall", run.agent.name()])?;
    let prompt = |run: &mut Run<'_>, command: &str| {
        let script = Script { name: "main", steps: vec![run.shell(command)] };
        run.meanwhile(vec![script], |place| edit(place, &start, "[script main] make the file"))
    };
    let denied = prompt(run, "echo hello > denied.txt")?;
    run.check(
        "ACP: a denied call does not run, although the editor's user says yes to everything",
        run.file("denied.txt").is_none(),
    );
    let is_told = denied.said.contains("was rejected: ") && denied.said.contains("denied-by-policy");
    run.check("ACP: the user is told why a call was denied", is_told && denied.stop.is_some());
    let allowed = prompt(run, "echo hello > out.txt")?;
    run.check("ACP: an allowed call runs", run.file("out.txt").as_deref() == Some("hello\n") && allowed.stop.is_some());
    run.check(
        "ACP: the proxy says how far the agent asked",
        allowed.said.contains("questions for permission: 1, 0 rejected"),
    );
    if run.agent.names_commands_in_titles() {
        run.check("ACP: a command that is only in the title is put to the user", allowed.asked.len() == 1);
    } else {
        run.check("ACP: the rules answer in the place of the user", allowed.asked.is_empty());
    }
    Ok(())
}

/// Runs the agent on a prompt, in an editor that allows all calls.
fn edit(place: &Place, start: &Start, prompt: &str) -> Result<Seen> {
    let mut command = Command::new(place.bin().join("hookhost"));
    command.args(["acp", "--name", "agent", "--"]).arg(&start.program).args(&start.arguments);
    command.env_clear().envs(variables(place)).envs(start.variables.iter().cloned()).current_dir(place.project());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("no standard input")?;
    let output = child.stdout.take().context("no standard output")?;
    let mut errors = child.stderr.take().context("no standard error")?;
    let said = std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = errors.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    });
    let (send, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
    });
    let mut seen = Seen::default();
    let mut write = |message: Value| writeln!(input, "{message}").and_then(|()| input.flush());
    let capabilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
    write(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }))?;
    let begun = Instant::now();
    while seen.stop.is_none() {
        let left = LIMIT.saturating_sub(begun.elapsed());
        let line = match lines.recv_timeout(left) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        match (message["method"].as_str(), message["id"].as_i64()) {
            (Some("session/request_permission"), _) => {
                let params = &message["params"];
                let options = params["options"].as_array().into_iter().flatten();
                let yes = options.clone().find(|option| option["kind"] == "allow_once");
                let yes = yes.context("the agent offers no yes")?["optionId"].clone();
                let outcome = json!({ "outcome": { "outcome": "selected", "optionId": yes } });
                write(json!({ "jsonrpc": "2.0", "id": message["id"], "result": outcome }))?;
                seen.asked.push(params["toolCall"].clone());
            }
            (Some(_), _) if !message["id"].is_null() => {
                let error = json!({ "code": -32601, "message": "this editor does not do that" });
                write(json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }))?;
            }
            (None, Some(1)) => {
                let session = json!({ "cwd": place.project(), "mcpServers": [] });
                write(json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new", "params": session }))?;
            }
            (None, Some(2)) => {
                let prompt = json!([{ "type": "text", "text": prompt }]);
                let params = json!({ "sessionId": message["result"]["sessionId"], "prompt": prompt });
                write(json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params }))?;
            }
            (None, Some(3)) => seen.stop = message["result"]["stopReason"].as_str().map(str::to_owned),
            _ => {}
        }
        if message["error"].is_object() {
            break;
        }
    }
    drop(input);
    child.wait()?;
    seen.said = said.join().unwrap_or_default();
    Ok(seen)
}
