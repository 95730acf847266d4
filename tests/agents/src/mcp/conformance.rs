//! Runs the conformance suite of MCP for a server and for a client, for each revision of the protocol that the proxy supports.

use super::packages::{CONFORMANCE, SDK, SDK_2026};
use super::{Started, Tried};
use crate::report::{Report, Tally};
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The scripts of the servers and clients, and their shared code.
const SCRIPTS: &[(&str, &str)] = &[
    ("behind.mjs", include_str!("behind.mjs")),
    ("client.mjs", include_str!("client.mjs")),
    ("client-2026.mjs", include_str!("client-2026.mjs")),
    ("offered.mjs", include_str!("offered.mjs")),
    ("server.mjs", include_str!("server.mjs")),
    ("server-2026.mjs", include_str!("server-2026.mjs")),
];

/// The parts of the suite for a revision.
struct Revision {
    name: &'static str,
    /// The options that select the suite's scenarios for servers.
    of_servers: [&'static str; 2],
    /// The scenarios for clients that need no authorization server.
    of_clients: &'static [&'static str],
    /// True if requests need no session.
    is_stateless: bool,
}

const REVISIONS: &[Revision] = &[
    Revision {
        name: "2025-06-18",
        of_servers: ["--spec-version", "2025-06-18"],
        of_clients: &["initialize", "tools_call"],
        is_stateless: false,
    },
    Revision {
        name: "2025-11-25",
        of_servers: ["--spec-version", "2025-11-25"],
        of_clients: &["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"],
        is_stateless: false,
    },
    Revision {
        name: "2026-07-28",
        of_servers: ["--requirements", "2026-07-28"],
        of_clients: &[
            "tools_call",
            "request-metadata",
            "sep-2322-client-request-state",
            "http-standard-headers",
            "http-custom-headers",
            "http-invalid-tool-headers",
            "json-schema-ref-no-deref",
        ],
        is_stateless: true,
    },
];

/// The scenarios that are skipped, with the reason.
const WITHOUT_TOKENS: &str =
    "the scenarios auth/* of a client: a client cannot ask for a token of its own through the proxy";

/// Marks the result of a scenario that no revision requires. The scenario may fail, but its result has to be the same with and without the
/// proxy.
const NOT_REQUIRED: &str = "; not required";

/// Marks the result of a scenario whose client has failed, although its checks have passed.
const CLIENT_FAILED: &str = "; the client failed";

/// The suite's result for each scenario.
type Results = BTreeMap<String, String>;

pub(super) fn run(tried: &Tried, node: &Path, tally: &mut Tally) {
    for revision in REVISIONS {
        match revision.install(&tried.cache) {
            Ok(scripts) => {
                for (side, results) in [
                    ("a server", revision.server(tried, node, &scripts)),
                    ("a client", revision.client(tried, node, &scripts)),
                ] {
                    let side = format!("of {side}, {}", revision.name);
                    match results {
                        Ok((without, with)) => report(&side, &without, &with, tally),
                        Err(why) => tally.add("conformance", &Report::fail(format!("{side}: {why:#}"), "")),
                    }
                }
            }
            Err(why) => tally.add("conformance", &Report::skip(format!("{}: {why:#}", revision.name))),
        }
    }
    tally.add("conformance", &Report::skip(WITHOUT_TOKENS));
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
        let is_passed = result.contains(" 0 failed") && !result.ends_with(CLIENT_FAILED);
        let is_good = is_passed || result.ends_with(NOT_REQUIRED);
        let details = format!("without the proxy: {result}\nwith it: {other}");
        let holds = result == other && is_good;
        tally.add("conformance", &if holds { Report::pass(what) } else { Report::fail(what, details) });
    }
    if without.is_empty() {
        tally.add("conformance", &Report::fail(format!("the suite {side} says nothing"), ""));
    }
}

impl Revision {
    /// Installs the suite and the packages of this revision. Returns the directory of the scripts, beside the packages that they import.
    fn install(&self, cache: &Path) -> Result<PathBuf> {
        CONFORMANCE.install(cache)?;
        let [first, others @ ..] = &SDK_2026;
        let package = if self.is_stateless { first } else { &SDK };
        package.install_with(cache, if self.is_stateless { others } else { &[] })?;
        let directory = cache.join(package.directory());
        for (name, text) in SCRIPTS {
            std::fs::write(directory.join(name), text)?;
        }
        Ok(directory)
    }

