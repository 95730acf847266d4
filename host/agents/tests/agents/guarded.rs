//! The plugins that protect a session guard the files, variables and words that determine an agent's rules. These tests check that the
//! plugins' table contains everything that the adapters install. Parts of the rules and the host's table are generated from the table.
//!
//! `HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents guarded` writes these parts.

use hookhost_agents::agents;
use hookhost_agents::guarded::{OWNERS, WrittenTreatment};
use hookhost_agents::plan::{Context, OnFailure, Scope};
use shell_reader::guarded::Reach;
use shell_reader::path::{Normal, clean};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use toml_edit::{Document, Item, TableLike};

const HOME: &str = "/home/me";
const PROJECT: &str = "/work/project";
const RULES: &str = "shell/rules/catalogues/self-defence.toml";
const TABLE: &str = include_str!("../../../../example-plugins/shell/reader/guarded.toml");

/// The variables, packages and words of one owner of the table.
struct Owner {
    name: String,
    variables: Vec<String>,
    packages: Vec<String>,
    /// Four lists: options, first operands, patterns for one word, and patterns for all words joined by spaces.
    without_hooks: [Vec<String>; 4],
}

fn owners() -> &'static [Owner] {
    static ALL: LazyLock<Vec<Owner>> = LazyLock::new(|| {
        let texts = |table: Option<&dyn TableLike>, key: &str| -> Vec<String> {
            let list = table.and_then(|table| table.get(key)?.as_array());
            list.into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        let owner = |table: &toml_edit::Table| {
            let variables = table.get("variables").and_then(Item::as_table_like);
            let without_hooks = table.get("without-hooks").and_then(Item::as_table_like);
            Owner {
                name: table["name"].as_str().unwrap().to_owned(),
                variables: variables.iter().flat_map(|table| table.iter()).map(|(name, _)| name.to_owned()).collect(),
                packages: texts(Some(table), "packages"),
                without_hooks: ["options", "operands", "word", "words"].map(|key| texts(without_hooks, key)),
            }
        };
        let table = Document::parse(TABLE).unwrap();
        table["owner"].as_array_of_tables().unwrap().iter().map(owner).collect()
    });
    &ALL
}

/// Returns the files into which `hookhost install` writes hooks or proxies, each with the name of its agent.
fn installed() -> Vec<(&'static str, PathBuf)> {
    let mut files = Vec::new();
    for adapter in agents::all() {
        let name = adapter.agent().name;
        for scope in [Scope::User, Scope::Project, Scope::Managed] {
            let context = Context {
                scope,
                home: Path::new(HOME),
                project: Path::new(PROJECT),
                program: Path::new("/usr/bin/hookhost-hook"),
                on_failure: OnFailure::Deny,
                directories: None,
                variable: &|_| None,
            };
            let plan = adapter.install(&context).map(|plan| plan.files).unwrap_or_default();
            files.extend(plan.iter().map(|file| (name, file.path().to_owned())));
            files.extend(adapter.mcp_servers(&context).map(|file| (name, file.path)));
        }
    }
    files
}

