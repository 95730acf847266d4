//! Checks that an agent's hook is installed and that the agent calls it. These checks read files, and never run the
//! hook.
//!
//! Correct files do not prove that the hook denies calls. The module [`prove`](crate::install::prove) proves this by
//! running the hook.

mod claude_code;
mod codex;
mod entries;
mod environment;
mod gemini;
mod program;
pub(super) mod switches;

pub use codex::REVIEW as TRUST_IN_CODEX;
pub use entries::Presence;

use crate::install::check::{Check, CheckState};
use crate::install::configured::{self, ConfiguredHook};
use crate::install::error::FileRefusal;
use crate::install::find::{self, AgentTraces};
use crate::install::version::{self, VersionSupport};
use crate::plan::{Context, Plan, Scope};
use crate::{Adapter, Agent};
use entries::SCOPES;
use std::ffi::OsStr;

/// The name of hookhost's plugin in an agent, with the name of the marketplace.
const PLUGIN: &str = "hookhost@hookhost-plugins";

/// Maximum length of a command in a finding, in characters.
const MAX_SHOWN: usize = 200;

/// The findings about an agent.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// Traces of the agent on this machine.
    pub traces: AgentTraces,
    /// The agent's version, if known.
    pub version: Option<String>,
    /// The scopes whose files contain the hook.
    pub installed: Vec<InstalledHook>,
    /// The checks.
    pub checks: Vec<Check>,
}

/// The hook in the files of one scope.
#[derive(Clone, Debug)]
pub struct InstalledHook {
    /// The scope.
    pub scope: Scope,
    /// The plan for this scope.
    pub plan: Plan,
    /// The entries of the plan that the files contain.
    pub presence: Presence,
    /// The hook's commands in the files.
    pub commands: Vec<ConfiguredHook>,
}

impl Diagnosis {
    /// Returns true if no check is a problem.
    pub fn is_well(&self) -> bool {
        self.problem().is_none()
    }

    /// Returns the first problem.
    pub fn problem(&self) -> Option<&Check> {
        self.checks.iter().find(|check| check.state == CheckState::Problem)
    }
}

/// The reason why an agent is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The user has named the agent. A missing hook is a problem.
    ByName,
    /// Traces of the agent were found. If these are only directories without a program, a missing hook is not a
    /// problem.
    ByTraces,
}

/// Examines an agent's program and the agent's files of all scopes. `path` is the value of `PATH` with which programs
/// are found.
pub fn examine(adapter: &Adapter, context: &Context<'_>, path: &OsStr, sought: Selection) -> Diagnosis {
    let agent = adapter.agent();
    let traces = find::traces(adapter, context, path);
    let mut checks = Vec::new();
    let version = here(adapter, &traces, path, &mut checks);
    let mut unreadable = Vec::new();
    let installed = installed(adapter, context, &mut unreadable);
    checks.extend(unreadable.iter().map(|why| Check::problem("entry", why.finding(), why.next.clone())));
    // An entry cannot be put into a file that is not readable, so that file's problem is the one to solve.
    if installed.is_empty() && !unreadable.is_empty() {
        return Diagnosis { traces, version, installed, checks };
    }
    if installed.is_empty() {
        let mut nowhere = nowhere(adapter, context);
        if sought == Selection::ByTraces && traces.program.is_none() && nowhere.state == CheckState::Problem {
            nowhere.state = CheckState::Unknown;
        }
        let is_examined = sought == Selection::ByName || nowhere.state == CheckState::Ok;
        checks.push(nowhere);
        if is_examined {
            checks.extend(reached(adapter, context, &[], &traces, path));
        }
        return Diagnosis { traces, version, installed, checks };
    }
    for installed in &installed {
        checks.push(installed.presence.check(agent, installed.scope));
        checks.extend(foreign(agent, installed));
    }
    let reached = reached(adapter, context, &installed, &traces, path);
    let is_reached = reached.iter().all(|check| check.state != CheckState::Problem);
    checks.extend(reached);
    if is_reached {
        checks.push(Check::ok("reached", "no setting turns hooks off, and the agent can read its settings"));
    }
    checks.extend(program::checks(agent, &installed, path));
    Diagnosis { traces, version, installed, checks }
}

/// Returns a problem for the first command that mentions the hook program but does not come from hookhost's plan. The
/// agent would run this command.
fn foreign(agent: &Agent, installed: &InstalledHook) -> Option<Check> {
    let command = installed.commands.iter().find(|command| command.planned.is_none())?;
    let words: Vec<_> = command.run.words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (file, shown) = (command.file.display(), words.join(" "));
    let cut: String = shown.chars().take(MAX_SHOWN).collect();
    let more = if cut.len() < shown.len() { "…" } else { "" };
    let says = format!(
        "{file} has a command that starts the hook and that hookhost did not write, so it is not run here: {cut}{more}"
    );
    let flag = installed.scope.flag();
    let next = format!(
        "see what it does, because {} runs it; to replace it: hookhost install {}{flag}",
        agent.title, agent.name
    );
    Some(Check::problem("entry", says, next))
}

