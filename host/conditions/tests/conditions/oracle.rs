//! The crate `cel` evaluates random expressions to the same result, where both have the same semantics: all values are present, and
//! nothing overflows or is divided by zero.

use super::{Event, compiled};
use cel::{Context, Program, Value as CelValue};
use hookhost_conditions::Truth;
use proptest::prelude::*;

fn numbers() -> BoxedStrategy<String> {
    let leaf = prop_oneof![(-9_i64..10).prop_map(|number| format!("({number})")), Just("session.depth".to_owned())];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let operation = (inner.clone(), prop::sample::select(&["+", "-", "*"][..]), inner.clone());
        prop_oneof![
            operation.prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
            (inner.clone(), prop::sample::select(&["/ 3", "% 4"][..]))
                .prop_map(|(left, rest)| format!("({left}) {rest}")),
            texts().prop_map(|text| format!("size({text})")),
            inner.prop_map(|number| format!("-({number})")),
        ]
    })
    .boxed()
}

fn texts() -> BoxedStrategy<String> {
    let leaf = prop_oneof!["\"([abé]|\\\\\\\\){0,3}\"", "'[ab]{0,3}'", Just("git.branch".to_owned())];
    leaf.prop_recursive(2, 4, 2, |inner| (inner.clone(), inner).prop_map(|(left, right)| format!("({left} + {right})")))
        .boxed()
}

fn conditions() -> BoxedStrategy<String> {
    let compare = prop::sample::select(&["==", "!=", "<", "<=", ">", ">="][..]);
    let search = prop::sample::select(&["startsWith", "endsWith", "contains"][..]);
    let each = prop::sample::select(&["exists", "all", "exists_one"][..]);
    let leaf = prop_oneof![
        any::<bool>().prop_map(|value| value.to_string()),
        (numbers(), compare.clone(), numbers())
            .prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
        (texts(), compare, texts()).prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
        (texts(), search, texts()).prop_map(|(text, search, part)| format!("{text}.{search}({part})")),
        (texts(), prop::collection::vec(texts(), 0..4))
            .prop_map(|(text, list)| format!("{text} in [{}]", list.join(", "))),
        (prop::collection::vec(texts(), 0..4), each, texts())
            .prop_map(|(list, each, text)| format!("[{}].{each}(x, x.contains({text}))", list.join(", "))),
        (prop::collection::vec(numbers(), 0..4), numbers()).prop_map(|(list, number)| format!(
            "[{}].map(x, x * 2).filter(x, x > {number}).size() > 1",
            list.join(", ")
        )),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), prop::sample::select(&["&&", "||", "=="][..]), inner.clone())
                .prop_map(|(left, operator, right)| format!("({left}) {operator} ({right})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("{a} && {b} || {c}")),
            inner.clone().prop_map(|inner| format!("!({inner})")),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
        ]
    })
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn an_expression_means_what_it_means_in_cel(text in conditions()) {
        prop_assume!(text.len() <= hookhost_conditions::MAX_EXPRESSION);
        let mut context = Context::default();
        let branch = std::collections::HashMap::from([("branch", "main")]);
        let depth = std::collections::HashMap::from([("depth", 2_i64)]);
        context.add_variable_from_value("git", branch);
        context.add_variable_from_value("session", depth);
        let program = Program::compile(&text).expect("an expression of cel");
        let expected = match program.execute(&context) {
            Ok(CelValue::Bool(true)) => Truth::True,
            Ok(CelValue::Bool(false)) => Truth::False,
            other => panic!("{text}: {other:?}"),
        };
        prop_assert_eq!(compiled(&text).evaluate(&Event::new()), expected, "{}", text);
    }
}
