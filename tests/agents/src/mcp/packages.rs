//! The packages to install, each with its exact version.

use crate::npm::{NODE, Package};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(super) const INSPECTOR: Package =
    Package { short: "mcp-inspector", name: "@modelcontextprotocol/inspector", version: "2.12.0" };
pub(super) const CONFORMANCE: Package =
    Package { short: "mcp-conformance", name: "@modelcontextprotocol/conformance", version: "0.2.0-alpha.12" };
pub(super) const SDK: Package = Package { short: "mcp-sdk", name: "@modelcontextprotocol/sdk", version: "1.32.2" };
/// The packages of revision 2026-07-28. The first one names the directory.
pub(super) const SDK_2026: [Package; 3] = [
    Package { short: "mcp-sdk-2", name: "@modelcontextprotocol/server", version: "2.4.0" },
    Package { short: "mcp-sdk-2-client", name: "@modelcontextprotocol/client", version: "2.4.0" },
    Package { short: "mcp-sdk-2-node", name: "@modelcontextprotocol/node", version: "2.1.2" },
];
pub(super) const EVERYTHING: Package =
    Package { short: "mcp-everything", name: "@modelcontextprotocol/server-everything", version: "2026.8.31" };
pub(super) const FILES: Package =
    Package { short: "mcp-files", name: "@modelcontextprotocol/server-filesystem", version: "2026.8.31" };
pub(super) const MEMORY: Package =
    Package { short: "mcp-memory", name: "@modelcontextprotocol/server-memory", version: "2026.8.31" };

/// A server in Python, from PyPI.
const TIME: (&str, &str) = ("mcp-server-time", "2026.10.19");

/// Installs Node, which runs all npm packages.
pub(super) fn node(cache: &Path) -> Result<PathBuf> {
    NODE.install(cache)?;
    Ok(NODE.program(cache, "node"))
}

/// Installs the server from PyPI in a Python environment of its own, and returns that Python.
pub(super) fn python(cache: &Path) -> Result<PathBuf> {
    let (name, version) = TIME;
    let directory = cache.join(format!("{name}-{version}"));
    let (python, done) = (directory.join("bin/python"), directory.join(".installed"));
    if done.exists() {
        return Ok(python);
    }
    println!("==> installing {name} {version}");
    run(Command::new("python3").args(["-m", "venv"]).arg(&directory))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).arg(format!("{name}=={version}")))?;
    std::fs::write(done, "")?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<Output> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?} cannot be started"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("{command:?} failed: {}", said.lines().last().unwrap_or_default());
    }
    Ok(output)
}
