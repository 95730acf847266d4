//! Mistakes, with their place and their sentence.

use hookhost_conditions::Condition;

/// Checks that the mistakes of `text` are at these parts of it, with these sentences.
#[track_caller]
fn assert_mistakes(text: &str, expected: &[(&str, &str)]) {
    let mistakes = Condition::compile(text).err().unwrap_or_else(|| panic!("{text} has no mistake"));
    let found: Vec<_> = mistakes.iter().map(|error| (&text[error.range.clone()], error.message.as_str())).collect();
    assert_eq!(found, expected, "{text}");
}

#[track_caller]
fn assert_table(table: &[(&str, &str, &str)]) {
    for (text, part, message) in table {
        assert_mistakes(text, &[(part, message)]);
    }
}

#[test]
fn an_unknown_name_is_reported_with_the_nearest_one() {
    assert_table(&[
        ("git.brnch == \"x\"", "git.brnch", "unknown name `git.brnch`: did you mean `git.branch`?"),
        ("!path.is_traked", "path.is_traked", "unknown name `path.is_traked`: did you mean `path.is_tracked`?"),
        ("git == \"x\"", "git", "unknown name `git`: did you mean `git.branch`?"),
        ("git.branc.startsWith(\"x\")", "git.branc", "unknown name `git.branc`: did you mean `git.branch`?"),
        ("elsewhere.a.b == 1", "elsewhere.a.b", "unknown name `elsewhere.a.b`"),
        ("env == \"x\"", "env", "unknown name `env`: write `env.NAME`"),
        ("count > 3", "count", "unknown name `count`: it is a function"),
        ("args.exists(a, b == a)", "b", "unknown name `b`"),
        ("pathological == \"x\"", "pathological", "unknown name `pathological`"),
    ]);
}

#[test]
fn a_name_has_no_members_that_its_type_does_not_have() {
    assert_table(&[
        ("git.branch.x == 1", "git.branch.x", "`git.branch` is a string: it has no member `x`"),
        ("env.CI.x == 1", "env.CI.x", "`env.CI` is a string: it has no member `x`"),
        ("args.exists(a, a.b == 1)", "a.b", "`a` is a string: it has no member `b`"),
        ("session.depth[0] == 1", "session.depth", "`session.depth` is a number: it has no parts"),
        ("args[\"x\"] == \"y\"", "\"x\"", "a list of strings needs a number in its brackets, and this is a string"),
    ]);
}

#[test]
fn values_that_are_never_equal_are_reported() {
    assert_table(&[
        (
            "session.depth == \"x\"",
            "session.depth == \"x\"",
            "`session.depth` is a number and `\"x\"` is a string: they are never equal",
        ),
        (
            "git.branch in [\"main\", 1]",
            "git.branch in [\"main\", 1]",
            "`git.branch` is a string, and the list contains a number: they are never equal",
        ),
        (
            "time.weekday == \"monday\"",
            "time.weekday == \"monday\"",
            "`time.weekday` is never \"monday\": it is one of mon, tue, wed, thu, fri, sat, sun",
        ),
        (
            "\"yolo\" != session.mode",
            "\"yolo\" != session.mode",
            "`session.mode` is never \"yolo\": it is one of plan, default, accept-edits, bypass, auto",
        ),
    ]);
    let mode = "`session.mode` is never \"x\": it is one of plan, default, accept-edits, bypass, auto";
    assert_mistakes("session.mode in [\"plan\", \"x\"]", &[("session.mode in [\"plan\", \"x\"]", mode)]);
}

