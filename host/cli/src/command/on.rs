//! `hookhost on`: chooses rules, puts the hook into the agents on this machine, proves each hook, and tries the rules on the past.
//!
//! The rules are loaded before any agent is changed, because a hook without rules that load denies every call. Each agent is finished or
//! left as it was.

use super::doctor;
use super::hook_entries::{self, PutIn};
use super::off::{open_log, record, resume};
use super::replay::{PastQuery, judge};
use super::table::{Row, Table};
use crate::agent_places::{AgentPlaces, NO_AGENT, adapters, is_second_way, names};
use crate::args::OnArgs;
use crate::directory_rules::OBSERVES;
use crate::exit::{CliError, Exit};
use crate::interrupt::Signals;
use crate::output::{difference, entry, one_line, progress::Progress, quoted, time, truncate::counted};
use crate::profile::{self, PreparedProfile, Profile};
use crate::sandbox::{Sandbox, Shims, ability};
use crate::{bundled, configuration, inside_agent, loading};
use anyhow::anyhow;
use hookhost::Config;
use hookhost::audit::{OperatorAction, OperatorActionKind};
use hookhost::config::UserDirectories;
use hookhost_agents::install::check::{Check, CheckState};
use hookhost_agents::install::doctor::{self as checks, Diagnosis, Selection};
use hookhost_agents::install::prove::{self, Proofs};
use hookhost_agents::install::{FileChange, find, version};
use hookhost_agents::plan::{Plan, Scope};
use hookhost_agents::{Adapter, canary};
use hookhost_client::connection::ConnectionError;
use hookhost_client::control;
use hookhost_client::paths::HostPaths;
use hookhost_exec::Ability;
use rustix::fs::Access;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Time to wait until a resident host of another version has ended.
const END_TIMEOUT: Duration = Duration::from_secs(35);

pub(crate) async fn run(args: &OnArgs) -> Result<Exit, CliError> {
    if !args.dry_run {
        inside_agent::refuse("turns hookhost on")?;
    }
    let cancel = CancellationToken::new();
    Signals::listen()?.cancel_on_first(cancel.clone());
    let places = Arc::new(AgentPlaces::here()?.with_settings()?);
    places.check_program(Scope::User)?;
    let chosen = chosen(&places, &args.agents)?;
    let rules = Rules::choose(args, &places.directories)?;
    let mut table = Table::default();
    if args.dry_run {
        return dry_run(&places, &rules, &chosen, args.verbose, &mut table);
    }
    let progress = Arc::new(Progress::start("compiling rules"));
    // Without the log every call would be denied, so this fails before anything is changed.
    drop(open_log().await?);
    replace_older_host(&places.directories)?;
    tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(interrupted("nothing was changed")),
        loaded = rules.load(&places.directories, &progress) => loaded?,
    }
    if let Some(copy) = rules.apply(&places.directories)? {
        let says = format!("the profile as it was is in {}", one_line(&copy.to_string_lossy()));
        table.push(Row::note("kept", &says));
    }
    bundled::remove_unused(&places.directories);
    if let Some(until) = resume(&places.directories).await? {
        table.push(Row::note("pause", &format!("ended; it would have lasted until {}", time::local(until))));
    }
    table.push(rules.row()?);
    // The rules may have filled the disk.
    let log = doctor::log_check(&places.directories);
    if log.state == CheckState::Problem {
        table.print()?;
        let error = CliError::not_loaded(anyhow!("{}; the rules are in force, and no agent was changed", log.says));
        return Err(log.next.into_iter().fold(error, CliError::advise));
    }
    progress.next("installing hooks");
    let (installed, left) = install(&places, &chosen, args.verbose, &cancel, &mut table).await;
    if !installed.is_empty() {
        let mut action = OperatorAction::new(OperatorActionKind::On);
        action.agents = installed.iter().map(|installed| installed.adapter.agent().name.to_owned()).collect();
        if let Err(error) = record(action).await {
            table.extend(installed.iter().map(|installed| {
                not_working(&places, installed.adapter, installed.is_new, "the log cannot be written")
            }));
            table.print()?;
            return Err(error);
        }
    }
    write_exports(&places, &installed, &mut table)?;
    if args.sandbox {
        table.push(shims(&places, &installed)?);
    }
    progress.next("proving hooks");
    prove_all(&places, installed, &cancel, &mut table).await;
    if !cancel.is_cancelled() {
        table.extend(past_row(&progress, &cancel).await);
    }
    drop(progress);
    if cancel.is_cancelled() {
        table.print()?;
        let names: Vec<_> = left.iter().map(|adapter| adapter.agent().name).collect();
        return Err(interrupted(&match names.as_slice() {
            [] => "every agent in the table has the hook".to_owned(),
            names => format!("{} left as before: {}", counted(names.len(), "agent"), names.join(", ")),
        }));
    }
    let has_failure = table.has_failure();
    if table.is_complete() {
        table.push(Row::note("next", "use your agents as before").next("what your rules do: hookhost ui"));
    }
    table.print()?;
    Ok(if has_failure { Exit::Failed } else { Exit::Done })
}

