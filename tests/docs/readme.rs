//! The README and what it leads to first: its commands are decided as it says, its figures are measured, the demo prints the
//! transcript of the tour, and the first plugin is made by doing what the guide says, word for word.

use crate::guide::{Block, assert_shown, blocks, blocks_of, normalised, page, root, section};
use hookhost_tests::{Ended, User};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_readme_is_short_and_shows_a_refusal_in_the_words_of_the_rule() {
    let readme = page("README.md");
    assert!(readme.lines().count() <= 90, "{} lines", readme.lines().count());
    let picture = page("docs/pictures/refusal.svg");
    let shown: String = picture
        .split("<text")
        .filter_map(|text| text.split_once('>')?.1.split_once("</text>"))
        .map(|(text, _)| text)
        .collect();
    let (call, words) = ("git push --force origin main", "A forced push to main or master rewrites history");
    let user = guarded();
    let ended = user.run(["dispatch", "--shell", call]);
    assert!(ended.stdout.contains(words), "the rule has other words: {ended:#?}");
    assert!(shown.contains(call) && shown.contains(words), "draw it again: cargo xtask agents pictures\n{shown}");
}

/// A user with the profile that `hookhost on` chooses.
fn guarded() -> User {
    let user = User::new();
    user.run(["profile", "use", "developer", "--yes"]).expect(0, &[]);
    user
}

#[test]
fn each_command_of_the_readme_is_decided_as_it_says() {
    let readme = page("README.md");
    let table = readme.split("| an agent does |").nth(1).expect("the table").split("\n\n").next().expect("its rows");
    let user = guarded();
    let mut checked = 0;
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let row = row.replace("\\|", "\u{1}");
        let cells: Vec<String> =
            row.split('|').map(|cell| cell.trim().replace('\u{1}', "|").replace('`', "")).collect();
        let [_, command, said, rule, _] = cells.as_slice() else { panic!("{row}") };
        let ended = user.run(["dispatch", "--shell", command]);
        let (code, begins) = match said.as_str() {
            "rejected" => (3, "rejected by shell-guard"),
            "you are asked" => (3, "rejected (not approved) by shell-guard"),
            "runs" => (0, "allowed"),
            other => panic!("{other}"),
        };
        ended.expect(code, &[]);
        assert!(ended.stdout.starts_with(begins) && ended.stdout.contains(rule), "{ended:#?}");
        checked += 1;
    }
    assert!(checked >= 10, "only {checked} rows");
}

#[test]
fn the_figures_of_the_readme_are_those_that_commands_print() {
    let readme = page("README.md");
    let growth = page("docs/growth.md");
    let row = growth.lines().find(|line| line.starts_with("| log on |") && line.contains(" at 1 |")).expect("its row");
    let time =
        row.split('|').nth(4).and_then(|cell| cell.trim().strip_suffix(" µs at 1")).expect("the time of one plugin");
    let time: f64 = time.parse().expect("a number");
    assert_eq!(readme.matches(&format!("{time:.0} µs")).count(), 2, "one plugin takes {time} µs");
    let cases = |file: &str| {
        let text = page(&format!("example-plugins/shell/rules/cases/{file}"));
        let count = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).count();
        format!("{} {:03}", count / 1000, count % 1000)
    };
    for said in [format!("{} harmful", cases("harmful.txt")), format!("{} harmless", cases("harmless.txt"))] {
        assert!(readme.contains(&said), "{said}");
    }
    let adapters = hookhost_agents::all().len();
    let named = 4;
    assert!(readme.contains(&format!("and {} other agents and gateways", adapters - named)), "there are {adapters}");
}

#[test]
fn the_transcript_is_what_the_demo_prints() {
    let tour = page("docs/tour.md");
    let shown = blocks_of(section(&tour, "## The demo"), "text").remove(0);
    let (directory, printed) = demo();
    let target = directory.path().canonicalize().expect("the temporary directory");
    let begin = printed.find("==> a fresh project").expect("the first line that is no build line");
    let printed = printed[begin..].replace(target.to_str().expect("UTF-8"), "target");
    assert_shown(&shown.replace("/home/me/hookhost/target", "target"), &printed);
}

