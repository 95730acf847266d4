//! The rules that come with hookhost have cases, which `hookhost test` runs: those of each example plugin, the ready rules, and the profiles.
//! Wrong variants of them show that the cases notice each part of a configuration: `hookhost test` fails on every variant.

use hookhost_tests::{Ended, User, digest, plugin};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

const DIFFERS: i32 = 6;

/// The keys of a rule that can be left out, and the rule is then about more calls.
const CONDITIONS: [&str; 12] =
    ["program", "flags", "args", "path", "url", "host", "server", "tool", "text", "when", "unless", "after"];

/// A key whose only effect is a reminder, which no case sees.
const REMINDS: &str = "warn-at";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn table(file: &Path) -> Table {
    std::fs::read_to_string(file).unwrap().parse().unwrap()
}

fn list<'a>(table: &'a Table, key: &str) -> &'a [Value] {
    table.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn list_mut<'a>(table: &'a mut Table, key: &str) -> &'a mut Vec<Value> {
    table.get_mut(key).and_then(Value::as_array_mut).unwrap()
}

/// Tests a case file under a configuration.
fn tested(user: &User, config: &Table, cases: &Path) -> Ended {
    let file = user.write("variant.toml", config.to_string());
    user.run([Path::new("test"), cases, Path::new("--config"), &file, Path::new("--json")])
}

/// A configuration that differs from another one in one place.
struct Variant {
    change: String,
    config: Table,
}

/// Returns the variants of a configuration: without a plugin, without a rule's condition, with another answer, with another value.
fn variants(config: &Table) -> Vec<Variant> {
    let mut variants = Vec::new();
    let mut add = |change: String, edit: &dyn Fn(&mut Table)| {
        let mut config = config.clone();
        edit(&mut config);
        variants.push(Variant { change, config });
    };
    for key in config.get("settings").and_then(Value::as_table).into_iter().flat_map(Table::keys) {
        add(format!("without settings.{key}"), &|config| drop(config["settings"].as_table_mut().unwrap().remove(key)));
    }
    for (at, entry) in list(config, "plugin").iter().enumerate() {
        let name = entry["name"].as_str().unwrap();
        let set = |config: &mut Table, key: &str, value: Value| {
            list_mut(config, "plugin")[at].as_table_mut().unwrap().insert(key.to_owned(), value);
        };
        add(format!("{name} is off"), &|config| set(config, "enabled", false.into()));
        let Some(settings) = entry.get("config") else { continue };
        for (change, settings) in changed(settings) {
            add(format!("{name}: {change}"), &|config| set(config, "config", settings.clone()));
        }
    }
    for (at, row) in list(config, "rule").iter().enumerate() {
        let id = row["id"].as_str().unwrap();
        for key in conditions(row) {
            add(format!("{id} without {key}"), &|config| without(&mut list_mut(config, "rule")[at], &key));
        }
        add(format!("{id} with another answer"), &|config| with_other_answer(&mut list_mut(config, "rule")[at]));
    }
    variants
}

/// Returns the settings of a plugin with one change: a list lacks an element, a number is larger, another value is the default.
fn changed(settings: &Value) -> Vec<(String, Value)> {
    let table = settings.as_table().unwrap();
    let mut all = Vec::new();
    for (key, value) in table.iter().filter(|(key, _)| *key != REMINDS) {
        let mut add = |change: String, value: Option<Value>| {
            let mut table = table.clone();
            match value {
                Some(value) => drop(table.insert(key.clone(), value)),
                None => drop(table.remove(key)),
            }
            all.push((change, Value::Table(table)));
        };
        match value {
            Value::Array(elements) if elements.is_empty() => {}
            Value::Array(elements) if elements.len() > 1 => {
                for at in 0..elements.len() {
                    let mut fewer = elements.clone();
                    let gone = fewer.remove(at);
                    add(format!("{key} without {gone}"), Some(fewer.into()));
                }
            }
            Value::Table(_) => {
                changed(value).into_iter().for_each(|(change, value)| add(format!("{key}.{change}"), Some(value)));
            }
            Value::Integer(number) => add(format!("{key} is larger"), Some((number * 1000).into())),
            Value::Float(number) => add(format!("{key} is larger"), Some((number * 1000.0).into())),
            _ => add(format!("without {key}"), None),
        }
    }
    all
}

