//! `on` finishes an agent or leaves it as it is, says which, and ends with a matching exit code.

use super::{AGENTS, Owner, TestAgent, names, row};
use hookhost_client::frame::{Request, Response};
use hookhost_tests::Ended;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The first command of a test run compiles the plugins.
const TIMEOUT: Duration = Duration::from_secs(300);

#[test]
fn of_two_agents_one_that_fails_does_not_keep_the_other_from_being_finished() {
    let owner = Owner::new(&AGENTS[..2]);
    owner.write(AGENTS[0].file, "{ \"model\": ");
    let on = owner.run(&["on"]);
    on.expect(1, &[]);
    assert!(row(&on, "claude-code").contains("is not strict JSON"), "{on:#?}");
    assert!(row(&on, "claude-code").starts_with("✗ Claude Code is not guarded: "), "{on:#?}");
    assert!(row(&on, "codex").starts_with("! installed"), "{on:#?}");
    assert_eq!(fs::read_to_string(owner.path(AGENTS[0].file)).unwrap(), "{ \"model\": ");
    assert!(owner.has_hook(&AGENTS[1]));
    assert_eq!(owner.actions()[0]["agents"], json!(["codex"]), "the log names the agents that were turned on");
}

#[test]
fn a_file_of_hookhosts_name_that_somebody_else_wrote_is_left_by_on_and_off() {
    let owner = Owner::new(&[TestAgent {
        name: "copilot-cli",
        program: "copilot",
        version: "1.0.77",
        file: ".copilot/hooks/hookhost.json",
    }]);
    owner.write(".copilot/hooks/hookhost.json", "{\"version\": 1, \"hooks\": {\"mine\": true}}");
    let on = owner.run(&["on"]);
    on.expect(1, &[]);
    assert!(on.stdout.contains("exists, and hookhost has not written it"), "{on:#?}");
    owner.run(&["off"]).expect(0, &[]);
    let left = fs::read_to_string(owner.path(".copilot/hooks/hookhost.json")).unwrap();
    assert_eq!(left, "{\"version\": 1, \"hooks\": {\"mine\": true}}");
}

#[test]
fn where_nothing_can_be_written_nothing_is_changed() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.write("a-file", "");
    let mut command = owner.command(&["on"]);
    let ended = Ended::of(command.env("HOOKHOST_STATE_DIR", owner.path("a-file/state")));
    ended.expect(5, &["for the audit log cannot be made"]);
    assert!(!owner.has_hook(&AGENTS[0]));
    // The agent's own directory cannot be made.
    owner.write(".claude", "a file");
    let on = owner.run(&["on"]);
    on.expect(1, &[]);
    assert!(row(&on, "claude-code").contains("cannot be written"), "{on:#?}");
}

