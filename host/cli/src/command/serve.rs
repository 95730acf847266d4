//! `hookhost serve`: runs the resident host of this user, which decides on the events of all agents.

use crate::args::ServeArgs;
use crate::directory_rules::UserConfigurations;
use crate::exit::{CliError, Exit};
use crate::telemetry::{HostTelemetry, MetricsEndpoint};
use crate::{audit_log, configuration, interrupt, loading, log_upkeep, output};
use anyhow::anyhow;
use data_encoding::HEXLOWER;
use hookhost::Config;
use hookhost::files::{self, Guard, Links};
use hookhost_client::connection::{Connection, ConnectionError, Deadline};
use hookhost_client::paths::HostPaths;
use hookhost_client::{control, start};
use hookhost_page::{LoopbackListeners, Page, PageSettings};
use hookhost_resident::http::{Endpoints, Token};
use hookhost_resident::{EndReason, PageLinks, ResidentHost, Settler};
use hookhost_standards::Acs;
use hookhost_standards::acs::signature::Secret;
use listenfd::ListenFd;
use rand::{TryRng as _, rngs::SysRng};
use serde_json::Value;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, IntoRawFd as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Maximum size of the token file, in bytes.
const MAX_TOKEN: u64 = 4096;

/// Minimum length of a token, in characters. A shorter token could be guessed.
const MIN_TOKEN: usize = 32;

/// A resident host that was started by a hook ends after this time without events.
const IDLE: Duration = Duration::from_secs(600);

/// Time to wait for the resident host's answer about its status.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// Time to wait until the resident host has ended.
const END_TIMEOUT: Duration = Duration::from_secs(35);

/// Time that a hook waits until the previous resident host has ended.
const PLACE_TIMEOUT: Duration = Duration::from_secs(5);

/// The variable in which a host passes the tabs of its page to its successor. It contains digests, which give no access.
const PAGE_TABS: &str = "HOOKHOST_PAGE_TABS";

/// The number of the first file that is passed to a successor. It is above the files of a host that has just stopped serving.
const FIRST_PASSED: i32 = 200;

/// Interval at which a new host checks whether the previous host has ended.
const CLAIM_INTERVAL: Duration = Duration::from_millis(2);

pub(crate) fn run(args: &ServeArgs) -> Result<Exit, CliError> {
    let mut next = None;
    let ended = super::wait_for(async {
        let HostEnding { exit, successor } = serve_or_tell(args).await?;
        next = successor;
        Ok(exit)
    });
    // The new program starts only after the runtime's threads have ended.
    match next {
        Some(successor) => Err(successor.become_it()),
        None => ended,
    }
}

/// The result of a resident host that has ended.
struct HostEnding {
    exit: Exit,
    /// The new version of the program, if it has to replace this process.
    successor: Option<Successor>,
}

impl From<Exit> for HostEnding {
    fn from(exit: Exit) -> Self {
        Self { exit, successor: None }
    }
}

async fn serve_or_tell(args: &ServeArgs) -> Result<HostEnding, CliError> {
    let place = HostPaths::below(&configuration::places()?.state);
    if args.stop {
        return stop(&place).map(HostEnding::from);
    }
    if args.status {
        let status = control::status(&place, &configuration::cwd()?, STATUS_TIMEOUT).map_err(not_answering)?;
        let mut status: Value = serde_json::from_str(&status)
            .map_err(|error| anyhow!("the resident host's status cannot be read: {error}"))?;
        if status["http"].is_string() {
            status["token-file"] = token_file()?.display().to_string().into();
        }
        output::print_json(&status)?;
        return Ok(Exit::Done.into());
    }
    if args.on_demand {
        // Leaves the hook's process group, because an agent may kill that group. If this process already leads a group, the call fails,
        // which does no harm.
        let _ = rustix::process::setsid();
    }
    match claimed(args, &place)? {
        Some(resident) => serve(args, &place, resident).await,
        None => Ok(Exit::Done.into()),
    }
}

