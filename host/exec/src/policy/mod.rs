//! The policy: the paths that the kernel guards, from the user's configuration, the rules, the table of guarded files and the machine.
//!
//! [`Policy::new`] reads directories and links, and changes nothing. Patterns are expanded when it is called: a file that appears later is
//! in [`Policy::absent`], and has to be watched.
//!
//! | module | purpose |
//! |---|---|
//! | [`settings`] | the section `[sandbox]` |
//! | [`places`] | the directories of a user |
//! | `draft` | collects guards |
//! | `later_run` | files that run later, outside |
//! | `sockets` | ways out through other processes |
//! | `rule_paths` | the paths of rules without conditions |
//! | [`restore`] | restores keys of a settings file |

mod draft;
mod later_run;
pub mod places;
pub mod restore;
mod rule_paths;
pub mod settings;
mod sockets;
#[cfg(all(test, unix))]
mod tests;

pub use places::Places;
pub use restore::{FileFormat, restored};
pub use settings::{NetworkAccess, SandboxSettings};

use crate::plan::{Guard, Treatment, path_bytes};
use draft::{Draft, Origin};
use hookhost_agents::guarded::{OWNERS, Owner, WrittenTreatment};
use hookhost_contract::rule::RuleRow;
use std::path::{Path, PathBuf};

/// The paths that the kernel guards, and what it cannot guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The paths to guard, which exist, sorted. A directory precedes what is in it.
    pub guards: Vec<Guard>,
    /// Guarded files that do not exist yet, for a watch.
    pub absent: Vec<Absent>,
    /// Files of which keys are restored, for a watch.
    pub restored: Vec<RestoredFile>,
    /// What is not guarded, or does not work.
    pub gaps: Vec<Gap>,
    /// The network that the program reaches.
    pub network: NetworkAccess,
    /// The user's home directory.
    pub home: PathBuf,
    /// The root of the project.
    pub project: PathBuf,
}

/// A guarded file that does not exist, or a pattern that later files can match.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Absent {
    /// Absolute path. Its names may have wildcards, as in `settings*.json`.
    #[serde(with = "path_bytes")]
    pub path: PathBuf,
    /// The way in which such a file has to be guarded.
    pub treatment: Treatment,
    /// Why the path is guarded.
    pub reason: String,
}

/// A file that the agent writes itself, and of which keys are restored.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RestoredFile {
    /// Absolute path, without links.
    #[serde(with = "path_bytes")]
    pub path: PathBuf,
    /// True if the file exists at the start. If it does not, none of the keys may appear.
    pub exists: bool,
    /// The format of the file.
    pub format: FileFormat,
    /// The keys, each as a path joined by dots. `*` stands for any key.
    pub keys: Vec<String>,
    /// Why the keys are guarded.
    pub reason: String,
}

/// Something that is not guarded, or that does not work because of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The path that the sentence is about.
    pub path: PathBuf,
    /// One sentence for the user.
    pub sentence: String,
}

impl Policy {
    /// Collects the guarded paths. `rules` are the rows of all files of the configuration.
    pub fn new(places: &Places<'_>, settings: &SandboxSettings, rules: &[RuleRow]) -> Self {
        let mut draft = Draft::new(places);
        hookhost(&mut draft);
        for owner in OWNERS {
            agent(&mut draft, owner, settings);
        }
        later_run::add(&mut draft);
        keys(&mut draft);
        sockets::add(&mut draft, settings);
        rule_paths::add(&mut draft, rules);
        for path in &settings.write {
            draft.open(&places.named(path));
        }
        draft.finish(settings.network.clone())
    }
}

/// Guards hookhost's own directories and programs.
fn hookhost(draft: &mut Draft<'_>) {
    let places = draft.places;
    for (directory, what) in
        [(&places.config, "configuration"), (&places.state, "state"), (&places.cache, "compiled code")]
    {
        draft.add(directory, Treatment::ReadOnly, Origin::Hookhost, &format!("{what} of hookhost"));
    }
    if let Some(runtime) = &places.runtime {
        draft.add(&runtime.join("hookhost"), Treatment::ReadOnly, Origin::Hookhost, "sockets of hookhost");
    }
    for (file, what) in [
        (places.config.join("keys.toml"), "keys of models"),
        (places.state.join("http.token"), "token of HTTP clients"),
        (places.config.join("*.secret"), "secret of telemetry"),
        (places.config.join("*.headers"), "headers of telemetry"),
    ] {
        draft.add(&file, Treatment::Hidden, Origin::Hookhost, what);
    }
    for program in &places.programs {
        draft.add(program, Treatment::ReadOnly, Origin::Hookhost, "program of hookhost");
    }
}

