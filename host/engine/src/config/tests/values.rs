//! The meaning of the values in a file, and the defaults of absent keys.

use std::{path::Path, time::Duration};

use serde_json::json;

use super::{SHA256, entry, parse};
use crate::{
    config::{ActionKind, Entry, Grants, KeyPattern, Layer, Limits, Mode, ModelGrant, OnFailure, Origin, ToolPattern},
    contract::{EventKind, Stop},
};

fn only(text: &str) -> Entry {
    parse(text).unwrap().entries()[0].clone()
}

#[test]
fn an_entry_of_the_required_keys_has_the_documented_defaults_and_no_grant() {
    let found = only(&format!("# first\n{}", entry("a")));
    let origin = Origin { file: "/etc/hookhost.toml".into(), line: 2, layer: Layer::Chosen };
    let expected = Entry { origin: Some(origin), ..Entry::new("a", "/etc/a.wasm", SHA256.parse().unwrap()) };
    assert_eq!(found, expected);
    assert_eq!(
        (found.priority, found.enabled, found.mode, found.on_failure, found.stop),
        (100, true, Mode::Enforce, None, Stop::Run)
    );
    assert_eq!(found.grants, Grants::default());
    assert_eq!(times(&found), (Duration::from_millis(100), Duration::from_millis(100)));
    let limits = &found.limits;
    assert_eq!((limits.fuel.get(), limits.capability_calls.get()), (100_000_000, 10_000));
    let sizes = [limits.memory, limits.input, limits.output, limits.log].map(std::num::NonZeroUsize::get);
    assert_eq!(sizes, [16 << 20, 1 << 20, 2 << 20, 64 << 10]);
}

#[test]
fn every_key_of_the_design_is_understood() {
    let found = only(
        r#"
        [[plugin]]
        name = "shell-guard"
        path = "plugins/shell_guard.wasm"
        sha256 = "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08"
        priority = -10
        enabled = false
        events = ["before-tool-call"]
        actions = ["shell", "write-files"]
        tools = ["bash", "mcp__*"]
        mode = "observe"
        on-failure = "skip"
        stop = "session"
        [plugin.limits]
        fuel = 200_000_000
        compute = "50ms"
        deadline = "1m"
        memory = "16MiB"
        table-elements = 1_000_000
        tables = 100
        instances = 200
        handles = 100_000
        input = 1024
        output = "2MiB"
        log = "1KiB"
        capability-calls = 7
        [plugin.grants]
        state = { quota = "2MiB" }
        read-dirs = { "/policy" = "./policy", "/home" = "~/x" }
        write-dirs = { "/out" = "/var/out" }
        env = ["CI"]
        http = ["api.example.com", "localhost:8080"]
        model = { name = "small", max-calls = 3 }
        transcript = true
        approve = true
        audit = true
        clock = true
        random = true
        [plugin.config]
        protected = ["infra/**"]
        deep = { on = 2026-01-02, n = 1.5, b = true }
        "#,
    );
    assert_eq!(found.code.digest().unwrap().to_string(), SHA256);
    assert_eq!(found.code.path().unwrap(), Path::new("/etc/plugins/shell_guard.wasm"));
    assert_eq!((found.priority, found.enabled, found.mode), (-10, false, Mode::Observe));
    assert_eq!((found.on_failure, found.stop), (Some(OnFailure::Skip), Stop::Session));
    assert_eq!(found.events, Some([EventKind::BeforeToolCall].into()));
    assert_eq!(found.actions, Some([ActionKind::Shell, ActionKind::WriteFiles].into()));
    assert_eq!(found.limits.deadline, Some(Duration::from_secs(60)));
    assert_eq!((found.limits.input.get(), found.limits.capability_calls.get()), (1024, 7));
    assert_eq!((found.limits.table_elements.get(), found.limits.tables.get()), (1_000_000, 100));
    assert_eq!((found.limits.instances.get(), found.limits.handles.get()), (200, 100_000));
    assert_eq!(found.grants.state.unwrap().quota.get(), 2 << 20);
    assert_eq!(found.grants.read_dirs["/policy"], Path::new("/etc/policy"));
    assert_eq!(found.grants.read_dirs["/home"], Path::new("/home/ada/x"));
    assert_eq!(found.grants.write_dirs["/out"], Path::new("/var/out"));
    assert_eq!(found.grants.model.unwrap().max_calls.get(), 3);
    assert_eq!(
        serde_json::Value::Object(found.config),
        json!({"protected": ["infra/**"], "deep": {"on": "2026-01-02", "n": 1.5, "b": true}})
    );
}

/// Returns the limits `compute` and `deadline` of an entry's calls.
fn times(entry: &Entry) -> (Duration, Duration) {
    (entry.limits.compute(&entry.grants), entry.limits.deadline(&entry.grants))
}

