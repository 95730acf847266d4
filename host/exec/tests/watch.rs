//! The watch: guarded files that appear are moved away, and keys of files that an agent writes are restored.

#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{NO_NAMESPACES, User, World, text};

/// The file of the agent at the start.
const AGENT_FILE: &str = "{\n  // mine\n  \"mcpServers\": {\"a\": 1},\n  \"theme\": \"dark\"\n}\n";

/// Waits inside until a condition holds, for at most ten seconds.
const WAIT: &str =
    "until_true() { for n in $(seq 1000); do eval \"$1\" && return; sleep .01; done; echo \"never: $1\"; }; ";

/// A world with watched paths.
struct Watched {
    world: World,
}

impl Watched {
    fn new(user: User) -> Self {
        Self::with_quarantine(user, ".local/state/hookhost/sandbox/quarantine")
    }

    /// The quarantine is named from the home on.
    fn with_quarantine(user: User, quarantine: &str) -> Self {
        let world = World::new(user);
        let home = world.home();
        fs::write(home.join(".agent.json"), AGENT_FILE).expect("a file");
        fs::create_dir(home.join("dotfiles/other")).expect("a directory");
        std::os::unix::fs::symlink("dotfiles/other", home.join(".other")).expect("a link");
        for path in [".agent.json", "dotfiles/other", ".other"] {
            world.give(&home.join(path));
        }
        for (duty, path) in [
            ("quarantine", quarantine),
            ("absent", ".claude/settings*.json"),
            ("absent", ".cursor/hooks.json"),
            ("absent", ".other/hooks.json"),
            ("absent", "project/.new/deep/hooks"),
            ("restored mcpServers,hooks", ".agent.json"),
            ("restored hooks", ".later.json"),
        ] {
            world.plan_also(&format!("{duty} {}", home.join(path).display()));
        }
        Self { world }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.world.home().join(path)
    }

    /// Names in the quarantine, without their times, sorted.
    fn quarantined(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path(".local/state/hookhost/sandbox/quarantine")).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name().into_string().expect("it is text"));
        let mut names: Vec<_> = names.map(|name| name.split_once('-').expect("a time").1.to_owned()).collect();
        names.sort();
        names
    }

    fn run(&self, script: &str) -> String {
        let output = text(&self.world.inside(&format!("{WAIT}{script}")));
        assert!(!output.contains("never:"), "{output}");
        output
    }

    fn agent_file(&self) -> String {
        fs::read_to_string(self.path(".agent.json")).expect("it is there")
    }
}

/// A text without white space.
fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Waits for a condition.
#[track_caller]
fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_true() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[test]
fn a_guarded_file_that_appears_is_moved_away_at_once() {
    for user in User::all("appears") {
        let watched = Watched::new(user);
        let output = watched.run(
            "echo evil > ~/.claude/settings.local.json; until_true '! [ -e ~/.claude/settings.local.json ]';
             mkdir ~/.cursor; echo evil > ~/.cursor/hooks.json; until_true '! [ -e ~/.cursor/hooks.json ]';
             echo free > ~/.cursor/other.json; cat ~/.cursor/other.json;
             echo evil > ~/.other/hooks.json; until_true '! [ -e ~/.other/hooks.json ]'; cat ~/.claude/settings.json",
        );
        assert!(output.contains("free") && output.contains("# .claude/settings.json"), "{output}");
        assert_eq!(watched.quarantined(), ["hooks.json", "hooks.json", "settings.local.json"]);
        let quarantine = watched.path(".local/state/hookhost/sandbox/quarantine");
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&quarantine).expect("it is there"));
        assert_eq!(mode & 0o777, 0o700);
        let sentence = format!(
            "inside: {} appeared while the program runs, and is guarded, so it was moved to {}/",
            watched.path(".claude/settings.local.json").display(),
            quarantine.display()
        );
        assert!(output.contains(&sentence), "{output}");
    }
}

#[test]
fn a_whole_directory_is_watched_when_it_appears() {
    let watched = Watched::new(User::ordinary("directory"));
    watched.run(
        "mkdir -p made/deep/hooks; echo evil > made/deep/hooks/pre-commit; mv made .new;
         until_true '! [ -e .new/deep/hooks ]'; [ -d .new/deep ] || echo never: removed;
         mkdir -p .new/deep/hooks/x; until_true '! [ -e .new/deep/hooks ]';
         mv ~/.claude/history .new/; rm -r .new; mkdir -p .new/deep; echo > .new/deep/hooks;
         until_true '! [ -e .new/deep/hooks ]'",
    );
    assert_eq!(watched.quarantined(), ["hooks", "hooks", "hooks"]);
}

