//! `hookhost exec`: runs a program where the kernel guards files, keys and processes.

use crate::agent_places::AgentPlaces;
use crate::args::ExecArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{self, wrap::wrapped};
use anyhow::anyhow;
use hookhost_agents::ancestry::is_inside;
use hookhost_client::connection::ConnectionError;
use hookhost_client::kept_host::KeptHost;
use hookhost_client::paths::HostPaths;
use hookhost_client::start;
use hookhost_client::unanswered_calls::NoteListener;
use hookhost_exec::policy::{Places, Policy};
use hookhost_exec::{ExecError, MountPlan, Settings, Treatment};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The directory of users' sockets, which is replaced inside.
const RUNTIME_DIRECTORIES: &str = "/run/user";

/// Runs the command. Must be called from the main thread, before the process has others.
pub(crate) fn run(args: &ExecArgs) -> Result<ExitCode, CliError> {
    let directory = configuration::cwd()?;
    let own = AgentPlaces::here()?.with_settings()?;
    let config = configuration::find(None, &directory)?.config;
    let settings = configuration::sandbox(&config)?;
    let rows: Vec<_> = config.rules().iter().map(|rule| rule.row.clone()).collect();
    let programs = vec![std::env::current_exe().map_err(|error| anyhow!("{error}"))?, own.program().to_owned()];
    let variable = |name: &str| std::env::var_os(name);
    let user = rustix::process::geteuid().as_raw();
    let places = Places::of_environment(&variable, &own.project, &directory, programs, user)
        .ok_or_else(|| CliError::usage("your home directory cannot be found: set the variable HOME"))?;
    let policy = Policy::new(&places, &settings, &rows);
    if args.list {
        output::print(&list(&policy, &places))?;
        return Ok(Exit::Done.into());
    }
    let state = &own.directories.state;
    // The host inside another run is kept by the supervisor of that run.
    if !is_inside() {
        keep_host(&HostPaths::below(state))?;
    }
    // What is guarded is looked up again, because the start of the host can create it.
    let policy = Policy::new(&places, &settings, &rows);
    started(&policy, &directory, &args.program, state).or_else(|error| {
        let code = error.exit_code();
        CliError::from(anyhow!(error)).print();
        Ok(code.into())
    })
}

/// Keeps a resident host alive, and writes down the calls that it did not answer, because a hook inside can do neither.
fn keep_host(paths: &HostPaths) -> Result<(), CliError> {
    let not_kept = |error: ConnectionError| CliError::not_loaded(error).advise("hookhost doctor");
    let program = start::program().map_err(CliError::not_loaded)?;
    let host = KeptHost::start(paths.clone(), program).map_err(not_kept)?;
    std::thread::spawn(|| host.keep(|error| tell(&format!("each call of an agent is denied: {error}"))));
    let notes = NoteListener::bind(paths).map_err(|error| not_kept(error.into()))?;
    std::thread::spawn(|| notes.serve(|error| tell(&format!("a call cannot be noted for the audit log: {error}"))));
    Ok(())
}

fn started(policy: &Policy, directory: &Path, program: &[OsString], state: &Path) -> Result<ExitCode, ExecError> {
    let plan = MountPlan::new(&policy.guards, directory, &policy.home)
        .map_err(|error| ExecError::Refused(error.to_string()))?;
    let helper = std::env::current_exe()?;
    let kept = kept_sockets(state);
    let mut notify = |notice: &_| tell(&format!("{notice}"));
    hookhost_exec::run(&plan, program, &mut Settings { helper: &helper, kept: &kept, notify: &mut notify })
}

/// Returns the sockets in the user's runtime directory that stay reachable: those of the resident host and of ssh-agent.
fn kept_sockets(state: &Path) -> Vec<PathBuf> {
    let host = HostPaths::below(state).other_socket();
    let ssh = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
    host.into_iter().chain(ssh).filter(|path| path.starts_with(RUNTIME_DIRECTORIES)).collect()
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
fn list(policy: &Policy, places: &Places<'_>) -> String {
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
