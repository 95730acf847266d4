//! Tests the checks of `hookhost doctor` on a user's files.

use crate::home::{ANY, Home};
use hookhost_agents::install;
use hookhost_agents::install::check::CheckState;
use hookhost_agents::install::doctor::{Diagnosis, Selection, examine};
use hookhost_agents::install::receipt::Installation;
use hookhost_agents::plan::{Context, Scope};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Creates a home directory with an agent that prints this version. The agent's hook is installed.
fn installed(version: &str) -> Home {
    let home = Home::new();
    mode(&home.path("bin"), 0o755);
    for program in ["hookhost-hook", "hookhost"] {
        mode(&home.path("bin").join(program), 0o755);
    }
    let agent = home.path("bin/claude");
    fs::write(&agent, format!("#!/bin/sh\n[ \"$*\" = --version ] && echo '{version} (Claude Code)'\n")).unwrap();
    mode(&agent, 0o755);
    home.install().unwrap();
    home
}

/// Returns a `PATH` with the program that replaces the agent, and the shell that runs this program.
fn path(home: &Home) -> std::ffi::OsString {
    std::env::join_paths([home.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap()
}

fn read_text(home: &Home) -> Diagnosis {
    home.with_context(|context| examine(Home::adapter(), context, &path(home), Selection::ByName))
}

/// Returns the findings about a subject, with their states.
fn said(diagnosis: &Diagnosis, about: &str, state: CheckState) -> String {
    let checks = diagnosis.checks.iter().filter(|check| check.about == about && check.state == state);
    checks
        .map(|check| format!("{} → {}", check.says, check.next.as_deref().unwrap_or("-")))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn all_is_well_after_an_installation() {
    let home = installed("2.1.330");
    let diagnosis = read_text(&home);
    assert!(diagnosis.checks.iter().all(|check| check.state == CheckState::Ok), "{:#?}", diagnosis.checks);
    let about: Vec<_> = diagnosis.checks.iter().map(|check| check.about).collect();
    assert_eq!(about, ["agent", "entry", "reached", "program"]);
    assert_eq!(diagnosis.version.as_deref(), Some("2.1.330"));
}

#[test]
fn an_agent_that_is_missing_or_of_another_version_is_reported() {
    let home = Home::new();
    assert!(
        said(&read_text(&home), "agent", CheckState::Unknown)
            .starts_with("Claude Code is not on this machine: no program `claude` is on the PATH")
    );
    assert_eq!(
        said(&read_text(&home), "entry", CheckState::Problem),
        "hookhost is not installed in Claude Code, so nothing checks its calls → hookhost on --agent claude-code"
    );
    fs::create_dir(home.path(".claude")).unwrap();
    assert!(said(&read_text(&home), "agent", CheckState::Unknown).contains(".claude exists, but no program `claude`"));
    let older = said(&read_text(&installed("2.1.100")), "agent", CheckState::Problem);
    assert!(older.contains("2.1.100 at ") && older.contains("is older than 2.1.295"), "{older}");
    let newer = said(&read_text(&installed("3.0.0")), "agent", CheckState::Unknown);
    assert!(
        newer.contains("is newer than 2.1.330") && newer.ends_with("hookhost doctor claude-code --prove"),
        "{newer}"
    );
    let home = installed("none");
    assert!(said(&read_text(&home), "agent", CheckState::Unknown).contains("`--version` prints no version"));
}

#[test]
fn an_entry_that_is_missing_or_of_another_form_is_reported() {
    let home = installed("2.1.330");
    let text = home.read();
    home.write(&text.replace("\"PreToolUse\"", "\"PreToolUse_\""));
    let missing = said(&read_text(&home), "entry", CheckState::Problem);
    let (missing, foreign) = missing.split_once('\n').unwrap();
    assert_eq!(
        missing,
        "your settings of Claude Code lack a part of hookhost's hook: PreToolUse → hookhost install claude-code"
    );
    assert!(foreign.contains("hookhost did not write") && foreign.contains("PreToolUse_ → see what it does"));
    home.write(&text.replace("\"matcher\": \"*\"", "\"matcher\": \"Bash\""));
    assert!(said(&read_text(&home), "entry", CheckState::Problem).contains("would write differently"));
    home.write(&text[..text.len() / 2]);
    assert!(said(&read_text(&home), "entry", CheckState::Problem).contains("settings.json is not strict JSON"));
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
        let reached = said(&read_text(&home), "reached", CheckState::Problem);
        assert!(reached.contains(says), "{reached}");
        assert_eq!(said(&read_text(&home), "reached", CheckState::Ok), "");
    }
    for (more, says) in [
        ("\"model\": 7,", "`model` in "),
        ("\"permissions\": [],", "`permissions` in "),
        ("// mine\n", "settings.json is not strict JSON, which is all that the agent reads ("),
    ] {
        home.write(&text.replacen('{', &format!("{{{more}"), 1));
        let problems = read_text(&home).checks;
        assert!(
            problems.iter().any(|check| check.state == CheckState::Problem && check.says.contains(says)),
            "{problems:#?}"
        );
    }
    // The agent skips an entry that it does not understand, and runs the other hooks.
    let bad = "\"Stop\": [{\"matcher\": \"(\", \"hooks\": []},";
    home.write(&text.replacen("\"Stop\": [", bad, 1));
    let skipped = said(&read_text(&home), "reached", CheckState::Unknown);
    assert!(
        skipped.contains("`hooks.Stop[0].matcher` in ")
            && skipped.contains("the agent skips this entry, and its version"),
        "{skipped}"
    );
    assert_ne!(said(&read_text(&home), "reached", CheckState::Ok), "");
}

#[test]
fn directories_without_a_program_are_no_problem_unless_somebody_names_the_agent() {
    let home = Home::new();
    fs::create_dir(home.path(".claude")).unwrap();
    let of = |sought| home.with_context(|context| examine(Home::adapter(), context, &path(&home), sought));
    assert!(!of(Selection::ByName).is_well());
    assert!(of(Selection::ByTraces).is_well());
    // If the agent is installed and the hook is missing, the agent's calls run unchecked, so this is a problem.
    let home = installed("2.1.330");
    home.uninstall().unwrap();
    assert!(
        !home.with_context(|context| examine(Home::adapter(), context, &path(&home), Selection::ByTraces)).is_well()
    );
}

#[test]
fn a_directory_of_another_agent_is_no_trace() {
    let home = Home::new();
    fs::create_dir(home.path(".gemini")).unwrap();
    fs::write(home.path(".gemini/settings.json"), "{}").unwrap();
    let traces = |name: &str| {
        let adapter = hookhost_agents::by_name(name).unwrap();
        home.with_context(|context| install::find::traces(adapter, context, &path(&home)))
    };
    assert_eq!(traces("gemini-cli").directories, [home.path(".gemini")]);
    assert!(!traces("antigravity").any());
    fs::create_dir(home.path(".gemini/config")).unwrap();
    assert_eq!(traces("antigravity").directories, [home.path(".gemini/config")]);
}

#[test]
fn every_documented_switch_of_an_agent_is_seen() {
    for (agent, file, text) in [
        ("claude-code", ".claude/settings.json", "{\"disableAllHooks\": true}"),
        ("claude-code", ".claude/settings.local.json", "{\"disableAllHooks\": true}"),
        ("claude-code", ".claude/settings.json", "{\"env\": {\"CLAUDE_CODE_SIMPLE\": \"1\"}}"),
        ("copilot-cli", ".copilot/settings.json", "{\"disableAllHooks\": true}"),
        ("copilot-cli", ".github/copilot/settings.json", "{\"disableAllHooks\": true}"),
        ("qwen-code", ".qwen/settings.json", "{\"disableAllHooks\": true}"),
        ("qwen-code", ".qwen/settings.json", "{\"hooksConfig\": {\"enabled\": false}}"),
        ("gemini-cli", ".gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}"),
        ("gemini-cli", ".gemini/settings.json", "{\"hooks\": {\"enabled\": false}}"),
        ("gemini-cli", ".gemini/settings.json", "{\"hooks\": {\"disabled\": [\"hookhost\"]}}"),
        ("droid", ".factory/settings.json", "{\"hooksDisabled\": true}"),
        ("antigravity", ".gemini/config/hooks.json", "{\"hookhost\": {\"enabled\": false}}"),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n"),
        ("codex", "project/.codex/config.toml", "features = { hooks = false }\n"),
    ] {
        let home = Home::new();
        let project = home.path("project");
        let root = if file.starts_with(".github") { project.clone() } else { home.path("") };
        let path_of = root.join(file);
        fs::create_dir_all(path_of.parent().unwrap()).unwrap();
        fs::write(&path_of, text).unwrap();
        let adapter = hookhost_agents::by_name(agent).unwrap();
        let of = Installation::new(agent, Scope::User, &project);
        let diagnosis = home.with_context(|context| {
            let context = Context { project: &project, ..*context };
            let changes = install::prepare(&adapter.install(&context).unwrap(), &of, ANY, None).unwrap();
            install::apply(&changes, &home.receipts(), &of, None).unwrap();
            examine(adapter, &context, &path(&home), Selection::ByName)
        });
        let name = path_of.file_name().unwrap().to_str().unwrap();
        let says = said(&diagnosis, "reached", CheckState::Problem);
        assert!(says.contains(name), "{agent} {text}: {says}");
        assert_eq!(said(&diagnosis, "reached", CheckState::Ok), "", "{agent} {text}");
    }
}

#[test]
fn what_a_repository_links_to_is_not_read() {
    use std::os::unix::fs::symlink;
    let home = Home::new();
    let project = home.path("project");
    fs::create_dir_all(project.join(".claude")).unwrap();
    let file = project.join(".claude/settings.json");
    let mine = home.path("mine.json");
    fs::write(&mine, "{\"secret\": 7").unwrap();
    for (leads_to, why) in [(Path::new("/dev/zero"), "outside of"), (&mine, "outside of")] {
        let _ = fs::remove_file(&file);
        symlink(leads_to, &file).unwrap();
        let diagnosis = home.with_context(|context| {
            examine(Home::adapter(), &Context { project: &project, ..*context }, &path(&home), Selection::ByName)
        });
        let says = said(&diagnosis, "entry", CheckState::Problem);
        assert!(says.contains(why) && says.contains("→ put the file itself in the link's place"), "{says}");
    }
}

#[test]
fn a_variable_of_the_agents_files_that_leads_the_hook_to_other_rules_is_reported() {
    let home = installed("2.1.330");
    let text = home.read();
    for (name, value) in [("HOOKHOST_CONFIG_DIR", "/nowhere"), ("XDG_STATE_HOME", "/nowhere"), ("HOME", "/project")] {
        home.write(&text.replacen('{', &format!("{{\"env\": {{\"{name}\": \"{value}\", \"EDITOR\": \"vi\"}},"), 1));
        let reached = said(&read_text(&home), "reached", CheckState::Problem);
        assert!(reached.contains(&format!("settings.json sets `{name}` to \"{value}\"")), "{reached}");
    }
    home.write(&text.replacen('{', &format!("{{\"env\": {{\"HOME\": {:?}}},", home.path(".")), 1));
    assert_eq!(said(&read_text(&home), "reached", CheckState::Problem), "", "its own");
    home.write(&text);
    // Other agents have such variables in files of assignments.
    for (agent, file) in [("gemini-cli", ".gemini/.env"), ("qwen-code", ".env"), ("codex", ".codex/.env")] {
        let file = home.path(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "# mine\nKEY=1\nexport XDG_CONFIG_HOME = \"/nowhere\"\n").unwrap();
        let adapter = hookhost_agents::by_name(agent).unwrap();
        let diagnosis = home.with_context(|context| {
            let plan = adapter.install(context).unwrap();
            let of = Installation::new(agent, Scope::User, Path::new("/project"));
            let changes = install::prepare(&plan, &of, ANY, None).unwrap();
            install::apply(&changes, &home.receipts(), &of, None).unwrap();
            examine(adapter, context, &path(&home), Selection::ByName)
        });
        let reached = said(&diagnosis, "reached", CheckState::Problem);
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
        let said = said(&read_text(&home), "program", CheckState::Problem);
        assert!(said.contains(says), "{said}");
    }
    mode(&program, 0o755);
    mode(&home.path("bin"), 0o777);
    assert!(said(&read_text(&home), "program", CheckState::Problem).contains("bin can be written by other users"));
    fs::remove_file(&program).unwrap();
    assert!(said(&read_text(&home), "program", CheckState::Problem).contains("hookhost-hook is not there"));
}

#[test]
fn a_program_that_the_hook_starts_and_that_is_missing_is_reported() {
    let home = installed("2.1.330");
    let started = home.path("bin/hookhost");
    mode(&started, 0o777);
    assert!(
        said(&read_text(&home), "program", CheckState::Problem).contains("bin/hookhost can be written by other users")
    );
    fs::remove_file(&started).unwrap();
    let missing = said(&read_text(&home), "program", CheckState::Problem);
    assert!(missing.contains("bin/hookhost is not there → install hookhost again"), "{missing}");
}

#[test]
fn a_file_of_a_project_works_for_everybody_who_has_the_program_on_the_path() {
    let home = installed("2.1.330");
    let project = home.path("project");
    fs::create_dir(&project).unwrap();
    let of = Installation::new("claude-code", Scope::Project, &project);
    home.with_context(|context| {
        let context = Context { scope: Scope::Project, project: &project, ..*context };
        let plan = Home::adapter().install(&context).unwrap();
        let changes = install::prepare(&plan, &of, ANY, None).unwrap();
        install::apply(&changes, &home.receipts(), &of, None).unwrap();
        let examined = |path: &std::ffi::OsStr| examine(Home::adapter(), &context, path, Selection::ByName);
        assert_eq!(said(&examined(&path(&home)), "program", CheckState::Problem), "");
        let missing = said(&examined("/usr/bin:/bin".as_ref()), "program", CheckState::Problem);
        assert!(missing.contains("no such program is on the PATH"), "{missing}");
        // The program on the PATH is checked like any other.
        mode(&home.path("bin"), 0o777);
        let written = said(&examined(&path(&home)), "program", CheckState::Problem);
        assert!(written.contains("bin can be written by other users"), "{written}");
    });
}
