//! Bounds of expressions, patterns and evaluations.

use super::truth;
use hookhost_conditions::{Condition, Fact, Facts, MAX_EXPRESSION, MAX_LEVELS, MAX_LIST, MAX_NODES, Truth, Value};

#[track_caller]
fn message(text: &str) -> String {
    match Condition::compile(text) {
        Ok(_) => String::new(),
        Err(mistakes) => mistakes[0].message.clone(),
    }
}

#[test]
fn a_long_expression_is_refused() {
    let text = |length: usize| format!("true{}", " ".repeat(length - 4));
    assert_eq!(message(&text(MAX_EXPRESSION)), "");
    assert_eq!(message(&text(MAX_EXPRESSION + 1)), "the expression has 4097 bytes; at most 4096 are possible");
    assert_eq!(message(&"(".repeat(1_000_000)), "the expression has 1000000 bytes; at most 4096 are possible");
}

#[test]
fn a_deep_expression_is_refused() {
    type Deep = fn(usize) -> String;
    let table: [(Deep, usize); 10] = [
        (|n| format!("{}true{}", "(".repeat(n), ")".repeat(n)), 1),
        (|n| format!("{}true", "!".repeat(n)), 1),
        (|n| format!("arguments{} == 1", ".a".repeat(n)), 2),
        (|n| format!("arguments.a{} == 1", "[0]".repeat(n)), 3),
        (|n| format!("{}url{} == null", "host(".repeat(n), ")".repeat(n)), 2),
        (|n| format!("{}1{} == null", "[".repeat(n), "]".repeat(n)), 2),
        (|n| format!("{}true", "true ? true : ".repeat(n)), 1),
        (|n| format!("{}true{}", "[1].exists(x, ".repeat(n), ")".repeat(n)), 2),
        (|n| format!("1{} == 1", " + 1".repeat(n)), 2),
        (|n| format!("!!!!!!!!(true && true && arguments{} == 1)", ".a".repeat(n.saturating_sub(8))), 3),
    ];
    for (deep, around) in table {
        assert_eq!(message(&deep(MAX_LEVELS - around)), "", "{}", deep(2));
        assert_eq!(message(&deep(MAX_LEVELS + 1)), "the expression has more than 48 levels", "{}", deep(2));
    }
}

#[test]
fn a_chain_of_alternatives_may_be_long() {
    assert_eq!(truth(&vec!["false"; 500].join("||")), Truth::False);
    assert_eq!(truth(&vec!["true"; 500].join("&&")), Truth::True);
}

#[test]
fn an_expression_with_many_parts_is_refused() {
    let list = |length: usize| format!("[{}] == []", vec!["1"; length].join(","));
    assert_eq!(message(&list(MAX_LIST)), "");
    assert_eq!(message(&list(MAX_LIST + 1)), "this list has 257 values; at most 256 are possible");
    let map: Vec<_> = (0..=MAX_LIST).map(|key| format!("\"{key}\":1")).collect();
    assert_eq!(
        message(&format!("{{{}}} == {{}}", map.join(","))),
        "this list has 257 values; at most 256 are possible"
    );
    let calls = |length: usize| format!("frobnicate({})", vec!["1"; length].join(","));
    assert_eq!(message(&calls(MAX_NODES + 1)), "the expression has more than 2000 parts");
}

#[test]
fn a_large_pattern_is_refused() {
    let regex = |pattern: &str| message(&format!("path.matches({pattern:?})"));
    let glob = |pattern: &str| message(&format!("glob(path, {pattern:?})"));
    assert_eq!(regex(&"a".repeat(1025)), "the pattern has 1025 bytes; at most 1024 are possible");
    assert_eq!(glob(&"a".repeat(1025)), "the pattern has 1025 bytes; at most 1024 are possible");
    assert_eq!(glob(&"*a".repeat(33)), "the pattern has more than 32 wildcards");
    for pattern in ["((((((((((((((((((a))))))))))))))))))", "(a{99}){99}", "((a{500}){500}){500}", &"(".repeat(500)] {
        assert!(regex(pattern).starts_with("this is no regular expression: "), "{pattern}: {}", regex(pattern));
    }
}

/// A long text for each name of a string, and a long list for each name of a list.
struct Long(usize);

impl Facts for Long {
    fn value(&self, name: &str) -> Fact<'_> {
        match name {
            "args" => Fact::Is(Value::List((0..self.0).map(|_| Value::from("aaaa")).collect())),
            _ => Fact::Is(Value::from("a".repeat(self.0))),
        }
    }

    fn call(&self, _: &str, _: &[Value<'_>]) -> Fact<'_> {
        Fact::Absent
    }
}

/// Without the bound, each of these would take hours.
#[test]
fn an_evaluation_with_too_many_steps_is_unreadable() {
    let patterns = "*a".repeat(31);
    let conditions = [
        "args.exists(a, args.exists(b, args.exists(c, args.exists(d, a + b + c == d))))",
        "args.all(a, args.all(b, a in args))",
        "args.map(a, args.map(b, args.map(c, args))) == []",
        "args.filter(a, args.filter(b, args + args == args) == args) == []",
        r#"text.matches("(a|aa|aaa){20}b")"#,
        &format!("glob(text, \"{patterns}b\")"),
        &format!("[0].map(x, {0} + {0})[0] == path", vec!["text"; 20].join(" + ")),
    ];
    for condition in conditions {
        let compiled = Condition::compile(condition).unwrap_or_else(|error| panic!("{condition}: {error:?}"));
        assert_eq!(compiled.evaluate(&Long(1_000_000)), Truth::Unreadable, "{condition}");
    }
}

/// Arguments that an agent nests as deeply as JSON can be.
#[test]
fn deep_arguments_are_not_compared() {
    struct Deep(serde_json::Value);

    impl Facts for Deep {
        fn value(&self, _: &str) -> Fact<'_> {
            Fact::Is(Value::from(&self.0))
        }

        fn call(&self, _: &str, _: &[Value<'_>]) -> Fact<'_> {
            Fact::Absent
        }
    }

    let condition = Condition::compile("arguments.a == arguments.b").expect("a condition");
    for (depth, expected) in [(10, Truth::True), (60, Truth::Unreadable)] {
        let (open, close) = (r#"[{"x":"#.repeat(depth), "}]".repeat(depth));
        let arguments = serde_json::from_str(&format!(r#"{{"a":{open}1{close},"b":{open}1{close}}}"#));
        assert_eq!(condition.evaluate(&Deep(arguments.expect("JSON"))), expected);
    }
}

#[test]
fn a_glob_with_many_wildcards_takes_linear_time() {
    let pattern = "*a".repeat(29);
    for suffix in ["b", "/c", "/**/b"] {
        let condition = Condition::compile(&format!("glob(text, \"{pattern}{suffix}\")")).expect("a condition");
        assert_eq!(condition.evaluate(&Long(5_000)), Truth::False);
    }
}

#[test]
fn a_large_text_is_searched() {
    for (condition, length) in [
        (r#"text.contains("b")"#, 2_000_000),
        (r#"text.lowerAscii() == """#, 2_000_000),
        (r#"words(text).size() == 2"#, 2_000_000),
        (r#"text.matches("(token|password)\\s*[:=]")"#, 100_000),
        (r#"glob(text, "**/*.rs")"#, 200_000),
    ] {
        let compiled = Condition::compile(condition).expect("a condition");
        assert_eq!(compiled.evaluate(&Long(length)), Truth::False, "{condition}");
    }
}