/// Claims the right to be the user's only resident host. If another host has this right, a process that was started by a hook gets `None`.
/// A process that was started by the user ends the other host if a hook started that host, and otherwise fails.
fn claimed(args: &ServeArgs, place: &HostPaths) -> Result<Option<ResidentHost>, CliError> {
    let began = Instant::now();
    loop {
        if let Some(resident) = ResidentHost::claim(place).map_err(CliError::not_loaded)? {
            return Ok(Some(if args.on_demand { resident.on_demand() } else { resident }));
        }
        if args.on_demand {
            match Connection::open(place, Deadline::within(STATUS_TIMEOUT, None)) {
                // The other host is starting or ending.
                Err(ConnectionError::NotThere(_)) if began.elapsed() < PLACE_TIMEOUT => {
                    std::thread::sleep(CLAIM_INTERVAL);
                    continue;
                }
                _ => return Ok(None),
            }
        }
        let is_of_a_hook = match control::status(place, Path::new("/"), STATUS_TIMEOUT) {
            Ok(status) => serde_json::from_str::<Value>(&status).is_ok_and(|status| status["on-demand"] == true),
            // The other host is starting or ending.
            Err(ConnectionError::NotThere(_) | ConnectionError::Closed) if began.elapsed() < END_TIMEOUT => {
                std::thread::sleep(CLAIM_INTERVAL);
                continue;
            }
            Err(_) => false,
        };
        if !is_of_a_hook {
            return Err(CliError::not_loaded(anyhow!("your resident host runs already"))
                .advise("hookhost serve --status")
                .advise("hookhost serve --stop"));
        }
        control::stop(place, END_TIMEOUT).map_err(not_answering)?;
    }
}

async fn serve(args: &ServeArgs, place: &HostPaths, resident: ResidentHost) -> Result<HostEnding, CliError> {
    // Only the user's own file is read, because a project's file applies only in the project's directory.
    let own = configuration::places()?.config;
    let config = match configuration::find(None, &own) {
        Ok(found) => found.config,
        Err(error) => {
            // The host starts even if the file is invalid, and denies each event until the file is repaired. Without a host, a client might
            // let its call run.
            error.print();
            output::note(&output::notice("every event is denied until this is repaired"));
            Config::empty()
        }
    };
    let host = loading::shared_host(config).await?;
    let settler = Arc::new(Settler::new(host.clone(), Arc::new(UserConfigurations)));
    settler.load_outcomes().await.map_err(|error| audit_log::unusable(&error))?;
    let cancel = CancellationToken::new();
    let _watch = interrupt::watch(cancel.clone(), Some(host.clone()))?;
    if !args.on_demand {
        output::note(&format!("hookhost serves at {}\n", place.socket().display()));
    }
    let telemetry = HostTelemetry::start(host.clone(), !args.on_demand);
    let mut inherited = ListenFd::from_env();
    let (resident, listener) = match args.http {
        Some(address) => with_http(resident, address, secret(args.acs_key.as_deref())?, &telemetry, &mut inherited)?,
        None => (resident, None),
    };
    let page = page(&settler, &telemetry, inherited_page(&mut inherited, listener.is_some()))?;
    let resident = resident.with_page(Arc::clone(&page) as Arc<dyn PageLinks>);
    let idle = args.idle.or_else(|| args.on_demand.then_some(IDLE));
    let upkeep = tokio::spawn(log_upkeep::keep_up(host.clone()));
    let ended = resident.serve(Arc::clone(&settler), idle, cancel.cancelled()).await;
    upkeep.abort();
    let ended = ended.map_err(|error| anyhow!("the resident host cannot listen: {error}"))?;
    let page = page.stop();
    drop(settler);
    let done = audit_log::finish(&host, Ok(Exit::Done)).await;
    log_upkeep::add_last_anchor().await;
    // The sinks get the last records, too.
    let _ = tokio::task::spawn_blocking(move || telemetry.end()).await;
    // If the host was asked to end in the meantime, it ends without a successor.
    if ended == EndReason::Replaced && !cancel.is_cancelled() {
        return Ok(HostEnding { exit: done?, successor: Some(Successor { listener, page }) });
    }
    if !args.on_demand {
        output::note(match ended {
            EndReason::Idle => "ended: no agent has sent a request for some time\n",
            EndReason::SocketGone => "ended: the socket was removed\n",
            _ => "ended\n",
        });
    }
    done.map(HostEnding::from)
}

