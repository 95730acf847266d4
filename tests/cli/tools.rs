//! `hookhost tools`, tools that plugins bring in a run, and programs `hookhost-NAME`.

use hookhost_tests::{Entry, User, plugin};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

fn notebook() -> Entry {
    Entry::new("notebook", &plugin("notebook")).grants("state = { quota = \"64KiB\" }\n").config(json!({}))
}

#[test]
fn tools_are_listed_with_who_brings_them() {
    let user = User::new();
    user.configure(&notebook().to_toml());
    let ended = user.run(["tools"]);
    ended.expect(0, &[]);
    let own = ["submit_plan built in\n", "agent built in\n"];
    for said in own
        .into_iter()
        .chain(["bash built in\n", "notebook__write_note plugin notebook\n  Keeps a note for later sessions"])
    {
        assert!(ended.stdout.contains(said), "{}", ended.stdout);
    }
    let hooks = user.run(["hooks"]);
    let said = "  tools   notebook__write_note, notebook__read_notes, notebook__remove_note\n";
    assert!(hooks.stdout.contains(said) && !hooks.stdout.contains("subscribes to nothing"), "{}", hooks.stdout);
    let ended = user.run(["tools", "--json"]);
    let object: Value = serde_json::from_str(&ended.stdout).unwrap();
    let tools = object["tools"].as_array().unwrap();
    let read = tools.iter().find(|tool| tool["name"] == "notebook__read_notes").unwrap();
    assert_eq!(read["origin"], json!({ "plugin": "notebook" }));
    assert_eq!(read["input-schema"]["type"], "object");
    assert!(tools.iter().any(|tool| tool["name"] == "bash" && tool["origin"] == "builtin"));
}

#[test]
fn what_a_plugins_tool_keeps_is_there_in_the_next_session_and_in_the_log() {
    let user = User::new();
    user.configure(&notebook().to_toml());
    let script = |call: &str| format!("[[turn]]\ncall = [{call}]\n[[turn]]\ntext = \"Bye.\"\n");
    let run = |call: &str| {
        user.write("script.toml", script(call));
        let ended = user.run(["run", "go", "--script", "script.toml"]);
        ended.expect(0, &[]);
        ended.stderr
    };
    run(r#"{ tool = "notebook__write_note", arguments = { title = "build", text = "with make" } }"#);
    let shown = run(r#"{ tool = "notebook__read_notes", arguments = {} }"#);
    assert!(shown.contains("# build") && shown.contains("with make"), "{shown}");
    let records = user.records();
    let run = records.iter().find(|record| record["kind"] == "tool-run").unwrap();
    assert_eq!((&run["tool"], &run["call"]["plugin"]), (&json!("write_note"), &json!("notebook")));
    let log = user.run(["audit", "show", "--all"]);
    assert!(log.stdout.contains("the tool write_note of notebook ran"), "{}", log.stdout);
    user.run(["audit", "verify"]).expect(0, &[]);
}

#[test]
fn a_program_on_the_path_is_a_command_and_an_unknown_one_names_the_nearest() {
    let user = User::new();
    let directory = user.path("bin");
    std::fs::create_dir_all(&directory).unwrap();
    let program = directory.join("hookhost-greet");
    std::fs::write(&program, "#!/bin/sh\necho \"hello $*\"\nexit 9\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(directory.join("hookhost-data"), "no program").unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let run = |arguments: &[&str]| hookhost_tests::Ended::of(user.command(arguments).env("PATH", &path));
    let ended = run(&["greet", "--loud", "you"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(9), "hello --loud you\n"));
    run(&["gret"]).expect(2, &["there is no command `gret`", "try: hookhost greet"]);
    run(&["hoks"]).expect(2, &["try: hookhost hooks"]);
    run(&["data"]).expect(2, &["no program hookhost-data on the PATH"]);
    run(&["../bin/greet"]).expect(2, &["there is no command"]);
    run(&["zzzz"]).expect(2, &["try: hookhost --help"]);
    // Of another command.
    run(&["verify"]).expect(2, &["there is no command `verify`", "try: hookhost audit verify"]);
    // Flags before a command are not given to it.
    for (name, advice) in
        [("dispatch", "hookhost dispatch --help"), ("help", "hookhost help --help"), ("greet", "hookhost --help")]
    {
        let said = [
            format!("options before `{name}` belong to hookhost: put options of `{name}` after its name"),
            format!("try: {advice}"),
        ];
        run(&["--config", "x.toml", name, "--shell", "ls"]).expect(2, &said.each_ref().map(String::as_str));
    }
}

#[test]
fn the_help_lists_the_users_own_programs_of_the_path() {
    use std::os::unix::fs::PermissionsExt as _;
    let user = User::new();
    let program = user.write("bin/hookhost-lint", "#!/bin/sh\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    user.write("bin/hookhost-not-executable", "");
    let path = format!("{}:{}", user.project().join("bin").display(), std::env::var("PATH").unwrap());
    let help = hookhost_tests::Ended::of(user.command(["--help"]).env("PATH", &path)).stdout;
    assert!(help.contains("Programs on your PATH:\n  lint\n") && help.contains("\nExit codes:\n"), "{help}");
    assert!(!help.contains("not-executable"), "{help}");
}
