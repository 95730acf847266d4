//! `hookhost rule explain` lists the rules of shell-guard, shows one, and writes their pages.

use hookhost_tests::User;
use serde_json::Value;

/// The standard output of a command that succeeds.
fn shown(user: &User, arguments: &[&str]) -> String {
    let ended = user.run(arguments);
    ended.expect(0, &[]);
    ended.stdout
}

#[test]
fn the_list_has_a_line_for_each_rule_and_json_has_the_same_rules() {
    let user = User::new();
    let listed = shown(&user, &["rule", "explain"]);
    assert!(listed.contains("\nhookhost/git 0.1.0, applies everywhere\n"), "{listed}");
    assert!(listed.contains("\n  git.reset_hard error, is asked about: This throws away "), "{listed}");
    let json: Value = serde_json::from_str(&shown(&user, &["rule", "explain", "--json"])).unwrap();
    let catalogues = json["catalogues"].as_array().unwrap();
    let rules: Vec<_> = catalogues.iter().flat_map(|catalogue| catalogue["rules"].as_array().unwrap()).collect();
    assert!(rules.len() > 150, "{}", rules.len());
    assert_eq!(listed.lines().count(), catalogues.len() + rules.len());
}

#[test]
fn a_rule_is_shown_with_its_labels_and_with_what_it_catches_and_leaves() {
    let user = User::new();
    let text = shown(&user, &["rule", "explain", "git.reset_hard"]);
    for part in
        ["git.reset_hard error, ", "\n  labels   destroys\n", "\n  catches  git reset --hard\n", "\n  leaves   "]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let rule: Value = serde_json::from_str(&shown(&user, &["rule", "explain", "git.reset_hard", "--json"])).unwrap();
    assert_eq!((&rule["id"], &rule["action"]), (&"git.reset_hard".into(), &"ask".into()));
    for catalogue in ["git", "hookhost/git"] {
        let text = shown(&user, &["rule", "explain", catalogue]);
        assert!(text.contains("\ngit.reset_hard ") && text.contains("\ngit.push_force "), "{text}");
    }
}

#[test]
fn an_unknown_rule_names_the_nearest() {
    let user = User::new();
    let said = ["there is no rule and no catalogue git.rest_hard", "try: hookhost rule explain git.reset_hard"];
    user.run(["rule", "explain", "git.rest_hard"]).expect(2, &said);
}

#[test]
fn the_pages_are_written_into_a_new_directory_and_replace_nothing() {
    let user = User::new();
    user.run(["rule", "explain", "--write", "rules"]).expect(0, &[]);
    let page = |name: &str| std::fs::read_to_string(user.project().join("rules").join(name)).unwrap();
    assert!(page("README.md").contains("| [hookhost/git](git.md) | "));
    assert!(page("git.md").contains("\n## git.reset_hard\n"));
    user.run(["rule", "explain", "--write", "rules"]).expect(1, &["the directory is not empty"]);
}