/// A new version of the program, which replaces this version. The process executes the new program with the same command line. The process
/// id stays the same, so a service manager or a terminal still controls the process.
struct Successor {
    /// The listener for HTTP. It stays open during the replacement, so that HTTP clients wait and get no error.
    listener: Option<std::net::TcpListener>,
    /// The listeners and the tabs of the page, so that open tabs go on.
    page: Option<(LoopbackListeners, String)>,
}

impl Successor {
    /// Executes the new program. Returns only on failure.
    fn become_it(self) -> CliError {
        let program = match start::program() {
            Ok(program) => program,
            Err(error) => return anyhow!(error).into(),
        };
        let mut command = Command::new(&program);
        command.args(std::env::args_os().skip(1));
        if let Err(error) = self.hand_over(&mut command) {
            return anyhow!("the listeners cannot be handed to the new program: {error}").into();
        }
        let error = command.exec();
        CliError::from(anyhow!("the new program {} cannot be started: {error}", program.display()))
            .advise("hookhost serve")
    }
}

impl Successor {
    /// Passes the listeners on as `sd_listen_fds(3)` says: as consecutive files, the one for HTTP first.
    fn hand_over(&self, command: &mut Command) -> anyhow::Result<()> {
        for name in ["LISTEN_FDS", "LISTEN_FDS_FIRST_FD", "LISTEN_PID", PAGE_TABS] {
            command.env_remove(name);
        }
        let mut listeners: Vec<_> =
            self.listener.iter().map(std::net::TcpListener::try_clone).collect::<Result<_, _>>()?;
        if let Some((page, tabs)) = &self.page {
            listeners.extend(page.handles()?);
            command.env(PAGE_TABS, tabs);
        }
        for (listener, number) in listeners.iter().zip(FIRST_PASSED..) {
            let passed = rustix::io::fcntl_dupfd_cloexec(listener, number)?;
            anyhow::ensure!(passed.as_raw_fd() == number, "file {number} is in use");
            rustix::io::fcntl_setfd(&passed, rustix::io::FdFlags::empty())?;
            // It stays open for the new program.
            let _ = passed.into_raw_fd();
        }
        if !listeners.is_empty() {
            command.env("LISTEN_FDS", listeners.len().to_string()).env("LISTEN_FDS_FIRST_FD", FIRST_PASSED.to_string());
            command.env("LISTEN_PID", std::process::id().to_string());
        }
        Ok(())
    }
}

/// Creates the page.
fn page(
    settler: &Arc<Settler>,
    telemetry: &Arc<HostTelemetry>,
    inherited: Option<(LoopbackListeners, String)>,
) -> Result<Arc<Page>, CliError> {
    let mut settings = PageSettings::new(settler, audit_log::path()?);
    settings.cache = configuration::cache();
    settings.person = super::off::person();
    let telemetry = Arc::clone(telemetry);
    settings.checks = Some(Arc::new(move || super::doctor::log_reader_checks(telemetry.environment())));
    settings.inherited = inherited;
    Ok(Arc::new(Page::new(settings)))
}

/// Returns the page's listeners and tabs that this process inherited from its previous version.
fn inherited_page(listeners: &mut ListenFd, has_http: bool) -> Option<(LoopbackListeners, String)> {
    let tabs = std::env::var(PAGE_TABS).ok()?;
    let of_page = usize::from(has_http)..listeners.len();
    let listeners: Vec<_> = of_page.filter_map(|place| listeners.take_tcp_listener(place).ok().flatten()).collect();
    Some((LoopbackListeners::inherited(listeners)?, tabs))
}

