//! What the allowlist names and cannot be loaded: refused before any of it runs, with exit code 5, the file, and what
//! helps.

use hookhost_tests::{Entry, User, WatPlugin, digest, plugin};
use serde_json::json;
use std::path::{Path, PathBuf};

const NOT_LOADED: i32 = 5;

/// Commands that would load plugins, each of which must refuse.
const COMMANDS: [&[&str]; 3] =
    [&["hooks"], &["dispatch", "session-start"], &["run", "go", "--script", "never-read.toml"]];

/// Every command that would load the entry refuses, and says these things.
#[track_caller]
fn refused(user: &User, entry: &Entry, said: &[&str]) {
    refused_by(&COMMANDS, user, entry, said);
}

#[track_caller]
fn refused_by(commands: &[&[&str]], user: &User, entry: &Entry, said: &[&str]) {
    user.configure(&entry.to_toml());
    for command in commands.iter().copied() {
        let ended = user.run(command);
        ended.expect(NOT_LOADED, said);
        assert_eq!(ended.stdout, "", "something ran: {ended:#?}");
    }
    assert!(user.sessions().is_empty());
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_file_that_is_not_on_the_allowlist_is_refused_with_the_command_that_adds_it() {
    let user = User::new();
    let wasm = user.write("plugins/all_events.wasm", std::fs::read(plugin("all-events")).unwrap());
    for command in COMMANDS {
        let arguments = command.iter().copied().chain(["--plugin", "plugins/all_events.wasm"]);
        let ended = user.run(arguments);
        ended.expect(NOT_LOADED, &["plugins/all_events.wasm is not on the allowlist"]);
        ended.expect(NOT_LOADED, &["try: hookhost allow plugins/all_events.wasm\n"]);
        assert_eq!(ended.stdout, "");
    }
    // A named configuration is where the command puts it.
    let config = user.write("my.toml", "");
    let ended = user.run(["hooks", "--config", "my.toml", "--plugin", shown(&wasm)]);
    ended.expect(NOT_LOADED, &[&format!("it has no entry in {}", shown(&config)), "--config my.toml"]);
}

#[test]
fn a_plugin_that_does_not_exist_is_refused() {
    let ended = User::new().run(["hooks", "--plugin", "nowhere.wasm"]);
    ended.expect(NOT_LOADED, &["the plugin nowhere.wasm does not exist"]);
}

#[test]
fn another_digest_is_refused_with_both_digests_and_the_command_that_pins_the_new_one() {
    let user = User::new();
    let wasm = user.write("guard.wasm", std::fs::read(plugin("all-events")).unwrap());
    let allowed = "a".repeat(64);
    let entry = Entry::new("guard", &wasm).grants(hookhost_tests::ALL_EVENTS_GRANTS).digest(&allowed);
    let found = digest(&wasm);
    refused(
        &user,
        &entry,
        &[
            "plugin `guard`",
            shown(&wasm),
            &format!("allowed: sha256 {allowed}"),
            &format!("found:   sha256 {found}"),
            &format!("try: hookhost allow {}\n", shown(&wasm)),
        ],
    );
    // The command helps.
    user.run(["allow", shown(&wasm), "--yes"]).expect(0, &[]);
    assert!(user.run(["inspect", "--json", shown(&wasm)]).stdout.contains(r#""state":"allowed""#));
}

#[test]
fn a_file_that_is_missing_is_refused_with_its_entry() {
    let user = User::new();
    let wasm = user.project().join("gone.wasm");
    let file = user.config_file();
    let origin = format!("take out its entry at {}:1", shown(&file));
    refused(&user, &Entry::new("guard", &wasm), &["plugin `guard`", shown(&wasm), "cannot be read", &origin]);
}

#[test]
fn a_core_module_is_refused_with_what_to_build_instead() {
    let user = User::new();
    let wasm = user.write("core.wasm", wat::parse_str("(module)").unwrap());
    let said = [
        "is a core WebAssembly module, not a component",
        "--target wasm32-wasip2",
        shown(&wasm),
        "try: hookhost inspect",
    ];
    refused(&user, &Entry::new("guard", &wasm), &said);
}

#[test]
fn a_file_that_is_not_wasm_is_refused() {
    let user = User::new();
    for content in [&b"#!/bin/sh\necho hello\n"[..], b"", b"\0as"] {
        let wasm = user.write("script.wasm", content);
        refused(&user, &Entry::new("guard", &wasm), &["is not WebAssembly", shown(&wasm)]);
    }
}

#[test]
fn a_truncated_component_is_refused_wherever_it_is_cut() {
    let user = User::new();
    let whole = std::fs::read(plugin("all-events")).unwrap();
    for length in [6, 100, whole.len() / 2, whole.len() - 1] {
        let wasm = user.write("cut.wasm", &whole[..length]);
        refused(
            &user,
            &Entry::new("guard", &wasm),
            &["is not a valid component (truncated, or damaged)", shown(&wasm)],
        );
    }
}

#[test]
fn a_component_that_exports_no_event_is_refused_with_what_it_exports() {
    let user = User::new();
    let text = r#"(component (instance $i) (export "my:own/thing" (instance $i)))"#;
    let wasm = user.write("mute.wasm", wat::parse_str(text).unwrap());
    let said = ["exports no event of hookhost:hooks/*@0.1.0", "my:own/thing", shown(&wasm)];
    refused(&user, &Entry::new("guard", &wasm), &said);
}

#[test]
fn an_export_that_the_contract_does_not_have_is_refused_with_the_nearest() {
    let user = User::new();
    let wasm = user.write("typo.wasm", WatPlugin { interface: "promt-submit", ..WatPlugin::default() }.build());
    let said = ["exports `hookhost:hooks/promt-submit@0.1.0`", "did you mean `prompt-submit`?"];
    refused(&user, &Entry::new("guard", &wasm), &said);
}

fn wrong_type(user: &User, plugin: WatPlugin) -> PathBuf {
    user.write("wrong.wasm", plugin.build())
}

#[test]
fn a_plugin_written_by_hand_with_the_contracts_types_loads() {
    // What the next tests change one thing of.
    let user = User::new();
    let wasm = wrong_type(&user, WatPlugin::default());
    user.configure(&Entry::new("guard", &wasm).to_toml());
    let ended = user.run(["hooks"]);
    ended.expect(0, &[]);
    assert!(ended.stdout.starts_with("prompt-submit"), "{ended:#?}");
}

#[test]
fn a_record_with_a_field_more_is_refused_with_the_export_and_the_difference() {
    let user = User::new();
    let wasm = wrong_type(&user, WatPlugin { more_session: r#"(field "more" bool)"#, ..WatPlugin::default() });
    let said = [
        "hookhost:hooks/prompt-submit.handle",
        "with another type than the contract 0.1.0",
        "expected record of 7 fields, found 8 fields",
    ];
    refused(&user, &Entry::new("guard", &wasm), &said);
}

#[test]
fn a_verdict_with_a_case_less_is_refused_with_the_export_and_the_difference() {
    let user = User::new();
    let wasm = wrong_type(&user, WatPlugin { reject: "", ..WatPlugin::default() });
    let said = [
        "hookhost:hooks/prompt-submit.handle",
        "with another type than the contract 0.1.0",
        "expected variant of 3 cases, found 2 cases",
    ];
    refused(&user, &Entry::new("guard", &wasm), &said);
}

#[test]
fn an_import_that_is_not_granted_is_refused_with_the_line_to_add_and_where() {
    let user = User::new();
    let file = user.config_file();
    let at = format!("its entry is at {}:1", shown(&file));
    let mut grants = String::new();
    let steps = [
        ("hookhost:hooks/state@0.1.0", r#"state = { quota = "1MiB" }"#),
        ("hookhost:hooks/transcript@0.1.0", "transcript = true"),
        ("hookhost:hooks/model@0.1.0", r#"model = { name = "small", max-calls = 10 }"#),
        ("audit-record", "audit = true"),
    ];
    // Adding the line that is asked for leads to the next one, and in the end to a plugin that loads.
    for (import, line) in steps {
        let entry = Entry::new("guard", &plugin("all-events")).grants(&grants);
        // It has to be compiled to know what it imports, which takes a second: one command represents all.
        refused_by(
            &COMMANDS[..1],
            &user,
            &entry,
            &["plugin `guard` imports `", import, "which is not granted", line, &at],
        );
        grants.push_str(line);
        grants.push('\n');
    }
    user.configure(&Entry::new("guard", &plugin("all-events")).grants(&grants).to_toml());
    user.run(["hooks"]).expect(0, &[]);
}

#[test]
fn an_import_that_no_plugin_is_given_is_refused() {
    let user = User::new();
    let text = r#"(component
        (import "wasi:keyvalue/store@0.2.6" (instance))
        (instance $i) (export "hookhost:hooks/session-end@0.1.0" (instance $i)))"#;
    let wasm = user.write("network.wasm", wat::parse_str(text).unwrap());
    let said = ["imports `wasi:keyvalue/store@0.2.6`, which no plugin is given", "network"];
    refused(&user, &Entry::new("guard", &wasm), &said);
}

#[test]
fn a_configuration_that_the_plugin_refuses_is_reported_in_its_own_words() {
    let user = User::new();
    let config = json!({ "configure": { "error": "I want a list of globs" } });
    refused_by(
        &COMMANDS[..1],
        &user,
        &Entry::all_events("guard", config),
        &["plugin `guard` refuses its configuration: I want a list of globs", "its entry is at"],
    );
}

#[test]
fn one_plugin_that_cannot_be_loaded_keeps_all_from_running() {
    let user = User::new();
    let good = Entry::all_events("good", json!({}));
    let bad = Entry::new("bad", &user.project().join("gone.wasm"));
    user.configure(&format!("{}{}", good.to_toml(), bad.to_toml()));
    let ended = user.run(["dispatch", "session-start"]);
    ended.expect(NOT_LOADED, &["plugin `bad`"]);
    assert_eq!(ended.stdout, "");
}
