//! `docs/hostile.md` is followed literally: every row of its table of schemas.

use super::table::{bare, rows_under};
use crate::failure_table::says;
use hookhost::schema::{
    MAX_BYTES, MAX_CHAIN, MAX_NESTING, MAX_PATHS, MAX_PATTERN, MAX_PATTERNS, MAX_SCHEMA_NESTING, MAX_SUBSCHEMAS,
    MAX_WORK, Schema,
};
use serde_json::{Map, Value, json};

fn to(definition: usize) -> Value {
    json!({ "$ref": format!("#/$defs/e{definition}") })
}

/// A schema of so many definitions, each made of what leads to the next one.
fn steps(number: usize, step: impl Fn(Value) -> Value) -> Value {
    let steps = (0..number).map(|at| (format!("e{at}"), step(to(at + 1))));
    let definitions: Map<_, _> = steps.chain([(format!("e{number}"), json!(true))]).collect();
    json!({ "allOf": [to(0)], "$defs": definitions })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!([]), |value, _| json!([value]))
}

/// The schema, a value that it is asked about, and the bound as the page says it.
fn case(name: &str) -> (Value, Value, String) {
    let most = |number: u64, what: &str| format!("{} {what}", grouped(number));
    let kib = |bytes: usize| format!("{} KiB", bytes >> 10);
    let paths = most(MAX_PATHS, "paths");
    match name {
        "references-that-double" => (steps(40, |next| json!({ "allOf": [next, next] })), json!(1), paths),
        "references-that-double-by-level" => {
            (steps(40, |next| json!({ "properties": { "a": next, "b": next } })), json!(1), paths)
        }
        "recursion-without-a-step" => (json!({ "not": { "$ref": "#" } }), json!(1), String::new()),
        "long-chain" => (steps(120, |next| next), json!(1), most(MAX_CHAIN as u64, "subschemas")),
        "deep-schema" => {
            let deep = (0..90).fold(json!({}), |schema, _| json!({ "not": schema }));
            (deep, json!(1), most(MAX_SCHEMA_NESTING as u64, "levels"))
        }
        "many-subschemas" => {
            (json!({ "allOf": vec![json!({}); 2_500] }), json!(1), most(MAX_SUBSCHEMAS as u64, "subschemas"))
        }
        "large-schema" => (json!({ "description": "x".repeat(40_000) }), json!(1), kib(MAX_BYTES)),
        "many-patterns" => {
            let patterns: Map<_, _> = (0..101).map(|n| (format!("p{n}"), json!({ "pattern": "a" }))).collect();
            (json!({ "properties": patterns }), json!(1), most(MAX_PATTERNS as u64, "patterns"))
        }
        "large-pattern" => (json!({ "pattern": "((a{1,200}){1,200}){1,200}" }), json!(1), kib(MAX_PATTERN)),
        "value-that-doubles" => {
            let twice = json!({ "items": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } });
            (twice, nested(100), most(MAX_WORK, "steps"))
        }
        "deep-value" => (json!({ "items": { "$ref": "#" } }), nested(200), most(MAX_NESTING as u64, "levels")),
        other => panic!("there is no schema `{other}`"),
    }
}

/// In groups of three digits, as the page has numbers.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 && number < 1_000 {
        return digits;
    }
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(|group| String::from_utf8_lossy(group).into_owned()).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_row_of_schemas_is_what_is_reported_about_one() {
    let rows = rows_under("schema", ["what it does", "at most", "what is said"]);
    assert!(rows.len() >= 11, "{rows:?}");
    for row in rows {
        let [name, _, most, sentence] = &row[..] else { panic!("{row:?}") };
        let (schema, value, bound) = case(&bare(name));
        assert_eq!(most.replace('\u{a0}', " "), bound, "{name}");
        let said = match Schema::compile(&schema) {
            Err(why) => why.to_string(),
            Ok(schema) => schema.problems(&value).join(", "),
        };
        assert!(says(&bare(sentence), &said), "{name}: {said}");
    }
}