/// Adds `key = [items]`, in as few lines as possible.
fn list(text: &mut String, key: &str, items: &[String]) {
    const WIDTH: usize = 140;
    if items.is_empty() {
        return;
    }
    let mut lines = vec![String::new()];
    for item in items {
        let item = format!("{item:?}, ");
        if lines.last().is_none_or(|line| line.len() + item.len() > WIDTH) {
            lines.push(String::new());
        }
        lines.last_mut().expect("a line").push_str(&item);
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
    match lines[..] {
        [line] => writeln!(text, "{key} = [{}]", line.trim_end_matches(',')),
        _ => writeln!(text, "{key} = [\n  {}\n]", lines.join("\n  ")),
    }
    .expect("text");
}

/// Returns the names with which an agent can be started.
fn programs(owner: &str) -> Vec<String> {
    let adapter = agents::by_name(owner).map(|adapter| adapter.agent().programs).unwrap_or_default();
    let packages = owners().iter().filter(|known| known.name == owner).flat_map(|known| &known.packages);
    let packages = packages.flat_map(|package| [package.clone(), format!("{package}@*")]);
    adapter.iter().flat_map(|program| [(*program).to_owned(), format!("{program}@*")]).chain(packages).collect()
}

fn all_programs() -> Vec<String> {
    let mut all: Vec<String> = ["hookhost", "hookhost-hook"].map(str::to_owned).into();
    all.extend(owners().iter().filter(|owner| owner.name != "hookhost").flat_map(|owner| programs(&owner.name)));
    all
}

/// Returns a pattern for the variables that make an agent, and no other program, use other files.
fn variables() -> String {
    owners().iter().flat_map(|owner| &owner.variables).map(String::as_str).collect::<Vec<_>>().join("|")
}

/// Returns the conditions of the rule `self.environment`.
fn of_environment() -> String {
    let variables = variables();
    // Variables that affect every program are dangerous only together with one of the programs in the conditions below.
    let of_any = r"HOME|USERPROFILE|XDG_(CONFIG|STATE|CACHE|RUNTIME|DATA)_(HOME|DIR)";
    let mut text = format!(
        "[[rule.match]]\nenvironment = '^HOOKHOST_(CONFIG|STATE|CACHE|RUNTIME)_DIR='\n\
         [[rule.match]]\nprogram = [\"export\", \"declare\", \"typeset\", \"readonly\", \"setx\", \"set\", \"read\", \"printf\", \
         \"tmux\", \"launchctl\", \"systemctl\", \"dbus-update-activation-environment\"]\nword = '^({variables})(=|$)'\n\
         [[rule.match]]\nprogram = [\"unset\"]\nword = '^(HOOKHOST_\\w+|{variables})$'\n"
    );
    for condition in [
        format!("environment = '^(HOOKHOST_\\w+|{of_any}|{variables})='"),
        // The variable is set before the program, or by a command that runs the program.
        format!(
            "text = '(^|[;&|(\\n]\\s*|\\b(export|declare|typeset|env|set|sudo|doas|run0|systemd-run)\\s[^;&|\"\\x27\\n]*)({of_any}|{variables})='"
        ),
        format!(
            "text = '\\benv\\b[^;&|]*(\\s-[a-zA-Z]*i\\b|\\s-\\s|--ignore-environment|(-u|--unset)[\\s=]*({of_any}|HOOKHOST_\\w+|{variables})\\b)'"
        ),
    ] {
        text.push_str("[[rule.match]]\n");
        list(&mut text, "program", &all_programs());
        writeln!(text, "{condition}").unwrap();
    }
    text
}

/// Returns the conditions of the rule `self.agent_hooks`.
fn of_hooks() -> String {
    let mut text = String::new();
    for owner in owners() {
        let [options, operands, word, words] = &owner.without_hooks;
        let mut conditions: Vec<String> = word.iter().map(|pattern| format!("word = '{pattern}'")).collect();
        conditions.extend(words.iter().map(|pattern| format!("line = '{}'", pattern.replace('\'', "\\x27"))));
        if !options.is_empty() {
            conditions.push(format!("any-flags = [{:?}]", options.join("|")));
        }
        if !operands.is_empty() {
            conditions.push(format!("subcommand = {operands:?}"));
        }
        for condition in conditions {
            text.push_str("[[rule.match]]\n");
            list(&mut text, "program", &programs(&owner.name));
            writeln!(text, "{condition}").unwrap();
        }
    }
    text
}

/// Returns the list of programs, for the rules that need nothing else.
fn of_programs() -> String {
    let mut text = String::new();
    list(&mut text, "program", &all_programs());
    text
}

/// Returns the text in which `content` replaces each part between the marks of `name`.
fn generated(mut text: String, name: &str, content: &str) -> String {
    let (begin, end) = (format!("# generated: {name}\n"), "# end\n");
    let mut at = 0;
    while let Some(found) = text[at..].find(&begin) {
        let from = at + found + begin.len();
        let to = from + text[from..].find(end).expect("an end");
        text.replace_range(from..to, content);
        at = from + content.len();
    }
    assert!(at > 0, "{RULES} has no part `{name}`");
    text
}

#[test]
fn the_rules_have_the_variables_and_words_of_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../example-plugins").join(RULES);
    let kept = std::fs::read_to_string(&file).unwrap();
    let rules = generated(kept.clone(), "environment", &of_environment());
    let rules = generated(generated(rules, "hooks", &of_hooks()), "programs", &of_programs());
    if std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some() {
        std::fs::write(&file, &rules).unwrap();
    }
    assert!(kept == rules, "{RULES} is stale: HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents guarded");
}