/// Returns the scopes whose files contain the hook. Adds each file that cannot be read to `unreadable`.
pub fn installed(adapter: &Adapter, context: &Context<'_>, unreadable: &mut Vec<FileRefusal>) -> Vec<InstalledHook> {
    let mut installed: Vec<InstalledHook> = Vec::new();
    let mut scopes = SCOPES.to_vec();
    scopes.retain(|scope| *scope != Scope::Project || !adapter.shares_files(context));
    for scope in scopes {
        let Ok(plan) = adapter.install(&Context { scope, ..*context }) else { continue };
        let project = entries::root(context, scope);
        let presence = Presence::of(&plan, adapter.agent().name, adapter.json_dialect(), project);
        unreadable
            .extend(presence.unreadable.iter().filter(|why| !unreadable.contains(why)).cloned().collect::<Vec<_>>());
        let files = plan.files.iter().filter_map(|file| configured::of_file(file, project).ok());
        let commands: Vec<_> = files.flatten().filter(|command| command.is_for(adapter.agent().name)).collect();
        if presence.any() || !commands.is_empty() {
            installed.push(InstalledHook { scope, plan, presence, commands });
        }
    }
    installed
}

/// Returns the check of an agent whose files do not contain the hook. Some agents have no file that could contain a
/// hook.
fn nowhere(adapter: &Adapter, context: &Context<'_>) -> Check {
    let agent = adapter.agent();
    let plans = [Scope::User, Scope::Project].map(|scope| adapter.install(&Context { scope, ..*context }).ok());
    let plans: Vec<Plan> = plans.into_iter().flatten().collect();
    if let Some(plan) = plans.first()
        && plans.iter().all(|plan| plan.files.is_empty())
    {
        let says = format!("{} has no settings file for hookhost, so you set it up yourself", agent.title);
        return Check::unknown("entry", says, plan.steps.join(" "));
    }
    if by_plugin(adapter, context) {
        return Check::ok("entry", format!("hookhost's plugin for {} is enabled, and calls the hook", agent.title));
    }
    let says = format!("hookhost is not installed in {}, so nothing checks its calls", agent.title);
    Check::problem("entry", says, format!("hookhost on --agent {}", agent.name))
}

/// Returns true if the plugin of a marketplace, which calls the hook, is enabled.
fn by_plugin(adapter: &Adapter, context: &Context<'_>) -> bool {
    match adapter.agent().name {
        "claude-code" => {
            let files = SCOPES.into_iter().flat_map(|scope| entries::json_files(adapter, context, scope));
            let states: Vec<_> = files.filter_map(|(_, file)| file["enabledPlugins"][PLUGIN].as_bool()).collect();
            !states.is_empty() && states.iter().all(|enabled| *enabled)
        }
        "codex" => codex::plugins(context).any(|(name, enabled)| name == PLUGIN && enabled),
        _ => false,
    }
}

/// Checks that the agent is installed in a supported version, and returns the version.
fn here(adapter: &Adapter, traces: &AgentTraces, path: &OsStr, checks: &mut Vec<Check>) -> Option<String> {
    let agent = adapter.agent();
    let (oldest, newest) = agent.versions;
    if agent.programs.is_empty() {
        checks.push(Check::unknown(
            "agent",
            format!("{} is a service, so hookhost cannot see whether it runs", agent.title),
            "check that it runs",
        ));
        return None;
    }
    let Some(program) = &traces.program else {
        let programs = agent.programs.join("` or `");
        let says = match traces.directories.first() {
            Some(directory) => format!("{} exists, but no program `{programs}` is on the PATH", directory.display()),
            None => format!("{} is not on this machine: no program `{programs}` is on the PATH", agent.title),
        };
        let next = format!("install {}, or put its program on the PATH", agent.title);
        checks.push(Check::unknown("agent", says, next));
        return None;
    };
    let shown = program.display();
    let version = match version::ask(program, path) {
        Ok(version) => version,
        Err(why) => {
            checks.push(Check::unknown("agent", format!("{shown} is there: {why}"), format!("{shown} --version")));
            return None;
        }
    };
    let prove = format!("hookhost doctor {} --prove", agent.name);
    checks.push(match version::support(agent, &version) {
        VersionSupport::Supported => Check::ok("agent", format!("{} {version} is at {shown}", agent.title)),
        VersionSupport::Older => {
            let says =
                format!("{} {version} at {shown} is older than {oldest}, the oldest supported version", agent.title);
            Check::problem("agent", says, format!("update {}", agent.title))
        }
        VersionSupport::Newer => {
            let says =
                format!("{} {version} at {shown} is newer than {newest}, the newest tested version", agent.title);
            Check::unknown("agent", says, prove)
        }
        VersionSupport::Unknown => Check::unknown(
            "agent",
            format!("{} {version} is at {shown}; hookhost was not tested with any version", agent.title),
            prove,
        ),
    });
    Some(version)
}

/// Returns a check for each setting that prevents, or may prevent, the agent from running the hook.
fn reached(
    adapter: &Adapter,
    context: &Context<'_>,
    installed: &[InstalledHook],
    traces: &AgentTraces,
    path: &OsStr,
) -> Vec<Check> {
    let mut checks = switches::disabled(adapter, context, installed);
    checks.extend(environment::problems(adapter, context));
    checks.extend(match adapter.agent().name {
        "claude-code" => claude_code::reached(context, installed),
        "codex" => codex::reached(context, installed, traces.program.as_deref(), path),
        "gemini-cli" => gemini::reached(context, installed),
        _ => Vec::new(),
    });
    checks
}
