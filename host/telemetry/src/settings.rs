//! The section `[telemetry]` of the user's own file.

use crate::environment::{Environment, header_name, header_value};
use crate::error::TelemetryError;
use crate::http;
use crate::lines::{LineFormat, LinesFile};
use crate::notices::{NoticeKind, Notices};
use crate::otlp::{Otlp, OtlpTarget, Signal};
use crate::reader::FirstRecord;
use crate::webhook::{Occasion, Webhook, WebhookSecret};
use hookhost::files::{self, FileError, Guard, Links};
use reqwest::header::HeaderMap;
use serde::{Deserialize, Deserializer, de};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum size of a file of headers or of a secret, in bytes.
const MAX_FILE: u64 = 64 * 1024;

const MIB: u64 = 1024 * 1024;

/// The section. Without it, nothing is sent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TelemetrySettings {
    /// The address of a receiver of OTLP over HTTP, such as `http://collector:4318`. The paths `/v1/logs`, `/v1/traces` and
    /// `/v1/metrics` are added.
    pub otlp: Option<String>,
    /// What OTLP sends. The default is everything.
    pub signals: Option<Vec<Signal>>,
    /// A file with a header `Name: value` on each line, which only the user can read. A relative path begins at the directory of
    /// the configuration.
    pub headers_file: Option<PathBuf>,
    /// True if arguments, results and reasons are sent, too. The masks of the log hold. The default is false.
    pub content: bool,
    /// The first record of a new sink. The default is the next record that is written.
    pub from: FirstRecord,
    /// True if the resident host counts for Prometheus, which `hookhost serve --http` answers at `/metrics`. The default is false.
    pub metrics: bool,
    /// A file of lines.
    pub file: Option<FileSection>,
    /// A webhook.
    pub webhook: Option<WebhookSection>,
    /// Notices on the desktop.
    pub desktop: Option<DesktopSection>,
}

/// `[telemetry.file]`: a file with a JSON object for each record.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct FileSection {
    /// The path. It may begin with `~/`.
    pub path: PathBuf,
    /// The content of a line.
    #[serde(default)]
    pub format: LineFormat,
    /// Size at which the file is renamed and a new one is begun, such as `"64MiB"`. The default is 64 MiB.
    #[serde(default = "default_size", deserialize_with = "size")]
    pub size: u64,
    /// Number of full files that are kept. The default is 8.
    #[serde(default = "default_keep")]
    pub keep: u32,
}

/// `[telemetry.webhook]`: a message for each decision that a person may want to know of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct WebhookSection {
    /// The address.
    pub url: String,
    /// A file with the secret of the signatures, `whsec_…`, which only the user can read.
    pub secret_file: PathBuf,
    /// What a message is sent about. The default is everything.
    #[serde(default = "default_occasions")]
    pub on: Vec<Occasion>,
}

/// `[telemetry.desktop]`: notices on the desktop.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct DesktopSection {
    /// What a notice is shown about. The default is everything.
    #[serde(default = "default_notices")]
    pub on: Vec<NoticeKind>,
}

fn default_size() -> u64 {
    64 * MIB
}

fn default_keep() -> u32 {
    8
}

fn default_occasions() -> Vec<Occasion> {
    vec![Occasion::Rejected, Occasion::Escalated, Occasion::Failed, Occasion::Unanswered]
}

fn default_notices() -> Vec<NoticeKind> {
    vec![NoticeKind::Question, NoticeKind::Overridable]
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let size = match (text.strip_suffix("GiB").and_then(number), text.strip_suffix("MiB").and_then(number)) {
        (Some(size), _) => size.checked_mul(1024 * MIB),
        (_, Some(size)) => size.checked_mul(MIB),
        _ => text.strip_suffix("KiB").and_then(number).and_then(|size| size.checked_mul(1024)),
    };
    let size = size.filter(|&size| size > 0);
    size.ok_or_else(|| de::Error::custom(format!("`{text}` is no size such as \"64MiB\"")))
}

/// The directories that paths in the section begin at.
#[derive(Clone, Copy, Debug)]
pub struct Directories<'a> {
    /// The directory of the user's configuration.
    pub config: &'a Path,
    /// The user's home directory.
    pub home: Option<&'a Path>,
}

