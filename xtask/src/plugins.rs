//! Builds every plugin of the repository: the folders of `example-plugins` and `tests/plugins`, each a package.

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

/// A package that is a plugin.
#[derive(Clone)]
pub(crate) struct Plugin {
    pub(crate) package: String,
}

impl Plugin {
    /// The file that cargo makes of it.
    pub(crate) fn file_name(&self) -> String {
        format!("{}.wasm", self.package.replace('-', "_"))
    }
}

/// Builds them all and returns the folder that they are then in, `target/plugins`, which holds nothing else.
pub(crate) fn build(workspace: &Workspace) -> Outcome<PathBuf> {
    add_target(workspace)?;
    let plugins = [examples(workspace)?, in_folder(&workspace.root.join("tests/plugins"))?].concat();
    let mut cargo = workspace.cargo(&["build", "--profile", "plugin", "--target", TARGET]);
    cargo.args(packages(&plugins));
    run(&format!("building {} plugins for {TARGET}", plugins.len()), &mut cargo)?;

    let built = workspace.target.join(TARGET).join("plugin");
    let folder = workspace.target.join("plugins");
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| format!("cannot write {}: {error}", path.display())
    };
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    for plugin in &plugins {
        let to = folder.join(plugin.file_name());
        fs::copy(built.join(plugin.file_name()), &to).map_err(failed(&to))?;
    }
    say(&format!("they are in {}", workspace.show(&folder)));
    Ok(folder)
}

/// The plugins that are examples.
pub(crate) fn examples(workspace: &Workspace) -> Outcome<Vec<Plugin>> {
    in_folder(&workspace.root.join("example-plugins"))
}

/// Clippy for the code that only a guest compiles.
pub(crate) fn clippy(workspace: &Workspace) -> Outcome {
    add_target(workspace)?;
    let plugins = [examples(workspace)?, in_folder(&workspace.root.join("tests/plugins"))?].concat();
    let mut cargo = workspace.cargo(&["clippy", "--target", TARGET, "-p", "hookhost-guest"]);
    cargo.args(packages(&plugins)).args(["--", "-D", "warnings"]);
    run(&format!("clippy of the guest crates, for {TARGET}"), &mut cargo)
}

fn packages(plugins: &[Plugin]) -> impl Iterator<Item = &str> {
    plugins.iter().flat_map(|plugin| ["-p", &plugin.package])
}

/// The packages in the folders of this one, by name.
fn in_folder(folder: &Path) -> Outcome<Vec<Plugin>> {
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let mut plugins = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let manifest = entry.map_err(unreadable)?.path().join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let package = package_name(&text).ok_or_else(|| format!("{} has no package name", manifest.display()))?;
        plugins.push(Plugin { package });
    }
    plugins.sort_by(|a, b| a.package.cmp(&b.package));
    Ok(plugins)
}

/// `name` of `[package]`.
fn package_name(manifest: &str) -> Option<String> {
    let lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[package]").skip(1);
    let mut keys = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    let (_, name) = keys.find(|(key, _)| key.trim() == "name")?;
    Some(name.trim().trim_matches('"').to_owned())
}

/// Adds the target to the toolchain where it is missing.
fn add_target(workspace: &Workspace) -> Outcome {
    let rustc = || {
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(&workspace.root);
        rustc
    };
    let is_there = || output(&mut rustc()).map(|folder| Path::new(&folder).exists());
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
    use super::package_name;

    #[test]
    fn the_name_is_that_of_the_package_and_of_no_other_table() {
        let manifest = "[lib]\nname = \"no\"\n[package]\n# x\nversion.workspace = true\nname  = \"path-guard\"\n[bin]\nname = \"no\"";
        assert_eq!(package_name(manifest).as_deref(), Some("path-guard"));
        assert_eq!(package_name("[workspace]\nname = \"no\""), None);
    }
}
