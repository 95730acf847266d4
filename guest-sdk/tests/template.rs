//! Copies the template to a different directory, and builds it as an author would, with plain cargo and with
//! `cargo component`.

#![expect(clippy::unwrap_used, reason = "a test: what is not there fails it")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wasmparser::{Operator, Parser, Payload};

/// The imports and exports of a component, and the initial stack pointer of its first core module.
#[derive(Debug, Default)]
struct Facts {
    imports: BTreeSet<String>,
    exports: BTreeSet<String>,
    stack: Option<i32>,
}

fn copy_of_the_template() -> tempfile::TempDir {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = tempfile::tempdir().unwrap();
    for file in ["src/lib.rs", ".cargo/config.toml"] {
        let to = copy.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(sdk.join("template").join(file), to).unwrap();
    }
    let manifest = fs::read_to_string(sdk.join("template/Cargo.toml")).unwrap();
    let elsewhere = manifest.replace("path = \"..\"", &format!("path = {:?}", sdk.to_str().unwrap()));
    assert_ne!(manifest, elsewhere, "the template names the SDK by another path");
    fs::write(copy.path().join("Cargo.toml"), elsewhere).unwrap();
    // Use the versions with which the repository was tested. Cargo ignores the packages that the plugin does not need.
    fs::copy(sdk.join("../Cargo.lock"), copy.path().join("Cargo.lock")).unwrap();
    copy
}

/// Returns the commands of the guide that build a component whose bytes do not depend on the machine.
fn documented_build() -> String {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/writing-plugins.md")).unwrap();
    let blocks = guide.split("```bash\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.contains("--remap-path-prefix")).last().unwrap().to_owned()
}

/// Builds the template with the guide's commands in a separate directory and with a separate cargo home. Returns the
/// component and the directory.
#[cfg(unix)]
fn built_in(place: &str) -> (Vec<u8>, PathBuf) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("elsewhere").join(place);
    let (plugin, home) = (directory.join("plugin"), directory.join("cargo-home"));
    let copy = copy_of_the_template();
    for file in ["src/lib.rs", ".cargo/config.toml", "Cargo.toml", "Cargo.lock"] {
        fs::create_dir_all(plugin.join(file).parent().unwrap()).unwrap();
        fs::copy(copy.path().join(file), plugin.join(file)).unwrap();
    }
    fs::create_dir_all(&home).unwrap();
    let of_user =
        std::env::var_os("CARGO_HOME").map_or_else(|| std::env::home_dir().unwrap().join(".cargo"), PathBuf::from);
    for shared in ["registry", "git", "config.toml"] {
        if of_user.join(shared).exists() && !home.join(shared).exists() {
            std::os::unix::fs::symlink(of_user.join(shared), home.join(shared)).unwrap();
        }
    }
    let path = std::env::join_paths(
        Path::new(env!("CARGO"))
            .parent()
            .map(Path::to_owned)
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let output = Command::new("sh")
        .args(["-ec", &documented_build()])
        .current_dir(&plugin)
        .env("PATH", path.unwrap())
        .env("CARGO_HOME", &home)
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (fs::read(directory.join("target/wasm32-wasip2/release/my_plugin.wasm")).unwrap(), directory)
}

#[cfg(unix)]
#[test]
fn the_guides_command_builds_the_same_bytes_in_two_directories_with_two_cargo_homes_and_tells_neither() {
    let ((one, directory), (other, elsewhere)) = (built_in("one"), built_in("the-other"));
    for (bytes, directory) in [(&one, directory), (&other, elsewhere)] {
        let directory = directory.to_str().unwrap().as_bytes();
        assert!(
            !bytes.windows(directory.len()).any(|window| window == directory),
            "it holds the path of its directory"
        );
        assert!(
            bytes.windows(16).any(|window| window == b"/cargo/registry/"),
            "no path was remapped: this shows nothing"
        );
    }
    assert!(one == other, "the bytes differ");
}

fn cargo(directory: &Path, arguments: &[&str]) {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", target())
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo {}:\n{}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
}

/// Returns the target directory. It is kept between test runs, so that only the first run is slow.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("template")
}

fn facts(component: &Path) -> Facts {
    let bytes = fs::read(component).unwrap();
    assert!(Parser::is_component(&bytes), "{} is no component", component.display());
    let (mut facts, mut depth) = (Facts::default(), 0);
    for payload in Parser::new(0).parse_all(&bytes) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(imports) if depth == 0 => {
                facts.imports.extend(imports.into_iter().map(|import| import.unwrap().name.name.to_owned()));
            }
            Payload::ComponentExportSection(exports) if depth == 0 => {
                facts.exports.extend(exports.into_iter().map(|export| export.unwrap().name.name.to_owned()));
            }
            Payload::GlobalSection(globals) if facts.stack.is_none() => {
                // The first global that the linker creates is the stack pointer, which starts at the upper end of the
                // stack.
                let first = globals.into_iter().next().unwrap().unwrap();
                if let Ok(Operator::I32Const { value }) = first.init_expr.get_operators_reader().read() {
                    facts.stack = Some(value);
                }
            }
            _ => {}
        }
    }
    facts
}

/// Checks that the component exports exactly the methods of the template, and that it imports no capability, because
/// the template uses none.
fn check(component: &Path) {
    let facts = facts(component);
    let exports: Vec<_> = facts.exports.iter().map(String::as_str).collect();
    assert_eq!(exports, ["hookhost:hooks/before-tool-call@0.1.0", "hookhost:hooks/setup@0.1.0"]);
    let imports: Vec<_> = facts.imports.iter().filter(|name| name.starts_with("hookhost:")).collect();
    assert_eq!(imports, ["hookhost:hooks/types@0.1.0"]);
    assert_eq!(facts.stack, Some(49152), "the stack is not 48 KiB");
}

#[test]
fn plain_cargo_builds_the_template_into_a_component() {
    let copy = copy_of_the_template();
    cargo(copy.path(), &["build", "--target", "wasm32-wasip2", "--release"]);
    check(&target().join("wasm32-wasip2/release/my_plugin.wasm"));
}

#[test]
fn cargo_component_builds_the_template_into_a_component() {
    let installed = Command::new(env!("CARGO")).args(["component", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        // Write to stderr directly, because the test harness would hide the message.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"\nSKIPPED: cargo-component is not installed, so the template was not built with it.\n\
              `cargo install cargo-component --locked` installs it.\n\n",
        );
        return;
    }
    let copy = copy_of_the_template();
    cargo(copy.path(), &["component", "build", "--release"]);
    check(&target().join("wasm32-wasip1/release/my_plugin.wasm"));
}

#[test]
fn the_template_passes_its_own_tests_natively() {
    let copy = copy_of_the_template();
    cargo(copy.path(), &["test"]);
}
