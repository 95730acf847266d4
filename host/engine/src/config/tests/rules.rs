//! `[[rule]]` tables: what is checked without the plugin that judges them, and the layers.

use super::{World, parse};
use crate::config::{Config, ConfigError, Layer, Source};

/// A valid rule of this id.
fn rule(id: &str) -> String {
    format!("[[rule]]\nid = \"{id}\"\non = \"shell\"\nnote = \"n\"\n")
}

/// Returns the mistakes in a text: line, column, and message.
fn mistakes(text: &str) -> Vec<(usize, usize, String)> {
    let Err(ConfigError::Invalid(problems)) = parse(text) else { panic!("{text} is valid") };
    problems.iter().map(|problem| (problem.line, problem.column, problem.message.clone())).collect()
}

fn mistake(lines: &str) -> (usize, usize, String) {
    let found = mistakes(&format!("[[rule]]\n{lines}"));
    assert_eq!(found.len(), 1, "{found:#?}");
    found.into_iter().next().unwrap()
}

fn shows(lines: &str, line: usize, column: usize, message: &str) {
    assert_eq!(mistake(lines), (line, column, message.to_owned()));
}

#[test]
fn a_rule_is_read_with_all_of_its_keys() {
    let config = parse(
        r#"
        [[rule]]
        id = "push"
        on = "shell"
        program = ["git push", "hub push"]
        flags = "--force"
        when = 'git.branch == "main"'
        ask = "Push?"
        instead = "open a pull request"
        stops = ["git push --force", { command = "git push --force", facts = { "git.branch" = "main" } }]
        passes = ["git push"]
        "#,
    );
    let config = config.unwrap();
    let [rule] = config.rules() else { panic!() };
    assert_eq!((rule.row.id.as_str(), rule.origin.line), ("push", 2));
    assert_eq!(*rule.row.program, ["git push", "hub push"]);
    assert_eq!(rule.row.stops.len(), 2);
}

#[test]
fn an_unknown_key_of_a_rule_and_of_an_example_is_named_with_the_nearest_one() {
    shows(
        "id = 'a'\non = 'shell'\nnote = 'n'\nprogramm = 'x'",
        5,
        1,
        "unknown key `programm` in `rule`: did you mean `program`?",
    );
    // A misspelt answer is one mistake, and not also a rule without an answer.
    for (answer, meant) in [("rejct", "reject"), ("deny", "reject"), ("action", "reject"), ("confirm", "ask")] {
        let message = format!("unknown key `{answer}` in `rule`: did you mean `{meant}`?");
        shows(&format!("id = 'a'\non = 'shell'\n{answer} = 'r'"), 4, 1, &message);
    }
    let (line, column, message) = mistake("id = 'a'\non = 'shell'\nnote = 'n'\nstops = [{ comand = 'x' }]");
    assert_eq!((line, column), (5, 12));
    assert!(message.ends_with("unknown key `comand`: did you mean `command`?"), "{message}");
}

#[test]
fn a_rule_has_an_id_a_subject_and_one_answer() {
    assert_eq!(mistake("on = 'shell'\nnote = 'n'").2, "`rule`: the key `id` is missing");
    assert_eq!(mistake("id = 'a'\nnote = 'n'").2, "`rule`: the key `on` is missing");
    shows(
        "id = 'a'\non = []\nnote = 'n'",
        3,
        6,
        "`rule.on`: the list is empty: name what the rule is about, such as `shell`",
    );
    shows(
        "id = 'a'\non = 'shell'",
        1,
        1,
        "`rule`: the rule has no answer: give it one of `reject`, `ask`, `change`, `redact`, `remind`, `label`, `note`",
    );
    shows(
        "id = 'a'\non = 'shell'\nnote = 'n'\nremind = 'r'",
        4,
        8,
        "`rule.note`: a rule has one answer, and this one has `remind` too: write two rules",
    );
    let (line, _, message) = mistake("id = 'a b'\non = 'shell'\nnote = 'n'");
    assert_eq!(line, 2);
    assert!(message.starts_with("`rule.id`: a name is 1 to 64 of"), "{message}");
}

