//! Builds every plugin of the repository: the packages in `example-plugins` and `tests/plugins` that are plugins.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Outcome,
    workspace::{Workspace, output, run, say},
};

const TARGET: &str = "wasm32-wasip2";

/// The environment variable that tells tests and benchmarks the directory of the plugins.
pub const VARIABLE: &str = "HOOKHOST_PLUGINS";

/// A package that is a plugin.
#[derive(Clone, Debug)]
pub struct Plugin {
    pub package: String,
}

impl Plugin {
    /// Returns the file name of the plugin's component.
    pub fn file_name(&self) -> String {
        format!("{}.wasm", self.package.replace('-', "_"))
    }
}

/// Builds all plugins and returns their directory, `target/plugins`, which contains nothing else.
pub fn build(workspace: &Workspace) -> Outcome<PathBuf> {
    let examples = examples(workspace)?;
    let plugins = [examples.clone(), in_directory(&workspace.root.join("tests/plugins"))?].concat();
    let directory = workspace.plugins();
    if directory.exists() {
        fs::remove_dir_all(&directory).map_err(|error| format!("cannot clear {}: {error}", directory.display()))?;
    }
    build_only(workspace, &plugins)?;
    bundle(workspace, &examples)?;
    Ok(directory)
}

/// Builds the given plugins into `target/plugins`. Other plugins in this directory stay as they are.
pub fn build_only(workspace: &Workspace, plugins: &[Plugin]) -> Outcome {
    add_target(workspace)?;
    let mut cargo = workspace.cargo(&["build", "--profile", "plugin", "--target", TARGET]);
    let places = places(workspace)?;
    cargo.args(["--config", &remapped(TARGET, &places)]).args(packages(plugins));
    let target = workspace.target_of_guests();
    // The demo runs another build at the same time, whose progress bar this one would overwrite.
    cargo.env("CARGO_TARGET_DIR", &target).env("CARGO_TERM_PROGRESS_WHEN", "never");
    run(&format!("building {} plugins for {TARGET}", plugins.len()), &mut cargo)?;

    let built = target.join(TARGET).join("plugin");
    let directory = workspace.plugins();
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| format!("cannot write {}: {error}", path.display())
    };
    fs::create_dir_all(&directory).map_err(failed(&directory))?;
    for plugin in plugins {
        let (from, to) = (built.join(plugin.file_name()), directory.join(plugin.file_name()));
        let bytes = fs::read(&from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
        let bytes = without_names(&bytes).ok_or_else(|| format!("{} is no component", from.display()))?;
        if let Some(place) = told(&bytes, &places) {
            return Err(format!("{} tells where it was built: it holds the path {place}", plugin.file_name()));
        }
        fs::write(&to, bytes).map_err(failed(&to))?;
    }
    say(&format!("the plugins are in {}", workspace.show(&directory)));
    Ok(())
}

/// Copies the example plugins into the directory from which the build of `hookhost` packs them. A file that would not change is not
/// written, because cargo would then pack all plugins again.
fn bundle(workspace: &Workspace, examples: &[Plugin]) -> Outcome {
    let directory = workspace.bundled_plugins();
    let failed = |error| format!("cannot write {}: {error}", directory.display());
    fs::create_dir_all(&directory).map_err(failed)?;
    for entry in fs::read_dir(&directory).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if !examples.iter().any(|plugin| file.ends_with(plugin.file_name())) {
            fs::remove_file(&file).map_err(failed)?;
        }
    }
    for plugin in examples {
        let (from, to) = (workspace.plugins().join(plugin.file_name()), directory.join(plugin.file_name()));
        let bytes = fs::read(&from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
        if fs::read(&to).is_ok_and(|present| present == bytes) {
            continue;
        }
        fs::write(&to, bytes).map_err(failed)?;
    }
    Ok(())
}

/// A directory of this machine, and the path that replaces it in components and programs.
pub(crate) struct Place {
    directory: String,
    instead: &'static str,
}

