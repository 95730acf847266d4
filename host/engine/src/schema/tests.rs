use super::*;
use serde_json::json;
use std::fmt::Write as _;
use std::time::Instant;

fn refused(schema: &Value) -> String {
    Schema::compile(schema).expect_err("it is refused").to_string()
}

/// `{"$ref": "#/$defs/NAME"}`.
fn to(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// Returns a schema with these definitions that refers to the definition `first`.
fn with(definitions: impl IntoIterator<Item = (String, Value)>, first: &str) -> Value {
    json!({ "type": "object", "allOf": [to(first)], "$defs": definitions.into_iter().collect::<serde_json::Map<_, _>>() })
}

#[test]
fn references_that_double_at_each_step_are_refused() {
    let doubled = |n: usize| {
        let steps = (0..n).map(|step| {
            let next = to(&format!("e{}", step + 1));
            (format!("e{step}"), json!({ "allOf": [next, next] }))
        });
        with(steps.chain([(format!("e{n}"), json!({ "type": "object" }))]), "e0")
    };
    assert_eq!(Schema::compile(&doubled(9)).unwrap().problems(&json!({})), Vec::<String>::new());
    assert_eq!(refused(&doubled(40)), "has more than 10000 paths through its references, and 10000 is the most");
}

#[test]
fn the_same_is_refused_where_each_step_is_one_into_the_value() {
    let steps = (0..40).map(|step| {
        let next = to(&format!("e{}", step + 1));
        (format!("e{step}"), json!({ "properties": { "a": next, "b": next } }))
    });
    assert!(refused(&with(steps.chain([("e40".into(), json!(true))]), "e0")).contains("10000 is the most"));
}

#[test]
fn a_chain_of_references_has_an_end() {
    let chain = |n: usize| {
        let steps = (0..n).map(|step| (format!("d{step}"), to(&format!("d{}", step + 1))));
        with(steps.chain([(format!("d{n}"), json!({ "type": "object" }))]), "d0")
    };
    assert!(Schema::compile(&chain(90)).unwrap().problems(&json!({})).is_empty());
    assert!(refused(&chain(120)).contains("subschemas in one chain, and 100 is the most"));
    assert_eq!(refused(&chain(20_000)), "is larger than 32768 bytes");
    let mut nested = json!({});
    for _ in 0..90 {
        nested = json!({ "not": nested });
    }
    assert_eq!(refused(&nested), "has more than 64 levels, and 64 is the most");
}

#[test]
fn a_recursion_that_takes_no_step_into_the_value_is_refused_and_one_that_does_is_checked() {
    assert_eq!(
        refused(&json!({ "anyOf": [{ "type": "string" }, { "not": { "$ref": "#" } }] })),
        "refers from `#` to itself without a step into the value, so that checking it would not end"
    );
    let tree = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" },
        "below": { "type": "array", "items": { "$ref": "#" } } } });
    let tree = Schema::compile(&tree).unwrap();
    assert!(tree.problems(&json!({ "n": 1, "below": [{ "n": 2, "below": [{ "n": 3 }] }] })).is_empty());
    let problems = tree.problems(&json!({ "n": 1, "below": [{ "n": 2, "below": [{ "n": "x" }] }] }));
    assert_eq!(problems, [r#"at /below/0/below/0/n: "x" is not of type "integer""#]);
}

#[test]
fn a_recursion_that_doubles_at_each_level_of_the_value_is_counted_before_it_is_followed() {
    let schema = Schema::compile(&json!({ "items": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } })).unwrap();
    let nested = |levels: usize| (0..levels).fold(json!([]), |value, _| json!([value]));
    assert!(schema.problems(&nested(6)).is_empty());
    let begun = Instant::now();
    assert_eq!(schema.problems(&nested(100)), ["cannot be checked: it would take more than 2000000 steps"]);
    assert!(begun.elapsed() < DEADLINE, "it was followed");
    assert!(schema.masked_problem(&nested(100)).is_some());
}

#[test]
fn a_reference_that_may_mean_another_place_than_it_says_is_refused() {
    for (schema, said) in [
        (json!({ "$ref": "https://example.com/a.json" }), "a reference to `https://example.com/a.json`"),
        (json!({ "$ref": "#name", "$defs": { "a": { "$anchor": "name" } } }), "a reference to `#name`"),
        (json!({ "items": { "$dynamicRef": "#a" } }), "`$dynamicRef`"),
        (json!({ "items": { "$recursiveRef": "#" } }), "`$recursiveRef`"),
        (json!({ "$defs": { "a": { "$id": "https://example.com/" } } }), "`$id` within it"),
        (json!({ "$ref": "#/$defs/none" }), "it has nothing at `#/$defs/none`"),
    ] {
        let why = refused(&schema);
        assert!(why.contains(said), "{why}");
    }
    let decoded = json!({ "$ref": "#/$defs/a%3Cb%3E", "$defs": { "a<b>": { "type": "object" } } });
    assert_eq!(Schema::compile(&decoded).unwrap().problems(&json!(1)).len(), 1);
}

