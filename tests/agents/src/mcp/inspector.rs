//! Queries public MCP servers through the command line of the protocol's inspector.

use super::packages::{self, EVERYTHING, FILES, INSPECTOR, MEMORY};
use super::{CONFIGURATION, Tried};
use crate::npm::Package;
use crate::report::{Report, Tally};
use anyhow::{Context as _, Result};
use serde_json::json;
use std::path::Path;

/// The inspector's arguments for one request to a server.
type Step = &'static [&'static str];

const EVERYTHING_STEPS: &[Step] = &[
    &["--method", "tools/list"],
    &["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hello"],
    &["--method", "tools/call", "--tool-name", "get-tiny-image"],
    &["--method", "tools/call", "--tool-name", "no-such-tool"],
    &["--method", "resources/list"],
    &["--method", "prompts/list"],
    &["--method", "prompts/get", "--prompt-name", "simple-prompt"],
];

const FILES_STEPS: &[Step] = &[
    &["--method", "tools/list"],
    &["--method", "tools/call", "--tool-name", "list_directory", "--tool-arg", "path=shared"],
    &["--method", "tools/call", "--tool-name", "read_text_file", "--tool-arg", "path=shared/note.txt"],
    &["--method", "tools/call", "--tool-name", "read_text_file", "--tool-arg", "path=/etc/passwd"],
];

const MEMORY_STEPS: &[Step] = &[&["--method", "tools/list"], &["--method", "tools/call", "--tool-name", "read_graph"]];

const TIME_STEPS: &[Step] = &[
    &["--method", "tools/list"],
    &[
        "--method",
        "tools/call",
        "--tool-name",
        "convert_time",
        "--tool-arg",
        "source_timezone=UTC",
        "--tool-arg",
        "time=12:00",
        "--tool-arg",
        "target_timezone=Asia/Tokyo",
    ],
];

pub(super) fn run(tried: &Tried, node: &Path, tally: &mut Tally) {
    if let Err(why) = INSPECTOR.install(&tried.cache) {
        return tally.add("inspector", &Report::skip(format!("{why:#}")));
    }
    let time = packages::python(&tried.cache).map(|python| {
        [&*python.to_string_lossy(), "-m", "mcp_server_time", "--local-timezone", "UTC"].map(str::to_owned).to_vec()
    });
    let servers = [
        ("everything", of_npm(tried, node, &EVERYTHING, "mcp-server-everything", &[]), EVERYTHING_STEPS),
        ("filesystem", files(tried, node), FILES_STEPS),
        ("memory", of_npm(tried, node, &MEMORY, "mcp-server-memory", &[]), MEMORY_STEPS),
        ("time", time, TIME_STEPS),
    ];
    for (name, server, steps) in servers {
        match server {
            Ok(server) => steps.iter().for_each(|step| compare(tried, node, name, &server, step, tally)),
            Err(why) => tally.add(name, &Report::skip(format!("{why:#}"))),
        }
    }
    if let Ok(server) = files(tried, node) {
        let report = forbidden(tried, node, &server).unwrap_or_else(|why| Report::fail(format!("{why:#}"), ""));
        tally.add("filesystem", &report);
    }
}

/// Installs a server from npm, and returns its command.
fn of_npm(tried: &Tried, node: &Path, package: &Package, program: &str, more: &[&str]) -> Result<Vec<String>> {
    package.install(&tried.cache)?;
    let program = package.program(&tried.cache, program);
    let words = [node.to_string_lossy().into_owned(), program.to_string_lossy().into_owned()];
    Ok(words.into_iter().chain(more.iter().map(|&word| word.to_owned())).collect())
}

/// Prepares a file server. The directory that the server may use contains a note.
pub(super) fn files(tried: &Tried, node: &Path) -> Result<Vec<String>> {
    let shared = tried.home.path().join("shared");
    std::fs::create_dir_all(&shared)?;
    std::fs::write(shared.join("note.txt"), "a note\n")?;
    of_npm(tried, node, &FILES, "mcp-server-filesystem", &["shared"])
}