#[test]
fn a_misspelt_subject_is_not_taken_for_a_tool() {
    let (line, column, message) = mistake("id = 'a'\non = ['shell', 'promt']\nnote = 'n'");
    assert_eq!((line, column), (3, 16));
    assert!(message.contains("did you mean `prompt`?"), "{message}");
    let (_, _, message) = mistake("id = 'a'\non = 'Bash'\nprogram = 'git'\nflags = '-f'\nnote = 'n'");
    assert_eq!(message, "`rule.on`: `Bash` is a tool, and `program` is about commands: did you mean `shell`?");
    for tool in ["Bash", "mcp__db__drop", "deploy*"] {
        assert!(parse(&format!("[[rule]]\nid = 'a'\non = '{tool}'\nnote = 'n'")).is_ok(), "{tool}");
    }
}

#[test]
fn a_key_that_does_not_fit_the_subject_is_an_error() {
    shows(
        "id = 'a'\non = 'mcp'\nprogram = 'git'\nnote = 'n'",
        4,
        11,
        "`rule.program`: `on = \"mcp\"` has no `program`: known there: `server`, `tool`, `text`",
    );
    shows(
        "id = 'a'\non = 'prompt'\nask = 'Send it?'",
        4,
        7,
        "`rule.ask`: `on = \"prompt\"` has no `ask`: known there: `reject`, `redact`, `remind`, `label`, `note`",
    );
    assert!(
        mistake("id = 'a'\non = 'shell'\nnote = 'n'\ninstead = 'x'").2.starts_with("`rule.instead`: only `reject`")
    );
    shows(
        "id = 'a'\non = 'shell'\nnote = 'n'\nwithin = '10m'",
        5,
        10,
        "`rule.within`: it is the time that `after` looks at: name in `after` what has to occur",
    );
    assert_eq!(
        mistake("id = 'a'\non = 'prompt'\nredact = '…'").2,
        "`rule.redact`: `text` is missing: it says what is replaced"
    );
}

#[test]
fn a_rule_that_stops_something_needs_examples_of_both_kinds() {
    let found = mistakes("[[rule]]\nid = 'a'\non = 'shell'\nprogram = 'x'\nreject = 'no'");
    let messages: Vec<&str> = found.iter().map(|(.., message)| message.as_str()).collect();
    assert!(messages[0].starts_with("`rule.stops`: give an example that the rule stops"), "{messages:?}");
    assert!(messages[1].starts_with("`rule.passes`: give an example"), "{messages:?}");
    assert!(parse("[[rule]]\nid = 'a'\non = 'web'\nask = 'Fetch it?'").is_ok(), "everything of a kind needs none");
}

#[test]
fn a_misspelt_name_in_a_condition_is_reported_together_with_missing_examples() {
    let found =
        mistakes("[[rule]]\nid = 'a'\non = 'shell'\nprogram = 'x'\nwhen = 'git.brnch == \"main\"'\nreject = 'no'");
    let messages: Vec<&str> = found.iter().map(|(.., message)| message.as_str()).collect();
    assert!(messages.iter().any(|message| message.starts_with("`rule.stops`")), "{messages:?}");
    let (line, column, message) = found.iter().find(|(line, ..)| *line == 5).unwrap();
    assert_eq!((line, column), (&5, &9));
    assert!(message.contains("did you mean `git.branch`?"), "{message}");
}

#[test]
fn a_mode_that_is_written_as_the_name_of_the_mode_that_is_on_is_shown_its_table() {
    let found = mistakes("[rules.mode.night]\nask = 'reject'\n");
    let message = "`rules.mode` is the name of the mode that is on: write a mode as `[rules.modes.night]`";
    assert_eq!(found.iter().map(|(.., message)| message.as_str()).collect::<Vec<_>>(), [message]);
}

