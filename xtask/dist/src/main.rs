//! Writes hookhost's packages from built programs, and installs them to check them. `cargo xtask dist` calls this program.
//!
//! | module | is about |
//! |---|---|
//! | [`release`] | what all packages of a release have in common |
//! | [`tree`] | the files that each package contains |
//! | [`archive`], [`wheel`], [`npm`], [`image`], [`linux`] | one kind of package each |
//! | [`action`], [`agent_plugin`], [`homebrew`], [`sums`] | files about the packages of all targets |
//! | [`licences`], [`sbom`] | what the programs are made of |
//! | [`check`] | the installation of each package in a bare directory tree |

mod action;
mod agent_plugin;
mod archive;
mod check;
mod homebrew;
mod image;
mod licences;
mod linux;
mod npm;
mod release;
mod sbom;
mod sums;
mod tree;
mod wheel;

use release::Release;
use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};
use tree::{Target, Tree};

/// The result of a step. The error is one sentence.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    match Flags::parse(arguments).and_then(|flags| run(&command, &flags)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("dist {command}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Flags with a value each.
struct Flags(BTreeMap<String, String>);

impl Flags {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut flags = BTreeMap::new();
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
            flags.insert(name, value);
        }
        Ok(Self(flags))
    }

    fn get(&self, name: &str) -> Outcome<&str> {
        self.0.get(name).map(String::as_str).ok_or_else(|| format!("{name} is missing"))
    }

    fn path(&self, name: &str) -> Outcome<PathBuf> {
        self.get(name).map(PathBuf::from)
    }
}

fn run(command: &str, flags: &Flags) -> Outcome {
    let release = Release {
        root: flags.path("--root")?,
        out: flags.path("--out")?,
        version: flags.get("--version")?.to_owned(),
        epoch: flags.get("--epoch")?.parse().map_err(|error| format!("--epoch: {error}"))?,
        nfpm: flags.path("--nfpm")?,
        quick: flags.0.contains_key("--quick"),
    };
    match command {
        "pack" => pack(&release, flags),
        "assemble" => {
            npm::launcher(&release)?;
            action::write(&release)?;
            agent_plugin::write(&release)?;
            homebrew::formula(&release)?;
            sums::write(&release)
        }
        "check" => check::all(&release, flags.get("--target")?, &flags.path("--work")?),
        _ => Err("the commands are pack, assemble and check".to_owned()),
    }
}

/// Writes the packages for one target.
fn pack(release: &Release, flags: &Flags) -> Outcome {
    let target = Target::parse(flags.get("--target")?)?;
    let tree = Tree::collect(release, &target, &flags.path("--programs")?, &flags.path("--generated")?)?;
    archive::write(release, &target, &tree)?;
    if target.is_linux() {
        linux::write(release, &target, &tree)?;
        image::write(release, &target, &tree)?;
    }
    wheel::write(release, &target, &tree)?;
    npm::platform(release, &target, &tree)
}
