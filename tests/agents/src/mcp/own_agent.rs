//! Runs hookhost's own agent with a public MCP server, both with and without the proxy, and compares the results.

use super::inspector::{difference, files, proxied};
use super::{CONFIGURATION, Tried};
use crate::report::{Report, Tally};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::path::Path;

/// The model's calls, one after the other: a tool, and a path below the home directory.
const CALLS: &[(&str, &str)] = &[
    ("list_directory", "shared"),
    ("read_text_file", "shared/note.txt"),
    ("read_text_file", "/etc/passwd"),
    ("create_directory", "shared/forbidden"),
];

/// The configuration that forbids the last call.
const FORBIDDEN: &str = "[mcp-proxy.servers.filesystem]\nforbidden-tools = [\"create_*\"]\n";

pub(super) fn run(tried: &Tried, node: &Path, tally: &mut Tally) {
    match files(tried, node).and_then(|server| compare(tried, &server)) {
        Ok(reports) => reports.iter().for_each(|report| tally.add("hookhost run", report)),
        Err(why) => tally.add("hookhost run", &Report::fail(format!("{why:#}"), "")),
    }
}

fn compare(tried: &Tried, server: &[String]) -> Result<Vec<Report>> {
    let made = tried.home.path().join("shared/forbidden");
    let without = results(tried, server, "")?;
    ensure!(made.exists(), "the agent does not call its server: {without:#?}");
    std::fs::remove_dir(&made)?;
    let behind = proxied(tried, "filesystem", server);
    let with = results(tried, &behind, "")?;
    let is_made = made.exists();
    if is_made {
        std::fs::remove_dir(&made)?;
    }
    let forbidden = results(tried, &behind, FORBIDDEN)?;
    tried.configure(CONFIGURATION)?;
    let details = difference(&without.join("\n"), &with.join("\n"));
    let same = "its calls have the same results behind the proxy";
    let same = if is_made && without == with { Report::pass(same) } else { Report::fail(same, details) };
    let (allowed, refused) = (CALLS.len() - 1, "a tool that the configuration forbids is not there for it");
    let holds = !made.exists() && forbidden.get(..allowed) == without.get(..allowed);
    let details = forbidden.join("\n");
    Ok(vec![same, if holds { Report::pass(refused) } else { Report::fail(refused, details) }])
}

/// Returns the texts that the model reads as results of its calls.
fn results(tried: &Tried, server: &[String], more: &str) -> Result<Vec<String>> {
    let (program, arguments) = server.split_first().context("a server has no program")?;
    // JSON strings and lists of JSON strings are valid TOML.
    let section = format!("[mcp.files]\ncommand = {}\nargs = {}\n", json!(program), json!(arguments));
    tried.configure(&format!("{CONFIGURATION}{more}{section}"))?;
    let call = |(tool, path): &(&str, &str)| {
        let path = json!(tried.home.path().join(path));
        format!("[[turn]]\ncall = [{{ tool = \"mcp__files__{tool}\", arguments = {{ path = {path} }} }}]\n")
    };
    let script: String = CALLS.iter().map(call).collect();
    std::fs::write(tried.home.path().join("script.toml"), script + "[[turn]]\ntext = \"Done.\"\n")?;
    let output = tried.limited(&tried.hookhost).args(["run", "go", "--script", "script.toml", "--json"]).output()?;
    let steps: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let finished = steps.iter().filter(|step| step["type"] == "tool-finished");
    let results: Vec<String> = finished.map(|step| format!("{} {}", step["is-error"], step["text"])).collect();
    ensure!(results.len() == CALLS.len(), "the agent made other calls: {}", String::from_utf8_lossy(&output.stderr));
    Ok(results)
}
