//! `docs/plugin-settings.md`: each plugin accepts its example, and its section has every key of its settings.

use crate::guide::{blocks_of, page, root, section};
use hookhost_tests::{User, plugin};
use regex_lite::Regex;

/// The plugins with the files and structs of their settings.
const SETTINGS: &[(&str, &[(&str, &str)])] = &[
    ("tool-policy", &[("tool-policy/src/lib.rs", "Config"), ("tool-policy/src/lib.rs", "RuleConfig")]),
    ("path-guard", &[("path-guard/src/lib.rs", "Config")]),
    ("shell-guard", &[("shell/rules/src/config.rs", "RawConfig")]),
    ("shell-guard-classifier", &[("shell/classifier/src/classifier.rs", "ClassifierConfig")]),
    ("bounded-shell", &[("bounded-shell/src/lib.rs", "Config")]),
    ("redact-secrets", &[("redact-secrets/src/scan.rs", "Config"), ("redact-secrets/src/patterns.rs", "Configured")]),
    ("token-budget", &[("token-budget/src/budget.rs", "Config")]),
    ("notebook", &[("notebook/src/lib.rs", "Config")]),
];

/// The keys of a struct, as a configuration spells them.
fn keys(source: &str, name: &str) -> Vec<String> {
    let begin = source.find(&format!("struct {name} {{")).unwrap_or_else(|| panic!("there is no struct {name}"));
    let body = source[begin..].split("\n}").next().unwrap_or_default();
    let field = Regex::new(r"(?m)^    (?:pub(?:\(crate\))? )?(\w+): ").expect("a pattern");
    field.captures_iter(body).map(|found| found[1].replace('_', "-")).collect()
}

#[test]
fn every_plugin_has_a_section_with_each_of_its_keys_and_an_example_that_it_accepts() {
    let page = page("docs/plugin-settings.md");
    let sections = page.lines().filter_map(|line| line.strip_prefix("## ")).collect::<Vec<_>>();
    assert_eq!(sections, SETTINGS.iter().map(|(plugin, _)| *plugin).collect::<Vec<_>>());
    for (name, structs) in SETTINGS {
        let part = section(&page, &format!("## {name}"));
        for (file, of) in *structs {
            let path = root().join("example-plugins").join(file);
            let keys = keys(&std::fs::read_to_string(path).expect("the source"), of);
            assert!(!keys.is_empty(), "{name}: {of}");
            for key in keys {
                assert!(part.contains(&format!("`{key}`")), "{name}: `{key}` is missing");
            }
        }
        let examples = blocks_of(part, "toml");
        let [example] = examples.as_slice() else { panic!("{name} has {} examples", examples.len()) };
        let settings: toml::Table = toml::from_str(example).expect("TOML");
        let user = User::new();
        let wasm = format!("{}.wasm", name.replace('-', "_"));
        user.write(&wasm, std::fs::read(plugin(name)).expect("the plugin"));
        let settings = serde_json::to_string(&settings).expect("JSON");
        let model = ["--grant", "model = { name = \"small\" }", "--grant", "state = {}"];
        let grants = if *name == "shell-guard-classifier" { &model[..] } else { &[] };
        let arguments = ["allow", "--yes", &wasm, "--config-json", &settings];
        user.run(arguments.iter().chain(grants)).expect(0, &[]);
    }
}
