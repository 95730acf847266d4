//! The conformance suite of MCP: of a server, and of a client.

use super::packages::{CONFORMANCE, SDK};
use super::{Started, Tried};
use crate::report::{Report, Tally};
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::path::Path;

const SERVER: &str = include_str!("server.mjs");
const CLIENT: &str = include_str!("client.mjs");

/// The scenarios of clients that need no authorization server: a client behind the proxy cannot ask for a token.
const OF_CLIENTS: &[&str] = &["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"];

/// What a scenario's checks come to, as the suite says it.
type Results = BTreeMap<String, String>;

pub(super) fn run(tried: &Tried, node: &Path, tally: &mut Tally) {
    if let Err(why) = CONFORMANCE.install(&tried.cache).and_then(|()| SDK.install(&tried.cache)) {
        return tally.add("conformance", &Report::skip(format!("{why:#}")));
    }
    for (side, results) in [("of a server", server(tried, node)), ("of a client", client(tried, node))] {
        match results {
            Ok((without, with)) => report(side, &without, &with, tally),
            Err(why) => tally.add("conformance", &Report::fail(format!("{side}: {why:#}"), "")),
        }
    }
}

fn report(side: &str, without: &Results, with: &Results, tally: &mut Tally) {
    println!("| conformance {side} | without the proxy | with it |\n|---|---|---|");
    let none = "no result".to_owned();
    for (scenario, result) in without {
        let other = with.get(scenario).unwrap_or(&none);
        println!("| {scenario} | {result} | {other} |");
    }
    for (scenario, result) in without {
        let other = with.get(scenario).unwrap_or(&none);
        let what = format!("{scenario}, {side}: {result}");
        let is_same = result == other && result.contains(" 0 failed");
        let details = format!("without the proxy: {result}\nwith it: {other}");
        tally.add("conformance", &if is_same { Report::pass(what) } else { Report::fail(what, details) });
    }
    if without.is_empty() {
        tally.add("conformance", &Report::fail(format!("the suite {side} says nothing"), ""));
    }
}

fn server(tried: &Tried, node: &Path) -> Result<(Results, Results)> {
    let script = script(tried, "server.mjs", SERVER)?;
    let server = Started::new(tried.command(node).arg(script))?;
    let address = format!("http://127.0.0.1:{}/mcp", server.said);
    let mut proxy = tried.command(&tried.hookhost);
    proxy.args(["mcp", "--name", "conformance", "--http", &address, "--listen", "127.0.0.1:0"]);
    let proxy = Started::new(&mut proxy)?;
    let behind = proxy.said.strip_prefix("listening at ").context("the proxy does not listen")?;
    let results = |address: &str| -> Result<Results> {
        let mut suite = tried.limited(node);
        suite.arg(CONFORMANCE.program(&tried.cache, "conformance")).args(["server", "--url", address]);
        let output = suite.output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = said.lines().skip_while(|line| !line.contains("SUMMARY"));
        let results = lines.filter_map(|line| line.trim_start_matches(['✓', '✗', ' ']).split_once(": "));
        Ok(results
            .filter(|(scenario, _)| *scenario != "Total")
            .map(|(scenario, result)| (scenario.to_owned(), result.to_owned()))
            .collect())
    };
    Ok((results(&address)?, results(behind)?))
}

fn client(tried: &Tried, node: &Path) -> Result<(Results, Results)> {
    // A user of its own: the server above has a tool of the same name as one here, which would be held back.
    let tried = &Tried::new(&tried.hookhost, &tried.cache)?;
    let script = script(tried, "client.mjs", CLIENT)?;
    let results = |hookhost: Option<&Path>| -> Result<Results> {
        let result = |scenario: &&str| -> Result<(String, String)> {
            let mut suite = tried.limited(node);
            suite.arg(CONFORMANCE.program(&tried.cache, "conformance")).arg("client");
            suite.arg("--command").arg(format!("{} {}", node.display(), script.display()));
            suite.args(["--scenario", scenario]).envs(hookhost.map(|hookhost| ("HOOKHOST", hookhost)));
            let output = suite.output()?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            let result = said.lines().rev().find_map(|line| line.trim().strip_prefix("Passed: "));
            Ok(((*scenario).to_owned(), result.unwrap_or("no result").to_owned()))
        };
        OF_CLIENTS.iter().map(result).collect()
    };
    Ok((results(None)?, results(Some(&tried.hookhost))?))
}

/// Writes a script beside the packages that it imports.
fn script(tried: &Tried, name: &str, text: &str) -> Result<std::path::PathBuf> {
    let path = tried.cache.join(SDK.directory()).join(name);
    std::fs::write(&path, text)?;
    Ok(path)
}
