//! What the plugin says about rules that are wrong.

use super::try_rules;

/// Returns the mistakes as `row.key: message`.
fn mistakes(text: &str) -> Vec<String> {
    let mistakes = try_rules(text).err().unwrap_or_default();
    mistakes.into_iter().map(|mistake| format!("{}.{}: {}", mistake.row, mistake.key, mistake.message)).collect()
}

pub(super) fn of_row(on: &str, rest: &str) -> Vec<String> {
    mistakes(&format!("[[rule]]\nid = \"r\"\non = \"{on}\"\n{rest}\n"))
}

#[test]
fn an_example_that_is_not_stopped_says_which_key_does_not_hold() {
    let row = "program = \"git push\"\nflags = [\"--force\", \"-f\"]\nreject = \"no\"\npasses = [\"ls\"]\n";
    let not = |example: &str| of_row("shell", &format!("{row}stops = [\"git push -f\", \"{example}\"]"));
    assert_eq!(
        not("git push origin"),
        ["0.stops.1: `r` does not stop this example: it runs `git push` without one of `--force`, `-f`"]
    );
    assert_eq!(
        not("ls -f"),
        ["0.stops.1: `r` does not stop this example: it runs `ls -f`, and `program` is `git push`"]
    );
    let path = of_row("write", "path = \".env\"\nreject = \"no\"\nstops = [\"env\"]");
    assert_eq!(
        path,
        ["0.stops.0: `r` does not stop this example: it is read as a call that writes `env`, and `path` is `.env`"]
    );
    let text = of_row("prompt", "text = \"x\"\nreject = \"no\"\nstops = [\"y\"]");
    assert_eq!(text, ["0.stops.0: `r` does not stop this example: it is read as the text `y`, and `text` is `x`"]);
}

#[test]
fn an_example_whose_matchers_hold_says_which_condition_does_not() {
    let of = |on: &str, rest: &str| {
        let wrong = of_row(on, &format!("{rest}\nreject = \"no\""));
        wrong[0].strip_prefix("0.stops.0: `r` does not stop this example: ").unwrap_or(&wrong[0]).to_owned()
    };
    let rm = "program = \"rm\"\nstops = [\"ls && sudo rm -r a\"]\n";
    assert_eq!(
        of("shell", &format!("{rm}when = '\"x\" in args'")),
        "its matchers hold for `rm -r a`, but `when` is false"
    );
    assert_eq!(
        of("shell", &format!("{rm}unless = '\"sudo\" in wrappers'")),
        "its matchers hold for `rm -r a`, but `unless` is true"
    );
    let write = "path = \"*.rs\"\nstops = [\"a.rs\"]\n";
    assert_eq!(
        of("write", &format!("{write}when = 'path == \"b.rs\"'")),
        "its matchers hold for `a.rs`, but `when` is false"
    );
    let prompt = "stops = [\"x\"]\nwhen = 'text == \"y\"'";
    assert_eq!(of("prompt", prompt), "its matchers hold, but `when` is false");
}

#[test]
fn an_example_that_does_not_pass_says_which_key_holds() {
    for (on, rest, why) in [
        (
            "shell",
            "program = \"git push\"\nflags = \"--force\"\npasses = [\"git push --force\"]",
            "`--force` is one of its `flags`",
        ),
        ("shell", "program = \"git push\"\nargs = \"m*\"\npasses = [\"git push o main\"]", "`main` matches its `args`"),
        ("shell", "program = \"git push\"\npasses = [\"git push\"]", "it runs `git push`"),
        ("read", "path = \".env*\"\npasses = [\".env.x\"]", "`.env.x` matches `.env*`"),
        ("web", "host = \"*.x.com\"\npasses = [\"https://a.x.com\"]", "the host is `a.x.com`"),
        ("mcp", "tool = \"drop*\"\npasses = [\"db/drop_a\"]", "the tool is `drop_a`"),
        ("text", "text = \"a\"\npasses = [\"bab\"]", "it has `a`"),
    ] {
        let expected = format!("0.passes.0: `r` stops this example: {why}");
        assert_eq!(of_row(on, &format!("{rest}\nreject = \"no\"")), [expected]);
    }
}

