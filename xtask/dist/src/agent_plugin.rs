//! The plugin for Claude Code and Codex, with the digests of the programs that it may call. Its file `programs` has a line for each system.

use crate::{
    Outcome,
    archive::{Archive, gzip},
    image::digest,
    npm::{self, PLATFORMS},
    release::{Release, failed, read},
    tree::uname,
};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

const DIRECTORY: &str = "agent-plugin";

/// The file with a line for each system: what `uname` prints, the digest of `hookhost-hook` and the digest of `hookhost`.
const PROGRAMS: &str = "agent-plugin/programs";

/// Writes the plugin for the platforms whose npm packages exist.
pub(crate) fn write(release: &Release) -> Outcome {
    let mut archive = Archive::new(release.epoch);
    let mut files = Vec::new();
    collect(&release.root, Path::new(DIRECTORY), &mut files)?;
    files.sort();
    for file in files {
        let path = release.root.join(&file);
        let is_program = fs::metadata(&path).map_err(|error| failed(&path, &error))?.permissions().mode() & 0o111 != 0;
        let bytes = if file == PROGRAMS { programs(release, &read(&path)?)?.into_bytes() } else { read(&path)? };
        archive.file(&file, if is_program { 0o755 } else { 0o644 }, &bytes)?;
    }
    release.write(&format!("hookhost-agent-plugin-{}.tgz", release.version), &gzip(release, &archive.finish()?)?)
}

/// Adds the paths of all files below a directory of the repository.
fn collect(root: &Path, directory: &Path, files: &mut Vec<String>) -> Outcome {
    let path = root.join(directory);
    for entry in fs::read_dir(&path).map_err(|error| failed(&path, &error))? {
        let entry = entry.map_err(|error| failed(&path, &error))?;
        let found = directory.join(entry.file_name());
        if entry.path().is_dir() {
            collect(root, &found, files)?;
        } else {
            files.push(found.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Returns the comments of the file in the repository, and a line for each platform.
fn programs(release: &Release, stored: &[u8]) -> Outcome<String> {
    let stored = String::from_utf8_lossy(stored);
    let mut text: String =
        stored.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let names = release.names()?;
    for (os, cpu) in PLATFORMS {
        let name = npm::platform_name(release, os, cpu);
        if !names.contains(&name) {
            continue;
        }
        let package = release.read(&name)?;
        let of = |program: &str| {
            let bytes = npm::file(&package, program).ok_or_else(|| format!("{name} has no {program}"))?;
            Ok::<_, String>(digest(&bytes))
        };
        text += &format!("{} {} {}\n", uname((os, cpu)), of("bin/hookhost-hook")?, of("bin/hookhost")?);
    }
    Ok(text)
}
