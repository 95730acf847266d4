//! OTLP over HTTP with protobuf: log records and spans. <https://opentelemetry.io/docs/specs/otlp/>
//!
//! A receiver can get a record twice. Identifiers are derived from the machine and the record's number, so the copies are equal.

mod messages;

use crate::described::{Described, machine_id};
use crate::error::TelemetryError;
use crate::http::Receiver;
use crate::sink::{Entry, Sent, Sink};
use hookhost::config::Digest;
pub(crate) use messages::{key_value, metrics_request, resource};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use reqwest::Url;
use reqwest::header::HeaderMap;
use std::time::Duration;

/// What OTLP sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Signal {
    /// One log record for each record of the log.
    Logs,
    /// One span for each decision.
    Traces,
    /// Counters.
    Metrics,
}

impl Signal {
    /// All signals.
    pub const ALL: &[Self] = &[Self::Logs, Self::Traces, Self::Metrics];

    /// Returns the name in settings, URLs and variables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Logs => "logs",
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }

    /// Returns the name of the sink.
    pub(crate) fn sink(self) -> &'static str {
        match self {
            Self::Logs => "otlp-logs",
            Self::Traces => "otlp-traces",
            Self::Metrics => "otlp-metrics",
        }
    }
}

/// A receiver of one signal.
#[derive(Clone)]
pub(crate) struct OtlpTarget {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) timeout: Duration,
    /// Additional attributes of the resource. They replace those of the same name.
    pub(crate) resource: Vec<(String, String)>,
}

impl std::fmt::Debug for OtlpTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OtlpTarget").field("url", &crate::http::shown(&self.url)).finish_non_exhaustive()
    }
}

/// The sink of a signal.
pub(crate) struct Otlp {
    signal: Signal,
    receiver: Receiver,
    resource: Vec<(String, String)>,
    has_content: bool,
    machine: Option<(Digest, String)>,
}

impl Otlp {
    /// Creates the sink of a signal.
    ///
    /// # Errors
    /// If the target cannot be used.
    pub(crate) fn new(signal: Signal, target: OtlpTarget, has_content: bool) -> Result<Self, TelemetryError> {
        let OtlpTarget { url, headers, timeout, resource } = target;
        let receiver = Receiver::new(url, headers, "application/x-protobuf", timeout)?;
        Ok(Self { signal, receiver, resource, has_content, machine: None })
    }

    pub(crate) fn signal(&self) -> Signal {
        self.signal
    }

    fn machine(&mut self, log: &Digest) -> String {
        if self.machine.as_ref().is_none_or(|(of, _)| of != log) {
            self.machine = Some((*log, machine_id(log)));
        }
        self.machine.as_ref().map(|(_, machine)| machine.clone()).unwrap_or_default()
    }

    /// Sends a log record that is marked as a test, or a message without spans or metrics.
    pub(crate) async fn test(&self) -> Result<(), String> {
        let resource = self.resource("test");
        let request = match self.signal {
            Signal::Logs => messages::logs_request(resource, vec![messages::test_record()]).encode_to_vec(),
            Signal::Traces => messages::traces_request(resource, Vec::new()).encode_to_vec(),
            Signal::Metrics => metrics_request(resource, Vec::new()).encode_to_vec(),
        };
        self.receiver.post(request, HeaderMap::new()).await.map_or_else(Sent::tested, |_| Ok(()))
    }

    /// Sends the state of all metrics.
    pub(crate) async fn send_metrics(&self, request: &ExportMetricsServiceRequest) -> Sent {
        match self.receiver.post(request.encode_to_vec(), HeaderMap::new()).await {
            Ok(answer) => accepted(
                ExportMetricsServiceResponse::decode(answer.as_slice()).ok().and_then(|answer| answer.partial_success),
                |partial| (partial.rejected_data_points, partial.error_message),
            ),
            Err(sent) => sent,
        }
    }

    pub(crate) fn resource(&self, machine: &str) -> opentelemetry_proto::tonic::resource::v1::Resource {
        resource(machine, &self.resource)
    }
}

impl Sink for Otlp {
    fn name(&self) -> &str {
        self.signal.sink()
    }

    async fn send(&mut self, entries: &[Entry]) -> Sent {
        let Some(first) = entries.first() else { return Sent::All };
        let machine = self.machine(&first.log);
        let described = entries.iter().map(|entry| (entry, Described::of(entry, &machine, self.has_content)));
        let resource = self.resource(&machine);
        if self.signal == Signal::Traces {
            let spans: Vec<_> =
                described.filter_map(|(entry, described)| messages::span(entry, described, &machine)).collect();
            if spans.is_empty() {
                return Sent::All;
            }
            let request = messages::traces_request(resource, spans);
            return match self.receiver.post(request.encode_to_vec(), HeaderMap::new()).await {
                Ok(answer) => accepted(
                    ExportTraceServiceResponse::decode(answer.as_slice())
                        .ok()
                        .and_then(|answer| answer.partial_success),
                    |partial| (partial.rejected_spans, partial.error_message),
                ),
                Err(sent) => sent,
            };
        }
        let records = described.map(|(entry, described)| messages::log_record(entry, described, &machine)).collect();
        let request = messages::logs_request(resource, records);
        match self.receiver.post(request.encode_to_vec(), HeaderMap::new()).await {
            Ok(answer) => accepted(
                ExportLogsServiceResponse::decode(answer.as_slice()).ok().and_then(|answer| answer.partial_success),
                |partial| (partial.rejected_log_records, partial.error_message),
            ),
            Err(sent) => sent,
        }
    }
}

/// Reads the answer of a receiver that may have refused a part. The protocol forbids to send such a message again, and does not say which
/// part was refused.
fn accepted<P>(partial: Option<P>, refused: impl Fn(P) -> (i64, String)) -> Sent {
    match partial.map(refused) {
        Some((count, because)) if count > 0 => Sent::AllBut { refused: count.unsigned_abs(), because },
        _ => Sent::All,
    }
}