#[test]
fn the_replayed_demo_has_the_same_outcomes_event_by_event() {
    let (directory, _) = demo();
    let demo = directory.path().canonicalize().expect("the temporary directory").join("demo");
    let hookhost = |arguments: &[&str]| {
        let mut command = Command::new(hookhost_tests::hookhost());
        for variable in ["HOOKHOST_CONFIG_DIR", "HOOKHOST_STATE_DIR", "HOOKHOST_CACHE_DIR"] {
            command.env(variable, demo.join("user"));
        }
        let ended = Ended::of(command.args(arguments).current_dir(&demo));
        let lines = ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        (ended, lines)
    };
    let log: (Ended, Vec<Value>) = hookhost(&["audit", "show", "--all", "--json"]);
    let recorded = log.1.iter().filter(|record| record["kind"] == "event");
    let outcomes: BTreeSet<_> = recorded.clone().filter_map(|record| record["outcome"].as_str()).collect();
    assert!(outcomes.contains("rejected") && outcomes.contains("allowed"), "{outcomes:?}");
    let events = recorded.clone().count();
    let (ended, replayed) = hookhost(&["replay", "--json", "--config", "hookhost.toml"]);
    ended.expect(0, &[]);
    let [summary] = replayed.as_slice() else { panic!("something differs: {replayed:?}") };
    assert_eq!(
        (&summary["events"], &summary["same"], &summary["different"], &summary["not-replayable"]),
        (&json!(events), &json!(events), &json!(0), &json!(0)),
        "{summary}"
    );

    // Another rule is noticed, so what is the same was compared.
    let config = fs::read_to_string(demo.join("hookhost.toml")).expect("the demo's configuration");
    let stricter = config.replace("infra/**", "notes/**");
    assert_ne!(config, stricter);
    fs::write(demo.join("hookhost.toml"), stricter).expect("the configuration");
    let (ended, replayed) = hookhost(&["replay", "--json", "--config", "hookhost.toml"]);
    ended.expect(6, &[]);
    let changed: Vec<_> = replayed
        .iter()
        .filter(|line| line["type"] == "difference" && line["recorded"]["outcome"] != line["again"]["outcome"])
        .map(|line| (line["recorded"]["outcome"].clone(), line["again"]["outcome"].clone()))
        .collect();
    assert_eq!(changed, [(json!("rejected"), json!("allowed")), (json!("allowed"), json!("rejected"))]);
}

/// Runs the demo; the target directory that it worked in, and what it printed.
fn demo() -> (tempfile::TempDir, String) {
    // The demo of the real `cargo xtask`, whose target directory holds already what it would build:
    // cargo has nothing to do.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let target = directory.path().canonicalize().expect("the temporary directory");
    fs::create_dir_all(target.join("debug")).expect("the directory of the binary");
    symlink(hookhost_tests::hookhost(), target.join("debug/hookhost")).expect("a link");
    let plugins = target.join("wasm32-wasip2/plugin");
    fs::create_dir_all(&plugins).expect("the directory of the plugins");
    for built in
        fs::read_dir(hookhost_tests::plugin("freeze").parent().expect("a directory")).expect("the built plugins")
    {
        let built = built.expect("a plugin").path();
        fs::copy(&built, plugins.join(built.file_name().expect("a name"))).expect("a copy");
    }
    let mut demo = Command::new(xtask());
    demo.arg("demo").env("CARGO", "true").env("CARGO_TARGET_DIR", &target).env_remove("CLICOLOR_FORCE");
    let output = demo.output().expect("xtask can be started");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    (directory, printed)
}