/// Writes the guarded paths into the agents' own sandboxes. It does so twice, because a file that is made for one agent is guarded from
/// all.
fn write_exports(places: &AgentPlaces, installed: &[Installed], table: &mut Table) -> Result<(), CliError> {
    let mut sandbox = Sandbox::here(places, None)?;
    let names = || installed.iter().map(|installed| installed.adapter.agent().name);
    if names().all(|name| sandbox.write_export(name).is_ok()) {
        sandbox.look_again();
    }
    for name in names() {
        if let Err(error) = sandbox.write_export(name) {
            table.push(Row::problem(name, &error.message()));
        }
    }
    Ok(())
}

/// Makes the shims of agents, by which they start in `hookhost exec`.
fn shims(places: &AgentPlaces, installed: &[Installed]) -> Result<Row, CliError> {
    if let Ability::None { because } = ability() {
        return Ok(Row::problem("second line", &format!("not possible here, because {because}")));
    }
    let shims = Shims::of(places);
    let programs = installed.iter().flat_map(|installed| installed.adapter.agent().programs.iter().copied());
    let mut made: Vec<&str> = programs.filter(|name| shims.program(name, &places.path).is_some()).collect();
    made.dedup();
    made.iter().try_for_each(|name| shims.write(name))?;
    let directory = quoted(&shims.directory().to_string_lossy());
    let says = match made.as_slice() {
        [] => return Ok(Row::problem("second line", "no program of these agents is on the PATH")),
        made => format!("{} start in hookhost exec, by shims in {directory}", made.join(", ")),
    };
    if made.iter().all(|name| shims.is_first(name, &places.path)) {
        return Ok(Row::done("second line", &says));
    }
    let next = format!("put this into your shell's start file: export PATH={directory}:$PATH");
    Ok(Row::incomplete("second line", &format!("{says}, once that directory is first on your PATH")).next(next))
}

fn interrupted(what: &str) -> CliError {
    CliError::new(Exit::Interrupted, anyhow!("interrupted: {what}")).advise("hookhost on")
}

/// Returns the named agents, or each agent on this machine.
fn chosen(places: &AgentPlaces, named: &[String]) -> Result<Vec<&'static Adapter>, CliError> {
    let mut chosen = adapters(named);
    if named.is_empty() {
        chosen.retain(|adapter| {
            let context = places.context(adapter.agent().name, Scope::User);
            !is_second_way(adapter) && find::traces(adapter, &context, &places.path).any()
        });
    }
    if chosen.is_empty() {
        let why = format!("{NO_AGENT}; hookhost looks for {}", names());
        return Err(CliError::usage(why).advise("hookhost on --agent AGENT, to prepare for one that comes later"));
    }
    Ok(chosen)
}