#[test]
fn an_operator_needs_its_types() {
    assert_table(&[
        (
            "git.branch > 3",
            "git.branch > 3",
            "`git.branch` is a string and `3` is a number: only two numbers or two strings have an order",
        ),
        (
            "git.branch in \"main\"",
            "git.branch in \"main\"",
            "`git.branch` is a string and `\"main\"` is a string: `in` needs a list or map that can contain the value",
        ),
        (
            "session.depth + \"x\" == 1",
            "session.depth + \"x\"",
            "`session.depth` is a number and `\"x\"` is a string: `+` needs two numbers of one kind, two strings or two lists",
        ),
        (
            "session.depth * 1.5 > 1",
            "session.depth * 1.5",
            "`session.depth` is a number and `1.5` is a number with a fraction: arithmetic needs two numbers of one kind",
        ),
        (
            "1.5 % 1.5 == 0",
            "1.5 % 1.5",
            "`1.5` is a number with a fraction and `1.5` is a number with a fraction: `%` needs two whole numbers",
        ),
        ("git.branch && true", "git.branch", "`&&` needs a boolean, and `git.branch` is a string"),
        ("true || session.depth", "session.depth", "`||` needs a boolean, and `session.depth` is a number"),
        ("!git.branch", "git.branch", "`!` needs a boolean, and `git.branch` is a string"),
        ("-git.branch == 1", "git.branch", "`-` needs a number, and `git.branch` is a string"),
        ("args ? true : false", "args", "`?` needs a boolean, and `args` is a list of strings"),
        ("git.branch", "git.branch", "a condition is true or false, and this is a string"),
        ("true ? 1 : 2", "true ? 1 : 2", "a condition is true or false, and this is a number"),
        ("git.branch < null", "null", "`null` can only be compared, with `==` and `!=`"),
        ("{1: 2} == {}", "1", "the keys of a map are strings in quotes"),
        ("{\"a\": 2, \"a\": 3} == {}", "\"a\"", "the key `a` is in this map twice"),
    ]);
}

#[test]
fn a_call_needs_its_arguments() {
    assert_table(&[
        ("hass(\"x\")", "hass", "unknown function `hass`: did you mean `has`?"),
        ("frobnicate(path)", "frobnicate", "unknown function `frobnicate`"),
        ("path.startswith(\"x\")", "startswith", "unknown function `startswith`: did you mean `startsWith`?"),
        (
            "startsWith(path, \"x\")",
            "startsWith(path, \"x\")",
            "`startsWith` is called so: `text.startsWith(beginning)`",
        ),
        ("count(\"x\") > 1", "count(\"x\")", "`count` is called so: `count(\"rule\", \"10m\")`"),
        ("args.contains(\"x\")", "args", "`contains` needs a string, and `args` is a list of strings"),
        ("path.startsWith(1)", "1", "`startsWith` needs a string, and `1` is a number"),
        ("words(args) == []", "args", "`words` needs a string, and `args` is a list of strings"),
        ("any(path, \"x\")", "path", "`any` needs a list, and `path` is a string"),
        ("size(1) == 1", "1", "`size` needs a string, a list or a map, and `1` is a number"),
        ("path.exists(x, true)", "path", "`exists` needs a list, and `path` is a string"),
        ("args.exists(1, true)", "1", "the first argument of `exists` is a new name"),
        ("args.all(a, a)", "a", "`all` needs a boolean, and `a` is a string"),
        ("path.exists(x)", "path.exists(x)", "`exists` is called so: `list.exists(name, condition)`"),
        ("has(path)", "path", "`has(\"label\")` needs a string in quotes here"),
        ("has(\"\")", "\"\"", "`has(\"label\")` needs a string in quotes here"),
        ("written_by_agent(1)", "1", "`written_by_agent(path)` needs a string, and `1` is a number"),
        ("same_call(0, \"1m\")", "0", "`same_call(5, \"1m\")` needs a number from 1 to 500 here"),
        (
            "count(\"x\", \"10 minutes\") > 1",
            "\"10 minutes\"",
            "`count(\"rule\", \"10m\")` needs a time in quotes, such as \"90s\", \"10m\", \"2h\" or \"1d\" here",
        ),
    ]);
    for window in ["", "m", "0s", "-1m", "+1m", "367d", "99999999999999999999s", "1é", "٣m"] {
        assert!(Condition::compile(&format!("count(\"x\", {window:?}) > 1")).is_err(), "{window}");
    }
}