#[test]
fn a_directory_without_permission_to_write_keeps_the_agent_as_it_is() {
    if rustix::process::geteuid().is_root() {
        println!("root may write into such a directory: the test of a read-only home is for root");
        return;
    }
    let owner = Owner::new(&AGENTS[..1]);
    owner.write(AGENTS[0].file, "{}");
    fs::set_permissions(owner.path(".claude"), fs::Permissions::from_mode(0o555)).unwrap();
    for on in [&["on"][..], &["on", "--dry-run"]] {
        assert!(row(owner.run(on).expect(1, &[]), "claude-code").starts_with('✗'), "{on:?}");
    }
    fs::set_permissions(owner.path(".claude"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!owner.has_hook(&AGENTS[0]));
}

/// Runs a command of an owner whose home directory is on a file system that is mounted read-only. Returns `None` if this process may not
/// mount anything.
fn run_read_only(owner: &Owner, arguments: &[&str]) -> Option<Ended> {
    const SCRIPT: &str =
        "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" || exit 99; cd \"$0\" && exec \"$@\"";
    let like = owner.command(arguments);
    let mut command = Command::new("/usr/bin/unshare");
    command.args(["--map-root-user", "--mount", "/bin/sh", "-c", SCRIPT]).arg(owner.path("."));
    command.arg(like.get_program()).args(like.get_args()).env_clear();
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = Ended::of(&mut command);
    if ended.code == Some(99) || ended.stderr.contains("unshare") {
        println!("this process may not mount anything, so the read-only home is not tried: {}", ended.stderr);
        return None;
    }
    Some(ended)
}

#[test]
fn in_a_read_only_home_each_command_says_so_once_and_changes_nothing() {
    let owner = Owner::new(&AGENTS[..2]);
    let Some(off) = run_read_only(&owner, &["off"]) else { return };
    assert_eq!(off.expect(0, &[]).stdout, "hookhost is off: no agent has its hook.\n");
    for on in [&["on"][..], &["on", "--dry-run"]] {
        let ended = run_read_only(&owner, on).unwrap();
        ended.expect(5, &["cannot be "]);
        assert!(!ended.stdout.contains('✓'), "{ended:#?}");
    }
    fs::remove_file(owner.user.config_file()).unwrap();
    let doctor = run_read_only(&owner, &["doctor"]).unwrap();
    doctor.expect(1, &[]);
    assert!(
        doctor.stdout.contains("so every call is denied") && !doctor.stdout.contains("every call passes"),
        "{doctor:#?}"
    );
    assert!(!owner.has_hook(&AGENTS[0]) && !owner.has_hook(&AGENTS[1]));
}

#[test]
fn a_log_that_cannot_be_used_keeps_on_from_changing_anything_and_off_goes_on() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.write("state/hookhost.db", "garbage ".repeat(1000));
    owner.run(&["on"]).expect(5, &["is not an audit log of hookhost"]);
    assert!(!owner.has_hook(&AGENTS[0]) && !owner.path("config/profile.toml").exists());
    fs::remove_file(owner.path("state/hookhost.db")).unwrap();
    owner.run(&["on"]).expect(0, &[]);
    for file in names(&owner.path("state")).iter().filter(|name| name.starts_with("hookhost.db")) {
        fs::remove_file(owner.path("state").join(file)).unwrap();
    }
    owner.write("state/hookhost.db", "garbage ".repeat(1000));
    let off = owner.run(&["off"]);
    off.expect(1, &[]);
    assert!(row(&off, "log").starts_with("✗ this is not recorded: "), "{off:#?}");
    assert!(row(&off, "claude-code").starts_with("✓ removed"), "{off:#?}");
    assert!(!owner.has_hook(&AGENTS[0]) && !owner.path("config/profile.toml").exists());
}

#[test]
fn a_file_of_a_project_that_never_ends_does_not_keep_off_from_its_end() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.run(&["on"]).expect(0, &[]);
    let project = owner.user.project();
    fs::create_dir(project.join(".git")).unwrap();
    owner.run(&["install", "claude-code", "--project"]).expect(0, &[]);
    let file = project.join(".claude/settings.json");
    fs::remove_file(&file).unwrap();
    let mkfifo = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(mkfifo.success());
    let mut elsewhere = owner.command(&["off"]);
    let off = Ended::of(elsewhere.current_dir(owner.path("config")));
    let stays = format!("the hook in the files of {} stays", project.display());
    assert!(off.expect(0, &[]).stdout.contains(&stays), "{off:#?}");
    assert_eq!(owner.actions().last().unwrap()["action"], "off");
}

#[test]
fn without_an_agent_nothing_is_written() {
    let owner = Owner::new(&[]);
    let on = owner.run(&["on"]);
    on.expect(
        2,
        &["hookhost looks for acs, agentgateway, ", "hookhost on --agent AGENT, to prepare for one that comes later"],
    );
    fs::remove_file(owner.user.config_file()).unwrap();
    owner.run(&["off", "--for", "5m"]).expect(2, &["there is nothing to pause: you have no rules", "hookhost on"]);
    assert!(!owner.path("state").exists());
    let off = owner.run(&["off"]);
    assert_eq!(off.expect(0, &[]).stdout, "hookhost is off: no agent has its hook.\n");
}

#[test]
fn an_agent_turns_hookhost_neither_on_nor_off() {
    let owner = Owner::new(&AGENTS[..1]);
    for (arguments, does) in [(&["on", "--observe"][..], "on"), (&["off"], "off"), (&["off", "--for", "1m"], "off")] {
        let ended = Ended::of(owner.command(arguments).env("GEMINI_CLI", "1"));
        ended.expect(3, &[&format!("a command that turns hookhost {does} is for a person: nothing was changed")]);
    }
    assert!(!owner.path("state").exists());
    Ended::of(owner.command(&["on", "--dry-run"]).env("GEMINI_CLI", "1")).expect(0, &[]);
}