#[test]
fn typographic_quotes_and_an_unclosed_list_are_named() {
    let not_toml = |text: &str| mistakes(text).remove(0).2;
    for text in ["[[rule]]\nid = “a”\n", "[[rule]]\nid = 'a'\nstops = [“a”, 'b']\n", "“a” = 1\n"] {
        assert_eq!(not_toml(text), "this is not TOML: `“` is a typographic quotation mark: write `\"`", "{text}");
    }
    for rest in ["passes = ['c']\n", "[[rule]]\nid = 'b'\n", "", "reject = \"no\"\n"] {
        let text = format!("[[rule]]\nid = 'a'\nstops = ['a',\n  'b'\n{rest}");
        assert_eq!(not_toml(&text), "this is not TOML: the list of `stops` in line 3 has no `]`", "{text}");
    }
    assert!(not_toml("a = ['b' 'c']\n").contains("missing comma"));
}

#[test]
fn lengths_and_numbers_are_bounded() {
    let long = "x".repeat(5_000);
    for lines in [
        format!("note = '{long}'"),
        format!("note = 'n'\nprogram = '{long}'"),
        format!("note = 'n'\nwhen = '{long}'"),
        format!("note = 'n'\nstops = ['{long}']"),
    ] {
        let (.., message) = mistake(&format!("id = 'a'\non = 'shell'\n{lines}"));
        assert!(message.ends_with("bytes, and this one has 5000"), "{message}");
    }
    let examples = ["'x'"; 33].join(", ");
    assert!(
        mistake(&format!("id = 'a'\non = 'shell'\nnote = 'n'\nstops = [{examples}]")).2.contains("at most 32 examples")
    );
    let many: String = (0..10_000).map(|number| rule(&format!("r{number}"))).collect();
    let found = mistakes(&many);
    assert_eq!(found.len(), 1);
    assert!(found[0].2.starts_with("there are more than 1000 rules"), "{}", found[0].2);
}

#[test]
fn ids_are_unique_and_a_file_of_a_project_cannot_take_one_of_the_users() {
    let twice = mistakes(&format!("{}{}", rule("a"), rule("a")));
    assert_eq!(
        twice,
        [(
            6,
            6,
            "the id `a` is taken: the rule at /etc/hookhost.toml:1 has it, and no rule overrides another".to_owned()
        )]
    );
    let world = World::new();
    let user = world.write_user(&rule("a"));
    let project = world.write_project("", &rule("a"));
    world.approve(&project);
    let error = world.discover().unwrap_err().to_string();
    assert!(error.contains(&format!("the id `a` is taken: the rule at {}:1 has it", user.display())), "{error}");
}

#[test]
fn a_rule_of_the_user_replaces_that_of_the_profile() {
    let world = World::new();
    std::fs::write(world.places.profile_file(), format!("{}{}", rule("a"), rule("b"))).unwrap();
    let user = world.write_user(&rule("a"));
    let config = world.discover().unwrap().config;
    let found: Vec<_> = config.rules().iter().map(|rule| (rule.row.id.as_str(), rule.origin.file.as_path())).collect();
    let profile = world.places.profile_file();
    assert_eq!(found, [("b", profile.as_path()), ("a", user.as_path())]);
}

#[test]
fn a_rule_of_a_project_can_only_reject_ask_or_note() {
    let parsed = |answer: &str| {
        let text = format!("[[rule]]\nid = 'a'\non = 'Bash'\n{answer}");
        Config::parse(&text, &Source::new("/p/hookhost.toml", Layer::Project), &[])
    };
    for answer in ["reject = 'r'", "ask = 'a'", "note = 'n'"] {
        assert!(parsed(answer).is_ok(), "{answer}");
    }
    for answer in ["remind = 'r'", "change = { timeout = 1 }"] {
        let error = parsed(answer).unwrap_err().to_string();
        assert!(error.contains("a rule in a project's file can only `reject`, `ask` or `note`"), "{error}");
    }
}

#[test]
fn no_entry_of_a_file_has_the_name_of_the_plugin_that_judges_rules() {
    let error = parse(&super::entry("rules")).unwrap_err().to_string();
    assert!(
        error.contains("`plugin.name`: this name belongs to the plugin that judges the `[[rule]]` tables"),
        "{error}"
    );
}

#[test]
fn a_paused_configuration_has_no_rules() {
    let config = parse(&rule("a")).unwrap().paused();
    assert!(config.rules().is_empty() && !config.lacks_rules_plugin());
}
