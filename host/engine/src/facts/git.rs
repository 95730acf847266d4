//! The Git repository around a directory. The files of the repository are read; the program `git` is not started.
//!
//! The search follows the same links as git: the `.git` of the directory or of a directory above it, which is a
//! directory, or a file that names one (`gitdir: …`, as in worktrees and submodules). A directory can also be a
//! repository itself, as a bare one is. The variable `GIT_DIR` of the agent's process takes the place of the search.
//! The variable `GIT_WORK_TREE` and the settings of the user and the system are not read, except for addresses that
//! the user's settings replace. Settings that may lead to another remote make the remote unreadable.

use super::agent::AgentProcess;
use super::ini::{self, Setting};
use super::{Found, file, git_index, home, not_understood, set};
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of `HEAD`, of a `.git` file and of `commondir`, in bytes.
const MAX_HEAD: u64 = 8 * 1024;

/// Maximum number of directories that the search visits.
const MAX_DEPTH: usize = 256;

/// Maximum number of settings in variables that are read.
const MAX_SETTINGS: u32 = 1_000;

/// The branch in a repository that stores its references in another format than files.
const OF_OTHER_FORMAT: &str = ".invalid";

/// A repository with its worktree.
#[derive(Debug)]
struct Repository {
    /// The directory that contains `.git`, or a bare repository.
    worktree: PathBuf,
    /// The directory that contains `HEAD` and `index`.
    directory: PathBuf,
    head: Head,
}

/// The `HEAD` of a repository.
#[derive(Debug)]
struct Head {
    /// The content of the file.
    text: String,
    /// The directory that all worktrees of the repository share.
    common: PathBuf,
}

/// Returns the name of the branch that is checked out; `None` without a repository, and if `HEAD` is detached.
pub(super) fn branch(process: &dyn AgentProcess, at: &Path) -> Found {
    Repository::of(process, at)?.map_or(Ok(None), |repository| repository.branch())
}

/// Returns the address of the remote to which the branch belongs, without the user's name and password. This is the
/// remote of the branch, or `origin`, or the only remote.
pub(super) fn remote(process: &dyn AgentProcess, at: &Path) -> Found {
    if let Some(name) = variables_of_settings(process).into_iter().find(|(_, text)| may_redirect(text)) {
        return Err(format!("the variable {} changes the settings of git", name.0));
    }
    let Some(repository) = Repository::of(process, at)? else { return Ok(None) };
    Ok(repository.remote(&users_settings(process)?)?.map(|url| without_user(&url)))
}

/// Returns the settings of the agent's user.
fn users_settings(process: &dyn AgentProcess) -> Result<String, String> {
    let home = home(process).ok().flatten().unwrap_or_default();
    let files = match set(process, "GIT_CONFIG_GLOBAL").ok().flatten() {
        Some(file) => vec![PathBuf::from(file)],
        None => [".config/git/config", ".gitconfig"].iter().map(|name| home.join(name)).collect(),
    };
    let texts =
        files.iter().filter(|file| file.is_absolute() && !file.starts_with("/dev")).map(|file| file::text(file));
    Ok(texts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect::<Vec<_>>().join("\n"))
}

/// Returns the variables that contain settings of git, with their texts: `GIT_CONFIG_KEY_0`, and the texts of `git -c`.
fn variables_of_settings(process: &dyn AgentProcess) -> Vec<(String, String)> {
    let value = |name: String| Some(set(process, &name).ok()??).map(|value| (name, value));
    let count = value("GIT_CONFIG_COUNT".to_owned()).and_then(|(_, count)| count.parse().ok()).unwrap_or(0);
    let keys = (0..count.min(MAX_SETTINGS)).map(|number| format!("GIT_CONFIG_KEY_{number}"));
    keys.chain(["GIT_CONFIG_PARAMETERS".to_owned()]).filter_map(value).collect()
}

