//! Measures the time of one step of checking a value. The engine limits the number of steps in order to limit the time, so a step must not
//! take too long.

use bench::measure::{spoken, times_of};
use bench::table::{Row, Table};
use hookhost::schema::{MAX_WORK_AT_ONCE, Schema};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Budget of a check on the caller's thread.
const MAX_IMMEDIATE_TIME: Duration = Duration::from_millis(10);
/// Number of runs of each check.
const RUNS: usize = 7;

pub(crate) fn rows(table: &mut Table, each: bool) {
    // The value is so large that its check takes almost the maximum number of steps. Therefore the fixed cost of a check does not matter.
    let (named, immediate) = worst(MAX_WORK_AT_ONCE, each);
    let why = "A check on the thread that asks holds it for so long: 20 000 steps of the worst known schema.";
    row(table, "20 000 steps of a schema, on the thread that asks", &named, immediate, MAX_IMMEDIATE_TIME, why);
}

fn row(table: &mut Table, what: &str, worst: &str, took: (Duration, Duration), most: Duration, why: &str) {
    let row = Row { what, component: worst, log: "–", why };
    let (worst, everyday) = took;
    let reference = format!("{} as many steps of an everyday tool's schema", spoken(everyday));
    table.beside(&row, &spoken(worst), &reference, &format!("≤ {}", spoken(most)), worst <= most);
}

/// Returns the schema whose steps are slowest, the time of `steps` steps with this schema, and the time of the same number of steps with an
/// everyday schema.
fn worst(steps: u64, each: bool) -> (String, (Duration, Duration)) {
    let timed: Vec<_> = cases().iter().map(|case| (case.name.clone(), case.took(steps))).collect();
    if each {
        timed.iter().for_each(|(name, took)| println!("{steps} steps: {}, {name}", spoken(*took)));
    }
    let everyday = timed.iter().find(|(name, _)| name == "everyday").unwrap().1;
    let (name, most) = timed.into_iter().max_by_key(|(_, took)| *took).unwrap();
    (name, (most, everyday))
}

/// A schema, and a value of any size for it.
struct Case {
    name: String,
    schema: Schema,
    value: Box<dyn Fn(usize) -> Value>,
}

impl Case {
    fn new(name: &str, schema: &Value, value: impl Fn(usize) -> Value + 'static) -> Self {
        let schema = Schema::compile(schema).unwrap_or_else(|why| panic!("{name} {why}"));
        Self { name: name.to_owned(), schema, value: Box::new(value) }
    }

    /// Times the check of the largest value that takes at most `steps` steps, and scales the time up to `steps` steps.
    fn took(&self, steps: u64) -> Duration {
        let counted = |size: usize| self.schema.steps(&(self.value)(size)).unwrap_or(u64::MAX);
        let mut size = 1;
        while counted(size * 2) <= steps && size < 1 << 22 {
            size *= 2;
        }
        let mut step = size / 2;
        while step > 0 {
            if counted(size + step) <= steps {
                size += step;
            }
            step /= 2;
        }
        let (value, counted) = ((self.value)(size), counted(size));
        let took = times_of(RUNS, || {
            let began = Instant::now();
            let problems = std::hint::black_box(self.schema.problems(&value));
            let took = began.elapsed();
            assert!(
                !problems.iter().any(|problem| problem.contains("cannot be checked")),
                "{}: {problems:?}",
                self.name
            );
            took
        });
        // The times of schemas whose steps do not grow with the value are not scaled. Schemas whose steps double with each size reach at
        // least half of `steps`.
        if counted < steps / 4 { took.median } else { took.median.mul_f64(steps as f64 / counted as f64) }
    }
}

fn texts(number: usize) -> Value {
    (0..number).map(|number| json!(number.to_string())).collect()
}