#[test]
fn what_appears_with_the_last_instruction_is_moved_away_too() {
    let watched = Watched::new(User::ordinary("last"));
    watched.run("mkdir ~/.cursor; echo > ~/.cursor/hooks.json; echo > ~/.claude/settings.x.json; kill -9 $$");
    assert!(!exists(&watched.path(".cursor/hooks.json")) && !exists(&watched.path(".claude/settings.x.json")));
}

#[test]
fn links_pipes_and_locked_directories_do_not_help() {
    for user in User::all("tricks") {
        let watched = Watched::new(user);
        let secret = watched.path("project/notes.txt");
        let started = Instant::now();
        watched.run(
            "ln -s ~/project/notes.txt ~/.claude/settings.link.json; until_true '! [ -L ~/.claude/settings.link.json ]';
             mkfifo ~/.claude/settings.fifo.json; until_true '! [ -e ~/.claude/settings.fifo.json ]';
             mkdir ~/.claude/settings.dir.json; until_true '! [ -e ~/.claude/settings.dir.json ]';
             ln -s ~/.claude ~/.cursor; until_true '! [ -L ~/.cursor ]';
             mkdir elsewhere; echo evil > elsewhere/hooks.json; ln -s $PWD/elsewhere ~/.cursor;
             until_true '! [ -L ~/.cursor ]'; [ -e elsewhere/hooks.json ] || echo never: removed;
             rm ~/.other; mkdir ~/.other; echo > ~/.other/hooks.json; until_true '! [ -e ~/.other/hooks.json ]';
             rm -r ~/.other; ln -s project/elsewhere ~/.other; until_true '! [ -L ~/.other ]';
             mkdir -p .new/deep/hooks; chmod 555 .new/deep/hooks .new/deep; until_true '! [ -e .new/deep/hooks ]';
             mkdir ~/.t; echo evil > ~/.t/hooks.json; chmod 000 ~/.t; mv ~/.t ~/.cursor",
        );
        assert!(started.elapsed().as_secs() < 20);
        assert_eq!(fs::read_to_string(&secret).expect("it is there"), "free\n");
        assert!(!exists(&watched.path(".cursor/hooks.json")));
        assert_eq!(
            watched.quarantined(),
            [
                ".cursor",
                ".cursor",
                ".other",
                "hooks",
                "hooks.json",
                "hooks.json",
                "settings.dir.json",
                "settings.fifo.json",
                "settings.link.json"
            ]
        );
    }
}

#[test]
fn a_quarantine_on_another_file_system_gets_a_copy() {
    let user = User::ordinary("copy");
    let shared = tempfile::Builder::new().prefix("hx").tempdir_in("/dev/shm").expect("a directory");
    let quarantine = shared.path().join("quarantine");
    let watched = Watched::with_quarantine(user, quarantine.to_str().expect("it is text"));
    watched.world.give(shared.path());
    watched.run(
        "mkdir -p .new/hooks/x; echo evil > .new/hooks/x/f; ln -s $PWD/notes.txt .new/hooks/link; mkfifo .new/hooks/fifo;
         mkdir -p .new/deep; mv .new/hooks .new/deep/; until_true '! [ -e .new/deep/hooks ]';
         echo evil > ~/.claude/t; mv ~/.claude/t ~/.claude/settings.local.json; until_true '! [ -e ~/.claude/settings.local.json ]';
         mkdir big; truncate -s 100M big/f; mv big .new/deep/hooks; until_true '! [ -e .new/deep/hooks ]'",
    );
    let mut texts = Vec::new();
    for entry in fs::read_dir(&quarantine).expect("it is there").flatten() {
        let name = entry.file_name().into_string().expect("it is text");
        if name.ends_with("-hooks") && exists(&entry.path().join("x")) {
            texts.push(fs::read_to_string(entry.path().join("x/f")).expect("it is there"));
            assert!(fs::read_link(entry.path().join("link")).is_ok() && !exists(&entry.path().join("fifo")));
        } else if name.ends_with("-settings.local.json") {
            texts.push(fs::read_to_string(entry.path()).expect("it is there"));
        }
    }
    assert_eq!(texts, ["evil\n", "evil\n"]);
    // What is too large to be copied is put aside.
    let aside = fs::read_dir(watched.path("project/.new/deep")).expect("it is there").flatten();
    let aside: Vec<_> = aside.map(|entry| entry.file_name().into_string().expect("it is text")).collect();
    assert!(matches!(&aside[..], [name] if name.starts_with(".hookhost-") && name.ends_with("-hooks")), "{aside:?}");
}

