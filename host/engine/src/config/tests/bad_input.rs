//! Each mistake is reported with its file, line, column and key, and with the most similar known key. No part of a file
//! with a mistake is used.

use super::{SHA256, entry, parse};
use crate::config::{Config, ConfigError, Layer, Problem, Source};

pub(super) fn problems(text: &str) -> Vec<Problem> {
    match parse(text) {
        Err(ConfigError::Invalid(problems)) => problems.iter().cloned().collect(),
        Err(other) => panic!("{text}\nanother error: {other}"),
        Ok(_) => panic!("{text}\nis accepted"),
    }
}

/// Text that follows an entry of four valid lines. The second string is the expected problem, as
/// `line:column key [nearest] message`.
const AFTER_A_GOOD_ENTRY: &[(&str, &str)] = &[
    (
        "on_failure = 'skip'",
        "5:1 plugin.on_failure [on-failure] unknown key `on_failure` in `plugin`: did you mean `on-failure`?",
    ),
    (
        "timeout = 3",
        "5:1 plugin.timeout [] unknown key `timeout` in `plugin`: the keys here are `name`, `path`, `sha256`, `priority`, `enabled`, `events`, `actions`, `tools`, `mode`, `on-failure`, `on-question`, `stop`, `limits`, `grants`, `config`",
    ),
    (
        "[plugin.limits]\nfule = 1",
        "6:1 plugin.limits.fule [fuel] unknown key `fule` in `plugin.limits`: did you mean `fuel`?",
    ),
    (
        "[plugin.grants]\nread_dirs = {}",
        "6:1 plugin.grants.read_dirs [read-dirs] unknown key `read_dirs` in `plugin.grants`: did you mean `read-dirs`?",
    ),
    (
        "grants = { model = { name = 'm', maxcalls = 1 } }",
        "5:34 plugin.grants.model.maxcalls [max-calls] unknown key `maxcalls` in `plugin.grants.model`: did you mean `max-calls`?",
    ),
    ("priority = 'high'", "5:12 plugin.priority [] `plugin.priority`: expected a whole number, found a string"),
    (
        "priority = 4294967296",
        "5:12 plugin.priority [] `plugin.priority`: 4294967296 is out of range: a whole number belongs there",
    ),
    (
        "priority = 99999999999999999999",
        "5:12 plugin.priority [] `plugin.priority`: 99999999999999999999 does not fit in 64 bits",
    ),
    ("enabled = 1", "5:11 plugin.enabled [] `plugin.enabled`: expected `true` or `false`, found a whole number"),
    (
        "events = ['before-tool-cal']",
        "5:11 plugin.events [before-tool-call] `plugin.events`: unknown word \"before-tool-cal\": did you mean `before-tool-call`?",
    ),
    (
        "events = []",
        "5:10 plugin.events [] `plugin.events`: an empty list selects nothing: remove the key to select all, or set `enabled = false`",
    ),
    (
        "actions = ['shell', 'write-file']",
        "5:21 plugin.actions [write-files] `plugin.actions`: unknown word \"write-file\": did you mean `write-files`?",
    ),
    ("tools = 'bash'", "5:9 plugin.tools [] `plugin.tools`: expected an array, found a string"),
    (
        "tools = ['two words']",
        "5:10 plugin.tools [] `plugin.tools`: a tool pattern is a tool's name, with `*` for any text: it cannot be empty or hold spaces or control characters",
    ),
    (
        "mode = 'dry-run'",
        "5:8 plugin.mode [] `plugin.mode`: unknown word \"dry-run\": the words here are `enforce`, `observe`",
    ),
    (
        "mode = 'audit'",
        "5:8 plugin.mode [] `plugin.mode`: `audit` is now `observe`: write `observe`, or run `hookhost update`, which changes your own file",
    ),
    ("stop = 'runs'", "5:8 plugin.stop [run] `plugin.stop`: unknown word \"runs\": did you mean `run`?"),
    (
        "on-failure = 'allow'",
        "5:14 plugin.on-failure [] `plugin.on-failure`: unknown word \"allow\": the words here are `reject`, `skip`, `ask`",
    ),
    ("limits = 3", "5:10 plugin.limits [] `plugin.limits`: expected a table, found a whole number"),
    (
        "limits = { fuel = 0 }",
        "5:19 plugin.limits.fuel [] `plugin.limits.fuel`: 0 is never \"unlimited\": give a whole number, 1 or more, or leave the key out for the default",
    ),
    (
        "limits = { fuel = -1 }",
        "5:19 plugin.limits.fuel [] `plugin.limits.fuel`: -1 is negative: give a whole number, 1 or more",
    ),
    (
        "limits = { fuel = '1' }",
        "5:19 plugin.limits.fuel [] `plugin.limits.fuel`: expected a whole number, 1 or more, found a string",
    ),
    (
        "limits = { compute = '0ms' }",
        "5:22 plugin.limits.compute [] `plugin.limits.compute`: 0 is never \"unlimited\": give a time with its unit, such as \"100ms\", or leave the key out for the default",
    ),
    (
        "limits = { deadline = 0 }",
        "5:23 plugin.limits.deadline [] `plugin.limits.deadline`: 0 is never \"unlimited\": give a time with its unit, such as \"100ms\", or leave the key out for the default",
    ),
    (
        "limits = { deadline = 100 }",
        "5:23 plugin.limits.deadline [] `plugin.limits.deadline`: 100 has no unit: give a time with its unit, such as \"100ms\"",
    ),
    (
        "limits = { deadline = '61m' }",
        "5:23 plugin.limits.deadline [] `plugin.limits.deadline`: out of range: the most is 1h",
    ),
    (
        "limits = { deadline = '99999999999999999999s' }",
        "5:23 plugin.limits.deadline [] `plugin.limits.deadline`: out of range: the most is 1h",
    ),
    (
        "limits = { deadline = '1.5s' }",
        "5:23 plugin.limits.deadline [] `plugin.limits.deadline`: \"1.5s\" is not a time with its unit, such as \"100ms\"",
    ),
    (
        "limits = { deadline = 'ms' }",
        "5:23 plugin.limits.deadline [] `plugin.limits.deadline`: \"ms\" is not a time with its unit, such as \"100ms\"",
    ),
    (
        "limits = { memory = '5GiB' }",
        "5:21 plugin.limits.memory [] `plugin.limits.memory`: out of range: the most is 4GiB",
    ),
    (
        "limits = { memory = '16MB' }",
        "5:21 plugin.limits.memory [] `plugin.limits.memory`: \"16MB\" is not a size such as \"16MiB\", or a number of bytes",
    ),
    (
        "limits = { input = 0 }",
        "5:20 plugin.limits.input [] `plugin.limits.input`: 0 is never \"unlimited\": give a size such as \"16MiB\", or a number of bytes, or leave the key out for the default",
    ),
    (
        "limits = { output = '0KiB' }",
        "5:21 plugin.limits.output [] `plugin.limits.output`: 0 is never \"unlimited\": give a size such as \"16MiB\", or a number of bytes, or leave the key out for the default",
    ),
    (
        "limits = { log = -5 }",
        "5:18 plugin.limits.log [] `plugin.limits.log`: -5 is negative: give a size such as \"16MiB\", or a number of bytes",
    ),
    (
        "limits = { capability-calls = 0 }",
        "5:31 plugin.limits.capability-calls [] `plugin.limits.capability-calls`: 0 is never \"unlimited\": give a whole number, 1 or more, or leave the key out for the default",
    ),
    ("limits = { tables = 101 }", "5:21 plugin.limits.tables [] `plugin.limits.tables`: out of range: the most is 100"),
    (
        "limits = { handels = 5 }",
        "5:12 plugin.limits.handels [handles] unknown key `handels` in `plugin.limits`: did you mean `handles`?",
    ),
    (
        "limits = { compute = '2s' }",
        "5:22 plugin.limits.compute [] `plugin.limits.compute`: longer than `deadline`, which is 100ms and applies to the whole call",
    ),
    ("grants = { state = true }", "5:20 plugin.grants.state [] `plugin.grants.state`: expected a table, found `true`"),
    (
        "grants = { state = { quota = 0 } }",
        "5:30 plugin.grants.state.quota [] `plugin.grants.state.quota`: 0 is never \"unlimited\": give a size such as \"16MiB\", or a number of bytes, or leave the key out for the default",
    ),
    (
        "grants = { model = { max-calls = 3 } }",
        "5:20 plugin.grants.model [] `plugin.grants.model`: the key `name` is missing",
    ),
    (
        "grants = { model = { name = '' } }",
        "5:29 plugin.grants.model.name [] `plugin.grants.model.name`: the name of a model must not be empty",
    ),
    (
        "grants = { http = ['https://a.b/'] }",
        "5:19 plugin.grants.http [] `plugin.grants.http`: \"https://a.b/\" is not a host: write `name` or `name:port`, without scheme, path or `*`",
    ),
    (
        "grants = { env = ['*'] }",
        "5:18 plugin.grants.env [] `plugin.grants.env`: \"*\" is not the name of an environment variable: write the full name, without `=` and `*`",
    ),
    (
        "grants = { read-dirs = { 'policy' = 'p' } }",
        "5:37 plugin.grants.read-dirs.policy [] `plugin.grants.read-dirs.policy`: \"policy\" is not a guest directory: its path begins with `/` and contains neither `.` nor `..`",
    ),
    (
        "grants = { read-dirs = { '/p' = '' } }",
        "5:33 plugin.grants.read-dirs./p [] `plugin.grants.read-dirs./p`: the path is empty",
    ),
    (
        "grants = { read-dirs = { '/p' = 'p' }, write-dirs = { '/p' = 'q' } }",
        "5:62 plugin.grants.write-dirs./p [] `plugin.grants.write-dirs./p`: this guest directory is in `read-dirs` too: keep it in one of them",
    ),
    (
        "grants = { approve = 'yes' }",
        "5:22 plugin.grants.approve [] `plugin.grants.approve`: expected `true` or `false`, found a string",
    ),
    ("config = 'x'", "5:10 plugin.config [] `plugin.config`: expected a table, found a string"),
    ("config = { x = [1, nan] }", "5:20 plugin.config.x [] `plugin.config.x`: nan is not a finite number"),
    ("config = { x = 1e999 }", "5:16 plugin.config.x [] `plugin.config.x`: 1e999 is not a finite number"),
];

