//! Checks what the resident host does besides answering hooks, and the related commands.

use crate::agents::{Served, TOKEN, Way};
use crate::hook::command;
use crate::model::Script;
use crate::run::Run;
use anyhow::{Context as _, Result, ensure};
use hookhost_contract::EventKind;
use serde_json::Value;
use std::fs;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The address of the HTTP server. The port is free, because no other process listens in the case's network namespace.
const ADDRESS: &str = "127.0.0.1:8750";

/// Time limit for the resident host to start listening.
const FOR_A_START: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_millis(50);

/// Checks that a question that the agent cannot show waits for a person, who approves it.
pub(super) fn approvals(run: &mut Run<'_>) -> Result<()> {
    if run.can(EventKind::BeforeToolCall).is_none_or(|can| can.asks) {
        run.skip("approvals: this agent asks its user itself");
        return Ok(());
    }
    command::wait_for_a_person(&run.place, "50s")?;
    let script = Script { name: "main", steps: vec![run.shell("echo hello > asked.txt")] };
    let mut shown = Value::Null;
    run.once_while("[script main] make the file", vec![script], |place, has_ended| {
        while !has_ended() {
            let open: Value = serde_json::from_str(&command::succeeds(place, &["approvals", "--json"])?.stdout)?;
            if let Some(code) = open[0]["code"].as_str() {
                command::succeeds(place, &["approvals", "yes", code])?;
                shown = open[0].clone();
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    })?;
    let is_shown = shown.to_string().contains("asked.txt");
    run.check(
        "a question waits for `hookhost approvals`, and a yes lets the call run",
        is_shown && run.file("asked.txt").is_some(),
    );
    Ok(())
}

/// Checks HTTP hooks, and hooks that call an MCP tool.
pub(super) fn ways(run: &mut Run<'_>) -> Result<()> {
    if run.agent.ways().is_empty() {
        run.skip("HTTP and mcp_tool: this agent has neither");
        return Ok(());
    }
    command::succeeds(&run.place, &["uninstall", run.agent.name()])?;
    let mut serve = Command::new(run.place.bin().join("hookhost"));
    serve.args(["serve", "--http", ADDRESS]).env_clear().envs(crate::process::variables(&run.place));
    let output = fs::File::create(run.place.root.join("serve.stderr"))?;
    serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output).current_dir(run.place.project());
    let mut serve = serve.spawn().context("cannot start hookhost serve")?;
    let begun = Instant::now();
    while TcpStream::connect(ADDRESS).is_err() {
        ensure!(begun.elapsed() < FOR_A_START && serve.try_wait()?.is_none(), "hookhost serve does not listen");
        thread::sleep(PAUSE);
    }
    let token = run.place.home().join(".local/state/hookhost/http.token");
    let token = fs::read_to_string(&token).with_context(|| token.display().to_string())?.trim().to_owned();
    run.variables.push((TOKEN.to_owned(), token.clone()));
    let served = Served { url: format!("http://{ADDRESS}"), token };
    for way in run.agent.ways() {
        let (name, file) = match way {
            Way::Http => ("HTTP", "http"),
            Way::McpTool => ("mcp_tool", "mcp"),
        };
        run.agent.ask_by(*way, &run.place, &served)?;
        run.agent.after_install(&run.place)?;
        let (allowed, denied) = (format!("{file}.txt"), format!("{file}-denied.txt"));
        run.commands(&[&format!("echo hello > {allowed}"), &format!("echo hello > {denied}")])?;
        let is_obeyed = run.file(&allowed).is_some() && run.file(&denied).is_none();
        let is_told = run.was_told(&allowed)? && run.was_told(&denied)?;
        run.check(&format!("a hook by {name} lets an allowed call run, and a denied one not"), is_obeyed && is_told);
    }
    serve.kill()?;
    serve.wait()?;
    Ok(())
}

/// Checks what the commands report about an installed agent, and the state after `hookhost uninstall`.
pub(super) fn install(run: &mut Run<'_>) -> Result<()> {
    let name = run.agent.name();
    let program = run.agent.start(&run.place, "").program;
    let directory = program.parent().context("the agent's program is in no directory")?.to_owned();
    let with_agent = |arguments: &[&str]| command::run_with_path(&run.place, arguments, &directory);
    let again = with_agent(&["install", name])?;
    let knows = !["older than", "newer than", "no program"].iter().any(|says| again.stdout.contains(says));
    run.check("install knows the agent's version", again.code == Some(0) && knows);
    let diagnosis = with_agent(&["doctor", name, "--prove", "--json"])?;
    let report: Value = serde_json::from_str(&diagnosis.stdout).with_context(|| diagnosis.said())?;
    let checks = report["agents"][0]["checks"].as_array().context("doctor made no checks")?;
    // Added so that the output is shown if a check fails.
    run.ended.push(diagnosis.clone());
    run.check("doctor finds no problem", !checks.iter().any(|check| check["state"] == "problem"));
    let proof = checks.iter().find(|check| check["about"] == "proof").context("doctor proved nothing")?;
    match proof["state"].as_str() {
        Some("ok") => run.check("doctor proves that the configured hook says no", diagnosis.code == Some(0)),
        _ => run.skip(&format!("doctor --prove: {}", proof["says"].as_str().unwrap_or_default())),
    }
    command::succeeds(&run.place, &["uninstall", name])?;
    run.commands(&["echo hello > denied.txt"])?;
    run.check("after uninstall the agent is as before", run.file("denied.txt").is_some());
    Ok(())
}