/// Ends a resident host of another version, which does not know the files that this version writes. The next call of an agent starts the
/// new one.
fn replace_older_host(directories: &UserDirectories) -> Result<(), CliError> {
    let status = match doctor::host_status(directories) {
        Ok(status) => status,
        Err(ConnectionError::NotThere(_)) => return Ok(()),
        Err(error) => {
            return Err(CliError::from(anyhow!("the resident host does not answer: {error}; nothing was changed"))
                .advise("hookhost doctor"));
        }
    };
    let version = status["version"].as_str().unwrap_or("unknown");
    if version == env!("CARGO_PKG_VERSION") {
        return Ok(());
    }
    if status["on-demand"] != true {
        let why = anyhow!(
            "you have started a resident host of version {}, and this is {}; nothing was changed",
            one_line(version),
            env!("CARGO_PKG_VERSION")
        );
        return Err(CliError::from(why).advise("hookhost serve --stop, and then hookhost on"));
    }
    control::stop(&HostPaths::below(&directories.state), END_TIMEOUT).map_err(|error| {
        CliError::from(anyhow!("the resident host of version {} does not end: {error}", one_line(version)))
    })
}

/// The rules that will be in force.
struct Rules {
    /// The rules of the user's own hookhost.toml.
    own: Config,
    /// The profile, unless this program has no plugins for one, and the user has rules of their own.
    profile: Option<PreparedProfile>,
}

impl Rules {
    /// Chooses the rules. Fails if the user's own file is not valid, because then no rules would load.
    fn choose(args: &OnArgs, directories: &UserDirectories) -> Result<Self, CliError> {
        let file = directories.user_file();
        let own = match file.exists() {
            true => configuration::of_file(&file, directories)?,
            false => Config::empty(),
        };
        let profile = match args.profile {
            Some(profile) => profile,
            None => profile::in_force(directories)?.map_or(Profile::DEFAULT, |found| found.profile),
        };
        let is_optional = args.profile.is_none() && !args.observe;
        let has_own = own.enabled().next().is_some();
        match profile.prepare(directories) {
            Ok(prepared) if args.observe => Ok(Self { own, profile: Some(prepared.observing(directories)?) }),
            Ok(prepared) => Ok(Self { own, profile: Some(prepared) }),
            Err(_) if is_optional && has_own => Ok(Self { own, profile: None }),
            Err(error) => Err(error),
        }
    }

    /// Compiles and checks the plugins, so that the first call of an agent need not wait for that.
    async fn load(&self, directories: &UserDirectories, progress: &Progress) -> Result<(), CliError> {
        configuration::install_rules_plugin(&self.own, directories)?;
        loading::host(self.own.clone()).await?;
        if let Some(prepared) = &self.profile {
            prepared.install_plugins(directories)?;
            loading::compile(&prepared.config, progress).await?;
            loading::host(prepared.config.clone()).await?;
        }
        Ok(())
    }

    /// Puts the rules into force. Returns the copy of the file that somebody had edited, if there is one.
    fn apply(&self, directories: &UserDirectories) -> Result<Option<PathBuf>, CliError> {
        self.profile.as_ref().map_or(Ok(None), |prepared| prepared.put_into_force(directories))
    }

    fn row(&self) -> Result<Row, CliError> {
        let Some(prepared) = &self.profile else {
            let says = format!("your own: {}", entry::in_force(&self.own));
            return Ok(Row::note("rules", &says).next("hookhost hooks"));
        };
        let counts = profile::rule_counts(&prepared.config)?;
        let rest = if prepared.config.settings().observe {
            OBSERVES.trim_start_matches("hookhost ")
        } else if profile::asks_about_unknown(&prepared.config) {
            "every other command that does more than read is asked about"
        } else {
            "everything else stays as fast and as quiet as before"
        };
        let verb = if counts.asking == 0 { "reject" } else { "ask or reject" };
        let says = format!("{}: {} rules {verb}; {rest}", prepared.profile, counts.total());
        Ok(Row::note("profile", &says).next("hookhost profile"))
    }
}

