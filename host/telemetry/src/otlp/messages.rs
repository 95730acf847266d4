//! The messages of OTLP.

use crate::described::{Described, Severity, ToolCall, cause_word, code, prompt_id};
use crate::lines::severity;
use crate::names::*;
use crate::sink::Entry;
use crate::tally::deciding_rules;
use hookhost::audit::{EventRecord, Record};
use hookhost::contract::Shape;
use hookhost_agents::clock::now;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event as SpanEvent, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The conventions that the names follow.
const SCHEMA: &str = "https://opentelemetry.io/schemas/gen-ai/0.1.0";

const NANOSECONDS_PER_MILLISECOND: u64 = 1_000_000;

pub(crate) fn key_value(name: &str, value: Value) -> KeyValue {
    let value = match value {
        Value::Bool(flag) => Any::BoolValue(flag),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Any::IntValue(number),
            None => Any::DoubleValue(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Any::StringValue(text),
        other => Any::StringValue(other.to_string()),
    };
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// Returns the resource: this program on this machine.
pub(crate) fn resource(machine: &str, more: &[(String, String)]) -> Resource {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let own = [
        (SERVICE_NAME, "hookhost"),
        (SERVICE_VERSION, env!("CARGO_PKG_VERSION")),
        (SERVICE_INSTANCE, machine),
        (HOST_NAME, host.as_str()),
        (OS_TYPE, if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS }),
    ];
    let is_replaced = |name: &str| more.iter().any(|(other, _)| other == name);
    let own = own.iter().filter(|(name, _)| !is_replaced(name)).map(|(name, value)| key_value(name, (*value).into()));
    let more = more.iter().map(|(name, value)| key_value(name, value.as_str().into()));
    Resource { attributes: own.chain(more).collect(), ..Resource::default() }
}

fn scope() -> InstrumentationScope {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    InstrumentationScope { name: "hookhost".to_owned(), version, ..InstrumentationScope::default() }
}

pub(super) fn logs_request(resource: Resource, log_records: Vec<LogRecord>) -> ExportLogsServiceRequest {
    let scope_logs = vec![ScopeLogs { scope: Some(scope()), log_records, schema_url: SCHEMA.to_owned() }];
    let logs = ResourceLogs { resource: Some(resource), scope_logs, schema_url: String::new() };
    ExportLogsServiceRequest { resource_logs: vec![logs] }
}

pub(super) fn traces_request(resource: Resource, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, schema_url: SCHEMA.to_owned() }];
    let spans = ResourceSpans { resource: Some(resource), scope_spans, schema_url: String::new() };
    ExportTraceServiceRequest { resource_spans: vec![spans] }
}

pub(crate) fn metrics_request(resource: Resource, metrics: Vec<Metric>) -> ExportMetricsServiceRequest {
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics, schema_url: SCHEMA.to_owned() }];
    let metrics = ResourceMetrics { resource: Some(resource), scope_metrics, schema_url: String::new() };
    ExportMetricsServiceRequest { resource_metrics: vec![metrics] }
}

pub(super) fn log_record(entry: &Entry, described: Described, machine: &str) -> LogRecord {
    let number = match described.severity {
        Severity::Debug => 5,
        Severity::Info => 9,
        Severity::Warn => 13,
        Severity::Error => 17,
    };
    let time = described.time.saturating_mul(NANOSECONDS_PER_MILLISECOND);
    let (trace_id, span_id) = match &entry.record {
        Record::Event(event) if makes_span(event) => (trace_id(event, &entry.agent), span_id(machine, entry)),
        _ => (Vec::new(), Vec::new()),
    };
    LogRecord {
        time_unix_nano: time,
        observed_time_unix_nano: time,
        severity_number: number,
        severity_text: severity(described.severity).to_owned(),
        body: described.body.map(|body| AnyValue { value: Some(Any::StringValue(body)) }),
        attributes: described.attributes.into_iter().map(|(name, value)| key_value(name, value)).collect(),
        trace_id,
        span_id,
        event_name: described.name.to_owned(),
        ..LogRecord::default()
    }
}

