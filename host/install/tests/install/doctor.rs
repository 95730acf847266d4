//! What the doctor says of the files of a user.

use crate::home::Home;
use hookhost_adapters::install::Scope;
use hookhost_install::check::State;
use hookhost_install::doctor::{Diagnosis, examine};
use hookhost_install::receipt::Installation;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A home with an agent that says this version, and its hook installed.
fn installed(version: &str) -> Home {
    let home = Home::new();
    mode(&home.path("bin"), 0o755);
    for program in ["hookhost-hook", "hookhost", "hookhost-settle"] {
        mode(&home.path("bin").join(program), 0o755);
    }
    let agent = home.path("bin/claude");
    fs::write(&agent, format!("#!/bin/sh\n[ \"$*\" = --version ] && echo '{version} (Claude Code)'\n")).unwrap();
    mode(&agent, 0o755);
    home.install().unwrap();
    home
}

fn look(home: &Home) -> Diagnosis {
    home.with_context(|context| examine(Home::adapter(), context, home.path("bin").as_os_str()))
}

/// What is said about something, of each state.
fn said(diagnosis: &Diagnosis, about: &str, state: State) -> String {
    let checks = diagnosis.checks.iter().filter(|check| check.about == about && check.state == state);
    checks
        .map(|check| format!("{} → {}", check.says, check.next.as_deref().unwrap_or("-")))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn all_is_well_after_an_installation() {
    let home = installed("2.1.330");
    let diagnosis = look(&home);
    assert!(diagnosis.checks.iter().all(|check| check.state == State::Ok), "{:#?}", diagnosis.checks);
    let about: Vec<_> = diagnosis.checks.iter().map(|check| check.about).collect();
    assert_eq!(about, ["agent", "entry", "reached", "program"]);
    assert_eq!(diagnosis.version.as_deref(), Some("2.1.330"));
}

#[test]
fn an_agent_that_is_missing_or_of_another_version_is_reported() {
    let home = Home::new();
    assert!(
        said(&look(&home), "agent", State::Unknown)
            .starts_with("neither a program `claude` on the PATH nor a directory")
    );
    assert_eq!(
        said(&look(&home), "entry", State::Problem),
        "the hook is in no file of Claude Code → hookhost install claude-code"
    );
    fs::create_dir(home.path(".claude")).unwrap();
    assert!(said(&look(&home), "agent", State::Unknown).contains(".claude is there, and no program `claude`"));
    let older = said(&look(&installed("2.1.100")), "agent", State::Problem);
    assert!(older.contains("2.1.100 at ") && older.contains("is older than 2.1.295"), "{older}");
    let newer = said(&look(&installed("3.0.0")), "agent", State::Unknown);
    assert!(
        newer.contains("is newer than 2.1.330") && newer.ends_with("hookhost doctor claude-code --prove"),
        "{newer}"
    );
    let home = installed("none");
    assert!(said(&look(&home), "agent", State::Unknown).contains("`--version` says no version"));
}

#[test]
fn an_entry_that_is_missing_or_of_another_form_is_reported() {
    let home = installed("2.1.330");
    let text = home.read();
    home.write(&text.replace("\"PreToolUse\"", "\"PreToolUse_\""));
    let missing = said(&look(&home), "entry", State::Problem);
    assert_eq!(missing, "the user files of Claude Code lack the hook at PreToolUse → hookhost install claude-code");
    home.write(&text.replace("\"matcher\": \"*\"", "\"matcher\": \"Bash\""));
    assert!(said(&look(&home), "entry", State::Problem).contains("have another form of the hook"));
    home.write(&text[..text.len() / 2]);
    assert!(said(&look(&home), "entry", State::Problem).contains("settings.json is not strict JSON"));
}

#[test]
fn what_keeps_the_agent_from_the_hook_is_reported() {
    let home = installed("2.1.330");
    let text = home.read();
    for (more, says) in [
        ("\"disableAllHooks\": true,", "says `disableAllHooks`, so the agent runs no hook"),
        ("\"allowManagedHooksOnly\": true,", "says `allowManagedHooksOnly`, so the agent runs no hook of the user"),
    ] {
        home.write(&text.replacen('{', &format!("{{{more}"), 1));
        let reached = said(&look(&home), "reached", State::Problem);
        assert!(reached.contains(says), "{reached}");
        assert_eq!(said(&look(&home), "reached", State::Ok), "");
    }
    for (more, says) in [
        ("\"model\": 7,", "`model` in "),
        ("\"permissions\": [],", "`permissions` in "),
        ("// mine\n", "settings.json is not strict JSON, which is all that the agent reads ("),
    ] {
        home.write(&text.replacen('{', &format!("{{{more}"), 1));
        let problems = look(&home).checks;
        assert!(
            problems.iter().any(|check| check.state == State::Problem && check.says.contains(says)),
            "{problems:#?}"
        );
    }
    // The agent skips what it does not understand, and runs the rest.
    let bad = "\"Stop\": [{\"matcher\": \"(\", \"hooks\": []},";
    home.write(&text.replacen("\"Stop\": [", bad, 1));
    let skipped = said(&look(&home), "reached", State::Unknown);
    assert!(
        skipped.contains("`hooks.Stop[0].matcher` in ") && skipped.contains("the agent skips this entry"),
        "{skipped}"
    );
    assert_ne!(said(&look(&home), "reached", State::Ok), "");
}

#[test]
fn a_variable_of_the_agents_files_that_leads_the_hook_to_other_rules_is_reported() {
    let home = installed("2.1.330");
    let text = home.read();
    for (name, value) in [("HOOKHOST_CONFIG_DIR", "/nowhere"), ("XDG_STATE_HOME", "/nowhere"), ("HOME", "/project")] {
        home.write(&text.replacen('{', &format!("{{\"env\": {{\"{name}\": \"{value}\", \"EDITOR\": \"vi\"}},"), 1));
        let reached = said(&look(&home), "reached", State::Problem);
        assert!(reached.contains(&format!("settings.json sets `{name}` to \"{value}\"")), "{reached}");
    }
    home.write(&text.replacen('{', &format!("{{\"env\": {{\"HOME\": {:?}}},", home.path(".")), 1));
    assert_eq!(said(&look(&home), "reached", State::Problem), "", "its own");
    home.write(&text);
    // Those of other agents, in files of assignments.
    for (agent, file) in [("gemini-cli", ".gemini/.env"), ("qwen-code", ".env"), ("codex", ".codex/.env")] {
        let file = home.path(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "# mine\nKEY=1\nexport XDG_CONFIG_HOME = \"/nowhere\"\n").unwrap();
        let adapter = hookhost_adapters::by_name(agent).unwrap();
        let diagnosis = home.with_context(|context| {
            let plan = adapter.install(context).unwrap();
            let changes = hookhost_install::install::prepare(&plan, agent, adapter.json_dialect()).unwrap();
            let of = Installation::new(agent, Scope::User, Path::new("/project"));
            hookhost_install::install::apply(&changes, &home.receipts(), &of, None).unwrap();
            examine(adapter, context, home.path("bin").as_os_str())
        });
        let reached = said(&diagnosis, "reached", State::Problem);
        assert!(reached.contains(&format!("{} sets `XDG_CONFIG_HOME` to \"/nowhere\"", file.display())), "{reached}");
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_program_that_is_gone_or_that_others_can_write_is_reported() {
    let home = installed("2.1.330");
    let program = home.path("bin/hookhost-hook");
    for (bits, says) in [(0o777, "can be written by other users (mode 777)"), (0o644, "cannot be executed")] {
        mode(&program, bits);
        let said = said(&look(&home), "program", State::Problem);
        assert!(said.contains(says), "{said}");
    }
    mode(&program, 0o755);
    mode(&home.path("bin"), 0o777);
    assert!(said(&look(&home), "program", State::Problem).contains("bin can be written by other users"));
    fs::remove_file(&program).unwrap();
    assert!(said(&look(&home), "program", State::Problem).contains("hookhost-hook is not there"));
}

#[test]
fn a_program_that_the_hook_starts_and_that_is_missing_is_reported() {
    let home = installed("2.1.330");
    let settle = home.path("bin/hookhost-settle");
    mode(&settle, 0o777);
    assert!(said(&look(&home), "program", State::Problem).contains("hookhost-settle can be written by other users"));
    fs::remove_file(&settle).unwrap();
    let slower = said(&look(&home), "program", State::Unknown);
    assert!(slower.contains("no hookhost-settle beside it: calls take longer") && slower.contains("xtask install"));
    fs::remove_file(home.path("bin/hookhost")).unwrap();
    let missing = said(&look(&home), "program", State::Problem);
    assert!(missing.contains("bin/hookhost is not there → install hookhost again"), "{missing}");
}
