//! Facts that are not there, and facts that cannot be read. `aws.profile` is absent, and `kube.context` is unreadable.

use super::assert_all;
use hookhost_conditions::Truth::{False, True, Unreadable};

#[test]
fn comparisons_with_an_absent_value_are_false() {
    let conditions = [
        r#"aws.profile == "prod""#,
        r#"aws.profile != "prod""#,
        "aws.profile == gcloud.project",
        r#"aws.profile < "x" || aws.profile >= "x""#,
        r#"aws.profile in ["prod"]"#,
        r#"aws.profile.startsWith("p") || aws.profile.contains("") || aws.profile.matches(".*")"#,
        r#"glob(aws.profile, "**") || any(flags, "*")"#,
        r#""x" in flags || flags.exists(f, true) || flags.all(f, true)"#,
        r#"aws.profile.lowerAscii() == "" || size(aws.profile) == 0 || words(aws.profile).size() == 0"#,
        r#"aws.profile + "x" == "x""#,
        r#"host(aws.profile) == "" || host("file:///etc") == """#,
        r#"arguments.other == "x" || arguments.other.deeper[3] == "x""#,
        r#"args[3] == "x" || args[-1] == "x""#,
        r#"since("never") > 0 || written_by_agent(aws.profile) || created_by_agent(aws.profile)"#,
        "tool.read_only || tool.read_only == false",
        "flags.map(f, f) == [] || flags.filter(f, true) == []",
    ];
    assert_all(False, &conditions);
}

#[test]
fn not_is_ordinary_negation_of_an_absent_value() {
    assert_all(True, &[r#"!(aws.profile == "prod")"#, "!tool.read_only", r#"!(aws.profile != "prod")"#]);
    assert_all(False, &["tool.read_only ? true : false"]);
}

#[test]
fn null_tells_whether_a_value_is_absent() {
    let conditions = [
        "aws.profile == null && null == aws.profile && git.branch != null",
        "arguments.nothing == null && arguments.other == null && arguments.other.deeper == null",
        "has(git.branch) && !has(aws.profile)",
    ];
    assert_all(True, &conditions);
    assert_all(False, &["aws.profile != null", "git.branch == null"]);
}

#[test]
fn arithmetic_without_a_result_is_absent() {
    let conditions = ["1 / 0 == 0", "1 % (2 - 2) != 5", "0.0 / 0.0 == 0.0 / 0.0"];
    assert_all(False, &conditions);
}

#[test]
fn a_whole_number_that_is_too_large_is_unreadable() {
    let conditions = [
        "time.hour + 1 != 0",
        "0 - time.hour - 2 != 0",
        "time.hour * 2 != 0",
        "(-9223372036854775808) / -1 != 0",
        "-(0 - time.hour - 1) != 0",
    ];
    assert_all(Unreadable, &conditions);
}

#[test]
fn an_unreadable_fact_makes_the_condition_unreadable() {
    let conditions = [
        r#"kube.context == "prod""#,
        "kube.context == null",
        "!session.sandboxed",
        r#"kube.context.startsWith("p") && true"#,
        "session.sandboxed ? true : true",
        r#"kube.context in ["x"] || false"#,
        "[kube.context] == []",
        r#"{"a": kube.context} == {}"#,
        "created_by_agent(path)",
        "written_by_agent(kube.context)",
        "args.exists(a, a == kube.context)",
        "args.filter(a, a == kube.context) == []",
        "args.exists_one(a, a == kube.context)",
        "args.map(a, kube.context) == []",
    ];
    assert_all(Unreadable, &conditions);
}

#[test]
fn an_unreadable_fact_on_which_nothing_depends_has_no_effect() {
    let unreadable = r#"kube.context == "prod""#;
    for condition in ["false && U", "U && false", "true && (U && false)", "!(U || true)"] {
        assert_all(False, &[&condition.replace('U', unreadable)]);
    }
    for condition in ["true || U", "U || true", "false ? U : true", "args.exists(a, U || a == \"push\")"] {
        assert_all(True, &[&condition.replace('U', unreadable)]);
    }
    assert_all(False, &["args.all(a, kube.context == a && a == \"push\")"]);
}