/// Adds HTTP to the resident host. Also returns the listener, which a new version of the program can inherit.
fn with_http(
    resident: ResidentHost,
    address: SocketAddr,
    acs: Option<Secret>,
    telemetry: &Arc<HostTelemetry>,
    listeners: &mut ListenFd,
) -> Result<(ResidentHost, Option<std::net::TcpListener>), CliError> {
    let cannot = |error| {
        CliError::not_loaded(anyhow!(
            "hookhost cannot listen at {address}: {error}; choose another address with --http"
        ))
    };
    let listener = match inherited(listeners, address) {
        Some(listener) => listener,
        None => std::net::TcpListener::bind(address).map_err(cannot)?,
    };
    listener.set_nonblocking(true).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let (file, secret) = token()?;
    let home = configuration::places()?.home.unwrap_or_else(|| "/".into());
    output::note(&format!("hookhost serves at http://{address}; the token is in {}\n", file.display()));
    if !address.ip().is_loopback() {
        output::note(&output::notice(
            "other machines can reach this address: anyone who knows the token can ask, and the token goes over the network unencrypted",
        ));
    }
    let served = listener.try_clone().and_then(TcpListener::from_std).map_err(cannot)?;
    let endpoints: Endpoints = vec![Arc::new(Acs::new(acs)), Arc::new(MetricsEndpoint(Arc::clone(telemetry)))];
    Ok((resident.with_http(served, Token::new(&secret), endpoints, home), Some(listener)))
}

/// Returns the listener for this address that this process inherited from its previous version or from a service manager
/// (`sd_listen_fds(3)`).
fn inherited(listeners: &mut ListenFd, address: SocketAddr) -> Option<std::net::TcpListener> {
    let listener = listeners.take_tcp_listener(0).ok().flatten()?;
    let is_same = |own: SocketAddr| own.ip() == address.ip() && (own.port() == address.port() || address.port() == 0);
    listener.local_addr().is_ok_and(is_same).then_some(listener)
}

/// Reads the secret for signatures of the Agent Control Standard. Only the user may be able to read the file.
fn secret(file: Option<&Path>) -> Result<Option<Secret>, CliError> {
    let Some(file) = file else { return Ok(None) };
    let bytes = files::read(file, Guard::OnlyMineToRead, Links::Refused, MAX_TOKEN).map_err(CliError::not_loaded)?;
    let secret = Secret::new(bytes.trim_ascii_end());
    secret
        .map(Some)
        .map_err(|why| CliError::not_loaded(anyhow!("{}: {why}; write a longer secret into it", file.display())))
}

fn token_file() -> Result<PathBuf, CliError> {
    Ok(configuration::places()?.state.join("http.token"))
}

/// Returns the file of the user's token for HTTP clients, and the token. Both are created on first use.
fn token() -> Result<(PathBuf, String), CliError> {
    let file = token_file()?;
    match files::read(&file, Guard::OnlyMineToRead, Links::Refused, MAX_TOKEN) {
        Ok(bytes) => {
            let secret = String::from_utf8_lossy(&bytes).trim().to_owned();
            if secret.len() < MIN_TOKEN {
                return Err(CliError::not_loaded(anyhow!(
                    "the token in {} is shorter than {MIN_TOKEN} characters: remove the file, and a new one is made",
                    file.display()
                )));
            }
            return Ok((file, secret));
        }
        Err(error) if error.is_missing() => {}
        Err(error) => return Err(CliError::not_loaded(error)),
    }
    let mut bytes = [0; 32];
    SysRng.try_fill_bytes(&mut bytes).map_err(|error| anyhow!("the system gives no random number: {error}"))?;
    let secret = HEXLOWER.encode(&bytes);
    audit_log::prepared()?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&file).and_then(|mut opened| opened.write_all(format!("{secret}\n").as_bytes()));
    written.map_err(|error| anyhow!("the token cannot be written to {}: {error}", file.display()))?;
    Ok((file, secret))
}

fn stop(place: &HostPaths) -> Result<Exit, CliError> {
    match control::stop(place, END_TIMEOUT) {
        Ok(()) => output::print("The resident host has ended.\n")?,
        Err(ConnectionError::NotThere(_)) => output::print("There is no resident host.\n")?,
        Err(error) => return Err(not_answering(error)),
    }
    Ok(Exit::Done)
}

fn not_answering(error: ConnectionError) -> CliError {
    let is_missing = matches!(error, ConnectionError::NotThere(_));
    let stop = CliError::from(anyhow!(error));
    if is_missing { stop.advise("hookhost serve") } else { stop }
}
