//! What expressions mean.

use super::{Event, assert_all, compiled};
use hookhost_conditions::Truth::{False, True};

#[test]
fn operators_bind_as_in_cel() {
    let conditions = [
        "1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "10 - 3 - 2 == 5",
        "7 / 2 * 2 == 6 && 7 % 4 == 3",
        "true || false && false",
        "!(true && false) || false",
        "!false == true",
        "-3 + 5 == 2 && -(3) == 0 - 3",
        "false ? false : true ? true : false",
        "1 < 2 == true",
        "\"a\" + \"b\" in [\"ab\"]",
        "-9223372036854775808 < 0x7FFFFFFFFFFFFFFF",
        "1.5 + 1.5 == 3 && 1e3 > 999 && .5 < 1",
        "[1] + [2] == [1, 2]",
        "true // a comment\n && true",
    ];
    assert_all(True, &conditions);
}

#[test]
fn strings_are_written_as_in_cel() {
    let conditions = [
        r#"'a"b' == "a\"b""#,
        r#""\x41\u0042\U00000043\104" == "ABCD""#,
        r#"r"a\d" == "a\\d""#,
        r#"r'\' == "\\""#,
        r#""é\n".size() == 2"#,
    ];
    assert_all(True, &conditions);
}

#[test]
fn strings_are_searched() {
    let conditions = [
        r#"git.branch.startsWith("ma") && git.branch.endsWith("in") && git.branch.contains("ai")"#,
        r#"git.branch.matches("^m.*n$") && git.branch.matches("ai")"#,
        r#""MAIN".lowerAscii() == git.branch"#,
        r#"git.branch.size() == 4 && size(git.branch) == 4 && size(args) == 3 && size({"a": 1}) == 1"#,
        r#"git.branch < "major""#,
    ];
    assert_all(True, &conditions);
}

#[test]
fn lists_and_maps_have_values() {
    let conditions = [
        r#""--force" in args && !("-f" in args)"#,
        r#"args[0] == "push""#,
        r#"args == ["push", "--force", "release/1.2"] && args != [] && [] != args"#,
        r#"{"main": 1, "topic": 2}[git.branch] == 1"#,
        r#"git.branch in {"main": true}"#,
        r#"{"a": [1, 2.0]} == {"a": [1.0, 2]}"#,
        r#"[git.branch, "x"] == ["main", "x"]"#,
    ];
    assert_all(True, &conditions);
}

#[test]
fn macros_go_through_a_list() {
    let conditions = [
        r#"args.exists(a, a.startsWith("--"))"#,
        r#"!args.all(a, a.startsWith("--")) && args.all(a, a != "")"#,
        r#"args.exists_one(a, a == "push")"#,
        r#"args.filter(a, a.contains("/")) == ["release/1.2"]"#,
        r#"args.map(a, a.size())[0] == 4"#,
        r#"args.exists(a, args.exists(b, a == "-" + "-force" && b == "push"))"#,
        r#"[true].all(git, git) && [1].exists(x, ["a"].exists(x, x == "a"))"#,
        r#"arguments.nested.deep.exists(entry, entry.name == "x")"#,
        "[].all(x, x) && ![].exists(x, x)",
    ];
    assert_all(True, &conditions);
}

#[test]
fn arguments_of_a_tool_have_any_type() {
    let conditions = [
        r#"arguments.environment == "prod" && arguments["environment"] == "prod""#,
        "arguments.replicas > 2 && arguments.replicas + 1 == 4 && arguments.ratio < 1",
        "arguments.force",
        r#""b" in arguments.tags && arguments.tags.size() == 2 && "tags" in arguments"#,
        "arguments.ratio * 2 == 1 && 3 - arguments.ratio > 2",
        r#"arguments.tags == ["a", "b"] && arguments.tags + ["c"] == ["a", "b", "c"] && arguments.tags[1] == "b""#,
        r#"arguments.nested == {"deep": [{"name": "x"}]} && {"deep": 1} != arguments.nested"#,
        "arguments.nested == arguments.same && arguments.nested != arguments",
        r#"arguments.nested.deep[0].name == "x""#,
        "has(arguments.force) && !has(arguments.other) && !has(arguments.nothing)",
    ];
    assert_all(True, &conditions);
}

#[test]
fn a_value_of_another_type_counts_as_absent() {
    let conditions = [
        "arguments.environment > 2",
        r#"arguments.replicas.startsWith("3")"#,
        "arguments.environment",
        "arguments.replicas == \"3\"",
        "arguments.environment.exists(x, true)",
        "arguments.replicas.name == 1",
        "time.minute < 60",
        "arguments.tags + 1 == 1",
        "-arguments.environment == 1",
    ];
    assert_all(False, &conditions);
}

#[test]
fn a_glob_fits_a_whole_path() {
    let fits = |path: &str, pattern: &str| {
        compiled(&format!(r#"glob({path:?}, {pattern:?})"#)).evaluate(&Event::new()) == True
    };
    for (path, pattern) in [
        ("src/generated/schema.rs", "src/**/*.rs"),
        ("src/schema.rs", "src/**/*.rs"),
        ("src/schema.rs", "**"),
        ("a/b/c", "**/c"),
        ("c", "**/c"),
        ("/etc/passwd", "/etc/*"),
        ("a/b/c/b/d", "a/**/b/d"),
        (".env.local", ".env*"),
        ("a1", "a[0-9]"),
    ] {
        assert!(fits(path, pattern), "{path} {pattern}");
    }
    for (path, pattern) in
        [("src/a/b.rs", "src/*.rs"), ("src", "src/**"), ("xsrc/a.rs", "src/**"), ("a", "a?"), ("a/b", "a"), ("", "a")]
    {
        assert!(!fits(path, pattern), "{path} {pattern}");
    }
}

#[test]
fn functions_of_the_product_answer() {
    let conditions = [
        r#"any(args, "release/*") && !any(args, "main")"#,
        r#"words(command)[1] == "push" && words(" a  b ").size() == 2"#,
        r#"host(url) == "example.com""#,
        r#"has("read:secret") && !has("other")"#,
        r#"since("tests") < 120"#,
        r#"count("push-main", "10m") - 200 == 400 && count("push-main", "1d") - 86000 == 400"#,
        r#"same_call(4, "90s") && !same_call(5, "2h")"#,
        "written_by_agent(path)",
        r#"env.CI == "true" && path.in_workspace && path.startsWith("src")"#,
    ];
    assert_all(True, &conditions);
}

#[test]
fn facts_are_asked_for_once_and_only_if_they_matter() {
    let event = Event::new();
    let condition = compiled(
        r#"git.branch == "main" || git.branch == kube.context || args.exists(a, a == git.branch) || created_by_agent(path)"#,
    );
    assert_eq!(condition.evaluate(&event), True);
    assert_eq!(event.asked.take(), ["git.branch"]);
    assert_eq!(compiled(r#"args.exists(a, a == git.branch) && host == """#).evaluate(&event), False);
    assert_eq!(event.asked.take(), ["args", "git.branch"]);
}
