//! Schemas of tools, and values that are checked against them.

use arbitrary::{Arbitrary, Result, Unstructured};
use hookhost::schema::Schema;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Maximum time for compiling or checking: the deadline of either, plus a margin for a slow machine.
const MAX_TIME: Duration = Duration::from_secs(20);

/// Reads `SCHEMA` and `VALUE` as JSON, one per line. If the bytes are not such text, generates both from the bytes.
pub fn schemas(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).ok().and_then(|text| text.split_once('\n'));
    let read = text.and_then(|(schema, value)| {
        Some((serde_json::from_str(schema).ok()?, serde_json::from_str::<Value>(value).ok()?))
    });
    let made = || {
        let mut bytes = Unstructured::new(bytes);
        Some((made_schema(&mut bytes).ok()?, made_value(&mut bytes, 0).ok()?))
    };
    let Some((schema, value)) = read.or_else(made) else { return };
    let begun = Instant::now();
    match Schema::compile(&schema) {
        Ok(schema) => {
            let problems = schema.problems(&value);
            assert!(problems.iter().all(|problem| !problem.is_empty()), "{problems:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert!(begun.elapsed() < MAX_TIME, "it took {:?}: {schema} {value}", begun.elapsed());
}

/// Generates a schema with definitions that refer to each other.
fn made_schema(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let number = bytes.int_in_range(1..=24)?;
    let mut definitions = Map::new();
    for definition in 0..number {
        definitions.insert(format!("d{definition}"), part(bytes, number, 0)?);
    }
    let mut root = part(bytes, number, 0)?;
    if let Value::Object(root) = &mut root {
        root.insert("$defs".into(), Value::Object(definitions));
    }
    Ok(root)
}

fn part(bytes: &mut Unstructured<'_>, definitions: u32, depth: u32) -> Result<Value> {
    if depth > 4 {
        return Ok(json!({}));
    }
    let mut made = Map::new();
    for _ in 0..bytes.int_in_range(0..=3)? {
        let below = |bytes: &mut Unstructured<'_>| part(bytes, definitions, depth + 1);
        let (keyword, value) = match u8::arbitrary(bytes)? % 16 {
            0..=4 => (
                "$ref",
                match bytes.int_in_range(0..=definitions)? {
                    0 => json!("#"),
                    definition => json!(format!("#/$defs/d{}", definition - 1)),
                },
            ),
            5 => ("allOf", json!([below(bytes)?, below(bytes)?])),
            6 => ("anyOf", json!([below(bytes)?, below(bytes)?])),
            7 => ("oneOf", json!([below(bytes)?, below(bytes)?])),
            8 => ("not", below(bytes)?),
            9 => ("properties", json!({ "a": below(bytes)?, "b": below(bytes)? })),
            10 => ("additionalProperties", below(bytes)?),
            11 => ("items", below(bytes)?),
            12 => ("unevaluatedProperties", below(bytes)?),
            13 => ("if", below(bytes)?),
            14 => ("pattern", json!(*bytes.choose(&["^(a+)+$", "[ab]{1,99}", "(?=a)", "\\\\w+"])?)),
            _ => ("type", json!(*bytes.choose(&["object", "array", "string"])?)),
        };
        made.insert(keyword.into(), value);
    }
    Ok(Value::Object(made))
}

fn made_value(bytes: &mut Unstructured<'_>, depth: u32) -> Result<Value> {
    Ok(match u8::arbitrary(bytes)? % 6 {
        0 | 1 if depth < 100 => json!([made_value(bytes, depth + 1)?]),
        2 if depth < 100 => json!({ "a": made_value(bytes, depth + 1)?, "b": made_value(bytes, depth + 1)? }),
        3 => json!("a".repeat(bytes.int_in_range(0..=4096)?)),
        4 => json!(1),
        _ => json!({}),
    })
}
