//! Checks the proxy between an agent and an MCP server. The agent has no hook, so only the proxy can stop calls.

use crate::hook::command;
use crate::model::{Script, Step};
use crate::npm::NODE;
use crate::place::write;
use crate::run::Run;
use anyhow::Result;
use serde_json::json;

/// A server with two tools, which writes each call to a file.
const SERVER: &str = include_str!("notes.mjs");

/// Definitions of tools are approved on first use, because there is no person who could approve them.
const CONFIGURATION: &str =
    "[mcp-proxy]\ndefinitions = \"first-use\"\n\n[mcp-proxy.servers.notes]\nforbidden-tools = [\"erase_*\"]\n";

pub(super) fn proxy(run: &mut Run<'_>) -> Result<()> {
    let name = run.agent.name();
    let (script, notes) = (run.place.bin().join("notes.mjs"), run.place.project().join("notes.txt"));
    write(&script, SERVER)?;
    let server = [NODE.program(&run.place.cache, "node"), script, notes];
    let server = server.map(|path| path.to_string_lossy().into_owned());
    command::succeeds(&run.place, &["uninstall", name])?;
    if !run.agent.add_server(&run.place, "notes", &server)? {
        run.skip("the proxy: nobody knows here how this agent is given an MCP server");
        return Ok(());
    }
    command::configure(&run.place, CONFIGURATION)?;
    let installed = command::succeeds(&run.place, &["install", name, "--mcp"])?;
    run.check(
        "install --mcp puts the proxy in the server's place",
        installed.stdout.contains("hookhost checks its calls"),
    );
    let noted = write_notes(run, &["hello", "denied.txt", "the original"])?;
    run.check(
        "an allowed MCP call reaches the server",
        noted.contains("write_note hello\n") && run.sent("noted hello"),
    );
    run.check("a denied MCP call does not reach the server", !noted.contains("denied.txt") && run.sent("denied.txt"));
    run.check("the model is told why an MCP call was denied", run.sent("denied-by-policy"));
    run.check("a changed MCP call reaches the server as it was changed", noted.contains("write_note the rewritten\n"));
    // The agent learns the descriptions of tools only from the server's list of tools.
    let is_hidden = run.sent("Writes a note") && !run.sent("Erases all notes");
    run.check("a tool that the configuration forbids is not listed", is_hidden);
    run.check("an MCP call is in the log", run.was_told("mcp__notes__write_note")?);
    let removed = command::succeeds(&run.place, &["uninstall", name, "--mcp"])?;
    let noted = write_notes(run, &["denied.txt"])?;
    let is_as_before = removed.stdout.contains("runs without hookhost") && noted.contains("denied.txt");
    run.check("after uninstall --mcp the agent starts the server itself", is_as_before && run.sent("Erases all notes"));
    Ok(())
}

/// Makes the model write these notes, and returns the notes that the server has received in all runs.
fn write_notes(run: &mut Run<'_>, texts: &[&str]) -> Result<String> {
    let call = |text: &&str| Step::Calls(vec![run.agent.call("notes", "write_note", json!({ "text": text }))]);
    let steps = texts.iter().map(call).collect();
    run.once("[script main] write it down", vec![Script { name: "main", steps }])?;
    Ok(run.file("notes.txt").unwrap_or_default())
}