#[test]
fn a_condition_about_something_that_the_rule_is_not_about_can_never_hold() {
    for (on, when, why) in [
        (
            "shell",
            "path.exists",
            "`path.exists` has no value for `on = \"shell\"`: use it with `on = \"write\"` or `on = \"read\"` or `on = \"delete\"`",
        ),
        (
            "write",
            "\"-f\" in flags",
            "`flags` has no value for `on = \"write\"`: use it with `on = \"shell\"` or `on = \"result\"`",
        ),
        ("*", "host == \"x\"", "`host` has no value for `on = \"*\"`: use it with `on = \"web\"`"),
    ] {
        let wrong = of_row(on, &format!("note = \"n\"\nwhen = '{when}'"));
        assert_eq!(wrong, [format!("0.when: {why}")]);
    }
    assert_eq!(of_row("write", "note = \"n\"\nwhen = 'path == null'"), [""; 0]);
}

#[test]
fn an_example_that_cannot_be_read_is_no_example() {
    for key in ["stops", "passes"] {
        let wrong = of_row("shell", &format!("program = \"git\"\nreject = \"no\"\n{key} = [\"git push 'x\"]"));
        assert!(wrong[0].starts_with(&format!("0.{key}.0: this example of `r` is no example")), "{wrong:?}");
    }
}

#[test]
fn an_example_without_a_call_is_a_mistake() {
    let wrong = of_row("shell", "program = \"a\"\nreject = \"no\"\nstops = [{ cwd = \"/x\" }]");
    assert!(wrong[0].contains("names no call"), "{wrong:?}");
}

#[test]
fn all_mistakes_of_all_rules_are_reported_at_once() {
    let wrong = mistakes(
        r#"
        [[rule]]
        id = "a"
        on = ["shell", "["]
        flags = ["force", "-f"]
        args = "*"
        reject = "no {x}"

        [[rule]]
        id = "b"
        on = "read"
        path = ["a", "!a"]
        when = "tru"
        reject = "no"
        "#,
    );
    let keys: Vec<&str> = wrong.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(keys, ["0.flags.0", "0.args.0", "0.on.1", "0.reject", "1.path", "1.when"], "{wrong:?}");
}

#[test]
fn a_rule_whose_stops_an_earlier_rule_rejects_has_no_effect() {
    let row = |id: &str, answer: &str, flags: &str| {
        format!(
            "[[rule]]\nid = \"{id}\"\non = \"shell\"\nprogram = \"git push\"\n{flags}\n{answer}\nstops = [\"git push -f\"]\n"
        )
    };
    let all = row("a", "reject = \"no\"", "");
    let force = row("b", "ask = \"Force?\"", "flags = \"-f\"");
    let wrong = mistakes(&(all.clone() + &force));
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].starts_with("1.: `b` has no effect, because `a` before it already rejects"), "{wrong:?}");
    for fine in [
        force.clone() + &all,
        row("a", "ask = \"Push?\"", "") + &force,
        row("a", "reject = \"no\"\nobserve = true", "") + &force,
        all.clone() + &row("project-b", "ask = \"Force?\"", "flags = \"-f\""),
    ] {
        assert_eq!(mistakes(&fine), [""; 0], "{fine}");
    }
}

#[test]
fn a_rule_that_asks_about_a_rule_with_a_mistake_has_no_mistake_itself() {
    let wrong = "[[rule]]\nid = \"a\"\non = \"shell\"\nprogram = \"/usr/bin/git\"\nnote = \"n\"\n";
    let asks = "[[rule]]\nid = \"b\"\non = \"shell\"\nafter = \"a\"\nnote = \"n\"\n";
    let mistakes = try_rules(&(wrong.to_owned() + asks)).unwrap_err();
    assert!(!mistakes.is_empty() && mistakes.iter().all(|mistake| mistake.row == 0), "{mistakes:?}");
}
