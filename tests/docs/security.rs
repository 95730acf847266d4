//! `docs/security.md`: its table of imports is what the host links, and under which grant; its section on self-defence names the
//! rules and the agents that there are.

use crate::guide::{page, section};
use hookhost::config::{Config, Digest, Entry, Settings};
use hookhost_tests::WatPlugin;
use regex_lite::Regex;
use shell_guard_rules::document::catalogues;
use std::collections::BTreeSet;

/// A row of the table: the import, the grant that it needs, and the limits that bound it.
struct Row {
    import: String,
    grant: Option<String>,
    limits: Vec<String>,
}

fn rows() -> Vec<Row> {
    let page = page("docs/security.md");
    let quoted = Regex::new("`([^`]+)`").expect("a pattern");
    let all = |text: &str| quoted.captures_iter(text).map(|found| found[1].to_owned()).collect::<Vec<_>>();
    let table = section(&page, "## What a plugin can reach").lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, import, place, _, bounds, _] = cells[..] else { panic!("a row of four cells: {line}") };
        let grant = all(place).pop();
        assert_eq!(grant.is_none(), place == "always", "{line}");
        let import = all(import).pop().expect("an import");
        Row { import, grant, limits: all(bounds) }
    };
    table.map(row).collect()
}

/// An interface of what a row names.
fn interface(import: &str) -> String {
    let of_wasi = [
        "http/types",
        "filesystem/types",
        "clocks/wall-clock",
        "random/random",
        "cli/environment",
        "io/streams",
        "sockets/tcp",
    ];
    match import.strip_prefix("wasi:") {
        None => {
            let version =
                if page("wit/0.1/capabilities.wit").contains(&format!("import {import};")) { "0.1" } else { "0.2" };
            format!("hookhost:hooks/{import}@{version}.0")
        }
        Some(package) => {
            let of = of_wasi.iter().find(|interface| interface.starts_with(&format!("{package}/")));
            format!("wasi:{}@0.2.0", of.unwrap_or_else(|| panic!("an interface of wasi:{package}")))
        }
    }
}

/// Loads a plugin that imports it, with nothing granted.
fn load(import: &str) -> Result<(), String> {
    let directory = tempfile::tempdir().expect("a directory");
    let wasm = directory.path().join("plugin.wasm");
    let bytes = WatPlugin { import: Some(import), ..WatPlugin::default() }.build();
    std::fs::write(&wasm, &bytes).expect("a file");
    let entry = Entry::new("importer", &wasm, Digest::of_bytes(&bytes));
    let config = Config::from_entries(vec![entry], Settings::default()).expect("an entry");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(hookhost::Host::builder(config).build()).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn the_table_has_every_interface_of_the_contract() {
    let imports = ["0.1", "0.2"].map(|version| {
        let wit = page(&format!("wit/{version}/capabilities.wit"));
        let (_, world) = wit.split_once("world capabilities {").expect("a world");
        let imports = world.lines().filter_map(|line| line.trim().strip_prefix("import ")?.strip_suffix(';'));
        imports.filter(|name| *name != "types").map(str::to_owned).collect::<Vec<_>>()
    });
    let of_contract: BTreeSet<String> = imports.into_iter().flatten().collect();
    let listed = rows().into_iter().map(|row| row.import).filter(|import| !import.starts_with("wasi:"));
    assert_eq!(listed.collect::<BTreeSet<_>>(), of_contract);
}

#[test]
fn what_is_always_there_loads_without_a_grant_and_the_rest_is_refused_with_the_grant_that_it_needs() {
    for Row { import, grant, .. } in rows() {
        match (load(&interface(&import)), grant) {
            (Ok(()), None) => {}
            (Err(why), Some(grant)) => {
                let key = grant.strip_prefix("grants.").expect("a grant");
                assert!(why.contains(&format!("{key} = ")), "{import}: {why}");
            }
            (loaded, grant) => panic!("{import} with the grant {grant:?}: {loaded:?}"),
        }
    }
}

#[test]
fn what_is_not_in_the_table_is_refused() {
    for import in
        ["wasi:http/incoming-handler@0.2.0", "wasi:keyvalue/store@0.2.0", "hookhost:hooks/secrets@0.1.0", "env"]
    {
        let why = load(import).expect_err(import);
        assert!(why.contains(import), "{why}");
    }
}

#[test]
fn what_bounds_an_import_is_a_limit_that_can_be_set() {
    let limits_page = page("docs/configuration.md");
    for Row { import, limits, .. } in rows() {
        assert!(!limits.is_empty(), "{import} is not bounded");
        for limit in limits {
            assert!(
                limits_page.contains(&format!("`{limit}`")) || limits_page.contains(&format!("{limit} = ")),
                "{import}: {limit}"
            );
        }
    }
}

/// All that a pattern's group captures.
fn captured(pattern: &str, text: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).expect("a pattern");
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

#[test]
fn the_section_on_self_defence_has_every_rule_of_its_catalogue() {
    let page_text = page("docs/security.md");
    let table: Vec<&str> =
        section(&page_text, "## Self-defence").lines().filter(|line| line.starts_with('|')).collect();
    let listed = captured(r"`(self\.\w+)`", &table.join("\n"));
    let catalogues = catalogues().expect("the catalogues");
    let rules = &catalogues.iter().find(|catalogue| catalogue.name() == "self-defence").expect("the catalogue").rules;
    assert_eq!(listed, rules.iter().map(|rule| rule.id.clone()).collect());
    assert!(listed.len() >= 7, "{listed:?}");
}

#[test]
fn the_section_on_self_defence_names_the_agents_with_guarded_files() {
    let page_text = page("docs/security.md");
    let text = section(&page_text, "## Self-defence");
    let (_, agents) = text.split_once("The agents with files in the table are ").expect("the sentence");
    let agents = captured("`([^`]+)`", agents.split('.').next().expect("a sentence"));
    let mut owners = captured(r#"(?m)^name = "([^"]+)"$"#, &page("example-plugins/shell/reader/guarded.toml"));
    for other in ["hookhost", "editors", "environment"] {
        assert!(owners.remove(other), "{other}");
    }
    assert_eq!(agents, owners);
}
