//! What `on` and `off` do and print.

use super::{AGENTS, Owner, TestAgent, names, row};
use hookhost_tests::Ended;
use serde_json::json;
use std::fs;

#[test]
fn on_installs_and_proves_each_agent_and_off_takes_it_out_again() {
    let owner = Owner::new(&AGENTS[..3]);
    let on = owner.run(&["on"]);
    on.expect(0, &[]);
    let proven = "✓ denied a forbidden test call, and allowed an ordinary one";
    assert_eq!(row(&on, "claude-code"), proven);
    assert_eq!(row(&on, "gemini-cli"), proven);
    // Nobody has trusted the hooks in Codex.
    assert_eq!(row(&on, "codex"), "! installed, but Codex skips the hook until you trust it");
    assert!(on.stdout.contains("try: start `codex`, type /hooks, and trust the hooks of hookhost\n"), "{on:#?}");
    assert!(!on.stdout.contains("  next "), "{on:#?}");
    assert!(AGENTS[..3].iter().all(|agent| owner.has_hook(agent)));
    let doctor = owner.run(&["doctor", "claude-code"]);
    assert!(doctor.expect(0, &[]).stdout.contains("denied a forbidden test call"), "the proof is kept: {doctor:#?}");
    let off = owner.run(&["off"]);
    off.expect(0, &[]);
    for agent in &AGENTS[..3] {
        assert!(row(&off, agent.name).starts_with("✓ removed "), "{off:#?}");
        assert!(!owner.path(agent.file).exists());
    }
    assert!(row(&off, "stays").contains("the log and your approvals in "), "{off:#?}");
    let again = owner.run(&["off"]);
    assert_eq!(again.expect(0, &[]).stdout, "hookhost is off: no agent has its hook.\n");
    let actions = owner.actions();
    let found: Vec<_> = actions.iter().map(|action| (&action["action"], &action["by"], &action["agents"])).collect();
    let agents = json!(["claude-code", "codex", "gemini-cli"]);
    assert_eq!(found, [(&json!("on"), &json!("ada"), &agents), (&json!("off"), &json!("ada"), &agents)]);
}

#[test]
fn a_named_agent_alone_is_turned_on_and_off() {
    let owner = Owner::new(&AGENTS);
    owner.run(&["on"]).expect(0, &[]);
    let off = owner.run(&["off", "--agent", "gemini-cli"]);
    off.expect(0, &[]);
    let has = |agents: &[TestAgent]| agents.iter().map(|agent| owner.has_hook(agent)).collect::<Vec<_>>();
    assert_eq!(has(&AGENTS), [true, true, false, true]);
    let off = owner.run(&["off", "--agent", "gemini-cli"]);
    assert_eq!(row(&off, "gemini-cli"), "✓ hookhost is not in its files");
    owner.run(&["off"]).expect(0, &[]);
    let on = owner.run(&["on", "--agent", "qwen-code", "--agent", "gemini-cli"]);
    assert!(row(on.expect(0, &[]), "qwen-code").starts_with("✓ "), "{on:#?}");
    assert_eq!(has(&AGENTS), [false, false, true, true]);
    owner.run(&["on", "--agent", "nobody"]).expect(2, &["nobody"]);
}

#[test]
fn a_dry_run_shows_each_change_and_changes_nothing() {
    let owner = Owner::new(&AGENTS[..2]);
    owner.write(AGENTS[0].file, "{\n  \"model\": \"big\"\n}\n");
    let before = (names(&owner.path(".")), names(&owner.path("config")), names(&owner.path("state")));
    let dry = owner.run(&["on", "--dry-run"]);
    dry.expect(0, &[]);
    let file = owner.path(AGENTS[0].file).display().to_string();
    let skill = owner.path(".claude/skills/hookhost/SKILL.md").display().to_string();
    assert_eq!(row(&dry, "claude-code"), format!("✓ would change {file}, {skill}, and be proven"));
    assert_eq!(row(&dry, "dry run"), "nothing was changed     (each line: hookhost on --dry-run --verbose)");
    assert!(!dry.stdout.contains("+++"), "{dry:#?}");
    let verbose = owner.run(&["on", "--dry-run", "--verbose"]);
    assert!(verbose.expect(0, &[]).stdout.contains(&format!("--- {file}\n+++ {file}\n")), "{verbose:#?}");
    assert!(!owner.has_hook(&AGENTS[0]) && !owner.has_hook(&AGENTS[1]));
    assert_eq!((names(&owner.path(".")), names(&owner.path("config")), names(&owner.path("state"))), before);
    let on = owner.run(&["on", "--verbose"]);
    assert!(on.expect(0, &[]).stdout.contains(&format!("--- {file}\n+++ {file}\n")), "{on:#?}");
    let dry = owner.run(&["on", "--dry-run"]);
    assert_eq!(row(&dry, "claude-code"), "✓ has the hook already, and would be proven again");
    let off = owner.run(&["off", "--dry-run", "--verbose"]);
    let would = format!("would restore {file}, byte for byte; would remove {skill}, which hookhost made");
    assert_eq!(row(&off, "claude-code"), format!("✓ {would}"));
    assert!(off.stdout.contains(&format!("--- {file}\n")), "{off:#?}");
    assert!(!owner.run(&["off", "--dry-run"]).stdout.contains("---"));
    assert!(owner.has_hook(&AGENTS[0]));
    // What the dry run has shown is what happens.
    owner.run(&["off"]).expect(0, &[]);
    assert_eq!(fs::read_to_string(owner.path(AGENTS[0].file)).unwrap(), "{\n  \"model\": \"big\"\n}\n");
}