#[test]
fn patterns_are_matched_in_linear_time_and_bounded() {
    assert!(refused(&json!({ "pattern": "(?=a)b" })).starts_with("is not a JSON Schema"));
    assert!(refused(&json!({ "pattern": "((a{1,200}){1,200}){1,200}" })).starts_with("is not a JSON Schema"));
    let many: serde_json::Map<_, _> = (0..101).map(|n| (format!("p{n}"), json!({ "pattern": "a" }))).collect();
    assert_eq!(refused(&json!({ "properties": many })), "has 101 patterns, and 100 is the most");
    let backtracks = Schema::compile(&json!({ "pattern": "^(a+)+$" })).unwrap();
    assert_eq!(backtracks.problems(&json!("a".repeat(40_000) + "b")).len(), 1);
}

#[test]
fn too_many_subschemas_are_refused() {
    let mut many = String::from("{\"allOf\":[");
    for _ in 0..2_500 {
        let _ = write!(many, "{{}},");
    }
    let many = serde_json::from_str(&(many + "{}]}")).unwrap();
    assert_eq!(refused(&many), "has 2502 objects, and 2000 is the most");
}

#[test]
fn what_fits_the_bounds_needs_no_more_stack_than_there_is() {
    // The schema has a chain of almost the maximum length, and applies the chain at each level of a value. The value
    // has almost the maximum depth.
    let steps = (0..90).map(|step| (format!("d{step}"), json!({ "allOf": [to(&format!("d{}", step + 1))] })));
    let schema = json!({ "allOf": [to("d60")], "$defs": steps
        .chain([("d90".into(), json!({ "items": { "$ref": "#" } }))]).collect::<serde_json::Map<_, _>>() });
    let schema = Schema::compile(&schema).unwrap();
    let deep = (0..120).fold(json!([]), |value, _| json!([value]));
    assert_eq!(schema.problems(&deep), Vec::<String>::new());
    let deeper = (0..200).fold(json!([]), |value, _| json!([value]));
    assert_eq!(schema.problems(&deeper), ["cannot be checked: the value has more than 128 levels"]);
}

#[test]
fn a_schema_whose_check_was_given_up_checks_nothing_more() {
    let schema = Schema::compile(&json!({ "type": "object" })).unwrap();
    assert!(schema.problems(&json!({})).is_empty());
    schema.inner.given_up.store(true, Ordering::Relaxed);
    assert_eq!(schema.problems(&json!({})), ["cannot be checked: an earlier check took too long"]);
}

#[test]
fn the_schemas_of_everyday_tools_are_taken() {
    let everyday = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "path": { "type": "string", "minLength": 1, "description": "a path", "examples": [{ "id": "x" }] },
            "edits": { "type": "array", "items": { "type": "object", "properties": { "old": { "type": "string" } } } },
            "mode": { "anyOf": [{ "type": "null" }, { "enum": ["a", "b"] }] },
            "date": { "type": "string", "format": "date-time", "pattern": "^\\d{4}-" },
            "id": { "$ref": "#/properties/path" },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let schema = Schema::compile(&everyday).unwrap();
    let value = json!({ "path": "x".repeat(1 << 20), "edits": [{ "old": "a" }], "mode": null });
    assert_eq!(schema.problems(&value), Vec::<String>::new());
    assert!(schema.inner.shape.work(&value).unwrap().steps < 100_000);
    let small = json!({ "path": "a", "edits": [{ "old": "a" }], "mode": "a" });
    assert!(schema.inner.shape.work(&small).unwrap().steps < MAX_WORK_AT_ONCE / 10);
}

#[test]
fn a_schema_whose_compiled_form_would_own_itself_and_never_be_freed_is_refused() {
    for schema in [
        json!({ "additionalProperties": { "$ref": "#", "unevaluatedProperties": false } }),
        json!({ "unevaluatedProperties": { "allOf": [{ "$ref": "#" }], "unevaluatedProperties": false } }),
        json!({ "unevaluatedItems": { "$ref": "#", "unevaluatedItems": false } }),
        with(
            [(
                "a".into(),
                json!({ "anyOf": [{ "properties": { "b": { "$ref": "#/$defs/a", "unevaluatedProperties": false } } }] }),
            )],
            "a",
        ),
    ] {
        assert!(refused(&schema).contains("in a schema that it refers back to"), "{schema}");
    }
}

#[test]
fn a_tree_that_extends_its_base_may_ask_what_was_not_evaluated() {
    for schema in [
        json!({ "properties": { "children": { "items": { "$ref": "#" } } }, "unevaluatedProperties": false }),
        json!({
            "$ref": "#/$defs/base",
            "unevaluatedProperties": false,
            "$defs": { "base": { "properties": { "children": { "items": { "$ref": "#" } } } } }
        }),
    ] {
        let schema = Schema::compile(&schema).unwrap();
        assert!(schema.problems(&json!({ "children": [{ "children": [] }] })).is_empty());
        assert!(!schema.problems(&json!({ "children": [{ "other": 1 }] })).is_empty());
    }
}