/// Returns true if a text contains the name of a setting that may lead to another remote.
fn may_redirect(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["remote.", "branch.", "url.", "include"].iter().any(|name| {
        text.match_indices(name).any(|(at, _)| !text[..at].ends_with(|before: char| before.is_ascii_alphanumeric()))
    })
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
    /// Returns the repository that a process in a directory uses. Of a process that is not known, no variable is.
    fn of(process: &dyn AgentProcess, at: &Path) -> Found<Self> {
        let variable = |name| set(process, name).ok().flatten();
        if variable("GIT_COMMON_DIR").is_some() {
            return Err("the variable GIT_COMMON_DIR is set".to_owned());
        }
        let Some(chosen) = variable("GIT_DIR") else { return Self::around(at) };
        let directory = at.join(chosen);
        let head = head(&directory)?;
        let head =
            head.ok_or_else(|| not_understood(&directory, "is no repository, and the variable GIT_DIR names it"))?;
        Ok(Some(Self { worktree: at.to_owned(), directory, head }))
    }

    /// Returns the repository around a directory, if there is one.
    fn around(directory: &Path) -> Found<Self> {
        if let Some(repository) = Self::at(directory)? {
            return Ok(Some(repository));
        }
        // The directory above the target of a symbolic link counts. A missing directory has no target.
        let real = directory.ancestors().find_map(|existing| match existing.canonicalize() {
            Err(error) if file::is_missing(&error) => None,
            real => Some(real.map_err(|error| not_understood(existing, &format!("cannot be read: {}", error.kind())))),
        });
        let real = real.transpose()?.unwrap_or_default();
        if let Some(found) = real.ancestors().take(MAX_DEPTH).find_map(|directory| Self::at(directory).transpose()) {
            return found.map(Some);
        }
        match real.ancestors().nth(MAX_DEPTH) {
            Some(_) => Err(not_understood(&real, &format!("is deeper than {MAX_DEPTH} directories"))),
            None => Ok(None),
        }
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
                let is_bare = ["objects", "refs"].iter().all(|name| worktree.join(name).is_dir())
                    || worktree.join("commondir").is_file();
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
        let reference = self.head.text.strip_prefix("ref:").map(str::trim);
        match reference.and_then(|reference| reference.strip_prefix("refs/heads/")) {
            Some(OF_OTHER_FORMAT) => {
                let head = self.directory.join("HEAD");
                Err(not_understood(&head, "belongs to a repository with the format reftable"))
            }
            Some(branch) if is_name(branch) => {
                let file = self.head.common.join("refs/heads").join(branch);
                // A commit would be on the branch that the file names or that it is a link to.
                let is_link = std::fs::symlink_metadata(&file).is_ok_and(|metadata| metadata.is_symlink());
                if is_link
                    || (file.is_file() && file::bytes(&file, MAX_HEAD)?.is_some_and(|text| text.starts_with(b"ref:")))
                {
                    return Err(not_understood(&file, "is another name of a branch"));
                }
                Ok(Some(branch.to_owned()))
            }
            Some(_) => Err(not_understood(&self.directory.join("HEAD"), "contains no valid name of a branch")),
            None => Ok(None),
        }
    }

    /// Returns the address of the remote, after the replacements in the settings of the repository and of the user.
    fn remote(&self, users: &str) -> Found {
        let common = &self.head.common;
        let config = common.join("config");
        let Some(mut text) = file::text(&config)? else { return Ok(None) };
        // In a repository with several worktrees, the settings of one replace those of all.
        let is_on = |value: &str| !matches!(&*value.to_ascii_lowercase(), "false" | "no" | "off" | "0");
        if ini::value(&text, "extensions", "worktreeConfig").is_some_and(is_on) {
            let own = file::text(&self.directory.join("config.worktree"))?.unwrap_or_default();
            text = format!("{text}\n{own}");
        }
        if text.lines().any(|line| line.ends_with('\\')) {
            return Err(not_understood(&config, "has a value of several lines"));
        }
        let includes = |setting: Setting<'_>| {
            setting.key.eq_ignore_ascii_case("path")
                && setting.section.get(..7).is_some_and(|begin| begin.eq_ignore_ascii_case("include"))
        };
        if ini::settings(&text).any(includes) {
            return Err(not_understood(&config, "includes other files"));
        }
        let branch = self.branch()?.unwrap_or_default();
        let of_branch = all(&text, "branch", &branch, "remote").pop();
        let name = of_branch.or_else(|| only_remote(&text)).unwrap_or_else(|| "origin".to_owned());
        let mut urls = all(&text, "remote", &name, "url");
        // A branch can also name an address in place of a remote.
        if urls.is_empty() && name.contains(['/', ':']) {
            urls.push(name.clone());
        }
        if urls.is_empty() && ["remotes", "branches"].iter().any(|old| common.join(old).join(&name).is_file()) {
            return Err(not_understood(common, "names its remote in a file of an old format"));
        }
        let pushed = all(&text, "branch", &branch, "pushRemote").pop();
        let pushed = pushed.or_else(|| ini::value(&text, "remote", "pushDefault").map(unquoted));
        urls.extend(all(&text, "remote", &name, "pushurl"));
        urls.dedup();
        if urls.len() > 1 || pushed.is_some_and(|other| other != name) {
            return Err(not_understood(&config, "has another address for what is pushed"));
        }
        Ok(urls.pop().map(|url| replaced(&format!("{users}\n{text}"), &url)))
    }
}

