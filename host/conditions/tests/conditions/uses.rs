//! What a condition needs of the host.

use super::compiled;
use hookhost_conditions::vocabulary::{Capability, FUNCTIONS, NAMES};
use hookhost_conditions::{Condition, Use};

#[test]
fn a_condition_names_what_it_needs_once() {
    let condition = compiled(
        r#"env.CI == "1" && git.branch == env.CI && git.branch != "x" && count("push", "1m") > 1 && count("push", "1h") > 2
           && has("read:secret") && has(arguments.git) && written_by_agent(path)"#,
    );
    let uses: Vec<_> = condition
        .names()
        .map(|used| match used {
            Use::Function(function, word) => (function.name, word.as_deref(), used.needs()),
            other => (other.name(), None, other.needs()),
        })
        .collect();
    let expected = [
        ("env.CI", None, Capability::Facts),
        ("git.branch", None, Capability::Facts),
        ("arguments", None, Capability::None),
        ("path", None, Capability::None),
        ("count", Some("push"), Capability::State),
        ("has", Some("read:secret"), Capability::Labels),
        ("written_by_agent", None, Capability::State),
    ];
    assert_eq!(uses, expected);
}

#[test]
fn a_name_in_a_string_or_of_a_macro_is_no_fact() {
    let condition = compiled(r#"["git.branch"].exists(user, user == "env.CI")"#);
    assert_eq!(condition.names().count(), 0);
}

#[test]
fn every_name_of_the_vocabulary_is_known_once() {
    for name in &NAMES {
        let condition = compiled(&format!("{} != null", name.name));
        assert_eq!(condition.names().collect::<Vec<_>>(), [&Use::Name(name)]);
        assert_eq!(NAMES.iter().filter(|other| other.name == name.name).count(), 1, "{}", name.name);
        assert!(!name.doc.is_empty() && !name.doc.ends_with('.'), "{}", name.name);
    }
}

#[test]
fn the_calls_in_the_documentation_of_functions_are_correct() {
    for function in &FUNCTIONS {
        let condition = compiled(&format!("{} != null", function.call));
        assert!(condition.names().any(|used| used.name() == function.name), "{}", function.call);
    }
}

#[test]
fn a_condition_can_be_kept_between_threads() {
    fn assert_kept<T: Send + Sync + 'static>() {}
    assert_kept::<Condition>();
}