/// An agent that has the hook.
struct Installed {
    adapter: &'static Adapter,
    plan: Plan,
    /// True if the hook was not there before.
    is_new: bool,
    version: Option<String>,
}

/// Puts the hook into each agent, until `cancel` is cancelled. Returns the agents that have it, and those that were left as before.
async fn install(
    places: &Arc<AgentPlaces>,
    chosen: &[&'static Adapter],
    is_verbose: bool,
    cancel: &CancellationToken,
    table: &mut Table,
) -> (Vec<Installed>, Vec<&'static Adapter>) {
    let (mut installed, mut left) = (Vec::new(), Vec::new());
    let versions = versions(places, chosen, cancel).await;
    for (adapter, version) in chosen.iter().copied().zip(versions) {
        if cancel.is_cancelled() {
            left.push(adapter);
            continue;
        }
        match hook_entries::put_in(places, adapter, Scope::User, version.clone(), false) {
            Ok(PutIn { plan, changes }) => {
                if is_verbose {
                    changes.iter().for_each(|change| table.show(&hook_entries::unified(change)));
                }
                let is_new = changes.iter().any(FileChange::is_needed);
                installed.push(Installed { adapter, plan, is_new, version });
            }
            Err(error) => table.push(Row::failed(adapter.agent().name, &error)),
        }
    }
    (installed, left)
}

/// Asks the agents for their versions, all at once, because an agent that is a large script takes a second to answer.
async fn versions(
    places: &Arc<AgentPlaces>,
    chosen: &[&'static Adapter],
    cancel: &CancellationToken,
) -> Vec<Option<String>> {
    let mut asked = JoinSet::new();
    for (place, adapter) in chosen.iter().copied().enumerate() {
        let places = Arc::clone(places);
        asked.spawn_blocking(move || {
            let context = places.context(adapter.agent().name, Scope::User);
            let program = find::traces(adapter, &context, &places.path).program?;
            Some((place, version::ask(&program, &places.path).ok()?))
        });
    }
    let mut versions = vec![None; chosen.len()];
    while let Some(Some(answer)) = cancel.run_until_cancelled(asked.join_next()).await {
        if let Ok(Some((place, version))) = answer {
            versions[place] = Some(version);
        }
    }
    versions
}

/// Tries the rules on the past. Returns no row if there is no past.
async fn past_row(progress: &Arc<Progress>, cancel: &CancellationToken) -> Option<Row> {
    let query = PastQuery::recent();
    let stop = Arc::clone(&query.cancel);
    let row = |text: &str| Row::note("your past", text).next("hookhost replay --from all");
    match cancel.run_until_cancelled(judge(query, Arc::clone(progress))).await {
        Some(Ok(verdicts)) => verdicts.in_one_line().map(|line| row(&line)),
        Some(Err(error)) => Some(row(&format!("was not tried: {}", one_line(&error.message())))),
        None => {
            stop.store(true, Ordering::Relaxed);
            None
        }
    }
}

/// Proves the hook of each agent, all at once.
async fn prove_all(
    places: &Arc<AgentPlaces>,
    installed: Vec<Installed>,
    cancel: &CancellationToken,
    table: &mut Table,
) {
    let mut rows: Vec<Row> = Vec::new();
    let mut proofs = JoinSet::new();
    for (place, installed) in installed.into_iter().enumerate() {
        let name = installed.adapter.agent().name;
        let next = format!("hookhost doctor {name} --prove");
        rows.push(Row::done(name, "installed, and not proven yet").next(next));
        let places = Arc::clone(places);
        proofs.spawn_blocking(move || (place, prove(&places, &installed)));
    }
    while let Some(Some(proven)) = cancel.run_until_cancelled(proofs.join_next()).await {
        match proven {
            Ok((place, row)) => rows[place] = row,
            Err(error) => tracing::error!(%error, "a proof ended early"),
        }
    }
    rows.into_iter().for_each(|row| table.push(row));
}

/// Proves the hook of an agent. If this command has just put the hook in and it does not work, takes it out again.
fn prove(places: &AgentPlaces, installed: &Installed) -> Row {
    let Installed { adapter, plan, is_new, version } = installed;
    let agent = adapter.agent();
    let context = places.context(agent.name, Scope::User);
    let found = checks::examine(adapter, &context, &places.path, Selection::ByName);
    let commands: Vec<_> = found.installed.iter().flat_map(|installed| installed.commands.clone()).collect();
    let proof = prove::prove(adapter, &commands, &places.project, &places.path, version.clone());
    if let Some(proof) = &proof {
        if let Err(error) = Proofs::of(&places.directories.state).keep(proof) {
            tracing::warn!(%error, "a proof cannot be stored");
        }
        if !proof.holds() {
            return not_working(places, adapter, *is_new, &proof.sentence());
        }
    }
    let step = plan.steps.first().map(|step| first_sentence(step));
    match (&proof, worst(&found)) {
        (_, Some(check)) => {
            let next = check.next.clone().unwrap_or_else(|| format!("hookhost doctor {}", agent.name));
            let row = match (check.about, check.next.as_deref()) {
                (_, Some(checks::TRUST_IN_CODEX)) => {
                    Row::incomplete(agent.name, "installed, but Codex skips the hook until you trust it")
                }
                ("agent", _) => Row::incomplete(agent.name, &format!("installed, but {}", check.says)),
                _ => Row::problem(agent.name, &format!("installed, but {}", check.says)),
            };
            row.next(next)
        }
        (Some(_), None) => {
            // Codex has just said that its user trusts the hook.
            let step = step.filter(|_| *is_new && agent.name != "codex").map(|step| format!("; {step}"));
            let says = format!("denied a forbidden test call, and allowed an ordinary one{}", step.unwrap_or_default());
            Row::done(agent.name, &says)
        }
        (None, None) if adapter.canary(canary::DENIED, &places.project).is_some() => {
            not_working(places, adapter, *is_new, "its files do not have the hook as hookhost writes it")
        }
        (None, None) => {
            let how = match adapter.headless("") {
                Some(_) => format!("hookhost doctor {} --prove --run-agent", agent.name),
                None => format!("hookhost doctor {}", agent.name),
            };
            let step = step.unwrap_or_else(|| "only the agent itself can show that it denies".to_owned());
            Row::done(agent.name, &format!("installed; {step}")).next(how)
        }
    }
}

/// Returns the problem that a person must solve first. A version that is too old comes last, because its hook may work.
fn worst(found: &Diagnosis) -> Option<&Check> {
    let problems = found.checks.iter().filter(|check| check.state == CheckState::Problem);
    problems.min_by_key(|check| check.about == "agent")
}

/// The row of an agent whose hook does not work. Takes the hook out again if this command has put it in, because the agent could be unusable
/// with it.
fn not_working(places: &AgentPlaces, adapter: &Adapter, is_new: bool, why: &str) -> Row {
    let name = adapter.agent().name;
    let taken = is_new.then(|| hook_entries::take_out(places, adapter, Scope::User, false));
    let says = match taken {
        Some(Ok(_)) => format!("left as before, because {why}"),
        Some(Err(error)) => format!("{why}; {}", error.message()),
        None => why.to_owned(),
    };
    Row::problem(name, &says).next(format!("hookhost doctor {name}"))
}

/// Returns the beginning of an instruction, as a part of a longer sentence.
fn first_sentence(step: &str) -> String {
    let first = step.split(['.', ';']).next().unwrap_or_default();
    first.chars().take(1).flat_map(char::to_lowercase).chain(first.chars().skip(1)).collect()
}

/// Fails if this file, or the nearest directory above it that exists, cannot be written.
fn writable(path: &Path) -> Result<(), CliError> {
    let Some(there) = path.ancestors().find(|path| path.exists()) else { return Ok(()) };
    rustix::fs::access(there, Access::WRITE_OK).map_err(|error| {
        CliError::not_loaded(anyhow!("{} cannot be written: {}", there.display(), io::Error::from(error)))
    })
}

/// Shows what would happen.
fn dry_run(
    places: &AgentPlaces,
    rules: &Rules,
    chosen: &[&'static Adapter],
    is_verbose: bool,
    table: &mut Table,
) -> Result<Exit, CliError> {
    let directories = &places.directories;
    writable(&directories.state)?;
    writable(&directories.config)?;
    table.push(rules.row()?);
    if let Some(prepared) = &rules.profile {
        let before = profile::read(directories)?.map(|before| String::from_utf8_lossy(&before).into_owned());
        if before.as_deref() != Some(&prepared.text) {
            let file = prepared.file.to_string_lossy();
            table.push(Row::done("rules", &format!("would write {}", one_line(&file))));
            if is_verbose {
                table.show(&difference::unified(&file, before.as_deref(), Some(&prepared.text)));
            }
        }
    }
    for adapter in chosen {
        let name = adapter.agent().name;
        let put_in = hook_entries::put_in(places, adapter, Scope::User, None, true).and_then(|put_in| {
            // A file is replaced by a new one in its directory.
            let needed = put_in.changes.iter().filter(|change| change.is_needed());
            needed.filter_map(|change| change.file.real.parent()).try_for_each(writable)?;
            Ok(put_in)
        });
        match put_in {
            Ok(PutIn { plan, changes }) => {
                let needed: Vec<_> = changes.iter().filter(|change| change.is_needed()).collect();
                if is_verbose {
                    needed.iter().for_each(|change| table.show(&hook_entries::unified(change)));
                }
                let files: Vec<_> =
                    needed.iter().map(|change| one_line(&change.file.named.to_string_lossy())).collect();
                let says = match files.as_slice() {
                    [] => "has the hook already, and would be proven again".to_owned(),
                    files => format!("would change {}, and be proven", files.join(", ")),
                };
                let context = places.context(name, Scope::User);
                let found = checks::examine(adapter, &context, &places.path, Selection::ByName);
                let problem = found.checks.iter().filter(|check| check.state == CheckState::Problem);
                let problem = problem.filter(|check| matches!(check.about, "agent" | "reached"));
                let step = plan.steps.first().filter(|_| !needed.is_empty()).map(|step| first_sentence(step));
                table.push(match (problem.min_by_key(|check| check.about == "agent"), step) {
                    (Some(Check { says: why, next, .. }), _) => {
                        let row = Row::incomplete(name, &format!("{says}; but {why}"));
                        next.iter().fold(row, Row::next)
                    }
                    (None, Some(step)) => Row::done(name, &format!("{says}; then {step}")),
                    (None, None) => Row::done(name, &says),
                });
            }
            Err(error) => table.push(Row::failed(name, &error)),
        }
    }
    let next = if is_verbose { "hookhost on" } else { "each line: hookhost on --dry-run --verbose" };
    table.push(Row::note("dry run", "nothing was changed").next(next));
    let has_failure = table.has_failure();
    table.print()?;
    Ok(if has_failure { Exit::Failed } else { Exit::Done })
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn the_first_sentence_of_an_instruction_goes_on_a_sentence() {
        assert_eq!(first_sentence("Restart goose to load the plugin."), "restart goose to load the plugin");
        assert_eq!(first_sentence("Trust it once in Codex: /hooks; until then …"), "trust it once in Codex: /hooks");
        assert_eq!(first_sentence(""), "");
    }
}