/// The texts of complete files. The second string is the expected problem, as above.
const FILES: &[(&str, &str)] = &[
    ("[[plugins]]", "1:3 plugins [plugin] unknown key `plugins`: did you mean `plugin`?"),
    ("zzz = 1", "1:1 zzz [] unknown key `zzz`: the sections here are `plugin`, `rule`, `rules`, `settings`, `agent`"),
    ("[plugin]", "1:2 plugin [] `plugin`: entries are written `[[plugin]]`, with two brackets"),
    ("plugin = 3", "1:1 plugin [] `plugin`: entries are written `[[plugin]]`, with two brackets"),
    ("plugin = [3]", "1:11 plugin [] `plugin`: expected a table, found a whole number"),
    ("\n[[plugin]]", "2:1 plugin [] `plugin`: the key `name` is missing"),
    ("[[plugin]]\nname = 'a'", "1:1 plugin [] `plugin`: the key `path` is missing"),
    ("[[plugin]]\nname = 'a'\npath = 'a'", "1:1 plugin [] `plugin`: the key `sha256` is missing"),
    (
        "[[plugin]]\nname = 'a'\npath = 'a'\nsha256 = '12'",
        "4:10 plugin.sha256 [] `plugin.sha256`: a SHA-256 digest is 64 hexadecimal digits, and this is 2 digits long",
    ),
    (
        "[[plugin]]\nname = 'a'\npath = 'a'\nsha256 = 'xyz'",
        "4:10 plugin.sha256 [] `plugin.sha256`: a SHA-256 digest is 64 hexadecimal digits, and this is a text with 'x' in it",
    ),
    (
        "[settings]\nstream-unfinalized = true",
        "2:1 settings.stream-unfinalized [stream-unfinalised] unknown key `stream-unfinalized` in `settings`: did you mean `stream-unfinalised`?",
    ),
    (
        "[settings]\nstream-unfinalised = 'no'",
        "2:22 settings.stream-unfinalised [] `settings.stream-unfinalised`: expected `true` or `false`, found a string",
    ),
    ("settings = []", "1:12 settings [] `settings`: expected a table, found an array"),
    ("[settings]\n[settings]", "2:2  [] this is not TOML: duplicate key, at `settings`"),
    ("a = 1\n a = 2", "2:2  [] this is not TOML: duplicate key, at `a`"),
    ("a = ", "1:5  [] this is not TOML: string values must be quoted, expected literal string"),
];