/// Returns the directories whose paths would get into a component or program through the messages of panics. With these paths, the same source would
/// have a different digest on each machine, and everybody could read the paths. Inner directories come last, because rustc uses the last
/// match.
pub(crate) fn places(workspace: &Workspace) -> Outcome<Vec<Place>> {
    let home = |variable: &str, directory: &str| match std::env::var_os(variable).filter(|value| !value.is_empty()) {
        Some(home) => Some(PathBuf::from(home)),
        None => std::env::home_dir().map(|home| home.join(directory)),
    };
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let sysroot = output(rustc.args(["--print", "sysroot"]).current_dir(&workspace.root))?;
    let places = [
        (Some(workspace.root.clone()), "/workspace"),
        (Some(workspace.target.clone()), "/target"),
        (home("CARGO_HOME", ".cargo"), "/cargo"),
        (Some(Path::new(&sysroot).join("lib/rustlib/src/rust")), "/rust"),
    ];
    let shown = |(directory, instead): (Option<PathBuf>, _)| {
        Some(Place { directory: directory?.to_string_lossy().into_owned(), instead })
    };
    Ok(places.into_iter().filter_map(shown).collect())
}

/// Returns the setting that makes rustc replace the paths of these directories. Cargo adds the setting to the flags of
/// `.cargo/config.toml`.
pub(crate) fn remapped(target: &str, places: &[Place]) -> String {
    let flags = places
        .iter()
        .map(|Place { directory, instead }| format!("{:?}", format!("--remap-path-prefix={directory}={instead}")));
    format!("target.{target}.rustflags=[{}]", flags.collect::<Vec<_>>().join(", "))
}

/// Returns a component without the names of its parts, which only a debugger needs. The linker removes only the names within core modules.
/// Returns `None` if the bytes are not a component.
fn without_names(component: &[u8]) -> Option<Vec<u8>> {
    const HEADER: usize = 8;
    const CUSTOM: u8 = 0;
    let (header, mut rest) = component.split_at_checked(HEADER)?;
    let mut without = header.to_vec();
    while let Some((kind, after)) = rest.split_first() {
        let (size, after) = number(after)?;
        let (content, next) = after.split_at_checked(size)?;
        let is_name = *kind == CUSTOM && {
            let (length, content) = number(content)?;
            content.get(..length)? == b"component-name"
        };
        if !is_name {
            without.extend_from_slice(&rest[..rest.len() - next.len()]);
        }
        rest = next;
    }
    Some(without)
}

/// Reads a LEB128 number, such as a length in a component. Returns the number and the bytes that follow it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        number |= usize::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

/// Searches a component for the path of a directory of this machine. Returns the first path that it contains, if any.
pub(crate) fn told<'a>(component: &[u8], places: &'a [Place]) -> Option<&'a str> {
    let holds = |directory: &str| {
        component.windows(directory.len() + 1).any(|window| window.strip_prefix(directory.as_bytes()) == Some(b"/"))
    };
    places.iter().map(|place| place.directory.as_str()).find(|directory| holds(directory))
}

/// Returns the example plugins.
pub fn examples(workspace: &Workspace) -> Outcome<Vec<Plugin>> {
    let directory = workspace.root.join("example-plugins");
    let shell = directory.join("shell");
    let mut plugins = in_directory(&directory)?;
    // Benchmarks also build older commits to compare them, and these commits may not have this directory.
    if shell.is_dir() {
        plugins.extend(in_directory(&shell)?);
    }
    plugins.sort_by(|a, b| a.package.cmp(&b.package));
    Ok(plugins)
}

/// Runs clippy on the code that is compiled only for guests.
pub fn clippy(workspace: &Workspace) -> Outcome {
    add_target(workspace)?;
    let plugins = [examples(workspace)?, in_directory(&workspace.root.join("tests/plugins"))?].concat();
    let mut cargo = workspace.cargo(&["clippy", "--target", TARGET, "-p", "hookhost-guest"]);
    cargo.args(packages(&plugins)).args(["--", "-D", "warnings"]);
    run(&format!("clippy of the guest crates, for {TARGET}"), &mut cargo)
}

fn packages(plugins: &[Plugin]) -> impl Iterator<Item = &str> {
    plugins.iter().flat_map(|plugin| ["-p", &plugin.package])
}

