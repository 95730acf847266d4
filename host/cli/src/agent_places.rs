//! Finds the files of an agent for this user and in this project, and the hook program that these files name.

use crate::agents_section::AgentsSection;
use crate::configuration;
use crate::exit::CliError;
use crate::output::{self, wrap::wrapped};
use anyhow::anyhow;
use hookhost::config::{Config, UserDirectories};
use hookhost_agents::directories::Directories;
use hookhost_agents::install::doctor;
use hookhost_agents::install::find::{self, is_executable};
use hookhost_agents::plan::{Context, OnFailure, PROGRAM, Scope};
use hookhost_agents::{Adapter, all, by_name};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The environment variable that names another hook program, by its absolute path.
const PROGRAM_VARIABLE: &str = "HOOKHOST_HOOK_PROGRAM";

/// The finding that no agent is on this machine.
pub(crate) const NO_AGENT: &str = "no agent is found on this machine: none of their programs is on the PATH";

/// Returns the message for a person on whose machine no agent is found: what hookhost looks for, and the next step.
pub(crate) fn no_agent() -> String {
    let known = wrapped(&format!("hookhost looks for {}.", names()), 0);
    let next = "To prepare for an agent that comes later: hookhost on --agent AGENT";
    format!("{}.\n{known}\n{next}\n", output::capitalised(NO_AGENT))
}

/// Everything that determines the paths of an agent's files.
pub(crate) struct AgentPlaces {
    pub(crate) directories: UserDirectories,
    home: PathBuf,
    pub(crate) project: PathBuf,
    program: PathBuf,
    /// The directories that the command of each installed hook names explicitly.
    fixed: Directories,
    settings: AgentsSection,
    /// The error of the user's own file, if its settings cannot be read.
    unreadable: Option<CliError>,
    /// The `PATH` on which programs are searched for.
    pub(crate) path: OsString,
    /// Directories of the `PATH` in which programs are not searched for, because these directories are relative or belong to the project.
    pub(crate) left_out: Vec<PathBuf>,
}

impl AgentPlaces {
    /// Returns the paths for this user and the working directory. If the user's own configuration file cannot be read, the default settings
    /// are used, so that installed hooks can still be shown and removed.
    pub(crate) fn here() -> Result<Self, CliError> {
        let directories = configuration::places()?;
        let home = directories.home.clone();
        let home = home.ok_or_else(|| CliError::usage("your home directory cannot be found: set the variable HOME"))?;
        let (settings, unreadable) = match settings(&directories) {
            Ok(settings) => (settings, None),
            Err(error) => (AgentsSection::default(), Some(error)),
        };
        // Settings files contain this path. It is compared with their text, so its spelling must not vary.
        let home: PathBuf = home.components().collect();
        let fixed = Directories {
            config: Some(directories.config.clone()),
            state: Some(directories.state.clone()),
            cache: configuration::cache().and_then(|compiled| Some(compiled.parent()?.to_owned())),
            home: Some(home.clone()),
        };
        let project = project(&configuration::cwd()?);
        let (path, left_out) = find::searched(&std::env::var_os("PATH").unwrap_or_default(), &project, &home);
        Ok(Self { settings, unreadable, fixed, home, project, program: program()?, path, left_out, directories })
    }

    /// Returns the directory in which the symbolic links of the files of `scope` must stay, if there is one.
    pub(crate) fn root(&self, scope: Scope) -> Option<&Path> {
        (scope == Scope::Project).then_some(&self.project)
    }

    /// Returns `self`, or the error if the settings in the user's own file cannot be read.
    pub(crate) fn with_settings(mut self) -> Result<Self, CliError> {
        match self.unreadable.take() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// The input for an adapter's plan.
    pub(crate) fn context(&self, agent: &str, scope: Scope) -> Context<'_> {
        Context {
            scope,
            home: &self.home,
            project: &self.project,
            program: &self.program,
            on_failure: self.on_failure(agent),
            directories: self.settings.fixes_directories(agent).then_some(&self.fixed),
            variable: &variable,
        }
    }

    /// Returns the hook program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Returns true if the settings of an agent contain a hook of hookhost.
    pub(crate) fn any_agent_asks(&self) -> bool {
        let mut unreadable = Vec::new();
        all().iter().any(|adapter| {
            let context = self.context(adapter.agent().name, Scope::User);
            !doctor::installed(adapter, &context, &mut unreadable).is_empty()
        })
    }