#[test]
fn a_hook_that_does_not_work_is_taken_out_again_and_one_that_was_there_before_stays() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.write(AGENTS[0].file, "{ \"model\": \"big\" }");
    for (script, why) in [
        ("cat >/dev/null", "allowed the test call that it must deny"),
        ("echo nobody answers >&2; exit 2", "denied an ordinary test call too"),
        ("exit 1", "failed"),
    ] {
        owner.program("hookhost-hook", script);
        let on = owner.run(&["on"]);
        on.expect(1, &[]);
        let says = row(&on, "claude-code");
        assert!(says.starts_with("✗ left as before, because ") && says.contains(why), "{says}");
        assert_eq!(fs::read_to_string(owner.path(AGENTS[0].file)).unwrap(), "{ \"model\": \"big\" }");
    }
    owner.program("hookhost-hook", super::HOOK);
    owner.run(&["on"]).expect(0, &[]);
    owner.program("hookhost-hook", "exit 1");
    let on = owner.run(&["on"]);
    assert!(row(on.expect(1, &[]), "claude-code").starts_with("✗ the hook failed"), "{on:#?}");
    assert!(owner.has_hook(&AGENTS[0]), "the user's protection stays");
}

#[test]
fn an_agent_that_does_not_reach_its_hook_is_a_problem() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.write(AGENTS[0].file, "{ \"disableAllHooks\": true }");
    let on = owner.run(&["on"]);
    on.expect(1, &[]);
    assert!(row(&on, "claude-code").starts_with("✗ installed, but "), "{on:#?}");
    assert!(on.stdout.contains("disableAllHooks"), "{on:#?}");
    let dry = owner.run(&["on", "--dry-run"]);
    assert!(row(&dry, "claude-code").starts_with("! has the hook already") && dry.stdout.contains("disableAllHooks"));
    // That the version is too old, too, does not hide it.
    owner.program("claude", "echo 2.1.197");
    let on = owner.run(&["on"]);
    assert!(row(on.expect(1, &[]), "claude-code").starts_with("✗ installed, but /"), "{on:#?}");
    owner.run(&["off"]).expect(0, &[]);
    owner.write(AGENTS[0].file, "{}");
    let on = owner.run(&["on"]);
    assert!(row(on.expect(0, &[]), "claude-code").starts_with("! installed, but Claude Code 2.1.197 at "), "{on:#?}");
    assert!(on.stdout.contains("try: update Claude Code\n"), "{on:#?}");
}

#[test]
fn in_the_home_directory_the_files_are_the_users_own_and_no_projects() {
    let owner = Owner::new(&AGENTS[..3]);
    let at_home = |arguments: &[&str]| Ended::of(owner.command(arguments).current_dir(owner.path(".")));
    for _ in 0..2 {
        at_home(&["on"]).expect(0, &[]);
        let doctor = at_home(&["doctor", "claude-code"]);
        assert!(!doctor.expect(0, &[]).stdout.contains("project"), "{doctor:#?}");
        assert!(at_home(&["agents", "claude-code"]).stdout.contains("  hook      in your settings\n"));
        at_home(&["install", "claude-code", "--project"]).expect(1, &["this directory is your home"]);
        at_home(&["off"]).expect(0, &[]);
        assert!(AGENTS[..3].iter().all(|agent| !owner.path(agent.file).exists()));
        // People keep their home directory in a repository, too.
        fs::create_dir_all(owner.path(".git")).unwrap();
    }
}

