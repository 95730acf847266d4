//! A configuration that is wrong: line, column and the nearest known key; nothing runs.

use hookhost_tests::{Entry, User, plugin};

const NOT_LOADED: i32 = 5;

/// An entry with a line more; `LINE` is the number of that line.
fn entry(place: &str, line: &str) -> (String, usize) {
    let good = "[[plugin]]\nname = \"guard\"\npath = \"guard.wasm\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\n";
    let text = match place {
        "plugin" => format!("{good}{line}\n"),
        section => format!("{good}[plugin.{section}]\n{line}\n"),
    };
    let number = text.lines().count();
    (text, number)
}

#[track_caller]
fn refused(text: &str, said: &[&str]) {
    let user = User::new();
    let file = user.configure(text);
    for command in [&["hooks"][..], &["dispatch", "session-start"], &["run", "go", "--script", "s.toml"]] {
        let ended = user.run(command);
        ended.expect(NOT_LOADED, said);
        ended.expect(NOT_LOADED, &[&format!("error: {}:", file.display())]);
        assert_eq!(ended.stdout, "", "something ran: {ended:#?}");
    }
}

#[test]
fn an_unknown_key_is_refused_with_line_column_and_the_nearest_key() {
    for (place, line, column, nearest) in [
        ("plugin", "prioritty = 3", 1, "did you mean `priority`?"),
        ("limits", "  fule = 3", 3, "did you mean `fuel`?"),
        ("grants", "transcripts = true", 1, "did you mean `transcript`?"),
    ] {
        let (text, number) = entry(place, line);
        refused(&text, &[&format!(":{number}:{column}: unknown key"), nearest, &format!("{number} | {line}")]);
    }
}

#[test]
fn an_unknown_section_is_refused_and_the_agents_own_is_known() {
    refused("[setings]\n", &[":1:2: unknown key `setings`", "did you mean `settings`?"]);
    refused("[agent]\nprovder = \"anthropic\"\n", &[":2:1: unknown key `provder`", "did you mean `provider`?"]);
    let user = User::new();
    user.configure("[agent]\nprovider = \"anthropic\"\n");
    user.run(["hooks"]).expect(0, &[]);
}

#[test]
fn a_wrong_type_is_refused_with_line_and_column() {
    for (place, line, column) in [
        ("plugin", "priority = \"high\"", 12),
        ("plugin", "enabled = \"yes\"", 11),
        ("limits", "compute = 100", 11),
        ("grants", "env = \"CI\"", 7),
    ] {
        let (text, number) = entry(place, line);
        refused(&text, &[&format!(":{number}:{column}: ")]);
    }
}

#[test]
fn zero_is_never_unlimited() {
    for key in [
        "fuel",
        "compute",
        "deadline",
        "memory",
        "table-elements",
        "tables",
        "instances",
        "handles",
        "input",
        "output",
        "log",
        "http-body",
        "capability-calls",
    ] {
        let (text, number) = entry("limits", &format!("{key} = 0"));
        refused(&text, &[&format!(":{number}:{}: ", key.len() + 4), key, "0 is never \"unlimited\""]);
    }
}

#[test]
fn a_second_entry_of_the_same_name_is_refused_with_the_first() {
    let user = User::new();
    let first = Entry::new("guard", &user.project().join("a.wasm")).to_toml();
    let second = Entry::new("guard", &user.project().join("b.wasm")).to_toml();
    refused(&format!("{first}{second}"), &["the name `guard` is taken", "hookhost.toml:2 has it"]);
}

#[test]
fn two_entries_of_one_file_are_refused_however_the_path_is_spelt() {
    let user = User::new();
    let first = Entry::new("one", &user.project().join("a.wasm")).to_toml();
    let second = Entry::new("two", &user.project().join("../project/./a.wasm")).to_toml();
    refused(&format!("{first}{second}"), &["is an entry of the same file"]);
}

#[test]
fn text_that_is_not_toml_is_refused_with_line_and_column() {
    refused("[[plugin]\n", &[":1:"]);
    refused("a = 1\nb = \n", &[":2:"]);
}

#[test]
fn all_that_is_wrong_is_reported_at_once() {
    let (text, _) = entry("limits", "fule = 1\nmemry = 2");
    refused(&text, &["unknown key `fule`", "unknown key `memry`"]);
}

#[test]
fn a_broken_file_that_is_named_is_refused_like_the_users_own() {
    let user = User::new();
    let file = user.write("my.toml", "[[plugin]]\nnmae = 'x'\n");
    let ended = user.run(["hooks", "--config", "my.toml"]);
    ended.expect(NOT_LOADED, &[&format!("{}:2:1: unknown key `nmae`", file.display()), "did you mean `name`?"]);
    let ended = user.run(["hooks", "--config", "nowhere.toml"]);
    ended.expect(NOT_LOADED, &["nowhere.toml"]);
}

#[test]
fn a_projects_file_is_not_even_parsed_before_it_is_approved() {
    let user = User::new();
    let file = user.write("hookhost.toml", "this is no toml");
    let ended = user.run(["hooks"]);
    let command = format!("hookhost trust {}", file.display());
    ended.expect(0, &["is not used: you have not approved it", &command]);
    // Nor can it be approved as it is.
    user.run(["trust", "--yes"]).expect(NOT_LOADED, &[&format!("{}:1:", file.display())]);
    user.run(["hooks"]).expect(0, &["is not used"]);
}

#[test]
fn a_projects_file_that_loosens_a_setting_cannot_even_be_approved() {
    let user = User::new();
    user.write("hookhost.toml", "[settings]\nstream-unfinalised = true\n");
    user.run(["trust", "--yes"]).expect(NOT_LOADED, &[":2:22: a project's file cannot loosen a setting"]);
    user.run(["hooks"]).expect(0, &["is not used"]);
}

#[test]
fn a_project_cannot_reuse_a_name() {
    let user = User::new();
    user.configure(&Entry::new("guard", &plugin("all-events")).keys("enabled = false").to_toml());
    user.write("hookhost.toml", Entry::new("guard", &user.project().join("other.wasm")).to_toml());
    user.run(["trust", "--yes"]).expect(0, &[]);
    user.run(["hooks"]).expect(NOT_LOADED, &["the name `guard` is taken", "no entry overrides another"]);
}