/// Returns an address after the replacement that settings demand: `[url "https://a/"] insteadOf = b:`. The longest text that is
/// replaced counts.
fn replaced(text: &str, url: &str) -> String {
    let replacements = ini::settings(text).filter_map(|setting| {
        let is_it = ["insteadOf", "pushInsteadOf"].iter().any(|key| setting.key.eq_ignore_ascii_case(key));
        let base = subsection(setting.section, "url").filter(|_| is_it)?;
        let rest = url.strip_prefix(&unquoted(setting.value))?;
        Some((rest.len(), format!("{base}{rest}")))
    });
    replacements.min_by_key(|(rest, _)| *rest).map_or(url.to_owned(), |(_, replaced)| replaced)
}

/// Returns true if git accepts the name of a branch, as far as another name could be meant.
fn is_name(branch: &str) -> bool {
    let is_bad = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    !branch.contains(is_bad) && !branch.contains("..") && branch.split('/').all(is_part)
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

/// Returns the `HEAD` of a directory, if it has one. If git would not take the directory for a repository, it would search above it,
/// so what counts there is unknown.
fn head(directory: &Path) -> Found<Head> {
    let path = directory.join("HEAD");
    let Some(text) = text_of_head(&path)? else { return Ok(None) };
    let is_digest = |text: &str| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_reference = |reference: &str| reference.trim_start().starts_with("refs/");
    if !text.strip_prefix("ref:").map_or_else(|| is_digest(text.trim()), is_reference) {
        return Err(not_understood(&path, "names neither a branch nor a commit"));
    }
    let common = common(directory)?;
    for name in ["objects", "refs"] {
        // A directory that may be searched contains `.`.
        if !common.join(name).join(".").is_dir() {
            return Err(not_understood(directory, &format!("is no repository, because it has no `{name}`")));
        }
    }
    Ok(Some(Head { text, common }))
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

/// Returns the values of a key in the section `[kind "name"]`.
fn all(text: &str, kind: &str, name: &str, key: &str) -> Vec<String> {
    let is_it =
        |setting: &Setting<'_>| setting.key.eq_ignore_ascii_case(key) && is_section(setting.section, kind, name);
    ini::settings(text).filter(is_it).map(|setting| unquoted(setting.value)).collect()
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

/// Returns the name in a header `kind "name"`, or in its old form `kind.name`.
fn subsection(section: &str, kind: &str) -> Option<String> {
    let Some((found, name)) = section.split_once(char::is_whitespace) else {
        let (found, name) = section.split_once('.')?;
        return found.eq_ignore_ascii_case(kind).then(|| name.to_ascii_lowercase());
    };
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