pub(super) fn shown(problem: &Problem) -> String {
    let (key, nearest) = (problem.key.as_deref().unwrap_or(""), problem.nearest.as_deref().unwrap_or(""));
    format!("{}:{} {key} [{nearest}] {}", problem.line, problem.column, problem.message)
}

#[test]
fn each_wrong_key_and_value_is_named_with_its_place_and_what_would_be_right() {
    let after = AFTER_A_GOOD_ENTRY.iter().map(|(text, expected)| (entry("a") + text, *expected));
    let cases: Vec<_> = after.chain(FILES.iter().map(|(text, expected)| ((*text).to_owned(), *expected))).collect();
    let wrong: Vec<_> = cases
        .into_iter()
        .map(|(text, expected)| (problems(&text).iter().map(shown).collect::<Vec<_>>().join(" AND "), expected, text))
        .filter(|(found, expected, _)| found != expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn names_are_plain_words_so_that_they_can_be_shown_anywhere() {
    for name in ["", "-a", "a b", "a\\u001b[31m", "ä", &"a".repeat(65)] {
        let found = problems(&format!("[[plugin]]\nname = \"{name}\"\npath = 'a'\nsha256 = '{SHA256}'"));
        assert_eq!(found[0].key.as_deref(), Some("plugin.name"), "{name}");
        assert_eq!((found[0].line, found[0].column), (2, 8));
    }
    assert!(parse(&entry("Guard_2.v-1")).is_ok());
}

#[test]
fn a_problem_shows_the_line_and_a_caret_as_a_compiler_does() {
    let text = entry("ok") + "[plugin.limits]\n  'ä' = 1 # odd\n";
    assert_eq!(
        parse(&text).unwrap_err().to_string(),
        "/etc/hookhost.toml:6:3: unknown key `ä` in `plugin.limits`: the keys here are `fuel`, `compute`, `deadline`, \
         `memory`, `table-elements`, `tables`, `instances`, `handles`, `input`, `output`, `log`, `http-body`, `capability-calls`\n  |\n6 |   'ä' = 1 # odd\n  |   ^^^"
    );
}

#[test]
fn all_that_is_wrong_in_a_file_is_reported_at_once_in_the_order_of_its_lines() {
    let text = format!("{}fule = 1\n{}limits = {{ fuel = 0 }}\n[agnet]\n", entry("a"), entry("b"));
    let found: Vec<_> = problems(&text).iter().map(|problem| problem.key.clone().unwrap()).collect();
    assert_eq!(found, ["plugin.fule", "plugin.limits.fuel", "agnet"]);
}

#[test]
fn two_entries_of_one_name_are_an_error_that_names_both_places() {
    let found = problems(&format!("{}{}", entry("a"), entry("a").replace("a.wasm", "b.wasm")));
    assert_eq!(
        shown(&found[0]),
        "6:8 plugin.name [] the name `a` is taken: the entry at /etc/hookhost.toml:2 has it, and no entry overrides another"
    );
    assert_eq!(found.len(), 1);
}

#[test]
fn two_entries_of_one_file_are_an_error_however_the_path_is_spelt() {
    for spelling in ["a.wasm", "./a.wasm", "x/../a.wasm", "/etc/a.wasm", "../etc//a.wasm"] {
        let found = problems(&format!("{}{}", entry("a"), entry("b").replace("b.wasm", spelling)));
        assert_eq!(
            shown(&found[0]),
            "7:8 plugin.path [] `a`, at /etc/hookhost.toml:3, is an entry of the same file: keep one of them"
        );
    }
}

#[test]
fn no_control_character_of_a_file_reaches_the_terminal() {
    let nasty = format!("{}\"\\u001b[2J\\r\" = 1 # \u{7f}", entry("a"));
    // TOML does not allow DEL in a comment. So the first text tests a message of the parser, and the second text tests
    // a message of this crate.
    for text in [nasty.clone(), nasty.replace('\u{7f}', "")] {
        let shown = parse(&text).unwrap_err().to_string();
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    }
}

#[test]
fn a_long_line_is_shown_in_part_with_the_caret_where_it_belongs() {
    let text = format!("{}config = {{ x = \"{}\", y = nan }}", entry("a"), "é".repeat(10_000));
    let shown = parse(&text).unwrap_err().to_string();
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() < 200), "{shown}");
    let caret = lines[3].chars().position(|c| c == '^').unwrap();
    assert_eq!(lines[2].chars().skip(caret).take(3).collect::<String>(), "nan");
}

