//! Checks that an agent works in `hookhost exec`, and that the kernel guards its settings there.

use crate::hook::command;
use crate::model::{Script, Step};
use crate::npm::NODE;
use crate::place::{Place, write};
use crate::process::{self, Start};
use crate::run::Run;
use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use std::path::PathBuf;

/// A server with two tools, which writes each call to a file.
const SERVER: &str = include_str!("notes.mjs");

/// Files of a person's project: a crate and a package without dependencies from elsewhere.
const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("src/main.rs", "fn main() {}\n"),
    ("package.json", "{ \"name\": \"tiny\", \"version\": \"1.0.0\", \"private\": true }\n"),
    ("part/package.json", "{ \"name\": \"part\", \"version\": \"1.0.0\" }\n"),
    (".gitignore", "target\nnode_modules\n"),
];

/// A command that prepares the project as a person does.
const REPOSITORY: &str = "git init -q . && git config user.name Me && git config user.email me@example.com && git add -A && \
                          git commit -q -m begun";

/// A script that tries to change guarded files and to read a key. An agent that looks at the paths of a command does not see these.
const HOSTILE: &str = "for f in ~/.claude/settings.json ~/.codex/hooks.json ~/.gemini/settings.json ~/.config/hookhost/hookhost.toml \
                       .git/hooks/pre-commit; do echo evil > $f; rm -f $f; done; cat ~/.ssh/id_ed25519; touch tried.txt\n";

pub(super) fn inside(run: &mut Run<'_>) -> Result<()> {
    for (file, text) in FILES {
        run.place.write_project(file, text)?;
    }
    run.place.write_project("hostile.sh", HOSTILE)?;
    run.place.write_home(".ssh/id_ed25519", "the-secret-key\n")?;
    let (script, notes) = (run.place.bin().join("notes.mjs"), run.place.project().join("notes.txt"));
    write(&script, SERVER)?;
    let server = [NODE.program(&run.place.cache, "node"), script, notes];
    let server = server.map(|path| path.to_string_lossy().into_owned());
    let has_server = run.agent.add_server(&run.place, "notes", &server)?;
    run.agent.after_install(&run.place)?;
    shell(&run.place, REPOSITORY)?;
    let cargo = cargo(run);
    let changed = run.place.project().join("src/main.rs");
    let text = "fn main() {\n    println!(\"changed\");\n}\n";
    let edit = run.agent.write(&changed.to_string_lossy(), text);
    // Some agents overwrite only a file that their model has read.
    let read = edit.as_ref().and_then(|_| run.agent.read(&changed.to_string_lossy()));
    let edit = edit.unwrap_or_else(|| run.agent.shell(&format!("cat > src/main.rs <<'END'\n{text}END")));
    let mut steps: Vec<Step> = read.into_iter().chain([edit]).map(|call| Step::Calls(vec![call])).collect();
    if let Some(cargo) = &cargo {
        let directory = cargo.parent().unwrap_or(cargo).display();
        steps.push(run.shell(&format!("PATH={directory}:$PATH cargo run -q --offline > built.txt")));
    }
    steps.push(run.shell("npm install --offline --no-audit --no-fund ./part && ls node_modules > installed.txt"));
    steps.push(run.shell("git add -A && git commit -q -m changed && git log --format=%s > commits.txt"));
    if has_server {
        steps.push(Step::Calls(vec![run.agent.call("notes", "write_note", json!({ "text": "hello" }))]));
    }
    let child = run.agent.subagent("[script child] do a part");
    if let Some(call) = &child {
        steps.push(Step::Calls(vec![call.clone()]));
        steps.push(run.shell("timeout 20 sh -c 'until test -e child.txt; do sleep 0.1; done'"));
    }
    steps.push(run.shell("sh hostile.sh"));
    let part = vec![run.shell("echo hello > child.txt")];
    // Some agents install something for themselves when they are first started. The list tells it.
    if command::succeeds(&run.place, &["exec", "--list"])?.stdout.contains(&format!("{} cannot make", run.agent.name()))
    {
        run.once("[script first] begin", vec![Script { name: "first", steps: Vec::new() }])?;
    }
    let settings = guarded(&run.place)?;
    run.is_inside = true;
    run.once("[script main] work on it", vec![Script { name: "main", steps }, Script { name: "child", steps: part }])?;

    let text_of = |run: &Run<'_>, name: &str| run.file(name).unwrap_or_default();
    run.check("inside, the agent ends well", run.ended.iter().all(|ended| ended.code == Some(0)));
    run.check("inside, the agent edits a file", text_of(run, "src/main.rs") == text);
    if cargo.is_some() {
        run.check("inside, cargo builds a crate", text_of(run, "built.txt") == "changed\n");
    } else {
        run.skip("cargo builds inside: there is no cargo here");
    }
    run.check("inside, npm installs a package", text_of(run, "installed.txt").contains("part"));
    run.check("inside, git commits", text_of(run, "commits.txt").starts_with("changed\nbegun"));
    if has_server {
        run.check("inside, an MCP server is called", text_of(run, "notes.txt").contains("write_note hello"));
    } else {
        run.skip("an MCP server inside: nobody knows here how this agent is given one");
    }
    if child.is_some() {
        run.check("inside, a sub-agent works", run.file("child.txt").is_some());
    } else {
        run.skip("a sub-agent inside: this agent has none");
    }
    let is_unchanged = run.file("tried.txt").is_some() && guarded(&run.place)? == settings;
    run.check("inside, no guarded file is changed", is_unchanged);
    run.check("inside, a key is not read", !run.sent("the-secret-key"));
    let told = run.told()?;
    let calls: Vec<_> = told.iter().filter(|told| told.text.contains("commits.txt")).collect();
    let are_inside = calls.iter().all(|told| told.text.contains("\"sandboxed\":true"));
    run.check("inside, the hook is asked, and the records say that it ran inside", !calls.is_empty() && are_inside);
    Ok(())
}

