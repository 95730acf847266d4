//! The telemetry of the resident host: follows the section `[telemetry]`, and answers Prometheus.

use crate::exit::CliError;
use crate::{audit_log, configuration, output};
use anyhow::anyhow;
use hookhost_resident::Settler;
use hookhost_resident::deadlines::ClientTimeout;
use hookhost_resident::http::{Endpoint, EndpointAnswer};
use hookhost_telemetry::settings::Directories;
use hookhost_telemetry::{Environment, Readers, Sinks, TelemetryError, TelemetrySettings};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Interval between two checks whether the user's file has changed.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Prepares the sinks of a section.
pub(crate) fn sinks(settings: &TelemetrySettings, environment: &Environment) -> Result<Sinks, CliError> {
    let places = configuration::places()?;
    let directories = Directories { config: &places.config, home: places.home.as_deref() };
    settings.sinks(environment, directories).map_err(failed)
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
#[derive(Debug, Default)]
pub(crate) struct HostTelemetry {
    environment: Environment,
    running: Mutex<Option<Readers>>,
}

impl HostTelemetry {
    /// Starts the sinks, and restarts them when the section changes, until the returned value is dropped.
    ///
    /// Variables of OpenTelemetry count only if `is_of_user`: a host that a hook starts has the environment of an agent.
    pub(crate) fn start(is_of_user: bool) -> Arc<Self> {
        let environment = if is_of_user { Environment::of_process() } else { Environment::default() };
        let telemetry = Arc::new(Self { environment, running: Mutex::default() });
        let follower = Arc::downgrade(&telemetry);
        tokio::task::spawn_blocking({
            let telemetry = Arc::clone(&telemetry);
            move || telemetry.restart()
        });
        tokio::spawn(async move {
            let mut seen = changed_at();
            let mut in_force = settings().ok();
            loop {
                tokio::time::sleep(LOOK_INTERVAL).await;
                let Some(telemetry) = follower.upgrade() else { return };
                let now = changed_at();
                if now == seen {
                    continue;
                }
                seen = now;
                match settings() {
                    Ok(settings) if in_force.as_ref() != Some(&settings) => {
                        in_force = Some(settings);
                        let _ = tokio::task::spawn_blocking(move || telemetry.restart()).await;
                    }
                    // What was in force stays, until the file is repaired.
                    _ => {}
                }
            }
        });
        telemetry
    }

    fn restart(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        // The sinks of the old section end before the new ones begin.
        *running = None;
        let started = settings().and_then(|settings| sinks(&settings, &self.environment)).and_then(|sinks| {
            if sinks.is_empty() {
                return Ok(None);
            }
            Readers::start(sinks, &audit_log::path()?).map(Some).map_err(failed)
        });
        match started {
            Ok(readers) => *running = readers,
            Err(error) => {
                error.print();
                output::note(&output::notice("no record is sent until this is repaired"));
            }
        }
    }

    /// Returns the environment whose variables count.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Ends the sinks, after a last attempt to send what is left.
    pub(crate) fn end(&self) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn metrics(&self) -> EndpointAnswer {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.as_ref().map(Readers::metrics) {
            Some(Ok(Some(text))) => EndpointAnswer::of_type("text/plain; version=0.0.4; charset=utf-8", text),
            Some(Err(error)) => EndpointAnswer::failed(&error.to_string()),
            _ => {
                EndpointAnswer::not_found("nothing is counted: put `metrics = true` into [telemetry] of hookhost.toml")
            }
        }
    }
}

/// Returns the time at which the user's file was changed.
fn changed_at() -> Option<SystemTime> {
    let file = configuration::places().ok()?.config.join(hookhost::config::FILE_NAME);
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
            let answered = tokio::task::spawn_blocking(move || telemetry.metrics()).await;
            answered.unwrap_or_else(|_| EndpointAnswer::failed("the metrics cannot be read"))
        })
    }

    fn note_unread(&self, _: &Settler, _: &Path, _: bool, _: &str) {}
}
