//! `hookhost profile` and `hookhost add`: the plugins that the program contains, and what the user's own file changes.

use hookhost_tests::{User, digest, plugin};
use serde_json::{Value, json};

/// The plugins that are asked about each tool call, in order, with the file of their entry.
fn chain(user: &User) -> Vec<(String, String)> {
    let ended = user.run(["hooks", "before-tool-call", "--json"]);
    ended.expect(0, &[]);
    let hooks: Value = serde_json::from_str(&ended.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of =
        |link: &Value| (text(&link["plugin"]), text(&link["allowed-at"]).rsplit(['/', ':']).nth(1).unwrap().to_owned());
    hooks["events"][0]["chain"].as_array().unwrap().iter().map(of).collect()
}

fn verdict(user: &User, command: &str) -> String {
    user.run(["dispatch", "--shell", command]).stdout
}

/// Fails unless the command succeeds and prints these texts.
#[track_caller]
fn done(user: &User, command: &[&str], texts: &[&str]) {
    let ended = user.run(command.iter().copied());
    ended.expect(0, &[]);
    for text in texts {
        assert!(ended.stdout.contains(text) || ended.stderr.contains(text), "{text:?} is not in {ended:#?}");
    }
}

#[test]
fn a_profile_that_is_used_applies_everywhere_until_another_one_is_used() {
    let user = User::new();
    done(&user, &["profile"], &["No profile is in force. To start: hookhost on"]);
    user.run(["profile", "use", "developer"])
        .expect(2, &["there is no terminal on which to ask you whether to use this profile"]);
    done(&user, &["profile", "use", "developer", "--yes"], &["in force developer", "shell-guard, sha256 "]);
    done(&user, &["profile"], &["* developer ", "developer is in force: "]);
    assert!(chain(&user).contains(&("shell-guard".to_owned(), "profile.toml".to_owned())), "{:?}", chain(&user));
    let shown = user.run(["profile", "show", "developer"]);
    let written = std::fs::read_to_string(user.path("config/profile.toml")).unwrap();
    let more = shown.stdout.strip_prefix(&written).unwrap_or_else(|| panic!("{shown:#?}"));
    assert!(more.contains(" rules reject, ") && more.contains("# Limits of shell-guard, path-guard"), "{more}");
    // Another profile takes its place, and what somebody changed in the file is noticed.
    done(&user, &["profile", "use", "careful", "--yes"], &["in force careful"]);
    let file = user.path("config/profile.toml");
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + "# mine\n").unwrap();
    done(&user, &["profile"], &["careful is in force: ", "hookhost profile use careful"]);
}

