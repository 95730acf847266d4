//! Tar archives with fixed times, owners and order, and the archive that people download.

use crate::{
    Outcome,
    image::digest,
    release::{HOMEPAGE, Release},
    tree::{Target, Tree},
};
use flate2::{Compression, write::GzEncoder};
use lzma_rust2::{XzOptions, XzWriter, filter::FilterType};
use std::{collections::BTreeSet, io::Write as _, path::Path};
use tar::{EntryType, Header};

/// A tar archive that is the same whenever and by whomever it is written.
pub(crate) struct Archive {
    builder: tar::Builder<Vec<u8>>,
    epoch: u64,
}

impl Archive {
    pub(crate) fn new(epoch: u64) -> Self {
        Self { builder: tar::Builder::new(Vec::new()), epoch }
    }

    pub(crate) fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> Outcome {
        self.append(path, EntryType::Regular, mode, 0, bytes)
    }

    /// Adds a directory that belongs to the user with this number.
    pub(crate) fn directory(&mut self, path: &str, mode: u32, owner: u64) -> Outcome {
        self.append(path, EntryType::Directory, mode, owner, &[])
    }

    fn append(&mut self, path: &str, kind: EntryType, mode: u32, owner: u64, bytes: &[u8]) -> Outcome {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(owner);
        header.set_gid(owner);
        header.set_mtime(self.epoch);
        header.set_size(bytes.len() as u64);
        self.builder.append_data(&mut header, path, bytes).map_err(|error| format!("{path}: {error}"))
    }

    pub(crate) fn finish(self) -> Outcome<Vec<u8>> {
        self.builder.into_inner().map_err(|error| format!("an archive: {error}"))
    }
}

/// Adds the tree below a prefix, with its directories.
pub(crate) fn add_tree(archive: &mut Archive, prefix: &str, tree: &Tree) -> Outcome {
    let paths = tree.0.iter().map(|file| format!("{prefix}/{}", file.path)).collect::<Vec<_>>();
    let parents = |path: &String| {
        let parents = Path::new(path).ancestors().skip(1).filter(|parent| *parent != Path::new(""));
        parents.map(|parent| format!("{}/", parent.display())).collect::<Vec<_>>()
    };
    for directory in paths.iter().flat_map(parents).collect::<BTreeSet<_>>() {
        archive.directory(&directory, 0o755, 0)?;
    }
    for (file, path) in tree.0.iter().zip(&paths) {
        archive.file(path, file.mode(), &file.bytes)?;
    }
    Ok(())
}

/// Compresses with gzip, whose header has no time and no name.
pub(crate) fn gzip(release: &Release, bytes: &[u8]) -> Outcome<Vec<u8>> {
    let level = if release.quick { Compression::fast() } else { Compression::best() };
    let mut encoder = GzEncoder::new(Vec::new(), level);
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(|error| format!("gzip: {error}"))
}

fn xz(release: &Release, target: &Target, bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut options = XzOptions::with_preset(if release.quick { 0 } else { 9 });
    if target.goarch() == "amd64" {
        // The addresses of calls become absolute, so that two calls of a function look alike. Older programs cannot read the filter for
        // other processors.
        options.prepend_pre_filter(FilterType::BcjX86, 0);
    }
    let written = XzWriter::new(Vec::new(), options).and_then(|mut writer| {
        writer.write_all(bytes)?;
        writer.finish()
    });
    written.map_err(|error| format!("xz: {error}"))
}

/// Returns the name of the archive, without its ending. It is also the name of the directory inside.
pub(crate) fn name(release: &Release, triple: &str) -> String {
    format!("hookhost-{}-{triple}", release.version)
}

/// The targets of a release.
const TRIPLES: [&str; 4] =
    ["aarch64-apple-darwin", "x86_64-apple-darwin", "aarch64-unknown-linux-musl", "x86_64-unknown-linux-musl"];

/// An archive as people download it.
pub(crate) struct Download {
    pub(crate) target: Target,
    pub(crate) url: String,
    pub(crate) digest: String,
}

/// Returns the archives that were built.
pub(crate) fn downloads(release: &Release) -> Outcome<Vec<Download>> {
    let built = release.names()?;
    let archives = TRIPLES.map(|triple| (triple, format!("{}.tar.xz", name(release, triple))));
    let archives = archives.into_iter().filter(|(_, archive)| built.contains(archive));
    let download = |(triple, archive): (&str, String)| {
        let url = format!("{HOMEPAGE}/releases/download/v{}/{archive}", release.version);
        Ok(Download { target: Target::parse(triple)?, url, digest: digest(&release.read(&archive)?) })
    };
    archives.map(download).collect()
}

/// Writes the archive that people download.
pub(crate) fn write(release: &Release, target: &Target, tree: &Tree) -> Outcome {
    let name = name(release, &target.triple);
    let mut archive = Archive::new(release.epoch);
    add_tree(&mut archive, &name, tree)?;
    release.write(&format!("{name}.tar.xz"), &xz(release, target, &archive.finish()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_fixed_times_and_owners() {
        let write = || {
            let mut archive = Archive::new(1_700_000_000);
            archive.directory("a/", 0o755, 7).unwrap();
            archive.file("a/b", 0o644, b"text").unwrap();
            archive.finish().unwrap()
        };
        let bytes = write();
        assert_eq!(bytes, write());
        let mut archive = tar::Archive::new(&bytes[..]);
        let entries = archive.entries().unwrap().map(Result::unwrap);
        let headers = entries.map(|entry| {
            let header = entry.header();
            (header.mtime().unwrap(), header.uid().unwrap(), header.mode().unwrap())
        });
        assert_eq!(headers.collect::<Vec<_>>(), [(1_700_000_000, 7, 0o755), (1_700_000_000, 0, 0o644)]);
    }

    #[test]
    fn binstall_finds_the_archive_and_the_programs_in_it() {
        let mut release = Release::empty("binstall");
        release.version = "{ version }".to_owned();
        let name = name(&release, "{ target }");
        for manifest in ["cli", "client"] {
            let path = release.root.join("host").join(manifest).join("Cargo.toml");
            let text = std::fs::read_to_string(path).unwrap();
            for line in [
                format!("pkg-url = \"{{ repo }}/releases/download/v{{ version }}/{name}.tar.xz\""),
                format!("bin-dir = \"{name}/bin/{{ bin }}{{ binary-ext }}\""),
            ] {
                assert!(text.lines().any(|found| found == line), "{manifest} has no line {line}");
            }
        }
    }
}
