//! Checks the plugin for the marketplaces of Claude Code and Codex, installed by the agent itself.

use crate::hook::{PROGRAM, command};
use crate::place::write;
use crate::process;
use crate::run::Run;
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Files of the repository that a marketplace consists of.
const FILES: [&str; 7] = [
    ".claude-plugin/marketplace.json",
    "agent-plugin/.claude-plugin/plugin.json",
    "agent-plugin/.codex-plugin/plugin.json",
    "agent-plugin/hooks/hooks.json",
    "agent-plugin/hooks/codex.json",
    "agent-plugin/hook",
    "agent-plugin/README.md",
];

pub(super) fn plugin(run: &mut Run<'_>) -> Result<()> {
    let market = run.place.root.join("market");
    let (add, install) = match run.agent.name() {
        "claude-code" => (["plugin", "marketplace", "add"], ["plugin", "install"]),
        "codex" => (["plugin", "marketplace", "add"], ["plugin", "add"]),
        _ => return Ok(()),
    };
    release(&market, &run.place.bin())?;
    command::succeeds(&run.place, &["uninstall", run.agent.name()])?;
    let market = market.to_string_lossy().into_owned();
    for words in [[&add[..], &[&market]].concat(), [&install[..], &["hookhost@hookhost-plugins"]].concat()] {
        let mut start = run.agent.start(&run.place, "");
        start.arguments = words.iter().map(|&word| word.to_owned()).collect();
        let ended = process::run(&run.place, &start, process::LIMIT)?;
        ensure!(ended.code == Some(0), "{words:?}: {}", ended.said());
    }
    run.agent.after_install(&run.place)?;
    run.commands(&["echo hello > without.txt"])?;
    let is_told = run.sent("is not installed");
    run.check(
        "without the program, the plugin denies and says how to install it",
        run.file("without.txt").is_none() && is_told,
    );

    let path = process::variables(&run.place).into_iter().find(|(name, _)| name == "PATH").context("no PATH")?.1;
    run.variables.push(("PATH".to_owned(), format!("{}:{path}", run.place.bin().display())));
    run.commands(&["echo hello > out.txt", "echo hello > denied.txt"])?;
    run.check(
        "with the program, the plugin asks the rules",
        run.file("out.txt").is_some() && run.was_told("denied.txt")?,
    );
    run.check(
        "a denied call does not run, and the model is told why",
        run.file("denied.txt").is_none() && run.sent("denied-by-policy"),
    );

    // Without the program on the PATH, the plugin would deny, unless it leaves the decision to the installed hook.
    run.variables.pop();
    command::succeeds(&run.place, &["install", run.agent.name()])?;
    run.agent.after_install(&run.place)?;
    run.commands(&["echo hello > installed.txt"])?;
    run.check("the plugin stands down if hookhost is installed", run.file("installed.txt").is_some());
    Ok(())
}

/// Makes a marketplace whose plugin was released with the programs of this directory.
fn release(market: &Path, programs: &Path) -> Result<()> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in FILES {
        let (from, to) = (repository.join(file), market.join(file));
        fs::create_dir_all(to.parent().context("no directory")?)?;
        fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    let output = |program: &str, words: &[&Path]| -> Result<String> {
        let output = Command::new(program).args(words).output().with_context(|| format!("cannot start {program}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let digest = |name: &str| -> Result<String> {
        let printed = output("sha256sum", &[&programs.join(name)])?;
        printed.split(' ').next().map(str::to_owned).context("sha256sum printed nothing")
    };
    let system = output("uname", &[Path::new("-sm")])?.replace(' ', "-");
    let line = format!("{system} {} {}\n", digest(PROGRAM)?, digest("hookhost")?);
    write(&market.join("agent-plugin/programs"), &line)
}
