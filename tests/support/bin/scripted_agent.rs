//! An agent for tests, which runs the calls that it is given, one after the other, and asks its hook before each one.
//!
//! The argument is the hook's program. Each line of its input is a call: an object with the `script`, and the `message` for the hook, or
//! null if the agent does not ask. Its answer is a line with the `verdict` of the hook, and the `output` of the script if it ran.

use serde_json::{Value, json};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Maximum time of one script.
const LIMIT: Duration = Duration::from_secs(20);

fn main() -> io::Result<()> {
    let hook = std::env::args().nth(1).unwrap_or_default();
    for line in io::stdin().lock().lines() {
        let call: Value = serde_json::from_str(&line?)?;
        let verdict = if call["message"].is_null() { "none".to_owned() } else { ask(&hook, &call["message"])? };
        let output = match verdict.as_str() {
            "none" | "allow" => Some(run(call["script"].as_str().unwrap_or_default())?),
            _ => None,
        };
        println!("{}", json!({ "verdict": verdict, "output": output }));
        io::stdout().flush()?;
    }
    Ok(())
}

/// Asks the hook as Claude Code does, and returns what the agent does then: `allow`, `deny` and a reason, or `failed` and why.
fn ask(hook: &str, message: &Value) -> io::Result<String> {
    let mut command = Command::new(hook);
    command.args(["claude-code", "PreToolUse"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(message.to_string().as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    let decision = answer["hookSpecificOutput"]["permissionDecision"].as_str();
    Ok(match (output.status.code(), decision) {
        (Some(2), _) => format!("deny {errors}"),
        (Some(0), None | Some("allow")) => "allow".to_owned(),
        // Nobody is there whom the agent could ask.
        (Some(0), Some(decision)) => format!("{decision} {}", answer["hookSpecificOutput"]["permissionDecisionReason"]),
        _ => format!("failed {:?} {:?} {errors}", output.status.code(), output.status.signal()),
    })
}

/// Runs a script in a process group of its own, and returns what it prints. What it leaves behind can hold its output open, so the
/// output of that time is left out.
fn run(script: &str) -> io::Result<String> {
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new("bash");
    command.args(["-c", script]).process_group(0).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    drop(command);
    let (sender, output) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let group = child.id();
    let (done, end) = mpsc::channel();
    std::thread::spawn(move || {
        if end.recv_timeout(LIMIT).is_err() {
            _ = Command::new("kill").args(["-9", "--", &format!("-{group}")]).status();
        }
    });
    let status = child.wait()?;
    _ = done.send(());
    let mut text = Vec::new();
    while let Ok(part) = output.recv_timeout(Duration::from_millis(20)) {
        text.extend(part);
    }
    let end = if status.success() { String::new() } else { format!("({status})") };
    Ok(String::from_utf8_lossy(&text).into_owned() + &end)
}