    fn server(&self, tried: &Tried, node: &Path, scripts: &Path) -> Result<(Results, Results)> {
        // Each revision gets a separate user. Otherwise the proxy would hold back its tools, because another server has used the same names
        // with other definitions.
        let tried = &Tried::new(&tried.hookhost, &tried.cache)?;
        let script = if self.is_stateless { "server-2026.mjs" } else { "server.mjs" };
        let server = Started::new(tried.command(node).arg(scripts.join(script)))?;
        let address = format!("http://127.0.0.1:{}/mcp", server.said);
        let mut proxy = tried.command(&tried.hookhost);
        proxy.args(["mcp", "--name", "conformance", "--http", &address, "--listen", "127.0.0.1:0"]);
        let proxy = Started::new(&mut proxy)?;
        let behind = proxy.said.strip_prefix("listening at ").context("the proxy does not listen")?;
        let results = |address: &str| -> Result<Results> {
            let mut suite = tried.limited(node);
            suite.arg(CONFORMANCE.program(&tried.cache, "conformance")).args(["server", "--url", address]);
            let output = suite.args(self.of_servers).output()?;
            Ok(summary(&String::from_utf8_lossy(&output.stdout)))
        };
        Ok((results(&address)?, results(behind)?))
    }

    fn client(&self, tried: &Tried, node: &Path, scripts: &Path) -> Result<(Results, Results)> {
        let tried = &Tried::new(&tried.hookhost, &tried.cache)?;
        let script = scripts.join(if self.is_stateless { "client-2026.mjs" } else { "client.mjs" });
        let results = |hookhost: Option<&Path>| -> Result<Results> {
            let result = |scenario: &&str| -> Result<(String, String)> {
                let mut suite = tried.limited(node);
                suite.arg(CONFORMANCE.program(&tried.cache, "conformance")).arg("client");
                suite.arg("--command").arg(format!("{} {}", node.display(), script.display()));
                suite.args(["--scenario", scenario, "--spec-version", self.name]);
                let output = suite.envs(hookhost.map(|hookhost| ("HOOKHOST", hookhost))).output()?;
                let said =
                    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
                let result = said.lines().rev().find_map(|line| line.trim().strip_prefix("Passed: "));
                let result = result.unwrap_or("no result");
                let failed = if said.contains("CLIENT EXITED") { CLIENT_FAILED } else { "" };
                Ok(((*scenario).to_owned(), format!("{result}{failed}")))
            };
            self.of_clients.iter().map(result).collect()
        };
        Ok((results(None)?, results(Some(&tried.hookhost))?))
    }
}

/// Reads the scenarios and their results from the suite's output about a server.
fn summary(said: &str) -> Results {
    let mut lines = said.lines().skip_while(|line| !line.contains("SUMMARY"));
    let result = |line: &str| {
        let (scenario, result) = line.trim_start_matches(['✓', '✗', ' ']).split_once(": ")?;
        Some((scenario.to_owned(), result.to_owned()))
    };
    let mut results: Results =
        lines.by_ref().take_while(|line| !line.starts_with("Total: ")).filter_map(result).collect();
    // Scenarios that are not required follow, each with its reason in brackets.
    for line in lines {
        let scenario = line.trim_start_matches(['✓', '✗', ' ']).split(' ').next().unwrap_or_default();
        if let Some(result) = results.get_mut(scenario) {
            result.push_str(NOT_REQUIRED);
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn each_scenario_has_its_result_and_what_no_revision_requires_is_marked() {
        let said = "ping: 9 failed\n=== SUMMARY ===\n✓ ping: 2 passed, 0 failed\n✗ tasks: 1 passed, 8 failed\n\n\
                    Total: 3 passed, 8 failed\n\nNot scored for 2026-07-28: 1 scenario(s) run\n  ✗ tasks (extension)\n";
        let results = summary(said);
        assert_eq!(results.len(), 2, "{results:?}");
        assert_eq!(results["ping"], "2 passed, 0 failed");
        assert_eq!(results["tasks"], "1 passed, 8 failed; not required");
    }
}
