//! The telemetry of the resident host: follows the section `[telemetry]`, and answers Prometheus.

use crate::exit::CliError;
use crate::{audit_log, configuration, output};
use anyhow::anyhow;
use hookhost::Host;
use hookhost::config::UserDirectories;
use hookhost_resident::Settler;
use hookhost_resident::deadlines::ClientTimeout;
use hookhost_resident::http::{Endpoint, EndpointAnswer};
use hookhost_telemetry::settings::Directories;
use hookhost_telemetry::{Environment, Readers, Sinks, TelemetryError, TelemetrySettings};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Interval between two checks whether the user's file, or a file that the section names, has changed.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Interval at which sinks with a mistake are tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Prepares the sinks of a section. The error names each mistake.
pub(crate) fn sinks(settings: &TelemetrySettings, environment: &Environment) -> Result<Sinks, CliError> {
    let places = configuration::places()?;
    let (sinks, problems) = settings.sinks(environment, directories(&places));
    if problems.is_empty() {
        return Ok(sinks);
    }
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(CliError::not_loaded(anyhow!(problems.join("\n"))))
}

fn directories(places: &UserDirectories) -> Directories<'_> {
    Directories { config: &places.config, home: places.home.as_deref() }
}

/// Turns an error of telemetry into an error of the command.
pub(crate) fn failed(error: TelemetryError) -> CliError {
    match error {
        TelemetryError::Log(error) => audit_log::unreadable(error),
        error => CliError::not_loaded(anyhow!(error)),
    }
}

/// Reads the section in the user's own file.
pub(crate) fn settings() -> Result<TelemetrySettings, CliError> {
    let own = configuration::places()?.config;
    configuration::telemetry(&configuration::find(None, &own)?.config)
}

/// The telemetry of a resident host.
#[derive(Debug)]
pub(crate) struct HostTelemetry {
    host: Host,
    environment: Environment,
    running: Mutex<Option<Readers>>,
}

/// The section that the running sinks have.
#[derive(Debug, Default, PartialEq)]
struct InForce {
    settings: TelemetrySettings,
    /// The times at which the files that the section names were changed.
    files: Vec<Option<SystemTime>>,
    /// The mistakes because of which sinks do not run.
    problems: Vec<String>,
}

impl HostTelemetry {
    /// Starts the sinks, and restarts them when the section or a file that it names changes, until the returned value is dropped. A sink with
    /// a mistake is tried again and again, while the others run.
    ///
    /// Variables of OpenTelemetry count only if `is_of_user`: a host that a hook starts has the environment of an agent.
    pub(crate) fn start(host: Host, is_of_user: bool) -> Arc<Self> {
        let environment = if is_of_user { Environment::of_process() } else { Environment::default() };
        let telemetry = Arc::new(Self { host, environment, running: Mutex::default() });
        let follower = Arc::downgrade(&telemetry);
        tokio::spawn(async move {
            let (mut in_force, mut seen, mut tried) = (None, None, Instant::now());
            loop {
                let now = changed_at(in_force.as_ref());
                let is_complete = in_force.as_ref().is_some_and(|in_force: &InForce| in_force.problems.is_empty());
                if seen.as_ref() != Some(&now) || !is_complete && tried.elapsed() >= RETRY_INTERVAL {
                    let Some(telemetry) = follower.upgrade() else { return };
                    (seen, tried) = (Some(now), Instant::now());
                    let updated = tokio::task::spawn_blocking(move || telemetry.update(in_force)).await;
                    in_force = updated.unwrap_or_default();
                }
                tokio::time::sleep(LOOK_INTERVAL).await;
                if follower.strong_count() == 0 {
                    return;
                }
            }
        });
        telemetry
    }

    /// Starts the sinks of the section, unless exactly these run. Returns what is in force now. If the section cannot be read, that is what was
    /// in force before.
    fn update(&self, before: Option<InForce>) -> Option<InForce> {
        let prepared = configuration::places().and_then(|places| {
            let settings = settings()?;
            let files = settings.files(directories(&places)).iter().map(|file| modified(file)).collect();
            let (sinks, problems) = settings.sinks(&self.environment, directories(&places));
            let problems = problems.iter().map(ToString::to_string).collect();
            Ok((sinks, InForce { settings, files, problems }, audit_log::path()?))
        });
        let (sinks, mut after, log) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                if before.is_none() {
                    error.print();
                    output::note(&output::notice("no record is sent until this is repaired"));
                }
                return Some(
                    before.unwrap_or_else(|| InForce { problems: vec![error.message()], ..InForce::default() }),
                );
            }
        };
        if before.as_ref() == Some(&after) {
            return before;
        }
        for problem in &after.problems {
            CliError::not_loaded(anyhow!(problem.clone())).print();
            output::note(&output::notice("this sink gets no record until this is repaired"));
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        // The sinks of the old section end before the new ones begin.
        *running = None;
        if !sinks.is_empty() {
            match Readers::start(sinks, &log, Some(self.host.clone())) {
                Ok(readers) => *running = Some(readers),
                Err(error) => {
                    after.problems.push(error.to_string());
                    failed(error).print();
                }
            }
        }
        Some(after)
    }

    /// Returns the environment whose variables count.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Ends the sinks, after a last attempt to send what is left.
    pub(crate) fn end(&self) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn metrics(&self, waiting: Option<u64>) -> EndpointAnswer {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.as_ref().map(|readers| readers.metrics(waiting)) {
            Some(Ok(Some(text))) => EndpointAnswer::of_type("text/plain; version=0.0.4; charset=utf-8", text),
            Some(Err(error)) => EndpointAnswer::failed(&error.to_string()),
            _ => {
                EndpointAnswer::not_found("nothing is counted: put `metrics = true` into [telemetry] of hookhost.toml")
            }
        }
    }
}

/// Returns the times at which the user's file and the files that the section names were changed.
fn changed_at(in_force: Option<&InForce>) -> Vec<Option<SystemTime>> {
    let Ok(places) = configuration::places() else { return Vec::new() };
    let own = places.config.join(hookhost::config::FILE_NAME);
    let named = in_force.map(|in_force| in_force.settings.files(directories(&places))).unwrap_or_default();
    std::iter::once(own).chain(named).map(|file| modified(&file)).collect()
}

fn modified(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|metadata| metadata.modified()).ok()
}

/// `GET /metrics`, with the token.
pub(crate) struct MetricsEndpoint(pub(crate) Arc<HostTelemetry>);

impl Endpoint for MetricsEndpoint {
    fn path(&self) -> &'static str {
        "metrics"
    }

    fn answers_get(&self) -> bool {
        true
    }

    fn authenticates(&self) -> bool {
        false
    }

    fn answer<'a>(
        &'a self,
        _: &'a Settler,
        _: &'a [u8],
        _: &'a Path,
        _: ClientTimeout,
    ) -> Pin<Box<dyn Future<Output = EndpointAnswer> + Send + 'a>> {
        let telemetry = Arc::clone(&self.0);
        Box::pin(async move {
            let waiting = telemetry.host.questions().await.ok().map(|questions| questions.len() as u64);
            let answered = tokio::task::spawn_blocking(move || telemetry.metrics(waiting)).await;
            answered.unwrap_or_else(|_| EndpointAnswer::failed("the metrics cannot be read"))
        })
    }

    fn note_unread(&self, _: &Settler, _: &Path, _: bool, _: &str) {}
}
