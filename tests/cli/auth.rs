//! `hookhost auth`, and keys: where they go, and where they are never found.

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

/// All text of all files below a directory.
fn everything(directory: &Path, found: &mut Vec<u8>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
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
        &["needs an API key: set the environment variable FAR_KEY, or store one with `hookhost auth set far`"],
    );
    let set = user.run_with_input(["auth", "set", "far"], &format!("{KEY}\n"));
    set.expect(0, &[]);
    assert_eq!(user.path("config/keys.toml").metadata().unwrap().mode() & 0o777, 0o600);
    std::fs::remove_file(user.path("input")).unwrap();
    let listed = user.run(["auth", "list"]);
    assert!(listed.stdout.contains(&format!("far stored, for {}\n", server.url())), "{listed:?}");
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
    user.run(["auth", "rm", "far"]).expect(2, &["no key of far is stored"]);
    user.run(["run", "go"]).expect(1, &["needs an API key"]);
}

#[test]
fn a_file_of_keys_that_others_can_read_is_refused() {
    let user = User::new();
    user.run_with_input(["auth", "set", "openai"], KEY).expect(0, &[]);
    let file = user.path("config/keys.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    for command in [&["auth", "list"][..], &["run", "go"]] {
        user.run(command).expect(5, &["other users can read it (mode 644)", "chmod 600"]);
    }
}

#[test]
fn a_kept_key_goes_to_the_port_that_it_was_kept_for_and_to_no_other() {
    let (own, other) = (Server::start(vec![Reply::stream(ANSWER)]), Server::start(vec![Reply::stream(ANSWER)]));
    let user = User::new();
    user.configure(&configuration(own.url()));
    user.run_with_input(["auth", "set", "far"], KEY).expect(0, &[]);
    user.configure(&configuration(other.url()));
    let elsewhere = format!("the stored key is for {}, but the provider is at {};", own.url(), other.url());
    user.run(["run", "go"]).expect(1, &[&elsewhere, "`hookhost auth set far`"]);
    assert!(other.requests().is_empty());
    user.configure(&configuration(own.url()));
    user.run(["run", "go"]).expect(0, &[]);
}

#[test]
fn a_key_of_the_environment_is_not_sent_in_the_clear_to_another_machine() {
    let user = User::new();
    // An address for documentation, at which nobody is: https://www.rfc-editor.org/rfc/rfc5737
    user.configure(&configuration("http://192.0.2.1"));
    let ended = Ended::of(user.command(["run", "go"]).env("FAR_KEY", KEY));
    ended.expect(1, &["the provider far is at http://192.0.2.1/v1, and its API key would travel there in the clear"]);
    assert!(!ended.stderr.contains(KEY));
}

#[test]
fn keys_that_are_set_at_the_same_time_are_all_kept() {
    let user = User::new();
    let names: Vec<_> = (0..8).map(|n| format!("p{n}")).collect();
    let section =
        |name: &String| format!("[agent.providers.{name}]\nkind = \"openai\"\nbase-url = \"https://h.example/v1\"\n");
    user.configure(&names.iter().map(section).collect::<String>());
    std::fs::write(user.path("key"), KEY).unwrap();
    std::thread::scope(|scope| {
        for name in &names {
            let user = &user;
            scope.spawn(move || {
                let key = std::fs::File::open(user.path("key")).unwrap();
                Ended::of(user.command(["auth", "set", name]).stdin(key)).expect(0, &[]);
            });
        }
    });
    let listed = user.run(["auth", "list"]).stdout;
    assert!(names.iter().all(|name| listed.contains(&format!("{name} stored, for https://h.example"))), "{listed}");
}

#[test]
fn a_pipe_or_a_link_in_place_of_the_file_of_keys_is_refused_at_once() {
    let user = User::new();
    user.run_with_input(["auth", "set", "openai"], KEY).expect(0, &[]);
    let file = user.path("config/keys.toml");
    let real = user.path("config/real.toml");
    std::fs::rename(&file, &real).unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    user.run(["auth", "list"]).expect(5, &["keys.toml is not used, since it is a symbolic link"]);
    std::fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&file).status().unwrap().success());
    for command in [&["auth", "list"][..], &["run", "go"]] {
        user.run(command).expect(5, &["keys.toml is not used, since it is not a regular file"]);
    }
}

#[test]
fn an_invalid_key_and_an_unknown_provider_are_refused() {
    let user = User::new();
    user.run_with_input(["auth", "set", "openai"], "two words").expect(2, &["that is no key"]);
    user.run_with_input(["auth", "set", "opnai"], KEY).expect(2, &["there is no provider named `opnai`"]);
    user.run_with_input(["auth", "set", "scripted"], KEY).expect(2, &["needs no key, because it has no server"]);
    assert!(!user.path("config/keys.toml").exists());
}

#[test]
fn the_first_provider_that_is_ready_is_used_and_named() {
    let user = User::new();
    user.configure("[agent.providers.near]\nkind = \"openai\"\nbase-url = \"http://127.0.0.1:1/v1\"\nkey-variable = \"NEAR_KEY\"\nmodel = \"small\"\n");
    let ended = Ended::of(user.command(["run", "go"]).env("NEAR_KEY", "k"));
    ended.expect(1, &["near is ready and is used, with the model small", "the provider near cannot be reached"]);
}
