//! `hookhost exec`: runs a program where the kernel guards files, keys and processes.

use crate::agent_places::AgentPlaces;
use crate::args::ExecArgs;
use crate::exit::{CliError, Exit};
use crate::output::{self, wrap::wrapped};
use crate::sandbox::{Sandbox, Shims, is_guarded};
use anyhow::anyhow;
use hookhost_agents::ancestry::is_inside;
use hookhost_client::connection::ConnectionError;
use hookhost_client::kept_host::KeptHost;
use hookhost_client::paths::HostPaths;
use hookhost_client::start;
use hookhost_client::unanswered_calls::NoteListener;
use hookhost_exec::policy::{Places, Policy};
use hookhost_exec::seatbelt;
use hookhost_exec::{ExecError, MountPlan, Notice, Settings, Treatment, WatchList};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The directory of users' sockets, which is replaced inside.
const RUNTIME_DIRECTORIES: &str = "/run/user";

/// Runs the command. Must be called from the main thread, before the process has others.
pub(crate) fn run(args: &ExecArgs) -> Result<ExitCode, CliError> {
    let own = AgentPlaces::here()?.with_settings()?;
    let mut program = args.program.clone();
    if args.is_shim {
        program = behind_shim(&own, program)?;
        if is_guarded(&own.directories.state) {
            return Err(in_its_place(&program));
        }
    }
    let mut sandbox = Sandbox::here(&own, args.config.as_deref())?;
    if args.list {
        output::print(&list(&sandbox))?;
        return Ok(Exit::Done.into());
    }
    if args.seatbelt {
        let _ = output::print_exactly(&seatbelt::profile(&sandbox.policy))?;
        return Ok(Exit::Done.into());
    }
    let host = HostPaths::below(&own.directories.state);
    // The host inside another run is kept by the supervisor of that run.
    if !is_inside() && !args.is_tool {
        keep_host(&host)?;
        // The start of the host can have made what is to be guarded.
        sandbox.look_again();
    }
    started(&sandbox, &program, &host, args.is_tool).or_else(|error| {
        let code = error.exit_code();
        CliError::from(anyhow!(error)).print();
        Ok(code.into())
    })
}

/// Returns a command with the program that the shim of its name stands for.
fn behind_shim(own: &AgentPlaces, mut command: Vec<OsString>) -> Result<Vec<OsString>, CliError> {
    let shims = Shims::of(own);
    if let Some(name) = command.first_mut() {
        let text = name.to_string_lossy().into_owned();
        let found = shims.program(&text, &std::env::var_os("PATH").unwrap_or_default());
        let why = || {
            CliError::usage(format!(
                "the program `{text}` is not on the PATH behind its shim in {}",
                shims.directory().display()
            ))
        };
        *name = found.ok_or_else(|| why().advise("hookhost on --sandbox, to make the shims again"))?.into_os_string();
    }
    Ok(command)
}

/// Replaces this process by a program. Returns only the error.
fn in_its_place(command: &[OsString]) -> CliError {
    let Some((program, arguments)) = command.split_first() else { return CliError::usage("no program is named") };
    let error = std::process::Command::new(program).args(arguments).exec();
    anyhow!("{} cannot be started: {error}", program.display()).into()
}

/// Keeps a resident host alive, and writes down the calls that it did not answer, because a hook inside can do neither.
fn keep_host(paths: &HostPaths) -> Result<(), CliError> {
    let not_kept = |error: ConnectionError| CliError::not_loaded(error).advise("hookhost doctor");
    let program = start::program().map_err(CliError::not_loaded)?;
    let host = KeptHost::start(paths.clone(), program).map_err(not_kept)?;
    std::thread::spawn(|| host.keep(|error| tell(&format!("each call of an agent is denied: {error}"))));
    let not_noted =
        |error: &io::Error| tell(&format!("calls without an answer cannot be noted for the audit log: {error}"));
    match NoteListener::bind(paths) {
        Ok(notes) => drop(std::thread::spawn(move || notes.serve(not_noted))),
        Err(error) => not_noted(&error),
    }
    Ok(())
}