#[test]
fn a_plugin_that_waits_for_a_model_or_a_server_has_a_deadline_of_30_seconds() {
    for grant in ["model = { name = 'm' }", "http = ['a.b']"] {
        let found = only(&format!("{}grants = {{ {grant} }}", entry("a")));
        assert_eq!(times(&found), (Duration::from_millis(100), Duration::from_secs(30)));
        let found = only(&format!("{}grants = {{ {grant} }}\nlimits = {{ deadline = '1s' }}", entry("a")));
        assert_eq!(times(&found).1, Duration::from_secs(1));
    }
}

#[test]
fn the_deadline_of_an_entry_that_a_program_makes_is_that_of_a_written_one() {
    let mut made = Entry::new("a", "/a.wasm", SHA256.parse().unwrap());
    assert_eq!(times(&made).1, Duration::from_millis(100));
    made.grants.model = Some(ModelGrant::new("small"));
    assert_eq!(times(&made).1, Duration::from_secs(30));
}

#[test]
fn a_deadline_below_the_default_compute_limit_lowers_that_too() {
    let found = only(&(entry("a") + "limits = { deadline = '20ms' }"));
    assert_eq!(times(&found), (Duration::from_millis(20), Duration::from_millis(20)));
}

#[test]
fn times_and_sizes_reach_their_documented_ends() {
    let found = only(&(entry("a") + "limits = { compute = '1us', deadline = '1h', memory = '4GiB', log = 1 }"));
    assert_eq!(times(&found), (Duration::from_micros(1), Duration::from_secs(3600)));
    let limits = found.limits;
    assert_eq!(limits, Limits { memory: (4 << 30).try_into().unwrap(), log: 1.try_into().unwrap(), ..limits.clone() });
}

#[test]
fn a_home_path_without_a_home_is_an_error() {
    let source = crate::config::Source::new("/etc/hookhost.toml", Layer::Chosen);
    let text = entry("a").replace("a.wasm", "~/a.wasm");
    let error = super::Config::parse(&text, &source, &[]).unwrap_err().to_string();
    assert!(error.contains("home directory is not known"), "{error}");
    assert_eq!(only(&text).code.path().unwrap(), Path::new("/home/ada/a.wasm"));
}

#[test]
fn a_star_matches_any_text_and_nothing_else_does() {
    let table = [
        ("bash", "bash", true),
        ("bash", "bash2", false),
        ("bash", "BASH", true),
        ("*", "", true),
        ("mcp__*", "mcp__files__read", true),
        ("mcp__*", "mcp_", false),
        ("*_file", "read_file", true),
        ("*_file", "read_files", false),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "acb", false),
        ("a*bc*c", "abc", false),
        ("**x**", "axb", true),
        ("r?ad", "read", false),
        ("*é*", "caféine", true),
    ];
    for (pattern, tool, expected) in table {
        assert_eq!(pattern.parse::<ToolPattern>().unwrap().matches(tool), expected, "{pattern} {tool}");
        assert_eq!(pattern.parse::<KeyPattern>().unwrap().matches(tool), expected, "{pattern} {tool}");
    }
    // A key can be any text. The comparison ignores the case of ASCII letters only.
    for (pattern, key, expected) in
        [("*API key*", "my api KEY ", true), ("É", "é", false), ("p?n", "pin", false), ("*", "", true)]
    {
        assert_eq!(pattern.parse::<KeyPattern>().unwrap().matches(key), expected, "{pattern} {key}");
    }
}

#[test]
fn enabling_an_entry_is_all_that_a_flag_can_do() {
    let mut config = parse(&format!("{}enabled = false\n{}", entry("a"), entry("b"))).unwrap();
    let enabled = |config: &super::Config| config.enabled().map(|entry| entry.name.clone()).collect::<Vec<_>>();
    assert_eq!(enabled(&config), ["b"]);
    assert!(config.enable("a") && !config.enable("c"));
    assert_eq!(enabled(&config), ["a", "b"]);
}

#[test]
fn a_programs_own_entries_keep_the_rules_of_written_ones() {
    let new = |name: &str, path: &str| Entry::new(name, path, SHA256.parse().unwrap());
    let made = |entries| super::Config::from_entries(entries, crate::config::Settings::default());
    assert_eq!(made(vec![new("a", "/a.wasm"), new("b", "/b.wasm")]).unwrap().entries().len(), 2);
    for bad in [
        vec![new("a b", "/a.wasm")],
        vec![new("a", "/a.wasm"), new("a", "/b.wasm")],
        vec![new("a", "/a.wasm"), new("b", "/x/../a.wasm")],
        vec![Entry { events: Some([].into()), ..new("a", "/a.wasm") }],
        vec![Entry {
            limits: Limits { compute: Some(Duration::from_secs(1)), ..Limits::default() },
            ..new("a", "/a.wasm")
        }],
        vec![Entry {
            limits: Limits { memory: (5 << 30).try_into().unwrap(), ..Limits::default() },
            ..new("a", "/a.wasm")
        }],
    ] {
        assert!(made(bad.clone()).is_err(), "{bad:?}");
    }
}