#[test]
fn an_embedders_section_has_errors_of_the_same_quality_without_asking_for_them() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Agent {
        model: String,
        max_turns: Option<u32>,
        provider: Option<Provider>,
    }
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only its errors are looked at")]
    enum Provider {
        Anthropic,
        Scripted { script: String },
    }
    let cases = [
        ("modle = 'x'\nmodel = 'x'", "2:1 agent.modle [model] unknown key `modle` in `agent`: did you mean `model`?"),
        ("", "1:1 agent [] `agent`: the key `model` is missing"),
        (
            "model = 'x'\nmax-turns = -1",
            "3:13 agent.max-turns [] `agent.max-turns`: -1 is out of range: a whole number, 0 or more belongs there",
        ),
        (
            "model = 'x'\nprovider = 'antropic'",
            "3:12 agent.provider [anthropic] `agent.provider`: unknown word \"antropic\": did you mean `anthropic`?",
        ),
        (
            "model = 'x'\nprovider = { scripted = { scrip = 'x', script = 'y' } }",
            "3:27 agent.provider.scripted.scrip [script] unknown key `scrip` in `agent.provider.scripted`: did you mean `script`?",
        ),
    ];
    for (text, expected) in cases {
        let Err(ConfigError::Invalid(found)) = parse(&format!("[agent]\n{text}")).unwrap().section::<Agent>("agent")
        else {
            panic!("{text} is accepted");
        };
        assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), [expected]);
    }
    let good = parse("[agent]\nmodel = 'x'\nprovider = { scripted = { script = 'y' } }").unwrap();
    assert!(matches!(good.section::<Agent>("agent").unwrap().unwrap().provider, Some(Provider::Scripted { .. })));
    assert!(parse("").unwrap().section::<Agent>("agent").unwrap().is_none());
}

#[test]
fn a_section_that_nobody_claims_is_an_unknown_key() {
    let source = Source::new("/etc/hookhost.toml", Layer::Chosen);
    assert!(Config::parse("[agent]", &source, &["agent"]).is_ok());
    let error = Config::parse("[agent]", &source, &[]).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "/etc/hookhost.toml:1:2: unknown key `agent`: the sections here are `plugin`, `rule`, `rules`, `settings`"
        ),
        "{error}"
    );
}