impl Directories<'_> {
    fn path(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.config.join(path),
        }
    }
}

/// The sinks of a configuration, ready to send.
#[derive(Default)]
pub struct Sinks {
    pub(crate) first: FirstRecord,
    pub(crate) otlp: Vec<Otlp>,
    pub(crate) otlp_metrics: Option<(Otlp, Duration)>,
    pub(crate) counts: bool,
    pub(crate) file: Option<LinesFile>,
    pub(crate) webhook: Option<Webhook>,
    pub(crate) notices: Option<Notices>,
}

impl std::fmt::Debug for Sinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Sinks {
    /// Returns the names of the sinks.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.otlp.iter().map(|otlp| otlp.signal().sink()).collect();
        let others = [
            (self.otlp_metrics.is_some(), Signal::Metrics.sink()),
            (self.counts, "metrics"),
            (self.file.is_some(), "file"),
            (self.webhook.is_some(), "webhook"),
            (self.notices.is_some(), "desktop"),
        ];
        names.extend(others.into_iter().filter_map(|(is_there, name)| is_there.then_some(name)));
        names
    }

    /// Returns the interval at which a sink sends: zero for a sink that sends each record at once.
    pub fn interval(&self, name: &str) -> Duration {
        let of_metrics = self.otlp_metrics.as_ref().filter(|(otlp, _)| otlp.signal().sink() == name);
        of_metrics.map_or(Duration::ZERO, |(_, interval)| *interval)
    }

    /// Sends a test through each sink, or through the one of this name. Returns what each receiver did.
    pub async fn test(self, only: Option<&str>) -> Vec<(&'static str, Result<(), String>)> {
        let is_wanted = |name: &str| only.is_none_or(|only| only == name);
        let mut results = Vec::new();
        for otlp in self.otlp.iter().chain(self.otlp_metrics.as_ref().map(|(otlp, _)| otlp)) {
            if is_wanted(otlp.signal().sink()) {
                results.push((otlp.signal().sink(), otlp.test().await));
            }
        }
        if let Some(file) = self.file.filter(|_| is_wanted("file")) {
            results.push(("file", file.test()));
        }
        if let Some(webhook) = self.webhook.filter(|_| is_wanted("webhook")) {
            results.push(("webhook", webhook.test().await));
        }
        if let Some(notices) = self.notices.filter(|_| is_wanted("desktop")) {
            results.push(("desktop", notices.test().await));
        }
        results
    }

    /// Returns true if nothing is to be sent or counted.
    pub fn is_empty(&self) -> bool {
        self.names().is_empty()
    }
}

impl TelemetrySettings {
    /// Prepares the sinks. Reads the files that the section names. Also returns why the other sinks cannot be used: a setting, a variable
    /// or a file of theirs has a mistake.
    pub fn sinks(&self, environment: &Environment, directories: Directories<'_>) -> (Sinks, Vec<TelemetryError>) {
        let mut sinks = Sinks { first: self.from, counts: self.metrics, ..Sinks::default() };
        let mut problems = Vec::new();
        for &signal in self.signals.as_deref().unwrap_or(Signal::ALL) {
            match self.otlp(signal, environment, directories) {
                Ok(Some(otlp)) if signal == Signal::Metrics => {
                    sinks.counts = true;
                    sinks.otlp_metrics = Some((otlp, environment.interval()));
                }
                Ok(otlp) => sinks.otlp.extend(otlp),
                Err(error) => problems.push(error),
            }
        }
        sinks.file = self
            .file
            .as_ref()
            .map(|file| LinesFile::new(directories.path(&file.path), file.format, self.content, file.size, file.keep));
        match self.webhook.as_ref().map(|webhook| webhook.sink(directories)).transpose() {
            Ok(webhook) => sinks.webhook = webhook,
            Err(error) => problems.push(error),
        }
        sinks.notices = self.desktop.as_ref().map(|desktop| Notices::new(desktop.on.clone()));
        // The signals share their address and their headers.
        let mut shown = HashSet::new();
        problems.retain(|problem: &TelemetryError| shown.insert(problem.to_string()));
        (sinks, problems)
    }

