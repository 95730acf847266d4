//! The Git repository around a directory. The files of the repository are read; the program `git` is not started.
//!
//! The search follows the same links as git: the `.git` of the directory or of a directory above it, which is a
//! directory, or a file that names one (`gitdir: …`, as in worktrees and submodules). A directory can also be a
//! repository itself, as a bare one is. The variables `GIT_DIR` and `GIT_WORK_TREE`, the user's own configuration and
//! files that a configuration includes are not read.

use super::ini::{self, Setting};
use super::{Found, file, git_index, not_understood};
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of `HEAD`, of a `.git` file and of `commondir`, in bytes.
const MAX_HEAD: u64 = 8 * 1024;

/// Maximum number of directories that the search visits.
const MAX_DEPTH: usize = 256;

/// The branch in a repository that stores its references in another format than files.
const OF_OTHER_FORMAT: &str = ".invalid";

/// A repository with its worktree.
#[derive(Debug)]
struct Repository {
    /// The directory that contains `.git`, or a bare repository.
    worktree: PathBuf,
    /// The directory that contains `HEAD` and `index`.
    directory: PathBuf,
    /// The content of `HEAD`.
    head: String,
}

/// Returns the name of the branch that is checked out; `None` without a repository, and if `HEAD` is detached.
pub(super) fn branch(at: &Path) -> Found {
    Repository::around(at)?.map_or(Ok(None), |repository| repository.branch())
}

/// Returns the address of the remote to which the branch belongs, without the user's name and password. This is the
/// remote of the branch, or `origin`, or the only remote.
pub(super) fn remote(at: &Path) -> Found {
    Repository::around(at)?.map_or(Ok(None), |repository| repository.remote())
}

/// Returns whether the repository around `path` tracks the file `path`, or a file below the directory `path`.
pub(super) fn is_tracked(path: &Path) -> Found<bool> {
    let path = real(path);
    let Some(directory) = path.parent() else { return Ok(None) };
    let Some(repository) = Repository::around(directory)? else { return Ok(None) };
    // A bare repository tracks nothing, and neither does a repository track the files of its `.git`.
    if repository.worktree == repository.directory {
        return Ok(Some(false));
    }
    let worktree = real(&repository.worktree);
    match path.strip_prefix(&worktree).ok().and_then(Path::to_str) {
        Some(path) => git_index::contains(&repository.directory.join("index"), path).map(Some),
        None => Ok(Some(false)),
    }
}

/// Returns a path without symbolic links in its existing directories. The last part of the path stays, because git
/// tracks a link and not its target.
fn real(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut existing = path;
    while let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) {
        rest.push(name);
        existing = parent;
        if let Ok(real) = existing.canonicalize() {
            return rest.into_iter().rev().fold(real, |path, name| path.join(name));
        }
    }
    path.to_owned()
}

impl Repository {
    /// Returns the repository around a directory, if there is one.
    fn around(directory: &Path) -> Found<Self> {
        if let Some(repository) = Self::at(directory)? {
            return Ok(Some(repository));
        }
        // The directory above the target of a symbolic link counts. A missing directory has no target.
        let real = directory.ancestors().find_map(|existing| existing.canonicalize().ok()).unwrap_or_default();
        real.ancestors().take(MAX_DEPTH).find_map(|directory| Self::at(directory).transpose()).transpose()
    }

    /// Returns the repository whose worktree is this directory.
    fn at(worktree: &Path) -> Found<Self> {
        let marker = worktree.join(".git");
        let of = |directory: PathBuf, head| Self { worktree: worktree.to_owned(), directory, head };
        if let Some(head) = head(&marker)? {
            return Ok(Some(of(marker, head)));
        }
        match std::fs::metadata(&marker) {
            Err(error) if file::is_missing(&error) => {
                let is_bare = ["objects", "refs"].iter().all(|name| worktree.join(name).is_dir());
                let head = if is_bare { head(worktree)? } else { None };
                Ok(head.map(|head| of(worktree.to_owned(), head)))
            }
            Err(error) => Err(not_understood(&marker, &format!("cannot be read: {}", error.kind()))),
            // Git skips such a directory, too.
            Ok(metadata) if metadata.is_dir() => Ok(None),
            Ok(_) => {
                let directory = worktree.join(named(&marker, "gitdir:")?);
                let head = head(&directory)?;
                let head = head.ok_or_else(|| not_understood(&marker, "names a directory that is no repository"))?;
                Ok(Some(of(directory, head)))
            }
        }
    }

    fn branch(&self) -> Found {
        let reference = self.head.strip_prefix("ref:").map(str::trim);
        match reference.and_then(|reference| reference.strip_prefix("refs/heads/")) {
            Some(OF_OTHER_FORMAT) => {
                let head = self.directory.join("HEAD");
                Err(not_understood(&head, "belongs to a repository with the format reftable"))
            }
            Some(branch) if !branch.is_empty() => Ok(Some(branch.to_owned())),
            _ => Ok(None),
        }
    }