#[test]
fn without_a_quarantine_the_file_is_renamed() {
    let watched = Watched::with_quarantine(User::ordinary("aside"), "/proc/none/quarantine");
    let output =
        watched.run("mkdir ~/.cursor; echo evil > ~/.cursor/hooks.json; until_true '! [ -e ~/.cursor/hooks.json ]'");
    assert!(output.contains("/.cursor/.hookhost-"), "{output}");
    assert!(!exists(&watched.path(".cursor/hooks.json")));
}

#[test]
fn keys_are_restored_and_the_rest_stays() {
    for user in User::all("keys") {
        let watched = Watched::new(user);
        let output = watched.run(
            "f=~/.agent.json; chmod 640 $f; sed 's/dark/light/; s/\"a\": 1/\"evil\": 1/' $f > ~/.t && mv ~/.t $f;
             until_true '! grep -q evil $f'; grep -c light $f;
             sed -i 's/\"theme\"/\"hooks\": 1, \"theme\"/' $f; until_true '! grep -q hooks $f';
             echo '{\"a\": 2, \"hooks\": 1}' > ~/.later.json; until_true '! grep -q hooks ~/.later.json'; stat -c %a $f",
        );
        assert!(output.starts_with("1\n"), "{output}");
        assert_eq!(bare(&watched.agent_file()), bare(&AGENT_FILE.replace("dark", "light")));
        assert_eq!(fs::read_to_string(watched.path(".later.json")).expect("it is there"), "{\"a\": 2}\n");
        let sentence = format!(
            "inside: {} has the values of the start again at mcpServers: change them outside",
            watched.path(".agent.json").display()
        );
        assert!(output.contains(&sentence) && output.contains("start again at hooks"), "{output}");
        assert!(watched.quarantined().is_empty());
    }
}