/// Returns the plugins in the subdirectories of a directory, sorted by name. Packages that are not plugins are skipped.
fn in_directory(directory: &Path) -> Outcome<Vec<Plugin>> {
    let unreadable = |error| format!("cannot read {}: {error}", directory.display());
    let mut plugins = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let manifest = entry.map_err(unreadable)?.path().join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        if !is_component(&text) {
            continue;
        }
        let package = package_name(&text).ok_or_else(|| format!("{} has no package name", manifest.display()))?;
        plugins.push(Plugin { package });
    }
    plugins.sort_by(|a, b| a.package.cmp(&b.package));
    Ok(plugins)
}

/// Returns true if the package is linked as a component.
fn is_component(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim);
    lines.any(|line| line.starts_with("crate-type") && line.contains("\"cdylib\""))
}

/// Returns `name` of `[package]`.
fn package_name(manifest: &str) -> Option<String> {
    let lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[package]").skip(1);
    let mut keys = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    let (_, name) = keys.find(|(key, _)| key.trim() == "name")?;
    Some(name.trim().trim_matches('"').to_owned())
}

/// Adds the target to the toolchain if it is missing.
fn add_target(workspace: &Workspace) -> Outcome {
    let rustc = || {
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(&workspace.root);
        rustc
    };
    let is_there = || output(&mut rustc()).map(|directory| Path::new(&directory).exists());
    if is_there()? {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]).current_dir(&workspace.root);
    run(&format!("adding the target {TARGET} to the toolchain"), &mut rustup)
        .map_err(|why| format!("{why}; the plugins need a Rust toolchain with the target {TARGET}"))?;
    if is_there()? { Ok(()) } else { Err(format!("rustup added {TARGET}, but not to the toolchain of `rustc`")) }
}

#[cfg(test)]
mod tests {
    use super::{Place, TARGET, is_component, package_name, remapped, told, without_names};

    #[test]
    fn a_component_loses_the_names_of_its_parts_alone() {
        let header = b"\0asm\x0d\0\x01\0";
        let long = [&[1_u8, 0x80, 0x02][..], &[7; 256]].concat();
        let names = b"\0\x11\x0ecomponent-name\x01\x02";
        let other = b"\0\x05\x04name";
        let all = [&header[..], &long, names, other].concat();
        assert_eq!(without_names(&all).unwrap(), [&header[..], &long, other].concat());
        for end in [7, 9, 10, 200, 268, all.len() - 1] {
            assert_eq!(without_names(&all[..end]), None, "cut at {end}");
        }
        assert_eq!(without_names(header).unwrap(), header);
    }

    #[test]
    fn a_component_that_tells_where_it_was_built_is_found() {
        let place = |directory: &str, instead| Place { directory: directory.into(), instead };
        let places = [place("/home/me/hookhost", "/workspace"), place("/home/me/.cargo", "/cargo")];
        assert_eq!(told(b"\0asm /cargo/registry/x.rs /home/me/.cargoes", &places), None);
        assert_eq!(told(b"\0asm /home/me/.cargo/registry/x.rs", &places), Some("/home/me/.cargo"));
        assert_eq!(
            remapped(TARGET, &places),
            "target.wasm32-wasip2.rustflags=[\"--remap-path-prefix=/home/me/hookhost=/workspace\", \
             \"--remap-path-prefix=/home/me/.cargo=/cargo\"]"
        );
    }

    #[test]
    fn a_package_that_plugins_share_is_not_a_plugin() {
        assert!(is_component("[package]\nname = \"a\"\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]"));
        assert!(!is_component("[package]\nname = \"a\"\n[lib]\ndoctest = false"));
    }

    #[test]
    fn the_name_is_that_of_the_package_and_of_no_other_table() {
        let manifest = "[lib]\nname = \"no\"\n[package]\n# x\nversion.workspace = true\nname  = \"path-guard\"\n[bin]\nname = \"no\"";
        assert_eq!(package_name(manifest).as_deref(), Some("path-guard"));
        assert_eq!(package_name("[workspace]\nname = \"no\""), None);
    }
}
