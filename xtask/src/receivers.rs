//! Runs the programs of others that receive what hookhost sends: OpenTelemetry, Prometheus and webhooks.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use xtask::{
    Outcome,
    workspace::{Workspace, run},
};

use crate::dist;

/// Installs the receivers, and runs the tests that need them. Without a receiver, its test fails.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    let programs = dist::tool(workspace, "receivers")?;
    let environment = programs.parent().unwrap_or(&programs);
    let mut tests = workspace.cargo(&["test", "--workspace", "--lib", "--", "tests::receivers::"]);
    tests.env("HOOKHOST_RECEIVERS", "required");
    tests.env("HOOKHOST_OTELTAP", programs.join("python"));
    tests.env("HOOKHOST_ROTEL", rotel(environment)?);
    tests.env("HOOKHOST_PROMTOOL", promtool(workspace)?);
    run("programs of others receive telemetry", &mut tests)
}

/// Returns the program of rotel, which its package keeps beside its modules.
fn rotel(environment: &Path) -> Outcome<PathBuf> {
    let library = environment.join("lib");
    let unreadable = |error| format!("cannot read {}: {error}", library.display());
    let versions = fs::read_dir(&library).map_err(unreadable)?.flatten();
    let mut programs = versions.map(|version| version.path().join("site-packages/rotel/rotel-agent"));
    programs.find(|program| program.exists()).ok_or_else(|| format!("{} has no rotel-agent", library.display()))
}

/// Downloads Debian's package of Prometheus at the first call, and returns its promtool. The package is not installed.
fn promtool(workspace: &Workspace) -> Outcome<PathBuf> {
    let directory = workspace.target.join("tools").join("prometheus");
    let program = directory.join("usr/bin/promtool");
    if program.exists() {
        return Ok(program);
    }
    fs::create_dir_all(&directory).map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    let mut download = Command::new("apt-get");
    run("downloading Prometheus", download.args(["download", "prometheus"]).current_dir(&directory))?;
    let files = fs::read_dir(&directory).map_err(|error| format!("cannot read {}: {error}", directory.display()))?;
    let package = files.flatten().map(|file| file.path()).find(|file| file.extension().is_some_and(|end| end == "deb"));
    let package = package.ok_or_else(|| format!("{} has no package of Prometheus", directory.display()))?;
    run("unpacking Prometheus", Command::new("dpkg").arg("-x").arg(package).arg(&directory))?;
    Ok(program)
}