/// Guards the settings of an owner of the table: those of the user, of the project and of the machine.
fn agent(draft: &mut Draft<'_>, owner: &Owner, settings: &SandboxSettings) {
    let is_hookhost = owner.name == "hookhost";
    let origin = if is_hookhost { Origin::Hookhost } else { Origin::Agent };
    let reason = format!("settings of {}", owner.name);
    // The table names hookhost's own directories, too, for commands. Here they come from the places.
    let (of_home, alone): (&[&str], &[&str]) = if is_hookhost { (&[], &[]) } else { (owner.in_home, owner.alone) };
    for file in owner.files {
        for path in locations(draft.places, owner, file, true) {
            draft.add(&path, Treatment::ReadOnly, origin, &reason);
        }
    }
    for file in of_home.iter().chain(alone) {
        for path in locations(draft.places, owner, file, false) {
            draft.add(&path, Treatment::ReadOnly, origin, &reason);
        }
    }
    for (variable, directory) in owner.variables.iter().filter(|(variable, _)| !variable.starts_with("HOOKHOST_")) {
        if let Some(path) = draft.places.path_of(variable).filter(|path| directory.is_empty() && path.is_file()) {
            draft.add(&path, Treatment::ReadOnly, origin, &format!("{reason}, by {variable}"));
        }
    }
    for written in owner.written {
        let has_project = owner.files.contains(&written.file);
        let treatment = match written.treatment {
            WrittenTreatment::ReadOnly
                if !written.keys.is_empty() && settings.restore.iter().any(|name| name == owner.name) =>
            {
                WrittenTreatment::Restored
            }
            treatment => treatment,
        };
        for path in locations(draft.places, owner, written.file, has_project) {
            match treatment {
                WrittenTreatment::Free => draft.free(&path, owner.name),
                WrittenTreatment::Restored => {
                    let keys = written.keys.iter().map(|&key| key.to_owned()).collect();
                    draft.restore(&path, FileFormat::of(&path), keys, reason.clone());
                }
                WrittenTreatment::ReadOnly if path.exists() && !written.note.is_empty() => {
                    draft.gap(
                        &path,
                        format!("{} of {} is read-only: {}", draft.places.shown(&path), owner.name, written.note),
                    );
                }
                WrittenTreatment::ReadOnly => {}
            }
        }
    }
}

/// Returns the places of a file of the table on this system.
fn locations(places: &Places<'_>, owner: &Owner, file: &str, has_project: bool) -> Vec<PathBuf> {
    let path = file.strip_suffix("/**").unwrap_or(file);
    let is_of_other_system = |start: &str, is_own: bool| path.trim_start_matches('/').starts_with(start) && !is_own;
    if is_of_other_system("C:/", false)
        || is_of_other_system("AppData/", cfg!(windows))
        || is_of_other_system("Library/", cfg!(target_os = "macos"))
    {
        return Vec::new();
    }
    if path.starts_with('/') {
        return vec![places.of_machine(path)];
    }
    let mut found = vec![places.home.join(path)];
    if has_project {
        found.extend(places.of_project().map(|directory| directory.join(path)));
    }
    if let (Some(rest), Some(base)) = (path.strip_prefix(".config/"), places.path_of("XDG_CONFIG_HOME")) {
        found.push(base.join(rest));
    }
    for (variable, directory) in owner.variables {
        let Some(base) = places.path_of(variable) else { continue };
        match directory.strip_prefix("~/") {
            Some(directory) => match Path::new(path).strip_prefix(directory) {
                Ok(rest) if rest.as_os_str().is_empty() => found.push(base),
                Ok(rest) => found.push(base.join(rest)),
                // `~/.claude.json` lies in the directory that the variable names.
                Err(_) if !path.contains('/') => found.push(base.join(path)),
                Err(_) => {}
            },
            // The variable names a home, or a file.
            None if base.is_dir() => found.push(base.join(path)),
            None => {}
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Hides keys.
fn keys(draft: &mut Draft<'_>) {
    let places = draft.places;
    let is_public = |path: &Path| path.extension().is_some_and(|end| end == "pub");
    for name in [".ssh/id_*", ".ssh/*.pem", ".gnupg/private-keys-v1.d"] {
        draft.add_unless(&places.home.join(name), &is_public, Treatment::Hidden, Origin::Key, "key");
    }
    let has_key = places::matching(&places.home.join(".ssh/id_*")).iter().any(|path| !is_public(path));
    if has_key && (places.variable)("SSH_AUTH_SOCK").is_none() {
        let sentence =
            "ssh has no key inside: start ssh-agent outside, which keeps the keys, and add them with ssh-add";
        draft.gap(&places.home.join(".ssh"), sentence.to_owned());
    }
}
