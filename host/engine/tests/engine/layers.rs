//! Modules depend downwards: each may use those above it in the table of its parent, and no other. That holds for each crate
//! whose `lib.rs` has such a table, and inside of some modules of the engine and the proxy. What is generated is not stale.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

#[test]
fn the_contracts_types_are_passed_as_the_wit_says() {
    let generated = hookhost_wit::host_wire().expect("the contract is read");
    assert!(
        generated == include_str!("../../src/wire/generated.rs"),
        "host/engine/src/wire/generated.rs is stale: run `cargo xtask contract`"
    );
}

/// The code without comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The first name of each path that follows `prefix`, those of a `prefix{…}` one by one.
fn used(code: &str, prefix: &str) -> Vec<String> {
    let name = |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let mut names = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        // Part of a longer path, or of another word.
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(members(group).into_iter().map(name)),
            None => names.push(name(rest)),
        }
    }
    names
}

/// The members of a group, up to its closing brace.
fn members(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut members) = (0, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                members.push(&group[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                members.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    members.into_iter().filter(|member| !member.trim().is_empty()).collect()
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

/// The modules in the table of `root`, which is a `lib.rs` or a `mod.rs`, and the names that it re-exports from them, each with
/// its place in the table.
fn layers(root: &Path) -> HashMap<String, usize> {
    let text = std::fs::read_to_string(root).expect("a table of modules");
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | ")?.split('`').nth(1));
    let rows = rows.map(|name| name.trim_start_matches("mod@").to_owned());
    let mut place: HashMap<String, usize> = rows.enumerate().map(|(at, name)| (name, at)).collect();
    let code = code(&text);
    for line in code.lines() {
        let Some((visibility, module)) = line.split_once("mod ") else { continue };
        let module = module.trim_end_matches([';', '{', ' ']);
        let is_declared = visibility.is_empty() || visibility.starts_with("pub");
        // A module with a body is a façade.
        let is_left_out = !is_declared || line.ends_with('{') || module == "tests";
        assert!(place.contains_key(module) || is_left_out, "`{module}` is missing in the table of {}", root.display());
    }
    for used in code.split(';').filter_map(|statement| Some(statement.rsplit_once("use ")?.1)) {
        let Some((module, names)) = used.split_once("::") else { continue };
        let Some(&at) = place.get(module.trim()) else { continue };
        let names = names.strip_prefix('{').map_or_else(|| vec![names], members);
        for name in names {
            place.insert(name.rsplit([' ', ':']).next().unwrap_or(name).trim().to_owned(), at);
        }
    }
    place
}

/// The uses that point up among the modules in the table of `root`, each as `FILE uses MODULE`. `path` is the path of their
/// parent from the root of the crate, such as `crate::session::`.
fn arrows_up(root: &Path, path: &str) -> Vec<String> {
    let (directory, place) = (root.parent().expect("a directory"), layers(root));
    let (mut files, mut arrows) = (Vec::new(), Vec::new());
    sources(directory, &mut files);
    files.sort();
    for file in files {
        let inside = file.strip_prefix(directory).expect("below the root");
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        let Some(own) = place.get(parts[0].trim_end_matches(".rs")) else { continue };
        let code = code(&std::fs::read_to_string(&file).expect("a source file"));
        // A `mod.rs` is its directory.
        let depth = parts.len() - usize::from(file.ends_with("mod.rs"));
        let mut names = used(&code, path);
        names.extend(used(&code, &"super::".repeat(depth)));
        names.retain(|name| place.get(name).is_some_and(|at| at > own));
        names.dedup();
        arrows.extend(names.into_iter().map(|name| format!("{} uses {name}", inside.display())));
    }
    arrows
}

/// The tables that hold: those of all crates that say so, and of modules of the engine.
fn tables() -> Vec<(PathBuf, &'static str)> {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the directory of the crates");
    let crates =
        std::fs::read_dir(host).expect("the crates").map(|entry| entry.expect("a crate").path().join("src/lib.rs"));
    let claims = |lib: &PathBuf| {
        std::fs::read_to_string(lib).is_ok_and(|text| text.contains("Data flows down this list and never back up"))
    };
    let mut tables: Vec<_> = crates.filter(claims).map(|lib| (lib, "crate::")).collect();
    assert!(tables.len() > 2, "{tables:?}");
    for (module, path) in [
        ("engine/src/config", "crate::config::"),
        ("engine/src/session", "crate::session::"),
        ("proxy/src/jsonrpc", "crate::jsonrpc::"),
        ("proxy/src/mcp", "crate::mcp::"),
        ("proxy/src/acp", "crate::acp::"),
    ] {
        tables.push((host.join(module).join("mod.rs"), path));
    }
    tables
}

#[test]
fn no_module_uses_one_below_it_in_its_table() {
    let mut wrong = String::new();
    for (root, path) in tables() {
        for arrow in arrows_up(&root, path) {
            wrong += &format!("{}: {arrow}\n", root.display());
        }
    }
    assert!(wrong.is_empty(), "these uses point up; move the type to the lower module:\n{wrong}");
}

#[test]
fn an_arrow_up_is_named() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
    write("lib.rs", "//! | `low` | words |\n//! | `high` | machinery |\npub mod high;\nmod low;\npub use high::Top;\n");
    write("high.rs", "use crate::low::Word;\npub struct Top;\n");
    write("low.rs", "// crate::high\nuse crate::{high::{A, B}, low};\nfn f() -> crate::Top { todo!() }\n");
    assert_eq!(arrows_up(&root.path().join("lib.rs"), "crate::"), ["low.rs uses high", "low.rs uses Top"]);
}

#[test]
fn an_arrow_up_inside_of_a_module_is_named() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
    std::fs::create_dir(root.path().join("low")).unwrap();
    write(
        "mod.rs",
        "//! | `low` | words |\n//! | `high` | machinery |\nmod high;\nmod low;\npub(crate) use high::{Top, f};\n",
    );
    write("high.rs", "use super::low::Word;\npub struct Top;\n");
    write("low/mod.rs", "mod part;\nuse super::Top;\n#[cfg(test)]\nmod tests {\n    use super::high;\n}\n");
    write("low/part.rs", "use super::high;\nuse super::super::high::Top;\nuse crate::room::f;\n");
    assert_eq!(
        arrows_up(&root.path().join("mod.rs"), "crate::room::"),
        ["low/mod.rs uses Top", "low/part.rs uses f", "low/part.rs uses high"]
    );
}
