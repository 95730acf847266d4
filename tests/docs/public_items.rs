//! The lists of public items: whatever is public is used by a program or shown to its readers.

use crate::guide::page;
use regex_lite::Regex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What derives and wrappers bring: nobody calls these by name.
const DERIVED: [&str; 7] = ["eq", "fmt", "hash", "clone", "default", "deref", "try_from"];

fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        match name.as_str() {
            "tests" | "tests.rs" | "target" => {}
            _ if path.is_dir() => sources(&path, into),
            _ if name.ends_with(".rs") => into.push(path),
            _ => {}
        }
    }
}

fn words(text: &str, into: &mut BTreeSet<String>) {
    let word = Regex::new(r"\w+").expect("a pattern");
    into.extend(word.find_iter(text).map(|found| found.as_str().to_owned()));
}

/// The words of the programs that use the engine, of its own documentation, and of the guides.
fn used_or_shown() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for user in [
        "host/models",
        "host/agent",
        "host/cli",
        "host/resident",
        "host/standards",
        "host/telemetry",
        "host/page",
        "host/engine/examples",
    ] {
        let mut files = Vec::new();
        if root.join(user).is_dir() {
            sources(&root.join(user), &mut files);
        }
        for file in files {
            words(&std::fs::read_to_string(file).expect("a source"), &mut found);
        }
    }
    let mut engine = Vec::new();
    sources(&root.join("host/engine/src"), &mut engine);
    for file in engine {
        let text = std::fs::read_to_string(file).expect("a source");
        let comments =
            text.lines().map(str::trim_start).filter(|line| line.starts_with("///") || line.starts_with("//!"));
        words(&comments.collect::<Vec<_>>().join("\n"), &mut found);
    }
    for guide in ["README.md", "docs/embedding.md", "docs/failures.md", "docs/configuration.md", "docs/run-agent.md"] {
        words(&page(guide), &mut found);
    }
    found
}

/// The functions and constants of a list.
fn listed(list: &str) -> BTreeSet<&str> {
    let item = Regex::new(r"^pub (?:async |const |unsafe )*(?:fn|const) ([\w:]+)").expect("a pattern");
    list.lines()
        .filter_map(|line| item.captures(line)?.get(1))
        .filter_map(|path| path.as_str().trim_end_matches(':').rsplit("::").next())
        .filter(|name| !DERIVED.contains(name))
        .collect()
}

fn is_used_or_shown(names: BTreeSet<&str>, known: &BTreeSet<String>) {
    let hidden: Vec<_> = names.into_iter().filter(|name| !known.contains(*name)).collect();
    assert!(hidden.is_empty(), "only tests use these public items: make them private, or show them: {hidden:?}");
}

#[test]
fn every_public_function_and_constant_of_the_engine_is_used_by_a_program_or_shown_to_readers() {
    let list = page("host/engine/public-api.txt");
    let names = listed(&list);
    assert!(names.len() > 150, "{names:?}");
    is_used_or_shown(names, &used_or_shown());
}

#[test]
fn every_public_function_and_constant_of_the_contract_is_used_by_a_library_a_program_or_a_plugin() {
    let list = page("host/contract/public-api.txt");
    let names = listed(&list);
    assert!(names.len() > 25, "{names:?}");
    let mut known = used_or_shown();
    let mut files = Vec::new();
    for user in ["host/engine/src", "host/agents/src", "host/imports/src", "example-plugins"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(user), &mut files);
    }
    for file in files {
        words(&std::fs::read_to_string(file).expect("a source"), &mut known);
    }
    is_used_or_shown(names, &known);
}

/// Public types that stay as they are, beside those of the WIT: outcomes, for which a program must have an arm each; payloads of
/// events that a WIT function has as parameters; a row of the store's table of outcomes; a rule in words and its parts, which
/// importers make with `..RuleRow::default()`; facts, as plugins and the host pass them; and the parts of a signature, which WebAuthn defines.
const AS_THEY_ARE: [&str; 22] = [
    "AnswerKey",
    "AuditEntry",
    "Decision",
    "ExampleTable",
    "Fact",
    "FactName",
    "KeptOutcome",
    "LayeredRow",
    "Mistake",
    "Never",
    "Nothing",
    "PasskeyProof",
    "RuleExample",
    "RuleOn",
    "RuleRow",
    "RulesConfig",
    "SessionMode",
    "Shape",
    "Stop",
    "ToolHints",
    "ToolOutcome",
    "TransformOutcome",
];

/// The types of a list that others can make or match without an end, and that so cannot grow.
fn cannot_grow(list: &str) -> BTreeSet<&str> {
    let declared = Regex::new(r"^pub (struct|enum) ([\w:]+)").expect("a pattern");
    let types = list.lines().filter_map(|line| {
        let found = declared.captures(line)?;
        let (kind, path) = (found.get(1)?.as_str(), found.get(2)?.as_str());
        let field = format!("pub {path}::");
        let is_open = kind == "enum" || list.lines().any(|line| line.starts_with(&field) && line.contains(": "));
        is_open.then(|| path.rsplit("::").next().unwrap_or(path))
    });
    types.collect()
}

#[test]
fn public_types_can_grow_unless_they_are_the_wits_or_outcomes() {
    let example = "pub struct a::Open\npub a::Open::field: u8\n#[non_exhaustive] pub struct a::Grows\n\
        pub a::Grows::field: u8\npub struct a::Closed\npub fn a::Closed::new() -> Self\npub enum a::Choice\npub a::Choice::One\n";
    assert_eq!(cannot_grow(example), ["Choice", "Open"].into());

    let generated = page("host/contract/src/generated.rs");
    let of_the_wit =
        |name: &str| ["struct", "enum"].iter().any(|kind| generated.contains(&format!("pub {kind} {name} {{")));
    for list in ["host/engine/public-api.txt", "host/contract/public-api.txt"] {
        let list = page(list);
        let wrong: Vec<_> =
            cannot_grow(&list).into_iter().filter(|name| !AS_THEY_ARE.contains(name) && !of_the_wit(name)).collect();
        assert!(wrong.is_empty(), "these public types are not `#[non_exhaustive]`: {wrong:?}");
    }
}