fn started(sandbox: &Sandbox, program: &[OsString], host: &HostPaths, is_quiet: bool) -> Result<ExitCode, ExecError> {
    let Sandbox { policy, places, .. } = sandbox;
    let plan = MountPlan::new(&policy.guards, &places.directory, &policy.home)
        .map_err(|error| ExecError::Refused(error.to_string()))?;
    if !is_quiet {
        hindrances(policy, program).for_each(tell);
    }
    let helper = std::env::current_exe()?;
    let kept = kept_sockets(host);
    let mut notify = |notice: &Notice| {
        // Each command of a tool would say it.
        if !(is_quiet && matches!(notice, Notice::Partly { .. })) {
            tell(&format!("{notice}"));
        }
    };
    let mut settings = Settings::new(&helper, &mut notify);
    settings.kept = &kept;
    settings.watch = WatchList::new(policy, &places.state);
    settings.network = policy.network.clone();
    hookhost_exec::run(&plan, program, &mut settings)
}

/// Returns what an agent cannot make inside, if the program is an agent. It may not even start then.
fn hindrances<'a>(policy: &'a Policy, program: &[OsString]) -> impl Iterator<Item = &'a str> {
    let name = program.first().and_then(|program| Path::new(program).file_name()?.to_str()).unwrap_or_default();
    let agent =
        hookhost_agents::all().iter().map(|adapter| adapter.agent()).find(|agent| agent.programs.contains(&name));
    let sentences = policy.gaps.iter().map(|gap| gap.sentence.as_str());
    sentences.filter(move |sentence| {
        agent.is_some_and(|agent| sentence.starts_with(&format!("{} cannot make ", agent.name)))
    })
}

/// Returns the sockets in the user's runtime directory that stay reachable: those of the resident host and of ssh-agent.
fn kept_sockets(host: &HostPaths) -> Vec<PathBuf> {
    let ssh = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
    host.other_socket().into_iter().chain(ssh).filter(|path| path.starts_with(RUNTIME_DIRECTORIES)).collect()
}

/// Prints a notice. While a program runs, the terminal does not move to the first column by itself.
fn tell(text: &str) {
    let mut notice = output::notice(text);
    if io::stderr().is_terminal() {
        notice = notice.replace('\n', "\r\n");
    }
    output::note(&notice);
}

/// Returns the guarded paths with their reasons, and what is not guarded.
fn list(Sandbox { policy, places, .. }: &Sandbox) -> String {
    let mut text = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "{title}:\n{}\n", lines.join("\n"));
        }
    };
    let treated = |treatment: Treatment| {
        let guards = policy.guards.iter().filter(move |guard| guard.treatment == treatment);
        guards.map(|guard| format!("  {}  ({})", shown(places, &guard.path), guard.reason)).collect()
    };
    section("Cannot be changed", treated(Treatment::ReadOnly));
    section("Cannot be read", treated(Treatment::Hidden));
    section("Cannot be reached", treated(Treatment::Masked));
    section("Writable all the same", treated(Treatment::Writable));
    let restored = policy.restored.iter().filter(|file| file.exists);
    let keys = |keys: &[String]| output::printable(&keys.join(", "));
    let restored = restored.map(|file| format!("  {}: {}", shown(places, &file.path), keys(&file.keys)));
    section("Keys that get their value back", restored.collect());
    let absent = policy.absent.iter().map(|absent| format!("  {}  ({})", shown(places, &absent.path), absent.reason));
    section("Taken away if they appear", absent.collect());
    section(
        "Not guarded",
        policy.gaps.iter().map(|gap| format!("  {}", wrapped(&output::printable(&gap.sentence), 2))).collect(),
    );
    text.trim_end().to_owned() + "\n"
}

fn shown(places: &Places<'_>, path: &Path) -> String {
    output::printable(&places.shown(path))
}