    fn remote(&self) -> Found {
        let Some(text) = file::text(&common(&self.directory)?.join("config"))? else { return Ok(None) };
        let of_branch = match self.branch()? {
            Some(branch) => last(&text, "branch", &branch, "remote"),
            None => None,
        };
        let name = of_branch.or_else(|| only_remote(&text)).unwrap_or_else(|| "origin".to_owned());
        // A branch can also name an address in place of a remote.
        let is_address = name.contains(['/', ':']);
        let url = if is_address { Some(name) } else { last(&text, "remote", &name, "url") };
        Ok(url.map(|url| without_user(&url)))
    }
}

/// Returns the directory that all worktrees of the repository with this `HEAD` share.
fn common(directory: &Path) -> Result<PathBuf, String> {
    let pointer = directory.join("commondir");
    match std::fs::metadata(&pointer) {
        Ok(_) => Ok(directory.join(named(&pointer, "")?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(directory.to_owned()),
        Err(error) => Err(not_understood(&pointer, &format!("cannot be read: {}", error.kind()))),
    }
}

/// Returns the content of `HEAD`, if the directory has one. If git would not take the directory for a repository, it would search above it,
/// so what counts there is unknown.
fn head(directory: &Path) -> Found {
    let path = directory.join("HEAD");
    let Some(head) = text_of_head(&path)? else { return Ok(None) };
    let is_digest = |text: &str| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_reference = |reference: &str| reference.trim_start().starts_with("refs/");
    if !head.strip_prefix("ref:").map_or_else(|| is_digest(head.trim()), is_reference) {
        return Err(not_understood(&path, "names neither a branch nor a commit"));
    }
    let common = common(directory)?;
    for name in ["objects", "refs"] {
        // A directory that may be searched contains `.`.
        if !common.join(name).join(".").is_dir() {
            return Err(not_understood(directory, &format!("is no repository, because it has no `{name}`")));
        }
    }
    Ok(Some(head))
}

fn text_of_head(path: &Path) -> Found {
    // Old repositories have a symbolic link to the branch, which may not exist yet.
    if let Some(target) = std::fs::read_link(path).ok().as_deref().and_then(Path::to_str)
        && target.starts_with("refs/")
    {
        return Ok(Some(format!("ref: {target}")));
    }
    let Some(bytes) = file::bytes(path, MAX_HEAD)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| not_understood(path, "is not UTF-8"))
}

/// Returns the path in a file that consists of `prefix` and a path.
fn named(pointer: &Path, prefix: &str) -> Result<PathBuf, String> {
    let bytes = file::bytes(pointer, MAX_HEAD)?.unwrap_or_default();
    let path = std::str::from_utf8(&bytes).ok().and_then(|text| text.strip_prefix(prefix)).map(str::trim);
    let path = path.filter(|path| !path.is_empty() && !path.contains('\0'));
    path.map(PathBuf::from).ok_or_else(|| not_understood(pointer, "names no directory"))
}

/// Returns the last value of a key in the section `[kind "name"]`.
fn last(text: &str, kind: &str, name: &str, key: &str) -> Option<String> {
    let is_it =
        |setting: &Setting<'_>| setting.key.eq_ignore_ascii_case(key) && is_section(setting.section, kind, name);
    ini::settings(text).filter(is_it).last().map(|setting| unquoted(setting.value))
}

fn only_remote(text: &str) -> Option<String> {
    let mut names: Vec<String> =
        ini::settings(text).filter_map(|setting| subsection(setting.section, "remote")).collect();
    names.dedup();
    match &names[..] {
        [only] => Some(only.clone()),
        _ => None,
    }
}

fn is_section(section: &str, kind: &str, name: &str) -> bool {
    subsection(section, kind).is_some_and(|subsection| subsection == name)
}

/// Returns the name in a header `kind "name"`.
fn subsection(section: &str, kind: &str) -> Option<String> {
    let (found, name) = section.split_once(char::is_whitespace)?;
    let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
    found.eq_ignore_ascii_case(kind).then(|| unescaped(name.chars()))
}

/// Returns a value without its quotes and its comment.
fn unquoted(value: &str) -> String {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let kept = value.chars().take_while(|character| {
        let is_comment = !is_quoted && !is_escaped && matches!(character, '#' | ';');
        is_quoted ^= *character == '"' && !is_escaped;
        is_escaped = *character == '\\' && !is_escaped;
        !is_comment
    });
    unescaped(kept.filter(|character| *character != '"')).trim().to_owned()
}

fn unescaped(characters: impl Iterator<Item = char>) -> String {
    let mut is_escaped = false;
    let kept = characters.filter(|character| {
        is_escaped = *character == '\\' && !is_escaped;
        !is_escaped
    });
    kept.collect()
}

/// Returns an address without the name and the password of a user, because an address may contain a token.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}