#[test]
fn keys_are_restored_through_other_names_and_after_the_last_write() {
    let watched = Watched::new(User::ordinary("names"));
    watched.run(
        "f=~/.agent.json; ln $f ~/link; sed 's/dark/light/; s/\"a\": 1/\"evil\": 1/' $f > text; cat text > ~/link;
         until_true '! grep -q evil $f'; grep -q light $f || echo never: light;
         rm $f; until_true '[ -e $f ]'; rm ~/link text;
         python3 -c 'import mmap, os
f = os.open(os.environ[\"HOME\"] + \"/.agent.json\", os.O_RDWR)
m = mmap.mmap(f, 0)
n = m.find(b\"mcp\"); m[n:n+3] = b\"mcq\"'
         until_true 'grep -q mcpServers $f';
         echo '{\"theme\": \"last\", \"mcpServers\": {\"evil\": 1}}' > $f; kill -9 $$",
    );
    assert_eq!(bare(&watched.agent_file()), "{\"theme\":\"last\",\"mcpServers\":{\"a\":1}}");
}

#[test]
fn an_unreadable_text_is_replaced_by_that_of_the_start_when_it_stays() {
    let watched = Watched::new(User::ordinary("unreadable"));
    let output = watched.run(
        "f=~/.agent.json; (echo -n '{\"theme\": '; sleep .3; echo '\"slow\"}') > $f; until_true 'grep -q mcpServers $f';
         grep -c slow $f; echo '{' > $f; sleep .2; grep -c mcpServers $f; until_true 'grep -q dark $f';
         : > $f; sleep .2; wc -c < $f; until_true 'grep -q mcp $f';
         printf '\\xff' > $f; until_true 'grep -q dark $f'; echo '{' > $f",
    );
    assert!(output.starts_with("1\n0\n0\n"), "{output}");
    assert_eq!(watched.agent_file(), AGENT_FILE);
    assert_eq!(watched.quarantined(), [".agent.json"; 3]);
    assert!(
        output.contains(".agent.json could not be read, and has the text of the start again; what was"),
        "{output}"
    );
}

#[test]
fn what_is_no_ordinary_file_is_replaced_by_the_text_of_the_start() {
    for user in User::all("ordinary") {
        let watched = Watched::new(user);
        watched.run(
            "f=~/.agent.json; echo '{\"theme\": \"there\", \"hooks\": 1}' > there.json;
             is_back='[ -f $f ] && ! [ -L $f ] && grep -q dark $f';
             mv $f old; ln -s $PWD/there.json $f; until_true \"$is_back\"; grep -q hooks there.json || echo never: there;
             rm $f; mkfifo $f; until_true \"$is_back\"; rm $f; mkdir -p $f/x; until_true \"$is_back\";
             truncate -s 17M $f; until_true \"$is_back\"; ln -s nowhere ~/.later.json; until_true '! [ -L ~/.later.json ]'",
        );
        assert_eq!(watched.agent_file(), AGENT_FILE);
        let names = watched.quarantined();
        assert_eq!(names, [".agent.json", ".agent.json", ".agent.json", ".agent.json", ".later.json"]);
    }
}

#[test]
fn a_program_that_stops_itself_does_not_stop_the_watch() {
    let watched = Watched::new(User::ordinary("stopped"));
    let script = "(sleep .5; echo evil > ~/.claude/settings.local.json; sed -i 's/\"a\": 1/\"evil\": 1/' ~/.agent.json; touch done) &
        kill -STOP $$; echo goes on";
    let mut command = watched.world.command(&["bash", "-c", script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let state = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    eventually("the supervisor is stopped", || state().contains(") T "));
    eventually("the program goes on", || exists(&watched.path("project/done")));
    eventually("the file is moved away", || !exists(&watched.path(".claude/settings.local.json")));
    eventually("the keys are restored", || !watched.agent_file().contains("evil"));
    assert!(state().contains(") T "));
    Command::new("kill").args(["-CONT", &child.id().to_string()]).status().expect("kill is there");
    let output = text(&child.wait_with_output().expect("it ends"));
    assert!(output.contains("goes on") && output.contains("was moved to"), "{output}");
}

#[test]
fn after_the_end_of_a_killed_supervisor_the_watch_looks_once_more() {
    let watched = Watched::new(User::ordinary("killed"));
    let script = "while :; do echo '{\"hooks\": 1}' > ~/.t && mv ~/.t ~/.agent.json; echo > ~/.claude/settings.x.json; touch started; done";
    let mut child =
        watched.world.command(&["bash", "-c", script]).stderr(Stdio::null()).spawn().expect("it can be started");
    eventually("the program runs", || exists(&watched.path("project/started")));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    eventually("the keys are restored", || {
        bare(&fs::read_to_string(watched.path(".agent.json")).unwrap_or_default()) == "{\"mcpServers\":{\"a\":1}}"
            && !exists(&watched.path(".claude/settings.x.json"))
    });
    std::thread::sleep(Duration::from_secs(2));
    assert!(watched.agent_file().contains("mcpServers") && !exists(&watched.path(".claude/settings.x.json")));
}

#[test]
fn the_end_of_the_watch_is_said() {
    let watched = Watched::new(User::ordinary("ended"));
    let mut child = watched.world.command(&["bash", "-c", "touch started; sleep 1; echo has run"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    eventually("the program runs", || exists(&watched.path("project/started")));
    let list = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).expect("it runs");
    let is_watch = |pid: &&str| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0watch\0"));
    let watch = list.split_whitespace().find(is_watch).expect("it watches");
    Command::new("kill").args(["-KILL", watch]).status().expect("kill is there");
    let output = text(&child.wait_with_output().expect("it ends"));
    assert!(output.contains("has run") && output.contains("inside: the watch was ended from outside"), "{output}");
}

#[test]
fn without_namespaces_the_watch_serves_too() {
    let watched = Watched::new(User::ordinary("fallback"));
    let script = format!(
        "{WAIT}echo '{{\"theme\": 1, \"hooks\": 1}}' > ~/.agent.json;
         until_true '! grep -q hooks ~/.agent.json'; until_true 'grep -q mcpServers ~/.agent.json'; echo has run"
    );
    let output = watched.world.inside_below(&NO_NAMESPACES, &script);
    if output.status.code() == Some(77) {
        eprintln!("skipped, because the limit cannot be set here");
        return;
    }
    let text = text(&output);
    assert!(text.contains("has run") && !text.contains("never:"), "{text}");
}