#[test]
fn an_agent_with_the_plugin_of_the_marketplace_has_the_hook() {
    let owner = Owner::new(&AGENTS[..2]);
    owner.write(AGENTS[0].file, "{ \"enabledPlugins\": { \"hookhost@hookhost-plugins\": true } }");
    owner.write(".codex/config.toml", "[plugins.\"hookhost@hookhost-plugins\"]\nenabled = true\n");
    for (agent, title) in [("claude-code", "Claude Code"), ("codex", "Codex")] {
        let doctor = owner.run(&["doctor", agent]);
        let says = format!("✓ hookhost's plugin for {title} is enabled, and calls the hook\n");
        assert!(doctor.expect(0, &[]).stdout.contains(&says), "{doctor:#?}");
        assert!(owner.run(&["agents", agent]).stdout.contains("  hook      in its plugin\n"));
    }
    owner.write(AGENTS[0].file, "{ \"enabledPlugins\": { \"hookhost@hookhost-plugins\": false } }");
    owner.run(&["doctor", "claude-code"]).expect(1, &[]);
}

#[test]
fn off_ends_the_rules_of_a_profile_that_somebody_has_removed() {
    let owner = Owner::new(&AGENTS[..1]);
    let on = owner.run(&["on"]);
    assert_eq!(row(on.expect(0, &[]), "next"), "use your agents as before     (what your rules do: hookhost ui)");
    fs::remove_file(owner.path("config/profile.toml")).unwrap();
    let noted = || fs::read_to_string(owner.path("state/run/users-file")).unwrap_or_default();
    assert!(noted().contains("profile.toml"));
    owner.run(&["off"]).expect(0, &[]);
    assert!(!noted().contains("profile.toml"));
}

#[test]
fn a_profile_is_put_into_force_stays_until_another_is_named_and_goes_with_off() {
    let owner = Owner::new(&AGENTS[..1]);
    let file = owner.path("config/profile.toml");
    let profile = |arguments: &[&str]| {
        let on = owner.run(arguments);
        row(on.expect(0, &[]), "profile").to_owned()
    };
    let developer = profile(&["on"]);
    assert!(
        developer.starts_with("developer: ") && developer.contains(" rules ask or reject; everything else"),
        "{developer}"
    );
    let observing = profile(&["on", "--observe"]);
    assert!(observing.contains("only observes: it records what your rules decide"), "{observing}");
    assert!(fs::read_to_string(&file).unwrap().contains("[settings]\nobserve = true\n"));
    assert!(profile(&["on", "--profile", "unattended"]).starts_with("unattended: "));
    assert!(!fs::read_to_string(&file).unwrap().contains("observe"));
    assert!(profile(&["on"]).starts_with("unattended: "));
    // What somebody has changed in the file is not lost.
    fs::write(&file, fs::read_to_string(&file).unwrap() + "# mine\n").unwrap();
    profile(&["on"]);
    assert!(!fs::read_to_string(&file).unwrap().contains("# mine"));
    assert!(fs::read_to_string(owner.path("config/profile.toml.before-1")).unwrap().contains("# mine"));
    let off = owner.run(&["off"]);
    let removed =
        "✓ removed; its plugins stay for your own rules     (to return to it: hookhost on --profile unattended)";
    assert_eq!(row(off.expect(0, &[]), "profile"), removed);
    assert!(!file.exists());
    let careful = profile(&["on", "--profile", "careful"]);
    assert!(
        careful.ends_with("every other command that does more than read is asked about     (hookhost profile)"),
        "{careful}"
    );
    owner.run(&["hooks"]).expect(0, &[]);
}

#[test]
fn off_frees_the_users_mcp_servers_and_names_what_it_leaves_with_the_command_that_removes_it() {
    let owner = Owner::new(&AGENTS[..1]);
    let servers = "{ \"mcpServers\": { \"files\": { \"command\": \"npx\", \"args\": [\"x\"] } } }";
    owner.write(".claude.json", servers);
    let project = owner.user.project();
    let other = owner.path("other");
    for directory in [&project, &other] {
        fs::create_dir_all(directory.join(".git")).unwrap();
    }
    fs::write(project.join(".mcp.json"), servers).unwrap();
    owner.run(&["on"]).expect(0, &[]);
    owner.run(&["install", "claude-code", "--mcp"]).expect(0, &[]);
    owner.run(&["install", "claude-code", "--mcp", "--project"]).expect(0, &[]);
    owner.run(&["install", "claude-code", "--project"]).expect(0, &[]);
    let mut elsewhere = owner.command(&["install", "claude-code", "--project"]);
    Ended::of(elsewhere.current_dir(&other)).expect(0, &[]);
    let left = [
        "the hook in the files of this project stays, because they are not only yours     (hookhost uninstall claude-code --project)\n",
        "MCP servers of this project still run through hookhost: files     (hookhost uninstall claude-code --mcp --project)\n",
        &format!("     (cd {} && hookhost uninstall claude-code --project)\n", other.display()),
    ];
    let dry = owner.run(&["off", "--dry-run"]);
    dry.expect(0, &[]);
    let off = owner.run(&["off"]);
    off.expect(0, &[]);
    assert!(
        dry.stdout.contains("✓ its MCP servers would run without hookhost after its next start: files\n"),
        "{dry:#?}"
    );
    assert!(off.stdout.contains("✓ its MCP servers run without hookhost after its next start: files\n"), "{off:#?}");
    assert_eq!(fs::read_to_string(owner.path(".claude.json")).unwrap(), servers);
    // What is left is named until it is gone.
    let again = owner.run(&["off"]);
    for ended in [&dry, &off, &again] {
        assert!(left.iter().all(|row| ended.stdout.contains(row)), "{ended:#?}");
    }
    owner.run(&["uninstall", "claude-code", "--project"]).expect(0, &[]);
    owner.run(&["uninstall", "claude-code", "--mcp", "--project"]).expect(0, &[]);
    Ended::of(owner.command(&["uninstall", "claude-code", "--project"]).current_dir(&other)).expect(0, &[]);
    assert_eq!(fs::read_to_string(project.join(".mcp.json")).unwrap(), servers);
    assert_eq!(owner.run(&["off"]).expect(0, &[]).stdout, "hookhost is off: no agent has its hook.\n");
}

