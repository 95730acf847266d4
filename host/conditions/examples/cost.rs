//! Prints what typical conditions cost: `cargo run --release -p hookhost-conditions --example cost`.

use hookhost_conditions::{Condition, Fact, Facts, Value};
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;

const CONDITIONS: [&str; 9] = [
    r#"git.branch in ["main", "release"]"#,
    r#"git.branch.startsWith("wip/")"#,
    r#"git.branch == "main" && !has("tests") && time.hour >= 9 && time.hour < 18"#,
    r#"arguments.environment == "prod" || path.startsWith("/etc")"#,
    r#"glob(path, "src/**/generated/*.rs") && !written_by_agent(path)"#,
    r#"any(args, "release/*")"#,
    r#"words(command).exists(word, word.startsWith("--f"))"#,
    r#"host(url).endsWith(".example.com")"#,
    r#"command.matches("git\\s+push.*--force")"#,
];

const ROUNDS: u32 = 20_000;

struct Push {
    arguments: serde_json::Value,
}

impl Facts for Push {
    fn value(&self, name: &str) -> Fact<'_> {
        Fact::Is(match name {
            "git.branch" => Value::from("main"),
            "command" => Value::from("git push --verbose --force origin main"),
            "path" => Value::from("src/api/generated/schema.rs"),
            "url" => Value::from("https://user@api.example.com:8443/v1"),
            "args" => Value::strings(&["push", "--force", "origin", "release/1.2"]),
            "arguments" => Value::from(&self.arguments),
            "time.hour" => Value::from(12_i64),
            _ => return Fact::Absent,
        })
    }

    fn call(&self, _: &str, _: &[Value<'_>]) -> Fact<'_> {
        Fact::Is(Value::from(false))
    }
}

fn main() {
    let facts = Push { arguments: json!({ "environment": "staging", "replicas": 3 }) };
    println!("{:>9} {:>9}  condition", "load", "evaluate");
    for text in CONDITIONS {
        let condition = Condition::compile(text).expect("a condition");
        let load = microseconds(ROUNDS / 10, || drop(black_box(Condition::compile(black_box(text)))));
        let evaluate = microseconds(ROUNDS, || _ = black_box(condition.evaluate(black_box(&facts))));
        println!("{load:>6.2} µs {evaluate:>6.2} µs  {text}");
    }
}

/// Returns the average time of one round.
fn microseconds(rounds: u32, mut round: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..rounds).for_each(|_| round());
    start.elapsed().as_secs_f64() * 1e6 / f64::from(rounds)
}
