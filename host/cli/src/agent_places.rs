//! Where an agent's files are for this user and in this project, and which hook program they name.

use crate::agents_section::AgentsSection;
use crate::configuration::{self, not_loaded};
use crate::exit::CliError;
use crate::output;
use anyhow::anyhow;
use hookhost::config::{Config, UserDirectories};
use hookhost_adapters::directories::Directories;
use hookhost_adapters::install::{Context, OnFailure, PROGRAM, Scope};
use hookhost_adapters::{Adapter, all, by_name};
use hookhost_install::find::{self, is_executable};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names another hook program, by an absolute path.
const PROGRAM_VARIABLE: &str = "HOOKHOST_HOOK_PROGRAM";

/// What a person reads where no agent is found, with what helps.
pub(crate) const NO_AGENT: &str = "No agent is found here, neither by a program on the PATH nor by a directory.\n\
  To prepare for one that comes later: hookhost install AGENT. The names: hookhost install --help\n";

/// Everything that says where an agent's files are.
pub(crate) struct AgentPlaces {
    pub(crate) directories: UserDirectories,
    home: PathBuf,
    pub(crate) project: PathBuf,
    program: PathBuf,
    /// The directories that each hook's command fixes.
    fixed: Directories,
    settings: AgentsSection,
    /// Why the user's own file does not say the settings.
    unreadable: Option<CliError>,
    /// Where programs are looked for.
    pub(crate) path: OsString,
    /// Directories of the `PATH` in which none is looked for: relative ones, and those of the project.
    pub(crate) left_out: Vec<PathBuf>,
}

impl AgentPlaces {
    /// Of this user, in the working directory; also where the user's own file cannot be read, so that what is installed can be seen
    /// and taken out.
    pub(crate) fn here() -> Result<Self, CliError> {
        let directories = configuration::places()?;
        let home = directories.home.clone();
        let home = home.ok_or_else(|| CliError::usage("your home directory cannot be found: set the variable HOME"))?;
        let (settings, unreadable) = match settings(&directories) {
            Ok(settings) => (settings, None),
            Err(error) => (AgentsSection::default(), Some(error)),
        };
        // The files name it, and whether they do is compared by its spelling.
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

    /// The root that no link of the files of this scope leads out of.
    pub(crate) fn root(&self, scope: Scope) -> Option<&Path> {
        (scope == Scope::Project).then_some(&self.project)
    }

    /// The same; an error where the user's own file cannot be read.
    pub(crate) fn with_settings(mut self) -> Result<Self, CliError> {
        match self.unreadable.take() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// What an adapter needs to know for its plan.
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

    /// What the hook of an agent does where nobody answers it.
    pub(crate) fn on_failure(&self, agent: &str) -> OnFailure {
        self.settings.on_failure(agent)
    }

    /// Checks that the hook program is there.
    pub(crate) fn check_program(&self) -> Result<(), CliError> {
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

/// The names of all agents, for a sentence.
pub(crate) fn names() -> String {
    let names: Vec<&str> = all().iter().map(|adapter| adapter.agent().name).collect();
    names.join(", ")
}

/// The named agents, or all.
pub(crate) fn adapters(named: &[String]) -> Vec<&'static dyn Adapter> {
    if named.is_empty() { all().to_vec() } else { named.iter().filter_map(|name| by_name(name)).collect() }
}

/// Whether this is a second way into an agent whose first way is another adapter: it has the same program. It is looked at where
/// somebody names it or has installed it.
pub(crate) fn is_second_way(adapter: &dyn Adapter) -> bool {
    let agent = adapter.agent();
    let mut earlier = all().iter().map(|other| other.agent()).take_while(|other| other.name != agent.name);
    !agent.programs.is_empty() && earlier.any(|other| other.programs == agent.programs)
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// `[agents]` of the user's own file. A project's file cannot have it.
fn settings(directories: &UserDirectories) -> Result<AgentsSection, CliError> {
    let file = directories.user_file();
    if !file.exists() {
        return Ok(AgentsSection::default());
    }
    let config = Config::open(&file, directories, configuration::SECTIONS).map_err(not_loaded)?;
    configuration::agents(&config)
}

/// The root of the project: the nearest directory with a repository in it, or else the working directory.
fn project(cwd: &Path) -> PathBuf {
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
    Ok(own.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX)))
}
