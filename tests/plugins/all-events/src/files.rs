//! The steps that use files.

use crate::steps::text;
use serde::Deserialize;
use std::fs;
use std::io;

/// One operation on files.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Use {
    ReadFile(String),
    WriteFile(String, String),
    List(String),
    MakeDir(String),
    Remove(String),
    Rename(String, String),
    Link(String, String),
    Symlink(String, String),
    Open(String, usize),
    OpenAt(String),
}

impl Use {
    pub(crate) fn perform(self) -> Result<Option<String>, String> {
        let result = match self {
            Self::ReadFile(path) => fs::read_to_string(path),
            Self::WriteFile(path, content) => done(fs::write(path, content)),
            Self::List(path) => list(&path),
            Self::MakeDir(path) => done(fs::create_dir(path)),
            Self::Remove(path) => done(fs::remove_file(path)),
            Self::Rename(from, to) => done(fs::rename(from, to)),
            Self::Link(from, to) => done(fs::hard_link(from, to)),
            #[expect(deprecated, reason = "the one that every target has")]
            Self::Symlink(target, path) => done(fs::soft_link(target, path)),
            Self::Open(path, count) => (0..count)
                .map(|_| fs::File::open(&path))
                .collect::<io::Result<Vec<_>>>()
                .map(|open| format!("{} are open", open.len())),
            Self::OpenAt(path) => return open_at(&path).map(Some),
        };
        result.map(Some).map_err(text)
    }
}

fn done(result: io::Result<()>) -> io::Result<String> {
    result.map(|()| "done".to_owned())
}

fn list(path: &str) -> io::Result<String> {
    let mut names = fs::read_dir(path)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names.join(" "))
}

#[cfg(target_os = "wasi")]
fn open_at(path: &str) -> Result<String, String> {
    use wasip2::filesystem::preopens::get_directories;
    use wasip2::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
    let directories = get_directories();
    let (directory, _) = directories.first().ok_or("no directory is granted")?;
    let opened = directory.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ);
    opened.map(|_| "opened".to_owned()).map_err(text)
}

#[cfg(not(target_os = "wasi"))]
fn open_at(_: &str) -> Result<String, String> {
    Err("only a guest has granted directories".to_owned())
}
