//! `hookhost update`: says which version is here and how it is updated, and writes the file in the form of this version.

use hookhost_tests::User;
use rusqlite::Connection;
use serde_json::{Value, json};

#[test]
fn update_names_the_version_its_origin_and_the_next_step_and_changes_nothing() {
    let user = User::new();
    user.configure("[settings]\nrequire-plugins = false\n");
    let said = user.run(["update"]);
    said.expect(0, &[]);
    for part in [
        &format!("hookhost {}, installed by a build from source", env!("CARGO_PKG_VERSION")),
        "git pull && cargo xtask install",
        "no resident host runs",
        "there is no log yet",
        "hookhost.toml",
        "does not update itself",
    ] {
        assert!(said.stdout.contains(part), "{part:?} is not in\n{}", said.stdout);
    }
    assert!(!user.log_file().exists(), "it changes nothing");
    let said: Value = serde_json::from_str(&user.run(["update", "--json"]).stdout).unwrap();
    assert_eq!(said["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(said["log"], json!({ "says": "there is no log yet", "problem": false }));
}

#[test]
fn the_mode_audit_of_version_0_1_becomes_observe() {
    let user = User::new();
    user.configure("# mine\n[mcp-proxy]\nmode = \"audit\" # for now\n");
    user.run(["hooks"]).expect(5, &["`audit` is now `observe`", "hookhost update"]);
    let said = user.run(["update"]);
    said.expect(0, &[]);
    assert!(said.stdout.contains("1 `mode = \"audit\"` in your own file became `observe`"), "{}", said.stdout);
    let new = "# mine\n[mcp-proxy]\nmode = \"observe\" # for now\n";
    assert_eq!(std::fs::read_to_string(user.config_file()).unwrap(), new);
    user.run(["hooks"]).expect(0, &[]);
    assert!(!user.run(["update"]).stdout.contains("became"));
}

#[test]
fn an_older_version_says_that_a_newer_one_has_written_the_log() {
    let user = User::new();
    let (begun, _) = user.dispatch("session-start", &json!({}));
    begun.expect(0, &[]);
    user.run(["update"]).expect(0, &[]);
    Connection::open(user.log_file()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let said = user.run(["update"]);
    said.expect(5, &[]);
    assert!(said.stdout.contains("a newer hookhost has written the log"), "{}", said.stdout);
    assert!(said.stdout.contains("has format 99, and this hookhost knows format 2"), "{}", said.stdout);
}

#[test]
fn settings_that_this_version_does_not_accept_are_named() {
    let user = User::new();
    user.configure("[settings]\napproval-dead-line = \"5m\"\n");
    let said = user.run(["update"]);
    said.expect(5, &[]);
    assert!(said.stdout.contains("this version does not accept them: "), "{}", said.stdout);
    assert!(said.stdout.contains("did you mean `approval-deadline`?"), "{}", said.stdout);
}
