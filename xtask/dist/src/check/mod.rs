//! Installs each package and lets hookhost reject a call. Each package is installed in a bare directory tree without a compiler and without
//! a network: a new Debian, of which only this check sees the changes. With `--quick`, packages are instead installed below a temporary
//! directory of this machine, which checks the packers but not what a program needs.

mod kinds;
mod registry;

use crate::{
    Outcome,
    release::{Release, failed, output},
    tree::Target,
};
use kinds::{KINDS, Kind, Place};
use registry::Registry;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

const CHROOT: &str = include_str!("chroot.sh");
const IMAGE: &str = include_str!("image.sh");
const HERE: &str = include_str!("here.sh");
const USE: &str = include_str!("use.sh");

/// A call that must be rejected, as Claude Code sends it.
const CALL: &str = r#"{"hook_event_name":"PreToolUse","session_id":"check","cwd":"/tmp","transcript_path":"/tmp/t.jsonl","permission_mode":"default","tool_use_id":"t1","tool_name":"Bash","tool_input":{"command":"rm -rf ~"}}"#;

/// The environment of the scripts, which `sudo` would remove.
const VARIABLES: &str = "--preserve-env=PACKAGE,CALL,WORK,REGISTRY,VERSION,LOWER,BEFORE,INSTALL,USE";

/// Checks each kind of package that exists for the target.
pub(crate) fn all(release: &Release, target: &str, work: &Path) -> Outcome {
    let target = Target::parse(target)?;
    let names = release.names()?;
    let registry = Registry::serve(release)?;
    println!("    {:10} {:>8} {:>9}  how", "package", "seconds", "commands");
    for kind in &KINDS {
        let Some(name) = names.iter().find(|name| kind.is_for(name, release, &target)) else {
            println!("    {:10} not built", kind.name);
            continue;
        };
        let directory = work.join(format!("run-{}", kind.name));
        let command = if release.quick { here(kind) } else { Some(in_chroot(kind, work)?) };
        let Some(mut command) = command else { continue };
        command.env("PACKAGE", release.out.join(name)).env("CALL", CALL).env("WORK", &directory).env("USE", USE);
        command.env("REGISTRY", registry.address()).env("VERSION", &release.version);
        fs::create_dir_all(&directory).map_err(|error| failed(&directory, &error))?;
        let began = Instant::now();
        let done = output(&mut command);
        let seconds = began.elapsed().as_secs_f64();
        let _ = fs::remove_dir_all(&directory);
        done.map_err(|why| format!("{}: {why}", kind.name))?;
        println!("    {:10} {seconds:>8.1} {:>9}  {}", kind.name, kind.commands, kind.how);
    }
    Ok(())
}

/// Returns the command that installs below a temporary directory, for kinds that can be installed so.
fn here(kind: &Kind) -> Option<Command> {
    let mut shell = Command::new("sh");
    shell.args(["-ec", HERE]).env("INSTALL", kind.here?);
    Some(shell)
}

/// Returns the command that installs in a copy of a bare system, with its own processes and, except for npm, without a network.
fn in_chroot(kind: &Kind, work: &Path) -> Outcome<Command> {
    let mut command = as_root("unshare")?;
    command.args(["--mount", "--pid", "--fork", "--kill-child"]);
    if !kind.needs_network {
        command.arg("--net");
    }
    match kind.place {
        Place::Image => command.args(["sh", "-ec", IMAGE]),
        Place::System { needs, before, install } => {
            command.env("LOWER", bare(work, needs)?).env("BEFORE", before).env("INSTALL", install);
            command.args(["sh", "-ec", CHROOT])
        }
    };
    Ok(command)
}

/// Returns a command that runs as root, by `sudo` for another user.
fn as_root(program: &str) -> Outcome<Command> {
    if output(Command::new("id").arg("-u"))?.trim() == "0" {
        return Ok(Command::new(program));
    }
    let mut sudo = Command::new("sudo");
    sudo.args([VARIABLES, program]);
    Ok(sudo)
}

/// Returns a bare Debian with these packages. The first call for it needs Debian's archive.
fn bare(work: &Path, packages: &str) -> Outcome<PathBuf> {
    let name = if packages.is_empty() { "bare".to_owned() } else { format!("with-{}", packages.replace(',', "-")) };
    let (root, done) = (work.join(&name), work.join(format!("{name}.complete")));
    if done.exists() {
        return Ok(root);
    }
    println!("    making {} with debootstrap", root.display());
    output(as_root("rm")?.arg("-rf").arg(&root))?;
    fs::create_dir_all(work).map_err(|error| failed(work, &error))?;
    let mut debootstrap = as_root("debootstrap")?;
    debootstrap.arg("--variant=minbase");
    if !packages.is_empty() {
        debootstrap.arg(format!("--include={packages}"));
    }
    if let Err(why) = output(debootstrap.arg("bookworm").arg(&root)) {
        // debootstrap does not find all packages that npm needs. apt adds the rest.
        let mut configure = as_root("chroot")?;
        configure.arg(&root).args(["/usr/bin/env", "-i", "DEBIAN_FRONTEND=noninteractive"]);
        configure.args(["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "apt-get", "install", "-qq", "--fix-broken"]);
        output(&mut configure).map_err(|_| why)?;
    }
    fs::write(&done, "").map_err(|error| failed(&done, &error))?;
    Ok(root)
}
