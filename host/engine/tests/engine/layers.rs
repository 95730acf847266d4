//! The modules of the engine depend downwards: each may use those above it in the table of `lib.rs`, and no other. What is
//! generated is not stale.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The source without comments, strings that look like paths aside.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a source file");
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The names after each `crate::`, those of a `crate::{…}` one by one.
fn used(code: &str) -> Vec<String> {
    let name = |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let mut names = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let Some(group) = rest.strip_prefix('{') else {
            names.push(name(rest));
            continue;
        };
        let mut depth = 0;
        let mut start = 0;
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    names.push(name(&group[start..at]));
                    break;
                }
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    names.push(name(&group[start..at]));
                    start = at + 1;
                }
                _ => {}
            }
        }
    }
    names
}

fn sources(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "tests") {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

#[test]
fn the_contracts_types_are_passed_as_the_wit_says() {
    let generated = hookhost_wit::host_wire().expect("the contract is read");
    assert!(
        generated == include_str!("../../src/wire/generated.rs"),
        "host/engine/src/wire/generated.rs is stale: run `cargo xtask contract`"
    );
}

/// The uses that point up, each as `FILE uses MODULE`.
fn arrows_up(root: &Path) -> Vec<String> {
    let lib = std::fs::read_to_string(root.join("lib.rs")).expect("lib.rs");
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! | ")?.split('`').nth(1));
    let mut place: HashMap<String, usize> = rows.enumerate().map(|(at, name)| (name.to_owned(), at)).collect();
    for line in lib.lines().filter(|line| line.starts_with("mod ") || line.starts_with("pub mod ")) {
        let module = line.split("mod ").nth(1).unwrap_or_default().trim_end_matches([';', '{', ' ']);
        assert!(
            place.contains_key(module) || matches!(module, "capability" | "command"),
            "`{module}` is missing in the table of lib.rs"
        );
    }
    // What the root re-exports is where it comes from.
    for line in lib.lines().filter_map(|line| line.strip_prefix("pub use ")?.strip_suffix(';')) {
        let Some((module, names)) = line.split_once("::") else { continue };
        let Some(&at) = place.get(module) else { continue };
        for name in names.trim_matches(['{', '}']).split(", ") {
            place.insert(name.to_owned(), at);
        }
    }
    let mut files = Vec::new();
    sources(root, &mut files);
    let mut arrows = Vec::new();
    for file in files {
        let inside = file.strip_prefix(root).expect("below the root");
        let module = inside.components().next().expect("a name").as_os_str().to_string_lossy();
        let Some(own) = place.get(module.trim_end_matches(".rs")) else { continue };
        let up = used(&code(&file)).into_iter().filter(|name| place.get(name).is_some_and(|at| at > own));
        arrows.extend(up.map(|name| format!("{} uses {name}", inside.display())));
    }
    arrows
}

#[test]
fn no_module_of_the_engine_uses_one_below_it_in_the_table() {
    let arrows = arrows_up(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(arrows.is_empty(), "these uses point up; move the type to the lower module:\n{}", arrows.join("\n"));
}

#[test]
fn an_arrow_up_is_named() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
    write("lib.rs", "//! | `low` | words |\n//! | `high` | machinery |\npub mod high;\nmod low;\npub use high::Top;\n");
    write("high.rs", "use crate::low::Word;\npub struct Top;\n");
    write("low.rs", "// crate::high\nuse crate::{high::{A, B}, low};\nfn f() -> crate::Top { todo!() }\n");
    assert_eq!(arrows_up(root.path()), ["low.rs uses high", "low.rs uses Top"]);
}
