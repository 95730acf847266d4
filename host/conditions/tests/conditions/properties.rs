//! What holds for all inputs.

use super::Event;
use hookhost_conditions::{Condition, Fact, Facts, Truth, Value, url};
use proptest::prelude::*;

/// Texts that are often almost expressions.
fn almost_expressions() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        "git.branch",
        "args",
        "arguments",
        ".tags",
        ".a",
        "[0]",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "==",
        "!=",
        "<",
        " in ",
        "&&",
        "||",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "?",
        ":",
        ",",
        "\"a\"",
        "'b'",
        "r'\\'",
        "\"\\",
        "1",
        "1.5",
        "0x",
        "9223372036854775807",
        "null",
        "true",
        "kube.context",
        "env.CI",
        "has(\"x\")",
        ".exists(x,",
        ".map(x,",
        "x",
        ".matches(\"a*\")",
        "glob(path,\"**/*\")",
        ".size()",
        "words(",
        "host(",
        "// ",
        "\n",
        "é",
        ".",
        "=",
        "count(\"x\",\"1m\")",
    ];
    prop::collection::vec(prop::sample::select(PARTS), 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_compiler_panic(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn no_expression_makes_the_evaluation_panic(text in almost_expressions()) {
        check(&text);
    }

    #[test]
    fn no_address_makes_the_search_for_its_host_panic(text in "(https?:)?[/\\\\]{0,3}[a-z0-9.:@%\\[\\]x/?# é]{0,20}") {
        if let Some(host) = url::host(&text) {
            prop_assert!(!host.is_empty() && !host.contains(['/', '\\', '@', '?', '#', ' ']), "{text}: {host}");
        }
    }

    /// A path is compared component by component; the crate compares it as a whole.
    #[test]
    fn a_glob_fits_as_in_the_crate_glob(
        path in "[ab./]{0,8}",
        pattern in prop::collection::vec(prop::sample::select(&["a", "b", "*", "?", "/", "/**/", "[ab]", "."][..]), 1..7),
    ) {
        let pattern = pattern.concat();
        let condition = Condition::compile(&format!("glob({path:?}, {pattern:?})"));
        let options = glob::MatchOptions {
            case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false,
        };
        match glob::Pattern::new(&pattern) {
            Ok(expected) => {
                let fits = condition.expect("a condition").evaluate(&Event::new()) == Truth::True;
                prop_assert_eq!(fits, expected.matches_with(&path, options), "{} {}", path, pattern);
            }
            Err(_) => prop_assert!(condition.is_err(), "{}", pattern),
        }
    }
}

/// Facts of which none can be read.
struct Unreadable;

impl Facts for Unreadable {
    fn value(&self, _: &str) -> Fact<'_> {
        Fact::Unreadable
    }

    fn call(&self, _: &str, _: &[Value<'_>]) -> Fact<'_> {
        Fact::Unreadable
    }
}

/// Compiles and evaluates a text. Mistakes are in it, on whole characters. A result that is known without facts is the same with them.
fn check(text: &str) {
    match Condition::compile(text) {
        Ok(condition) => match condition.evaluate(&Unreadable) {
            Truth::Unreadable => _ = condition.evaluate(&Event::new()),
            known => assert_eq!(condition.evaluate(&Event::new()), known, "{text:?}"),
        },
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "{text:?}");
            for mistake in mistakes {
                assert!(text.get(mistake.range.clone()).is_some(), "{text:?}: {mistake:?}");
            }
        }
    }
}
