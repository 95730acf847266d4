//! The second line of defence in the working directory: what the kernel guards, by the configuration, the rules and the machine.

use crate::agent_places::AgentPlaces;
use crate::configuration;
use crate::exit::CliError;
use crate::output;
use anyhow::anyhow;
use hookhost::contract::rule::RuleRow;
use hookhost::files::{NewFile, make_own_directory, replace};
use hookhost_agents::ancestry::is_inside;
use hookhost_agents::install::settings_file::SettingsFile;
use hookhost_agents::install::{FileRefusal, find};
use hookhost_agents::plan::Scope;
use hookhost_exec::export::install::{self, Records};
use hookhost_exec::export::{EXPORTERS, Export};
use hookhost_exec::policy::{Gap, Places, Policy, SandboxSettings};
use hookhost_exec::{Ability, probe};
use rustix::fs::Access;
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What is guarded in the working directory.
pub(crate) struct Sandbox {
    pub(crate) places: Places<'static>,
    pub(crate) settings: SandboxSettings,
    pub(crate) policy: Policy,
    rows: Vec<RuleRow>,
    state: PathBuf,
}

impl Sandbox {
    /// Collects what is guarded in the working directory. The files that apply there, or the file `chosen`, must be valid.
    pub(crate) fn here(own: &AgentPlaces, chosen: Option<&Path>) -> Result<Self, CliError> {
        let directory = configuration::cwd()?;
        let config = configuration::find(chosen, &directory)?.config;
        let settings = configuration::sandbox(&config)?;
        let rows: Vec<_> = config.rules().iter().map(|rule| rule.row.clone()).collect();
        let program = std::env::current_exe();
        let program = program.map_err(|error| anyhow!("the program hookhost cannot be found: {error}"))?;
        let programs = vec![program, own.program().to_owned()];
        let user = rustix::process::geteuid().as_raw();
        let places = Places::of_environment(&variable, &own.project, &directory, programs, user)
            .ok_or_else(|| CliError::usage("your home directory cannot be found: set the variable HOME"))?;
        let policy = Policy::new(&places, &settings, &rows);
        Ok(Self { places, settings, policy, rows, state: own.directories.state.clone() })
    }

    /// Looks the guarded paths up again.
    pub(crate) fn look_again(&mut self) {
        self.policy = Policy::new(&self.places, &self.settings, &self.rows);
    }

    /// Returns the settings of an agent's own sandbox. Returns `None` if the agent has no sandbox with paths.
    pub(crate) fn export(&self, agent: &str, scope: Scope) -> Option<Export> {
        let (_, exporter) = EXPORTERS.iter().find(|(name, _)| *name == agent)?;
        Some(exporter(&self.policy, &self.places, scope))
    }

    /// Writes the settings of an agent's own sandbox into the user's file of the agent. Returns what they do not say exactly.
    pub(crate) fn write_export(&self, agent: &str) -> Result<Vec<Gap>, CliError> {
        let Some(export) = self.export(agent, Scope::User) else { return Ok(Vec::new()) };
        let records = Records { state: &self.state, project: &self.places.project };
        let mut gaps = install::install(&export, &records).map_err(anyhow::Error::new)?;
        gaps.extend(export.inexact);
        Ok(gaps)
    }
}

/// Returns true if an agent's file has what [`Sandbox::write_export`] wrote.
pub(crate) fn has_export(own: &AgentPlaces, agent: &str) -> bool {
    install::is_installed(agent, Scope::User, &records(own))
}

/// Removes what [`Sandbox::write_export`] wrote.
pub(crate) fn remove_export(own: &AgentPlaces, agent: &str) -> Result<(), CliError> {
    install::uninstall(agent, Scope::User, &records(own)).map_err(anyhow::Error::new)?;
    Ok(())
}

/// Takes what [`Sandbox::write_export`] wrote from the content of a file that was read.
pub(crate) fn take_export_from(file: &mut SettingsFile, own: &AgentPlaces, agent: &str) -> Result<(), FileRefusal> {
    install::take_from(file, agent, Scope::User, &records(own))
}

fn records(own: &AgentPlaces) -> Records<'_> {
    Records { state: &own.directories.state, project: &own.project }
}

/// Finds out what this system can enforce.
pub(crate) fn ability() -> Ability {
    let probed = std::env::current_exe().map_err(Into::into).and_then(|program| probe(&program));
    probed.unwrap_or_else(|error| Ability::None { because: error.to_string() })
}

/// Returns true if this process runs in `hookhost exec`: the kernel refuses to write the state directory. What skips the second line must
/// ask for this proof, because a variable is easily set.
pub(crate) fn is_guarded(state: &Path) -> bool {
    is_inside() && rustix::fs::access(state, Access::WRITE_OK) == Err(Errno::ROFS)
}

/// The programs by which agents start inside when the user types their names.
#[derive(Clone, Debug)]
pub(crate) struct Shims {
    directory: PathBuf,
}

impl Shims {
    /// Returns the shims below the state directory, which is guarded inside.
    pub(crate) fn of(own: &AgentPlaces) -> Self {
        Self { directory: own.directories.state.join("bin") }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the names of the shims, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Writes a shim for a program.
    pub(crate) fn write(&self, name: &str) -> Result<(), CliError> {
        let own = std::env::current_exe().map_err(|error| anyhow!("the program hookhost cannot be found: {error}"))?;
        let text = format!(
            "#!/bin/sh\n# Starts {name} in hookhost exec. `hookhost off` removes this file.\nexec {} exec --shim -- {name} \"$@\"\n",
            output::quoted(&own.to_string_lossy())
        );
        let file = self.directory.join(name);
        let write = || -> io::Result<()> {
            make_own_directory(&self.directory)?;
            replace(&file, text.as_bytes(), NewFile::Usual)?;
            fs::set_permissions(&file, Permissions::from_mode(0o755))
        };
        write().map_err(|error| anyhow!("{} cannot be written: {error}", file.display()).into())
    }

    /// Removes all shims.
    pub(crate) fn remove(&self) -> Result<(), CliError> {
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(anyhow!("{} cannot be removed: {error}", self.directory.display()).into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the program that a shim stands for: the first one of this name that lies elsewhere on the `PATH`.
    pub(crate) fn program(&self, name: &str, path: &OsString) -> Option<PathBuf> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let own = real(&self.directory);
        let elsewhere = std::env::split_paths(path).filter(|directory| real(directory) != own);
        find::on_path(name, &std::env::join_paths(elsewhere).ok()?)
    }

    /// Returns true if a name leads to its shim.
    pub(crate) fn is_first(&self, name: &str, path: &OsString) -> bool {
        find::on_path(name, path).is_some_and(|found| found.parent() == Some(&self.directory))
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