/// Returns the source of the host's table.
fn of_host() -> String {
    let table = Document::parse(TABLE).unwrap();
    let texts = |table: &dyn TableLike, key: &str| -> Vec<String> {
        let list = table.get(key).and_then(Item::as_array);
        list.into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let text = |table: &dyn TableLike, key: &str| table.get(key).map_or("", |text| text.as_str().unwrap()).to_owned();
    let mut source =
        "//! Generated from `guarded.toml`: `HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents guarded`.\n\n\
                      use super::{Owner, Written, WrittenTreatment as Treatment};\n\n\
                      /// All owners of guarded files.\n#[rustfmt::skip]\npub const OWNERS: &[Owner] = &[\n"
            .to_owned();
    for owner in table["owner"].as_array_of_tables().unwrap() {
        writeln!(source, "    Owner {{\n        name: {:?},", text(owner, "name")).unwrap();
        for key in ["files", "in-home", "alone", "variables-in"] {
            writeln!(source, "        {}: &{:?},", key.replace('-', "_"), texts(owner, key)).unwrap();
        }
        let variables = owner.get("variables").and_then(Item::as_table_like);
        let variables = variables.iter().flat_map(|table| table.iter());
        let variables: Vec<_> = variables.map(|(name, directory)| (name, directory.as_str().unwrap())).collect();
        writeln!(source, "        variables: &{variables:?},").unwrap();
        let written = owner.get("written").and_then(Item::as_array_of_tables);
        source.push_str("        written: &[\n");
        for written in written.into_iter().flatten() {
            let treatment = match &*text(written, "treatment") {
                "free" => "Free",
                "restored" => "Restored",
                "read-only" => "ReadOnly",
                other => panic!("{other} is no treatment"),
            };
            let (file, keys, note) = (text(written, "file"), texts(written, "keys"), text(written, "note"));
            writeln!(
                source,
                "            Written {{ file: {file:?}, treatment: Treatment::{treatment}, keys: &{keys:?}, note: {note:?} }},"
            )
            .unwrap();
        }
        source.push_str("        ],\n    },\n");
    }
    source + "];\n"
}

#[test]
fn the_host_has_the_same_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guarded/table.rs");
    let (kept, table) = (std::fs::read_to_string(&file).unwrap_or_default(), of_host());
    if std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some() {
        std::fs::write(&file, &table).unwrap();
    }
    assert!(kept == table, "the host's table is stale: HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents guarded");
}

#[test]
fn each_file_that_its_owner_writes_is_a_guarded_one() {
    for owner in OWNERS {
        for written in owner.written {
            let path = Normal::Absolute(clean(&format!("{HOME}/{}", written.file.trim_end_matches("/**"))));
            let guarded = shell_reader::guarded::at(&path, Reach::default(), PROJECT);
            assert!(!guarded.is_empty(), "{} of {}", written.file, owner.name);
            let has_keys = !written.keys.is_empty();
            assert!(has_keys || written.treatment != WrittenTreatment::Restored, "{} has no keys", written.file);
            assert!(!has_keys || !written.file.contains('*'), "{} is not one file", written.file);
        }
    }
}

#[test]
fn each_owner_of_the_table_is_hookhost_an_agent_the_editors_or_the_environment() {
    for Owner { name, .. } in owners() {
        let is_known = agents::by_name(name).is_some() || ["hookhost", "editors", "environment"].contains(&&**name);
        assert!(is_known, "{name}");
    }
}

#[test]
fn each_file_that_is_installed_is_in_the_table() {
    let installed = installed();
    for (agent, path) in &installed {
        let path = Normal::Absolute(clean(&path.to_string_lossy()));
        let guarded = shell_reader::guarded::at(&path, Reach::default(), PROJECT);
        assert!(!guarded.is_empty(), "{path:?} of {agent}");
    }
    assert!(installed.len() >= 45, "only {} files are installed", installed.len());
}

#[test]
fn each_variable_that_leads_an_installation_elsewhere_is_in_the_table() {
    for adapter in agents::all() {
        let asked = std::cell::RefCell::new(BTreeSet::new());
        let variable = |name: &str| {
            asked.borrow_mut().insert(name.to_owned());
            None
        };
        for scope in [Scope::User, Scope::Project] {
            let context = Context {
                scope,
                home: Path::new(HOME),
                project: Path::new(PROJECT),
                program: Path::new("/usr/bin/hookhost-hook"),
                on_failure: OnFailure::Deny,
                directories: None,
                variable: &variable,
            };
            let _ = adapter.install(&context);
            let _ = adapter.mcp_servers(&context);
        }
        // The rule itself contains the variables of the system.
        for name in asked.take().iter().filter(|name| !name.starts_with("XDG_")) {
            assert!(shell_reader::guarded::names_variable(name), "{name} of {}", adapter.agent().name);
        }
    }
}