/// Returns a record that is marked as a test.
pub(super) fn test_record() -> LogRecord {
    let time = now().saturating_mul(NANOSECONDS_PER_MILLISECOND);
    LogRecord {
        time_unix_nano: time,
        observed_time_unix_nano: time,
        severity_number: 9,
        severity_text: severity(Severity::Info).to_owned(),
        attributes: vec![key_value(TRIAL, true.into())],
        event_name: LOG_LOG.to_owned(),
        ..LogRecord::default()
    }
}

/// Returns the span of a decision. Other records make none.
pub(super) fn span(entry: &Entry, described: Described, machine: &str) -> Option<Span> {
    let Record::Event(event) = &entry.record else { return None };
    if !makes_span(event) {
        return None;
    }
    let end = described.time.saturating_mul(NANOSECONDS_PER_MILLISECOND);
    let micros = event.wall_micros();
    let attribute = |(name, value)| key_value(name, value);
    let mut attributes: Vec<_> = described.attributes.into_iter().map(attribute).collect();
    let is_error = ToolCall::of(event).is_some_and(|call| call.is_error);
    let error = event.cause.map(cause_word).or(is_error.then_some("tool_error"));
    if let Some(error) = error {
        attributes.push(key_value(ERROR_TYPE, error.into()));
    }
    // A rejection is a decision that was made as it should be. Only a failure of a plugin or of hookhost is an error of the span.
    let failed = matches!(error, Some("failed" | "not-recorded" | "no-runtime" | "no-plugin"));
    let status = failed.then(|| Status { code: StatusCode::Error.into(), ..Status::default() });
    let events = deciding_rules(event).into_iter().map(|rule| {
        let version = event.calls.iter().find(|call| call.plugin == rule.by).map(|call| code(&call.code));
        let parts = [
            (GUARDRAIL_POLICY, Some(rule.by)),
            (GUARDRAIL_RULE, rule.code),
            (GUARDRAIL_VERSION, version),
            (GUARDRAIL_TYPE, Some("verdict".to_owned())),
            (GUARDRAIL_VALUE, Some(event.outcome.name().to_owned())),
        ];
        let parts = parts.into_iter().filter_map(|(name, value)| Some(key_value(name, value?.into())));
        let name = GUARDRAIL_RESULT.to_owned();
        SpanEvent { time_unix_nano: end, name, attributes: parts.collect(), dropped_attributes_count: 0 }
    });
    Some(Span {
        trace_id: trace_id(event, &entry.agent),
        span_id: span_id(machine, entry),
        name: format!("hookhost {}", event.event.name()),
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: end.saturating_sub(micros.saturating_mul(1_000)),
        end_time_unix_nano: end,
        attributes,
        events: events.collect(),
        status,
        ..Span::default()
    })
}

/// Returns true if an event makes a span: plugins could stop it or change it.
fn makes_span(event: &EventRecord) -> bool {
    matches!(event.event.shape(), Shape::Gate | Shape::Transform)
}

/// Returns the identifier of the trace: everything that follows from one prompt, also in sub-agents. Without the identifier of the prompt,
/// everything in one turn of a session.
fn trace_id(event: &EventRecord, agent: &str) -> Vec<u8> {
    match prompt_id(event) {
        Some(prompt) => hash(&[agent, &prompt], 16),
        None => hash(&[agent, &event.header.session, &event.turn.to_string()], 16),
    }
}

/// Returns the identifier of the span of a record.
fn span_id(machine: &str, entry: &Entry) -> Vec<u8> {
    hash(&[machine, &entry.line.seq().to_string()], 8)
}

/// Returns the first bytes of a digest. Identifiers must not be zero, and the digest of no text is.
fn hash(parts: &[&str], length: usize) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().copied().take(length).collect()
}
