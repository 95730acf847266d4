//! `hookhost auth`, and keys: where they go, and where they are never found.

#![expect(clippy::unwrap_used, reason = "what a test sets up fails by panicking")]

use hookhost_tests::{Ended, Reply, Server, User};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

const KEY: &str = "sk-test-4f9a7c";

const ANSWER: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn configuration(url: &str) -> String {
    format!(
        "[agent]\nprovider = \"far\"\nmodel = \"m\"\n[agent.providers.far]\nkind = \"openai\"\nbase-url = \"{url}/v1\"\nkey-variable = \"FAR_KEY\"\nheaders = {{ X-Title = \"hookhost\" }}\n"
    )
}

/// All text of all files below a folder.
fn everything(folder: &Path, found: &mut Vec<u8>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            everything(&entry.path(), found);
        } else if entry.file_name() != "keys.toml" {
            found.extend(std::fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn a_kept_key_is_used_and_is_in_no_other_file_and_no_output() {
    let refusal = format!(r#"{{"error":{{"message":"no such model, key {KEY}"}}}}"#);
    let refused = Reply::Whole { status: 400, headers: "content-type: application/json\r\n".into(), body: refusal };
    let server = Server::start(vec![Reply::stream(ANSWER), refused]);
    let user = User::new();
    user.configure(&configuration(server.url()));
    user.run(["run", "go"]).expect(
        1,
        &["needs an API key: set the environment variable FAR_KEY, or keep one with `hookhost auth set far`"],
    );
    let set = user.run_with_input(["auth", "set", "far"], &format!("{KEY}\n"));
    set.expect(0, &[]);
    assert_eq!(user.path("config/keys.toml").metadata().unwrap().mode() & 0o777, 0o600);
    std::fs::remove_file(user.path("input")).unwrap();
    let listed = user.run(["auth", "list"]);
    assert!(listed.stdout.contains("far kept, for 127.0.0.1"), "{listed:?}");
    let ran = user.run(["run", "go"]);
    ran.expect(0, &[]);
    assert_eq!(ran.stdout, "Hello.\n");
    let failed = user.run(["run", "again", "--json"]);
    failed.expect(1, &["[key]"]);
    let mut found =
        format!("{set:?}{listed:?}{ran:?}{failed:?}{:?}", user.run(["audit", "show", "--all"])).into_bytes();
    everything(&user.path("."), &mut found);
    assert!(!found.windows(KEY.len()).any(|text| text == KEY.as_bytes()), "the key was written somewhere");
    user.run(["auth", "rm", "far"]).expect(0, &[]);
    user.run(["auth", "rm", "far"]).expect(2, &["no key of far is kept"]);
    user.run(["run", "go"]).expect(1, &["needs an API key"]);
}

#[test]
fn a_file_of_keys_that_others_can_read_is_refused() {
    let user = User::new();
    user.run_with_input(["auth", "set", "openai"], KEY).expect(0, &[]);
    let file = user.path("config/keys.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    for command in [&["auth", "list"][..], &["run", "go"]] {
        user.run(command).expect(5, &["can be used by others (mode 644)", "chmod 600"]);
    }
}

#[test]
fn what_is_no_key_or_no_provider_is_refused() {
    let user = User::new();
    user.run_with_input(["auth", "set", "openai"], "two words").expect(2, &["that is no key"]);
    user.run_with_input(["auth", "set", "opnai"], KEY).expect(2, &["there is no provider named `opnai`"]);
    user.run_with_input(["auth", "set", "scripted"], KEY).expect(2, &["has no server that a key could be for"]);
    assert!(!user.path("config/keys.toml").exists());
}

#[test]
fn the_first_provider_that_is_ready_is_taken_and_said() {
    let user = User::new();
    user.configure("[agent.providers.near]\nkind = \"openai\"\nbase-url = \"http://127.0.0.1:1/v1\"\nkey-variable = \"NEAR_KEY\"\nmodel = \"small\"\n");
    let ended = Ended::of(user.command(["run", "go"]).env("NEAR_KEY", "k"));
    ended.expect(1, &["near is ready and is used, with the model small", "the provider near cannot be reached"]);
}