#[test]
fn the_list_of_profiles_ends_with_one_next_step() {
    let user = User::new();
    let steps = || {
        let ended = user.run(["profile"]);
        ended.stdout.lines().filter_map(|line| Some(line.split_once(": hookhost ")?.1.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(steps(), ["on"]);
    done(&user, &["profile", "use", "developer", "--yes"], &[]);
    assert_eq!(steps(), ["profile use NAME"]);
    let file = user.path("config/profile.toml");
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + "# mine\n").unwrap();
    assert_eq!(steps(), ["profile use developer"]);
}

#[test]
fn an_entry_of_the_users_own_file_replaces_that_of_the_profile() {
    let user = User::new();
    done(&user, &["profile", "use", "developer", "--yes"], &[]);
    assert!(
        verdict(&user, "echo x > ~/.ssh/config").contains("path-guard"),
        "{}",
        verdict(&user, "echo x > ~/.ssh/config")
    );
    done(&user, &["add", "path-guard", "--set", "protected=[\"infra/**\"]", "--yes"], &["allowed path-guard at "]);
    let own = ("path-guard".to_owned(), "hookhost.toml".to_owned());
    assert!(chain(&user).contains(&own), "{:?}", chain(&user));
    assert!(!verdict(&user, "echo x > ~/.ssh/config").contains("path-guard"));
    assert!(verdict(&user, "echo x > infra/a.tf").contains("path-guard"));
    // A setting, too.
    let file = user.config_file();
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + "\n[settings]\napproval-deadline = \"7s\"\n")
        .unwrap();
    done(&user, &["hooks"], &[]);
    // The entry in force is now the user's own, which `add` pins again.
    done(&user, &["add", "path-guard", "--yes"], &["allowed already path-guard"]);
}

#[test]
fn a_project_cannot_name_a_profile() {
    let user = User::new();
    user.write("hookhost.toml", "profile = \"unattended\"\n");
    user.run(["trust", "--yes"]).expect(5, &["a project's file cannot set `profile`"]);
}

#[test]
fn a_plugin_that_comes_with_hookhost_is_allowed_without_a_file_and_pinned_to_its_digest() {
    let user = User::new();
    done(&user, &["add"], &["shell-guard  ", "token-budget ", "to allow one: hookhost add NAME"]);
    let listed: Value = serde_json::from_str(&user.run(["add", "--json"]).stdout).unwrap();
    for name in ["notebook", "shell-guard"] {
        let of_list = listed["plugins"].as_array().unwrap().iter().find(|plugin| plugin["name"] == name).unwrap();
        assert_eq!(of_list["sha256"], json!(digest(&plugin(name))), "{name}");
    }
    user.run(["add", "shell-gaurd"]).expect(2, &["hookhost brings no plugin shell-gaurd", "hookhost add shell-guard"]);
    user.run(["add", "notebook"]).expect(2, &["there is no terminal on which to ask you"]);
    done(&user, &["add", "notebook", "--yes"], &["allowed notebook at ", "gets    state (quota 1MiB)"]);
    done(&user, &["add", "notebook", "--yes"], &["allowed already notebook"]);
    assert!(user.run(["tools"]).stdout.contains("write_note"));
    // An older version of the plugin, as an earlier hookhost pinned it.
    let file = user.config_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let new = digest(&plugin("notebook"));
    let old = "0".repeat(64);
    std::fs::write(&file, text.replace(&new, &old).replace(&new[..16], &old[..16])).unwrap();
    user.run(["tools"]).expect(5, &[]);
    done(&user, &["add", "notebook", "--yes"], &["allowed again notebook"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_plugin_for_a_project_lies_in_the_project() {
    let user = User::new();
    done(&user, &["add", "notebook", "--project", "--yes"], &["allowed notebook at "]);
    let entry = std::fs::read_to_string(user.project().join("hookhost.toml")).unwrap();
    assert!(entry.contains("path = \"plugins/notebook.wasm\""), "{entry}");
    assert_eq!(digest(&user.project().join("plugins/notebook.wasm")), digest(&plugin("notebook")));
}

#[test]
fn plugins_of_other_versions_are_removed_when_no_configuration_names_them() {
    let user = User::new();
    done(&user, &["profile", "use", "developer", "--yes"], &[]);
    let plugins = user.path("state/plugins");
    let other = |name: &str, digit: &str| format!("{name}-{}.wasm", digit.repeat(16));
    let [unnamed, of_user, of_project, of_copy] = ["a", "b", "c", "d"].map(|digit| other("shell-guard", digit));
    let entry = |file: &str| {
        let path = plugins.join(file);
        format!(
            "[[plugin]]\nname = \"old-{}\"\nenabled = false\npath = \"{}\"\nsha256 = \"{}\"\n",
            &file[12..13],
            path.display(),
            "0".repeat(64)
        )
    };
    std::fs::write(user.config_file(), entry(&of_user)).unwrap();
    std::fs::write(user.path("config/profile.toml.before"), entry(&of_copy)).unwrap();
    user.write("hookhost.toml", entry(&of_project));
    user.run(["trust", "--yes"]).expect(0, &[]);
    let files = || {
        let entries = std::fs::read_dir(&plugins).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<std::collections::BTreeSet<_>>()
    };
    // The plugin of its rules is written, too.
    done(&user, &["profile", "use", "careful", "--yes"], &[]);
    let current = files();
    let kept = [of_user, of_project, of_copy, "mine.wasm".to_owned(), "mine-1.wasm".to_owned()];
    done(&user, &["profile", "use", "developer", "--yes"], &[]);
    done(
        &user,
        &["add", "path-guard"],
        &["path-guard is in force already, from the profile developer. To set its keys:\n"],
    );
    for command in [
        &["profile", "use", "careful", "--yes"][..],
        &["add", "path-guard", "--set", "protected=[\"infra/**\"]", "--yes"],
    ] {
        for file in kept.iter().chain([&unnamed]) {
            std::fs::write(plugins.join(file), "old").unwrap();
        }
        done(&user, command, &[]);
        let expected: std::collections::BTreeSet<String> = current.iter().chain(&kept).cloned().collect();
        assert_eq!(files(), expected, "{command:?}");
    }
}