#[test]
fn on_removes_the_plugins_of_another_version_that_no_configuration_names() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.run(&["on"]).expect(0, &[]);
    let old = "state/plugins/shell-guard-0123456789abcdef.wasm";
    owner.write(old, "old");
    let plugins = names(&owner.path("state/plugins"));
    owner.run(&["on"]).expect(0, &[]);
    let left = names(&owner.path("state/plugins"));
    assert_eq!(left.len() + 1, plugins.len(), "{left:?}");
    assert!(!owner.path(old).exists());
}

#[cfg(target_os = "linux")]
#[test]
fn shims_start_agents_inside_once_their_directory_is_first_and_off_removes_them() {
    let owner = Owner::new(&AGENTS[..1]);
    let says = "[ \"$*\" = --version ] && echo 2.1.330 || { echo inside=$HOOKHOST_INSIDE $*; echo x >> ~/.claude/settings.json; }";
    let claude = owner.program("claude", says);
    let on = owner.run(&["on", "--sandbox"]);
    let shims = owner.path("state/bin");
    assert!(row(&on, "second line").starts_with("! claude start in hookhost exec, by shims in "), "{on:#?}");
    assert!(on.stdout.contains(&format!("export PATH={}:$PATH", shims.display())), "{on:#?}");
    // Not first on the PATH.
    let doctor = owner.run(&["doctor", "claude-code"]);
    assert!(doctor.stdout.contains("is not the first directory of the PATH with `claude`"), "{doctor:#?}");
    let first = format!("{}:{}:/usr/bin:/bin", shims.display(), claude.parent().unwrap().display());
    let with = |arguments: &[&str]| Ended::of(owner.command(arguments).env("PATH", &first));
    assert!(row(&with(&["on", "--sandbox"]), "second line").starts_with("✓ claude start in hookhost exec"));
    let settings = fs::read(owner.path(".claude/settings.json")).unwrap();
    let like = owner.command(&[]);
    let mut shim = std::process::Command::new(shims.join("claude"));
    shim.args(["a", "b  c"]).envs(like.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", &first);
    let ran = Ended::of(&mut shim);
    assert_eq!(ran.stdout, "inside=1 a b c\n", "{ran:#?}");
    assert_eq!(fs::read(owner.path(".claude/settings.json")).unwrap(), settings);
    // Inside, the shim starts the program itself.
    let nested = Ended::of(shim.env("HOOKHOST_INSIDE", "1").args(["d"]));
    assert_eq!(nested.stdout, "inside=1 a b c d\n", "{nested:#?}");
    let off = with(&["off"]);
    assert_eq!(row(&off, "second line"), "✓ removed the shims of claude");
    assert!(!shims.exists());
}

#[test]
fn on_writes_the_guarded_paths_into_the_agents_own_sandbox_and_off_takes_them_out() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.write(AGENTS[0].file, "{ \"sandbox\": { \"filesystem\": { \"denyWrite\": [\"~/mine\"] } } }");
    let denied = || {
        let text = fs::read_to_string(owner.path(AGENTS[0].file)).unwrap();
        let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
        settings["sandbox"]["filesystem"]["denyWrite"].to_string()
    };
    owner.run(&["on"]).expect(0, &[]);
    assert!(denied().contains("\"~/mine\"") && denied().contains(".claude/settings.json"), "{}", denied());
    let once = denied();
    owner.run(&["on"]).expect(0, &[]);
    assert_eq!(denied(), once, "the second time, nothing changes");
    let off = owner.run(&["off"]);
    assert!(row(&off, "claude-code").contains("byte for byte"), "{off:#?}");
    assert_eq!(denied(), "[\"~/mine\"]");
}