fn cases() -> Vec<Case> {
    let to = |name: usize| json!({ "$ref": format!("#/$defs/e{name}") });
    let doubled = |depth: usize, last: Value| {
        let steps = (0..depth).map(|step| (format!("e{step}"), json!({ "allOf": [to(step + 1), to(step + 1)] })));
        let definitions: serde_json::Map<_, _> = steps.chain([(format!("e{depth}"), last)]).collect();
        json!({ "items": to(0), "$defs": definitions })
    };
    let chain = {
        let steps = (0..40).map(|step| (format!("e{step}"), json!({ "allOf": [to(step + 1)] })));
        let definitions: serde_json::Map<_, _> =
            steps.chain([("e40".to_owned(), json!({ "type": "string" }))]).collect();
        json!({ "items": to(0), "$defs": definitions })
    };
    let many = |keyword: &str, of: Value| json!({ "items": { keyword: vec![of; 100] } });
    let names = |number: usize| -> Value {
        Value::Object((0..number).map(|number| (format!("name-{number}"), json!(number))).collect())
    };
    let tool = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "minLength": 1 },
            "edits": { "type": "array", "items": { "type": "object", "properties": { "old": { "type": "string" } } } },
            "mode": { "anyOf": [{ "type": "null" }, { "enum": ["a", "b"] }] },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let patterns: serde_json::Map<_, _> = (0..50).map(|n| (format!("^n.*[a-z]{n}$"), json!(true))).collect();
    let mut cases = vec![
        Case::new(
            "everyday",
            &tool,
            |size| json!({ "path": "p", "edits": vec![json!({ "old": "a" }); size], "mode": "a" }),
        ),
        Case::new("references that double", &doubled(8, json!({ "type": "string" })), texts),
        Case::new("references that double to a failure", &doubled(8, json!({ "not": { "type": "string" } })), texts),
        Case::new("a chain of references", &chain, texts),
        Case::new("anyOf of 100 that fail", &many("anyOf", json!({ "type": "null" })), texts),
        Case::new("oneOf of 100 that hold", &many("oneOf", json!({ "type": "string" })), texts),
        Case::new(
            "an enum of 1000",
            &json!({ "items": { "enum": (0..1000).map(|n| json!([n])).collect::<Vec<_>>() } }),
            |size| Value::Array(vec![json!([1]); size]),
        ),
        Case::new("unique texts", &json!({ "uniqueItems": true }), texts),
        Case::new("unique lists", &json!({ "uniqueItems": true }), |size| {
            (0..size).map(|n| json!([[n], "x"])).collect()
        }),
        Case::new("a pattern over a long text", &json!({ "pattern": "^(a+)+$" }), |size| json!("a".repeat(size) + "b")),
        Case::new("a pattern of classes over a long text", &json!({ "pattern": "([a-z][0-9]?){1,60}x$" }), |size| {
            json!("a".repeat(size))
        }),
        Case::new("patterns of names", &json!({ "patternProperties": patterns, "additionalProperties": false }), names),
        Case::new("a format", &json!({ "items": { "format": "idn-email" } }), |size| {
            Value::Array(vec![json!("a@b.example"); size])
        }),
        Case::new("a format over a long text", &json!({ "format": "iri" }), |size| {
            json!(format!("http://a/{}", "%41".repeat(size)))
        }),
        Case::new("a length of a long text", &json!({ "maxLength": 5 }), |size| json!("é".repeat(size))),
        Case::new(
            "unevaluated",
            &json!({ "allOf": [{ "properties": { "a": true } }], "unevaluatedProperties": false }),
            names,
        ),
        Case::new(
            "unevaluated within each other",
            &json!({ "items": { "anyOf": [{ "unevaluatedProperties": { "unevaluatedProperties": false } }, true] } }),
            |size| Value::Array(vec![json!({ "a": { "b": 1 } }); size]),
        ),
        Case::new("names", &json!({ "propertyNames": { "maxLength": 3 } }), names),
        Case::new("contains", &json!({ "items": { "contains": { "const": 1 } } }), |size| {
            Value::Array(vec![json!(vec![0; 10]); size])
        }),
        Case::new("multiples", &json!({ "items": { "multipleOf": 0.01 } }), |size| {
            Value::Array(vec![json!(0.07); size])
        }),
    ];
    cases.extend(corpus());
    cases
}

/// Returns the valid schemas of the fuzz target's corpus, each with a list of its values.
fn corpus() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/schemas");
    let mut cases = Vec::new();
    for file in std::fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        let Some((schema, value)) = text.split_once('\n') else { continue };
        let (Ok(mut schema), Ok(value)) = (serde_json::from_str::<Value>(schema), serde_json::from_str::<Value>(value))
        else {
            continue;
        };
        // References are paths from the root of the schema, so the definitions stay at the root and the rest of the schema is moved.
        let definitions = schema.as_object_mut().and_then(|schema| schema.remove("$defs")).unwrap_or(json!({}));
        if schema.to_string().contains(r##""#""##)
            || Schema::compile(&json!({ "items": schema, "$defs": definitions })).is_err()
        {
            continue;
        }
        let name = format!("the corpus's {}", path.file_name().unwrap().to_string_lossy());
        let schema = json!({ "items": schema, "$defs": definitions });
        cases.push(Case::new(&name, &schema, move |size| Value::Array(vec![value.clone(); size])));
    }
    cases
}
