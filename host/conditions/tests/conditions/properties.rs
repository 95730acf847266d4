//! What holds for all inputs.

use super::Event;
use hookhost_conditions::glob::{Comparison, Glob};
use hookhost_conditions::url::Address;
use hookhost_conditions::{Condition, Fact, Facts, Truth, Value};
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
    fn no_address_makes_the_search_for_its_host_panic(text in "(https?:)?[/\\\\]{0,3}[a-z0-9.:@%\\[\\]x/?# é;{}\u{1a}]{0,20}") {
        for address in [Address::of_url(&text), Address::of_place(&text)] {
            for host in address.hosts {
                prop_assert!(!host.is_empty() && !host.contains(['/', '\\', '@', '?', '#', ' ', '{', '\u{1a}']), "{text}: {host}");
            }
        }
    }

    /// The crate compares all ways to match, so its time grows exponentially.
    #[test]
    fn a_glob_fits_as_in_the_crate_glob(
        subject in "[abB./é]{0,8}",
        pattern in prop::collection::vec(
            prop::sample::select(&["a", "b", "é", "*", "?", "/", "/**/", "**", "[ab]", "[!a]", "[]a]", "[a-b]", "[", "."][..]),
            1..7,
        ),
    ) {
        let pattern = pattern.concat();
        let (ours, theirs) = (Glob::new(&pattern), glob::Pattern::new(&pattern));
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}: {:?}", pattern, ours);
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            for (comparison, case_sensitive, require_literal_separator) in
                [(Comparison::Path, true, true), (Comparison::Word, true, false), (Comparison::Name, false, false)]
            {
                let options =
                    glob::MatchOptions { case_sensitive, require_literal_separator, require_literal_leading_dot: false };
                let expected = theirs.matches_with(&subject, options);
                prop_assert_eq!(ours.matches(&subject, comparison), expected, "{} {} {:?}", subject, pattern, comparison);
            }
            let below = glob::Pattern::new(&format!("{}/**", pattern.trim_end_matches('/')));
            let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
            let covers = theirs.matches_with(&subject, options)
                || below.is_ok_and(|below| below.matches_with(&subject, options));
            if !pattern.ends_with('/') {
                prop_assert_eq!(ours.covers(&subject), covers, "{} {}", subject, pattern);
            }
            let dots = glob::MatchOptions { require_literal_leading_dot: true, ..options };
            let visible = ours.matches(&subject, Comparison::VisiblePath);
            prop_assert!(visible || !theirs.matches_with(&subject, dots), "{} {}", subject, pattern);
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
