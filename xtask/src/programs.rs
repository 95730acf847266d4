//! Builds the programs for users: `hookhost`, and the small `hookhost-hook`, which agents start for every event.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Outcome, plugins,
    workspace::{Workspace, output, run, say},
};

/// The programs in the form in which they are installed.
#[derive(Debug)]
pub struct Programs {
    pub hookhost: PathBuf,
    pub hook: PathBuf,
}

impl Programs {
    /// Returns the environment variables that tell benchmarks where the programs are.
    pub fn variables(&self) -> [(&'static str, &Path); 2] {
        [("HOOKHOST_COMMAND", &self.hookhost), ("HOOKHOST_HOOK", &self.hook)]
    }
}

/// Builds the programs.
///
/// # Errors
/// If cargo fails.
pub fn release(workspace: &Workspace) -> Outcome<Programs> {
    // In a comparison, an older commit may not have this profile.
    let manifest = fs::read_to_string(workspace.root.join("Cargo.toml")).unwrap_or_default();
    let profile = if manifest.contains("[profile.dist]") { "dist" } else { "release" };
    // Build the whole workspace, so that the same libraries are compiled whatever was built before.
    let mut build = workspace.cargo(&["build", "--profile", profile, "--workspace", "--bin", "hookhost"]);
    run("building hookhost (the first time, wasmtime is compiled too)", &mut build)?;
    let hookhost = workspace.target.join(profile).join(named("hookhost"));
    // In a comparison, an older commit may have the program in a separate package.
    let has_client = workspace.root.join("host/client").is_dir();
    let package = if has_client { "hookhost-client" } else { "hookhost-hook" };
    let hook = small(workspace, package, "hookhost-hook")?;
    Ok(Programs { hookhost, hook })
}

/// Builds the programs for a target, and returns the directory that contains them. Their bytes do not depend on the directories of this
/// machine. `configure` adds what the target needs to the commands of cargo.
///
/// # Errors
/// If cargo fails, or if a program contains a path of this machine.
pub fn for_target(
    workspace: &Workspace,
    target: &str,
    configure: impl Fn(&mut Command) -> Outcome,
) -> Outcome<PathBuf> {
    let places = plugins::places(workspace)?;
    let programs = workspace.target.join(target).join("programs");
    fs::create_dir_all(&programs).map_err(|error| format!("cannot make {}: {error}", programs.display()))?;
    // `hookhost-hook` is built by itself, so that its libraries have no features that other programs need.
    for (name, profile, packages) in
        [("hookhost", "dist", &["--workspace"][..]), ("hookhost-hook", "hook", &["--package", "hookhost-client"])]
    {
        let mut build =
            workspace.cargo(&["build", "--locked", "--profile", profile, "--target", target, "--bin", name]);
        build.args(packages).args(["--config", &plugins::remapped(target, &places)]).env("CARGO_INCREMENTAL", "0");
        build.env("HOOKHOST_BUNDLED", workspace.bundled_plugins());
        configure(&mut build)?;
        run(&format!("building {name} for {target}"), &mut build)?;
        let built = workspace.target.join(target).join(profile).join(name);
        let bytes = fs::read(&built).map_err(|error| format!("cannot read {}: {error}", built.display()))?;
        if let Some(place) = plugins::told(&bytes, &places) {
            return Err(format!("{name} tells where it was built: it holds the path {place}"));
        }
        put(&built, &programs)?;
    }
    Ok(programs)
}

/// Builds an example that contains only the engine, with the profile of `hookhost`. The size of the example shows how much of the size of
/// `hookhost` is due to the engine.
pub fn engine_alone(workspace: &Workspace) -> Outcome<PathBuf> {
    let mut build = workspace.cargo(&["build", "--profile", "dist", "--workspace", "--example", "compile_ahead"]);
    run("building a program with the engine alone, to compare its size", &mut build)?;
    Ok(workspace.target.join("dist/examples").join(named("compile_ahead")))
}

/// Builds a small program by itself, so that its libraries have no features that other programs need. The program is linked statically if
/// the C library allows it. It spends most of its time on starting, and dynamic loading would take half of the start.
fn small(workspace: &Workspace, package: &str, name: &str) -> Outcome<PathBuf> {
    let mut build = workspace.cargo(&["build", "--profile", "hook", "--package", package, "--bin", name]);
    let mut directory = workspace.target.clone();
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        let target = host(workspace)?;
        // With an explicit target, the flags do not apply to build scripts and macros.
        build.args(["--target", &target]).env("RUSTFLAGS", "-C target-feature=+crt-static");
        directory.push(target);
    }
    run(&format!("building {name}"), &mut build)?;
    Ok(directory.join("hook").join(named(name)))
}

/// Returns the target triple of this compiler.
fn host(workspace: &Workspace) -> Outcome<String> {
    let version = output(Command::new("rustc").arg("-vV").current_dir(&workspace.root))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("`rustc -vV` names no host: {version}"))
}

fn named(program: &str) -> String {
    format!("{program}{}", env::consts::EXE_SUFFIX)
}

/// Installs the programs into the named directory. If no directory is named, installs them into the directory of cargo's programs, which is
/// on the `PATH`.
pub fn install(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let directory = match arguments {
        [] => cargo_programs()?,
        [directory] if !directory.starts_with('-') => {
            std::path::absolute(directory).map_err(|error| format!("{directory}: {error}"))?
        }
        _ => return Err("usage: cargo xtask install [DIRECTORY]".to_owned()),
    };
    plugins::build(workspace)?;
    let programs = release(workspace)?;
    fs::create_dir_all(&directory).map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    for program in [&programs.hookhost, &programs.hook] {
        put(program, &directory)?;
    }
    say(&format!("hookhost and hookhost-hook are in {}", directory.display()));
    let is_on_path = env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|entry| entry == directory));
    if !is_on_path {
        say(&format!("your shell does not find them yet: add {} to your PATH", directory.display()));
    }
    Ok(())
}

/// Writes a new file beside the old program and then renames it, because a running program cannot be written to.
fn put(program: &Path, directory: &Path) -> Outcome {
    let name = program.file_name().unwrap_or_default();
    let (new, file) = (directory.join(format!(".{}.new", name.display())), directory.join(name));
    let copied = fs::copy(program, &new).and_then(|_| fs::rename(&new, &file));
    copied.map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Returns the directory into which `cargo install` puts programs.
fn cargo_programs() -> Outcome<PathBuf> {
    let cargo = env::var_os("CARGO_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let cargo = cargo.or_else(|| Some(env::home_dir()?.join(".cargo")));
    cargo
        .map(|cargo| cargo.join("bin"))
        .ok_or_else(|| "there is no home directory: name one to install into".to_owned())
}