    /// Returns the files that the section names, and whose content the sinks depend on.
    pub fn files(&self, directories: Directories<'_>) -> Vec<PathBuf> {
        let files = self.headers_file.iter().chain(self.webhook.as_ref().map(|webhook| &webhook.secret_file));
        files.map(|file| directories.path(file)).collect()
    }

    /// Returns the sink of a signal, or `None` if it has no address or is off.
    fn otlp(
        &self,
        signal: Signal,
        environment: &Environment,
        directories: Directories<'_>,
    ) -> Result<Option<Otlp>, TelemetryError> {
        if environment.is_off(signal)? {
            return Ok(None);
        }
        let Some(url) = environment.url(signal, self.otlp.as_deref())? else { return Ok(None) };
        let headers = match &self.headers_file {
            None => HeaderMap::new(),
            Some(file) => headers(&directories.path(file))?,
        };
        let headers = environment.headers(signal, &headers)?;
        let (timeout, resource) = (environment.timeout(signal), environment.resource());
        Otlp::new(signal, OtlpTarget { url, headers, timeout, resource }, self.content).map(Some)
    }
}

impl WebhookSection {
    fn sink(&self, directories: Directories<'_>) -> Result<Webhook, TelemetryError> {
        let url = http::parsed(&self.url)?;
        let path = directories.path(&self.secret_file);
        let secret = read(&path)?;
        let secret = WebhookSecret::parse(&String::from_utf8_lossy(&secret))?;
        Webhook::new(url, secret, self.on.clone())
    }
}

/// Reads a file with secrets.
fn read(path: &Path) -> Result<Vec<u8>, TelemetryError> {
    files::read(path, Guard::OnlyMineToRead, Links::Refused, MAX_FILE).map_err(|error| match error {
        FileError::Io(error) => TelemetryError::Setting(format!("{} cannot be read: {error}", path.display())),
        error @ FileError::Refused(_) => error.into(),
    })
}

/// Reads a file of headers. The error names all of its mistakes.
fn headers(path: &Path) -> Result<HeaderMap, TelemetryError> {
    let text = read(path)?;
    let (mut headers, mut mistakes) = (HeaderMap::new(), Vec::new());
    for (number, line) in (1..).zip(String::from_utf8_lossy(&text).lines().map(str::trim)) {
        match line.split_once(':').map(|(name, value)| (name.trim(), value.trim())) {
            _ if line.is_empty() => {}
            None => mistakes.push(format!("line {number} has no colon")),
            Some((name, value)) => match (header_name(name), header_value(name, value)) {
                (Ok(name), Ok(value)) => drop(headers.insert(name, value)),
                (Err(_), _) => mistakes.push(format!("line {number} does not begin with the name of a header")),
                (_, Err(_)) => mistakes.push(format!("line {number} has characters that no header can have")),
            },
        }
    }
    if mistakes.is_empty() {
        return Ok(headers);
    }
    Err(TelemetryError::Setting(format!("{}: {}", path.display(), mistakes.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::{Directories, TelemetrySettings};
    use crate::Environment;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_mistake_stops_only_the_sinks_that_it_is_about_and_each_mistake_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let headers = directory.path().join("headers");
        std::fs::write(&headers, "no colon\n\na: b\nc d: e\n").unwrap();
        std::fs::set_permissions(&headers, std::fs::Permissions::from_mode(0o600)).unwrap();
        let settings: TelemetrySettings = serde_json::from_value(serde_json::json!({
            "otlp": "http://localhost:4318",
            "headers-file": "headers",
            "file": { "path": "events.jsonl" },
            "webhook": { "url": "http://localhost:1", "secret-file": "missing" },
        }))
        .unwrap();
        let directories = Directories { config: directory.path(), home: None };
        assert_eq!(settings.files(directories), ["headers", "missing"].map(|name| directory.path().join(name)));
        let (sinks, problems) = settings.sinks(&Environment::default(), directories);
        assert_eq!(sinks.names(), ["file"]);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let [of_headers, of_secret] = &problems[..] else { panic!("{problems:?}") };
        assert!(
            of_headers.contains("line 1 has no colon; line 4 does not begin with the name of a header"),
            "{of_headers}"
        );
        assert!(of_secret.contains("missing"), "{of_secret}");
    }
}