    /// Returns what an agent's hook does if no host answers it.
    pub(crate) fn on_failure(&self, agent: &str) -> OnFailure {
        self.settings.on_failure(agent)
    }

    /// Checks that the hook program exists and can be executed. The files of a project name the program without its directory, so for
    /// [`Scope::Project`] the program must be on the PATH.
    pub(crate) fn check_program(&self, scope: Scope) -> Result<(), CliError> {
        if scope == Scope::Project {
            return match find::on_path(PROGRAM, &self.path) {
                Some(_) => Ok(()),
                None => Err(CliError::usage(format!(
                    "a project's files start `{PROGRAM}` from the PATH, so that they work for everybody, and it is not on yours: \
                     put the directory of hookhost on the PATH"
                ))),
            };
        }
        if is_executable(&self.program) {
            return Ok(());
        }
        let shown = output::quoted(&self.program.to_string_lossy());
        let state = if self.program.exists() { "cannot be executed" } else { "is not there" };
        Err(CliError::usage(format!(
            "the hook program {shown} {state}: put `{PROGRAM}` beside `hookhost`, or name it in the environment variable \
             {PROGRAM_VARIABLE}"
        )))
    }
}

/// Returns the names of all agents, separated by commas.
pub(crate) fn names() -> String {
    let names: Vec<&str> = all().iter().map(|adapter| adapter.agent().name).collect();
    names.join(", ")
}

/// Returns the adapters of the named agents, or of all agents if none is named.
pub(crate) fn adapters(named: &[String]) -> Vec<&'static Adapter> {
    if named.is_empty() { all().to_vec() } else { named.iter().filter_map(|name| by_name(name)).collect() }
}

/// Returns true if an earlier adapter in the list is for the same programs. Such a second adapter is examined only if the user names it or
/// has installed it.
pub(crate) fn is_second_way(adapter: &Adapter) -> bool {
    let agent = adapter.agent();
    let mut earlier = all().iter().map(|other| other.agent()).take_while(|other| other.name != agent.name);
    !agent.programs.is_empty() && earlier.any(|other| other.programs == agent.programs)
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Reads `[agents]` of the user's own file. A project's file cannot have this section.
fn settings(directories: &UserDirectories) -> Result<AgentsSection, CliError> {
    let file = directories.user_file();
    if !file.exists() {
        return Ok(AgentsSection::default());
    }
    let config = Config::open(&file, directories, configuration::SECTIONS).map_err(CliError::not_loaded)?;
    configuration::agents(&config)
}

/// Returns the root of the project: the nearest directory that contains a repository, or else the working directory.
pub(crate) fn project(cwd: &Path) -> PathBuf {
    cwd.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(cwd).to_owned()
}

fn program() -> Result<PathBuf, CliError> {
    if let Some(named) = variable(PROGRAM_VARIABLE) {
        return if named.is_absolute() {
            Ok(named)
        } else {
            let shown = output::quoted(&named.to_string_lossy());
            Err(CliError::usage(format!("{PROGRAM_VARIABLE} names {shown}, which is not an absolute path")))
        };
    }
    let own = std::env::current_exe().map_err(|error| anyhow!("the program hookhost cannot be found: {error}"))?;
    let beside = own.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX));
    Ok(in_every_version(&beside).filter(|path| path.exists()).unwrap_or(beside))
}

/// Returns the path of a program of Homebrew that names no version, such as `/opt/homebrew/opt/hookhost/bin/hookhost-hook` for
/// `/opt/homebrew/Cellar/hookhost/0.2.0/bin/hookhost-hook`. An upgrade removes the directory of the old version, and with it the program that
/// the settings of agents would name.
fn in_every_version(program: &Path) -> Option<PathBuf> {
    let version = program.parent()?.parent()?;
    let formula = version.parent()?;
    let cellar = formula.parent().filter(|directory| directory.ends_with("Cellar"))?;
    Some(cellar.with_file_name("opt").join(formula.file_name()?).join(program.strip_prefix(version).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_name_a_path_that_an_upgrade_by_homebrew_keeps() {
        let stable = |path: &str| in_every_version(Path::new(path)).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(
            stable("/opt/homebrew/Cellar/hookhost/0.2.0/bin/hookhost-hook").as_deref(),
            Some("/opt/homebrew/opt/hookhost/bin/hookhost-hook")
        );
        assert_eq!(stable("/usr/bin/hookhost-hook"), None);
        assert_eq!(stable("/home/me/.cargo/bin/hookhost-hook"), None);
    }
}
