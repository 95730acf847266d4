//! Runs the page of the resident host in a real Chromium: what a person does, and what other pages try. Also makes a picture of every view.

use crate::npm::{NODE, Package};
use crate::report::{Report, Tally};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Drives Chromium.
const PLAYWRIGHT: Package = Package { short: "page", name: "playwright-core", version: "1.65.1" };

/// Checks a page for barriers.
const AXE: Package = Package { short: "page", name: "axe-core", version: "4.14.1" };

/// The programs that may be a Chromium.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Time limit, in seconds. This is an argument of `timeout`.
const LIMIT: &str = "540";

/// Runs `real-agents page --hookhost FILE --hook FILE DIRECTORY`. The pictures go into the directory.
pub(crate) fn run(words: &[String], cache: &Path) -> Result<ExitCode> {
    let ["--hookhost", hookhost, "--hook", hook, pictures] = words.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        bail!("what is tested? `page --hookhost FILE --hook FILE DIRECTORY`")
    };
    let mut tally = Tally::default();
    let installed = NODE.install(cache).and_then(|()| PLAYWRIGHT.install_with(cache, &[AXE]));
    match (browser(), installed) {
        (None, _) => tally.add("page", &Report::skip("no Chromium is installed: apt-get install chromium")),
        (_, Err(why)) => tally.add("page", &Report::skip(format!("{why:#}"))),
        (Some(browser), Ok(())) => {
            let place = tempfile::Builder::new().prefix("page-").tempdir()?;
            let modules = cache.join(PLAYWRIGHT.directory());
            let suite = modules.join("run.mjs");
            // Node finds the packages beside the script.
            std::fs::write(&suite, include_str!("run.mjs"))?;
            std::fs::create_dir_all(pictures)?;
            let mut command = Command::new("timeout");
            command.args(["--kill-after=5", LIMIT]).arg(NODE.program(cache, "node")).arg(&suite);
            command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
            command.env("HOME", place.path()).env("HOOKHOST", std::path::absolute(hookhost)?);
            command.env("HOOK", std::path::absolute(hook)?).env("BROWSER", browser);
            command.env("PICTURES", std::path::absolute(pictures)?).current_dir(place.path());
            let output =
                command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cannot start timeout")?;
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                match Report::parse(line) {
                    Some(report) => tally.add("page", &report),
                    None => println!("{line}"),
                }
            }
            if !output.status.success() {
                tally.add("page", &Report::fail(format!("the suite ended early ({})", output.status), ""));
            }
        }
    }
    println!("{tally}");
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let directories: Vec<_> = std::env::split_paths(&path).collect();
    BROWSERS
        .iter()
        .flat_map(|name| directories.iter().map(move |directory| directory.join(name)))
        .find(|file| file.is_file())
}