#[test]
fn rules_that_cannot_be_loaded_keep_every_agent_as_it_is() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.user.configure("[[plugin]]\nnmae = 1\n");
    owner.run(&["on"]).expect(5, &["unknown key `nmae`"]);
    let digest = "0".repeat(64);
    owner.user.configure(&format!("[[plugin]]\nname = \"p\"\npath = \"p.wasm\"\nsha256 = \"{digest}\"\n"));
    owner.run(&["on"]).expect(5, &["p.wasm"]);
    assert!(!owner.has_hook(&AGENTS[0]));
}

#[test]
fn a_profile_that_does_not_exist_is_named() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.run(&["on", "--profile", "carefull"]).expect(2, &["carefull", "careful"]);
    assert!(!owner.has_hook(&AGENTS[0]));
}

/// A resident host of an older version, which ends when it is asked to.
fn older_host(owner: &Owner, is_on_demand: bool) -> thread::JoinHandle<()> {
    let directory = owner.path("state/run");
    fs::create_dir_all(&directory).unwrap();
    for directory in [owner.path("state"), directory.clone()] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let lock = fs::File::create(directory.join("host.lock")).unwrap();
    lock.try_lock().unwrap();
    let socket = directory.join("host.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || {
        let status = json!({ "version": "0.0.1", "on-demand": is_on_demand }).to_string();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            match request(&mut stream) {
                Some(Request::Status { .. }) => {
                    stream.write_all(&Response::Status(status.clone()).to_frame()).unwrap();
                }
                Some(Request::Stop) => break,
                _ => {}
            }
        }
        fs::remove_file(socket).unwrap();
        drop(lock);
    })
}

fn request(stream: &mut UnixStream) -> Option<Request> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut body).ok()?;
    Request::from_body(&body).ok()
}

#[test]
fn a_resident_host_of_an_older_version_is_ended_unless_a_person_has_started_it() {
    let owner = Owner::new(&AGENTS[..1]);
    let older = older_host(&owner, false);
    owner.run(&["on"]).expect(
        1,
        &["you have started a resident host of version 0.0.1", "nothing was changed", "hookhost serve --stop"],
    );
    assert!(!owner.has_hook(&AGENTS[0]));
    owner.run(&["serve", "--stop"]).expect(0, &[]);
    older.join().unwrap();
    let older = older_host(&owner, true);
    owner.run(&["on"]).expect(0, &[]);
    older.join().unwrap();
    assert!(owner.has_hook(&AGENTS[0]));
}

/// Starts `on`, waits until this file exists, and presses Ctrl-C twice.
fn interrupted_once_there_is(owner: &Owner, file: &str) -> Ended {
    let mut command = owner.command(&["on"]);
    let child: Child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !owner.path(file).exists() {
        assert!(began.elapsed() < TIMEOUT, "{file} did not come");
        thread::sleep(Duration::from_millis(10));
    }
    for _ in 0..2 {
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn ctrl_c_before_an_agent_is_changed_leaves_it_as_it_was() {
    let owner = Owner::new(&AGENTS[..2]);
    let started = owner.path("asked");
    owner.program("claude", &format!("touch {}; exec sleep 600", started.display()));
    let ended = interrupted_once_there_is(&owner, "asked");
    ended.expect(130, &["interrupted: 2 agents left as before: claude-code, codex", "try: hookhost on"]);
    assert!(!owner.has_hook(&AGENTS[0]) && !owner.has_hook(&AGENTS[1]));
    assert!(!owner.path(AGENTS[0].file).exists());
}

#[test]
fn ctrl_c_while_hooks_are_proven_leaves_every_agent_finished() {
    let owner = Owner::new(&AGENTS[..2]);
    owner.program("hookhost-hook", &format!("touch {}; exec sleep 5", owner.path("proving").display()));
    let ended = interrupted_once_there_is(&owner, "proving");
    ended.expect(130, &["interrupted: every agent in the table has the hook", "try: hookhost on"]);
    assert!(row(&ended, "claude-code").starts_with("✓ installed, and not proven yet"), "{ended:#?}");
    assert!(owner.has_hook(&AGENTS[0]) && owner.has_hook(&AGENTS[1]));
    owner.program("hookhost-hook", super::HOOK);
    owner.run(&["on"]).expect(0, &[]);
    owner.run(&["off"]).expect(0, &[]);
    assert!(!owner.path(AGENTS[0].file).exists(), "what was there before is still known");
}