/// Runs a command of the person, outside.
fn shell(place: &Place, command: &str) -> Result<()> {
    let ended = process::run(place, &Start::new("/bin/sh".into(), &["-c", command]), process::LIMIT)?;
    ensure!(ended.code == Some(0), "{command}: {}", ended.said());
    Ok(())
}

/// Finds cargo, and sets the variables with which it finds its compiler and writes only below the home of the case.
fn cargo(run: &mut Run<'_>) -> Option<PathBuf> {
    let of_user = std::env::home_dir()?;
    let paths = [of_user.join(".cargo/bin/cargo"), "/usr/local/bin/cargo".into(), "/usr/bin/cargo".into()];
    let cargo = paths.into_iter().find(|path| path.exists())?;
    let rustup = of_user.join(".rustup").to_string_lossy().into_owned();
    let own = run.place.home().join(".cargo").to_string_lossy().into_owned();
    run.variables.extend([("RUSTUP_HOME".to_owned(), rustup), ("CARGO_HOME".to_owned(), own)]);
    Some(cargo)
}

/// Returns the guarded files that exist, with their texts.
fn guarded(place: &Place) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let listed = command::succeeds(place, &["exec", "--list"])?.stdout;
    let section = listed.split("\n\n").find(|section| section.starts_with("Cannot be changed:"));
    let paths =
        section.context("nothing is guarded")?.lines().skip(1).filter_map(|line| line.trim().split("  (").next());
    let absolute = paths.map(|path| match path.strip_prefix("~/") {
        Some(rest) => place.home().join(rest),
        None => PathBuf::from(path),
    });
    let own = absolute.filter(|path| path.starts_with(&place.root) && path.is_file() && !path.starts_with(place.bin()));
    own.map(|path| Ok((path.clone(), std::fs::read(&path)?))).collect()
}