fn conditions(row: &Value) -> Vec<String> {
    // `redact` replaces what `text` names, so such a rule cannot be without it.
    let is_free = |key: &str| row.get(key).is_some() && !(key == "text" && row.get("redact").is_some());
    CONDITIONS.iter().filter(|key| is_free(key)).map(|key| (*key).to_owned()).collect()
}

fn without(row: &mut Value, key: &str) {
    row.as_table_mut().unwrap().remove(key);
}

/// Asks about what is rejected, only notes what is asked about, and so on.
fn with_other_answer(row: &mut Value) {
    let row = row.as_table_mut().unwrap();
    // Nobody is asked at the end of a task.
    let weaker = if row["on"].as_str() == Some("task-complete") { "note" } else { "ask" };
    let others = [
        ("reject", weaker),
        ("ask", "note"),
        ("note", "ask"),
        ("change", "ask"),
        ("label", "note"),
        ("redact", "note"),
    ];
    let (answer, other) = others.into_iter().find(|(answer, _)| row.contains_key(*answer)).unwrap();
    row.remove(answer);
    if other != "ask" {
        row.remove("instead");
    }
    row.insert(other.to_owned(), "another answer".into());
}

/// Fails unless the cases hold under the configuration and under none of its variants.
fn assert_noticed(user: &User, name: &str, config: &Table, cases: &Path) {
    tested(user, config, cases).expect(0, &[]);
    let mut unnoticed = Vec::new();
    let variants = variants(config);
    assert!(!variants.is_empty(), "{name} has no variant");
    for Variant { change, config } in &variants {
        let ended = tested(user, config, cases);
        if ended.code != Some(DIFFERS) {
            unnoticed.push(format!("{change}: {:?} {}", ended.code, ended.stderr));
        }
    }
    assert!(unnoticed.is_empty(), "{name}: the cases do not notice\n{}", unnoticed.join("\n"));
    // Captured output is shown only if a test fails.
    eprintln!("{name}: {} variants", variants.len());
}

