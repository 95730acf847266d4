//! Converts paths between their form in a configuration file and absolute paths.

use std::path::{Component, Path, PathBuf};

/// Returns the absolute path for a path in a configuration file. `~/` stands for the home directory, and a relative
/// path is relative to `directory`, the directory of the file.
pub(super) fn expand(written: &str, directory: &Path, home: Option<&Path>) -> Result<PathBuf, String> {
    if written.is_empty() {
        return Err("the path is empty".to_owned());
    }
    if written.contains('\0') {
        return Err("a path cannot contain a NUL character".to_owned());
    }
    let path = match written.strip_prefix("~/") {
        Some(rest) => home.ok_or("the user's home directory is not known: write the path in full")?.join(rest),
        None => directory.join(written),
    };
    Ok(path.components().filter(|part| *part != Component::CurDir).collect())
}

/// Returns an absolute path in the form in which a configuration file in `directory` contains it. The result is
/// relative if the path is inside the directory. This is the reverse of [`expand`].
pub(super) fn shorten(path: &Path, directory: &Path) -> Result<String, String> {
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is not UTF-8", path.display()));
    match path.strip_prefix(directory) {
        Ok(inside) if inside.is_relative() && inside != path && inside.components().next().is_some() => {
            let parts = inside.components().map(|part| text(part.as_ref())).collect::<Result<Vec<_>, _>>()?;
            let written = parts.join("/");
            Ok(if written.starts_with('~') { format!("./{written}") } else { written })
        }
        _ => text(path),
    }
}

/// Removes `.` and `..` from a path without reading the disk.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Returns the same spelling for all paths of one file. If the file exists, its symbolic links are resolved. Otherwise
/// this is the [`lexical`] form.
pub(super) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| lexical(path))
}