#[test]
fn the_first_plugin_is_made_by_following_the_guide_word_for_word() {
    let guide = page("docs/writing-plugins.md");
    let steps = blocks(section(&guide, "## Your first plugin in ten minutes"));
    let user = User::new();
    let clone = clone_below(&user.path("."));
    let script = script(&steps, &user.path("."));

    let mut shell = Command::new("sh");
    shell.arg("-c").arg(&script).current_dir(clone).env("HOME", user.path("."));
    for (variable, directory) in [("CONFIG", "config"), ("STATE", "state"), ("CACHE", "cache")] {
        shell.env(format!("HOOKHOST_{variable}_DIR"), user.path(directory));
    }
    // A home of its own, with the real one's toolchain; what is compiled on the way is kept for the next time.
    let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
    for (variable, directory) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        shell.env(variable, std::env::var_os(variable).map_or_else(|| home.join(directory), PathBuf::from));
    }
    shell.env("CARGO_BUILD_BUILD_DIR", build_directory()).env("CARGO_NET_OFFLINE", "true");
    for variable in ["CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        shell.env_remove(variable);
    }
    let status = shell.status().expect("sh can be started");

    let parent = user.path(".").canonicalize().expect("the home");
    let printed = |step: usize| {
        let text = fs::read_to_string(user.path(&format!("step-{step}"))).unwrap_or_default();
        text.replace(parent.to_str().expect("UTF-8"), "/home/me")
    };
    assert!(status.success(), "{}", (0..=steps.len()).map(printed).collect::<String>());
    let mut checked = 0;
    let mut command = None;
    for (step, block) in steps.iter().enumerate() {
        let Some(asked) = command else {
            command = (block.language == "sh").then_some(step);
            continue;
        };
        match block.language.as_str() {
            "sh" => command = Some(step),
            "text" if steps[step - 1].language == "json" => {
                assert_eq!(printed(asked).lines().nth(1), Some(block.text.trim_end()), "the line after the object");
                checked += 1;
            }
            "text" => {
                assert_shown(&block.text, &printed(asked));
                checked += 1;
            }
            "json" => {
                let printed = printed(asked);
                let json = |text: &str| serde_json::from_str::<Value>(&normalised(text)).expect("JSON");
                assert_eq!(json(printed.lines().next().unwrap_or_default()), json(&block.text), "{printed}");
                checked += 1;
            }
            _ => {}
        }
    }
    assert_eq!(checked, 5, "every output that the guide shows was compared");
}

/// The steps as one shell session that writes the files and keeps what each block of commands prints. A step that fails
/// ends it.
fn script(steps: &[Block], outputs: &Path) -> String {
    let mut script = "set -e\n".to_owned();
    for (step, block) in steps.iter().enumerate() {
        let Block { language, text, file } = block;
        if let Some(file) = file {
            let _ = write!(script, "cat > {file} <<'END OF FILE'\n{text}END OF FILE\n");
            if file == "Cargo.toml" {
                // The versions that the repository was tested with; cargo drops those that are not needed.
                let _ = writeln!(script, "cp '{}' .", root().join("Cargo.lock").display());
            }
        } else if language == "sh" {
            let output = outputs.join(format!("step-{step}"));
            // Not a subshell: `cd` and `export` last.
            let _ = write!(script, "exec > '{}' 2>&1\n{text}", output.display());
        }
    }
    // The SDK had another path last time, and its old builds are of no use.
    let last = outputs.join(format!("step-{}", steps.len()));
    let _ = writeln!(script, "exec > '{}' 2>&1", last.display());
    for built in ["", "--release", "--release --target wasm32-wasip2"] {
        let _ =
            writeln!(script, "cargo clean --quiet -p no-force-push -p hookhost-guest -p hookhost-guest-macros {built}");
    }
    script
}

/// A clone in which the demo has run, as far as the guide needs it: all of the repository by links, and the command.
fn clone_below(parent: &Path) -> PathBuf {
    let clone = parent.join("hookhost");
    fs::create_dir_all(clone.join("target/debug")).expect("the clone's target directory");
    symlink(hookhost_tests::hookhost(), clone.join("target/debug/hookhost")).expect("a link");
    for entry in fs::read_dir(root()).expect("the repository") {
        let entry = entry.expect("an entry").path();
        let name = entry.file_name().expect("a name");
        if name != "target" && name != ".git" {
            symlink(&entry, clone.join(name)).expect("a link");
        }
    }
    clone
}

fn xtask() -> PathBuf {
    let built = hookhost_tests::hookhost().with_file_name("xtask");
    assert!(built.exists(), "{} is not there: run `cargo build -p xtask`", built.display());
    built
}

fn build_directory() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme")
}