/// The directories of the example plugins.
fn examples() -> Vec<PathBuf> {
    let below = |directory: &Path| {
        let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let directories = below(&root().join("example-plugins"));
    let directories = directories.iter().flat_map(|directory| [vec![directory.clone()], below(directory)].concat());
    directories.filter(|directory| directory.join("example.toml").exists()).collect()
}

#[test]
fn the_cases_of_each_example_plugin_notice_each_part_of_its_configuration() {
    let (user, examples) = (User::new(), examples());
    let bundled: Json = serde_json::from_str(&user.run(["add", "--json"]).expect(0, &[]).stdout).unwrap();
    assert_eq!(examples.len(), bundled["plugins"].as_array().unwrap().len(), "{examples:?}");
    for directory in examples {
        let mut config = table(&directory.join("example.toml"));
        if config.contains_key("plugin") {
            for entry in list_mut(&mut config, "plugin") {
                let entry = entry.as_table_mut().unwrap();
                let component = plugin(entry["path"].as_str().unwrap().strip_suffix(".wasm").unwrap());
                entry.insert("sha256".to_owned(), digest(&component).into());
                entry.insert("path".to_owned(), component.to_string_lossy().into_owned().into());
                // Tests run on busy machines.
                let limits = ["compute", "deadline"].map(|key| (key.to_owned(), "30s".into()));
                entry.insert("limits".to_owned(), Table::from_iter(limits).into());
            }
        }
        assert_noticed(&user, &directory.display().to_string(), &config, &directory);
    }
}

#[test]
fn the_cases_of_each_profile_notice_each_part_of_it() {
    for name in ["careful", "developer", "unattended"] {
        let user = User::new();
        user.run(["profile", "use", name, "--yes"]).expect(0, &[]);
        let cases = root().join(format!("host/cli/profiles/cases/{name}.toml"));
        user.run([Path::new("test"), &cases]).expect(0, &[]);
        assert_noticed(&user, name, &table(&user.path("config/profile.toml")), &cases);
    }
}

/// The ready rules that exclude each other: each project has one package manager.
const ALTERNATIVES: [&str; 3] = ["only-pnpm", "only-yarn", "only-bun"];

#[test]
fn the_cases_of_the_ready_rules_notice_each_condition_and_answer() {
    let user = User::new();
    let listed: Json =
        serde_json::from_str(&user.run(["rule", "list", "--ready", "--json"]).expect(0, &[]).stdout).unwrap();
    let names = listed["ready"].as_array().unwrap().iter().map(|rules| rules["name"].as_str().unwrap());
    let (alternatives, others): (Vec<&str>, Vec<&str>) = names.partition(|name| ALTERNATIVES.contains(name));
    assert_eq!(alternatives, ALTERNATIVES);
    let groups = [("ready", others)].into_iter().chain(alternatives.into_iter().map(|name| (name, vec![name])));
    for (file, names) in groups {
        let user = User::new();
        user.run([&["rule", "add", "--yes"], &*names].concat()).expect(0, &[]);
        let cases = root().join(format!("host/cli/rules/cases/{file}.toml"));
        user.run([Path::new("test"), &cases]).expect(0, &[]);
        let config = table(&user.config_file());
        let most = list(&config, "rule").iter().map(|row| conditions(row).len()).max().unwrap();
        (0..most).for_each(|number| assert_examples_notice(&user, &config, number, &cases));
        assert_cases_notice(&user, &config, &cases);
    }
}

fn ids(rows: impl Iterator<Item = Value>) -> BTreeSet<String> {
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

fn objects(ended: &Ended) -> Vec<Json> {
    ended.expect(DIFFERS, &[]).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Takes one condition out of each rule, and fails unless an example of each such rule notices it. One run shows this for all rules,
/// because a rule's examples are compared with this rule alone.
fn assert_examples_notice(user: &User, config: &Table, number: usize, cases: &Path) {
    let mut variant = config.clone();
    let mut wrong = BTreeSet::new();
    for row in list_mut(&mut variant, "rule") {
        if let Some(key) = conditions(row).get(number) {
            without(row, key);
            wrong.extend(ids([row.clone()].into_iter()));
        }
    }
    let is_failed = |object: &Json| object["type"] == "rule" && object["passed"] == false;
    let failed = objects(&tested(user, &variant, cases)).into_iter().filter(is_failed);
    let failed: BTreeSet<String> = failed.map(|object| object["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(failed, wrong, "the examples of these rules should notice that condition {number} is missing");
}

/// Gives each rule another answer, and fails unless an event of each such rule has another outcome.
fn assert_cases_notice(user: &User, config: &Table, cases: &Path) {
    let mut variant = config.clone();
    list_mut(&mut variant, "rule").iter_mut().for_each(with_other_answer);
    let results: Vec<Json> =
        objects(&tested(user, &variant, cases)).into_iter().filter(|object| object["type"] == "case").collect();
    let mut noticed = BTreeSet::new();
    for (case, result) in list(&table(cases), "case").iter().zip(&results) {
        let events = case.get("event").and_then(Value::as_array).cloned().unwrap_or_else(|| vec![case.clone()]);
        for (event, result) in events.iter().zip(result["events"].as_array().unwrap()) {
            if let (Some(code), Json::Bool(false)) = (event.get("code"), &result["passed"]) {
                noticed.insert(code.as_str().unwrap().to_owned());
            }
        }
    }
    let all = ids(list(config, "rule").iter().cloned());
    assert_eq!(noticed, all, "a case of each rule should notice that the answer is another one");
}