/// Checks that a step has the same result with and without the proxy.
fn compare(tried: &Tried, node: &Path, name: &str, server: &[String], step: Step, tally: &mut Tally) {
    let what = step.iter().skip(1).step_by(2).take(2).copied().collect::<Vec<_>>().join(" ");
    let asked = || -> Result<Report> {
        let without = inspect(tried, node, server, step)?;
        let with = inspect(tried, node, &proxied(tried, name, server), step)?;
        let details = difference(&without, &with);
        Ok(match without == with {
            true if without.contains('{') => Report::pass(format!("{what} has the same result")),
            true => Report::fail(format!("{what} has no result"), details),
            false => Report::fail(format!("{what} has another result"), details),
        })
    };
    tally.add(name, &asked().unwrap_or_else(|why| Report::fail(format!("{what}: {why:#}"), "")));
}

/// Checks that a forbidden tool is not listed and does not run.
fn forbidden(tried: &Tried, node: &Path, server: &[String]) -> Result<Report> {
    let more = "[mcp-proxy.servers.filesystem]\nforbidden-tools = [\"write_*\"]\n";
    tried.configure(&format!("{CONFIGURATION}{more}"))?;
    let server = proxied(tried, "filesystem", server);
    let listed = inspect(tried, node, &server, &["--method", "tools/list"])?;
    let call = [
        "--method",
        "tools/call",
        "--tool-name",
        "write_file",
        "--tool-arg",
        "path=shared/new.txt",
        "--tool-arg",
        "content=x",
    ];
    let called = inspect(tried, node, &server, &call)?;
    tried.configure(CONFIGURATION)?;
    let what = "a forbidden tool is not listed and does not run";
    let holds = listed.contains("read_text_file")
        && !listed.contains("write_file")
        && !tried.home.path().join("shared/new.txt").exists();
    Ok(if holds { Report::pass(what) } else { Report::fail(what, format!("{listed}\n{called}")) })
}

pub(super) fn proxied(tried: &Tried, name: &str, server: &[String]) -> Vec<String> {
    let proxy = [&*tried.hookhost.to_string_lossy(), "mcp", "--name", name, "--"].map(str::to_owned);
    proxy.into_iter().chain(server.iter().cloned()).collect()
}

/// Returns the first lines that differ.
pub(super) fn difference(without: &str, with: &str) -> String {
    let cut = |line: Option<&str>| line.unwrap_or("nothing").chars().take(300).collect::<String>();
    let (mut without, mut with) = (without.lines(), with.lines());
    loop {
        match (without.next(), with.next()) {
            (None, None) => return String::new(),
            (left, right) if left == right => {}
            (left, right) => return format!("without the proxy: {}\nwith it: {}", cut(left), cut(right)),
        }
    }
}

/// Returns the inspector's output about a server. The inspector reads the server's command from a file, as agents do.
fn inspect(tried: &Tried, node: &Path, server: &[String], step: &[&str]) -> Result<String> {
    let file = tried.home.path().join("servers.json");
    let (program, arguments) = server.split_first().context("a server has no program")?;
    let servers = json!({ "mcpServers": { "server": { "command": program, "args": arguments } } });
    std::fs::write(&file, servers.to_string())?;
    let mut command = tried.limited(node);
    command.arg(INSPECTOR.program(&tried.cache, "mcp-inspector")).args(["--cli", "--config"]).arg(file);
    command.args(["--server", "server"]).args(step);
    let output = command.output()?;
    let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Other messages of the server on standard error are not part of the protocol.
    let failed = failed.lines().filter(|line| line.contains("rror")).collect::<Vec<_>>().join("\n");
    Ok(format!("{}{failed} ({})", said.trim_end(), output.status))
}