#[test]
fn a_number_that_no_count_reaches_is_a_mistake() {
    let most = "`count(\"x\", \"1d\")` is at most 500, because no more times are remembered";
    for condition in ["count(\"x\", \"1d\") > 500", "500 < count(\"x\", \"1d\")", "count(\"x\", \"1d\") >= 501"] {
        assert_table(&[(condition, condition, most)]);
    }
    assert_table(&[("same_call(600, \"1d\")", "600", "`same_call(5, \"1m\")` needs a number from 1 to 500 here")]);
    for condition in [
        "count(\"x\", \"1d\") >= 500",
        "count(\"x\", \"1d\") < 500",
        "same_call(500, \"1d\")",
        "count(\"x\", \"1d\") + 600 > 700",
    ] {
        assert!(Condition::compile(condition).is_ok(), "{condition}");
    }
}

#[test]
fn a_pattern_is_a_correct_literal() {
    assert_table(&[
        ("path.matches(git.branch)", "git.branch", "the pattern of `matches` is a string in quotes"),
        ("glob(path, git.branch)", "git.branch", "the pattern of `glob` is a string in quotes"),
        (
            "any(args, \"a**\")",
            "\"a**\"",
            "this is no pattern of paths: `**` stands for directories only as a whole component, such as `a/**/b`",
        ),
        ("glob(path, \"\")", "\"\"", "the pattern is empty"),
        ("path.matches(\"(\")", "\"(\"", "this is no regular expression: found open group without closing ')'"),
    ]);
}

#[test]
fn a_mistake_of_grammar_is_reported_at_its_place() {
    assert_table(&[
        ("", "", "expected a value, the expression ends here"),
        ("git.branch ==", "", "expected a value, the expression ends here"),
        ("git.branch == == 1", "==", "expected a value, found `==`"),
        ("true true", "true", "expected an operator or the end, found `true`"),
        ("true and false", "and", "expected an operator or the end, found `and`: CEL spells it `&&`"),
        ("true or false", "or", "expected an operator or the end, found `or`: CEL spells it `||`"),
        ("(true", "", "expected `)`, the expression ends here"),
        ("args[0 == 1", "", "expected `]`, the expression ends here"),
        ("[1, 2 3] == []", "3", "expected `,`, found `3`"),
        ("{\"a\" 1} == {}", "1", "expected `:`, found `1`"),
        ("true ? 1", "", "expected `:`, the expression ends here"),
        ("git.\"x\" == 1", "\"x\"", "expected a name, found `\"x\"`"),
        ("in == 1", "in", "expected a value, found `in`"),
        ("1 = 1", "=", "`=` is no operator: `==` compares"),
        ("true & true", "&", "`&` is no operator: write `&&`"),
        ("true | true", "|", "`|` is no operator: write `||`"),
        ("#1", "#", "the character `#` has no meaning here"),
        ("é == 1", "é", "the character `é` has no meaning here"),
        ("git.branch == \"x", "\"x", "this string has no closing `\"`"),
        ("'\\'", "'\\'", "this string has no closing `'`"),
        ("\"a\\q\" == path", "\\q", "`\\q` is no escape sequence of CEL: `\\\\` stands for a backslash"),
        ("\"\\u00\" == path", "\\u", "`\\u` is no escape sequence of CEL: `\\\\` stands for a backslash"),
        ("\"\\ud800é\" == path", "\\u", "`\\u` is no escape sequence of CEL: `\\\\` stands for a backslash"),
        ("9223372036854775808 > 1", "9223372036854775808", "`9223372036854775808` is no number, or it is too large"),
        ("-9223372036854775809 > 1", "-9223372036854775809", "`-9223372036854775809` is no number, or it is too large"),
        ("1u > 0", "1u", "`1u` is no number, or it is too large"),
        ("1e999 > 0", "1e999", "`1e999` is no number, or it is too large"),
    ]);
}

#[test]
fn all_mistakes_of_names_and_types_are_reported() {
    let expected = [
        ("git.brnch", "unknown name `git.brnch`: did you mean `git.branch`?"),
        ("usr", "unknown name `usr`: did you mean `user`?"),
        ("session.depth", "`!` needs a boolean, and `session.depth` is a number"),
    ];
    assert_mistakes("git.brnch == usr || !session.depth", &expected);
}
