//! The text that Prometheus reads. <https://prometheus.io/docs/instrumenting/exposition_formats/>

use crate::counters::{Counters, Kind, METRICS, Value};
use crate::gauges::Gauge;
use crate::names::{
    METRIC_DISK_FREE, METRIC_LOG_SIZE, METRIC_SINK_ERRORS, METRIC_SINK_LAG, METRIC_SINK_SENT, METRIC_SINK_SKIPPED,
};
use crate::positions::SinkState;
use std::fmt::Write as _;

/// Returns the value of a sink's metric.
type Measure<'a> = &'a dyn Fn(&SinkState) -> f64;

/// Returns the text. `last` is the number of the log's last record.
pub(crate) fn text(counters: &Counters, gauges: &[Gauge], sinks: &[SinkState], last: u64) -> String {
    let mut text = String::new();
    for metric in METRICS {
        let name = name(metric.name, metric.kind);
        head(&mut text, &name, metric.help, metric.kind);
        for (values, value) in counters.of(metric) {
            let labels: Vec<(&str, &str)> =
                metric.labels.iter().copied().zip(values.iter().map(String::as_str)).collect();
            match (metric.kind, value) {
                (Kind::Histogram(bounds), Value::Histogram(counts, sum)) => {
                    histogram(&mut text, &name, &labels, bounds, counts, *sum);
                }
                (_, Value::Number(number)) => line(&mut text, &name, &labels, *number),
                _ => {}
            }
        }
    }
    for Gauge { name: metric, help, value, .. } in gauges {
        let name = name(metric, Kind::Gauge);
        head(&mut text, &name, help, Kind::Gauge);
        line(&mut text, &name, &[], *value as f64);
    }
    let gauge = |sink: &SinkState| last.saturating_sub(sink.position.map_or(0, |position| position.seq)) as f64;
    let parts: [(&str, &str, Kind, Measure<'_>); 4] = [
        (METRIC_SINK_LAG, "Records that a sink has not taken yet.", Kind::Gauge, &gauge),
        (METRIC_SINK_SENT, "Records that a sink has taken.", Kind::Counter, &|sink| sink.sent as f64),
        (METRIC_SINK_SKIPPED, "Records that a sink has given up.", Kind::Counter, &|sink| sink.skipped as f64),
        (METRIC_SINK_ERRORS, "1 if the last attempt of a sink failed.", Kind::Gauge, &|sink| {
            f64::from(u8::from(sink.error.is_some()))
        }),
    ];
    for (metric, help, kind, value) in parts {
        let name = name(metric, kind);
        head(&mut text, &name, help, kind);
        sinks.iter().for_each(|sink| line(&mut text, &name, &[("sink", &sink.name)], value(sink)));
    }
    text
}

/// Returns the name of a metric in Prometheus.
pub(crate) fn name(metric: &str, kind: Kind) -> String {
    let name = metric.replace('.', "_");
    let end = match kind {
        _ if metric == METRIC_SINK_SKIPPED || metric == METRIC_SINK_SENT => "_records_total",
        _ if metric == METRIC_SINK_LAG => "_records",
        _ if metric == METRIC_LOG_SIZE || metric == METRIC_DISK_FREE => "_bytes",
        Kind::Counter => "_total",
        Kind::Gauge if name.ends_with("last_event") => "_timestamp_seconds",
        Kind::Gauge => "",
        Kind::Histogram(_) => "_seconds",
    };
    format!("{name}{end}")
}

fn head(text: &mut String, name: &str, help: &str, kind: Kind) {
    let kind = match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram(_) => "histogram",
    };
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(text: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let labels: Vec<String> = labels
        .iter()
        .map(|(label, value)| {
            let value = value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
            format!("{}=\"{value}\"", label.replace('.', "_"))
        })
        .collect();
    let _ = match labels.as_slice() {
        [] => writeln!(text, "{name} {value}"),
        labels => writeln!(text, "{name}{{{}}} {value}", labels.join(",")),
    };
}

fn histogram(text: &mut String, name: &str, labels: &[(&str, &str)], bounds: &[f64], counts: &[u64], sum: f64) {
    let mut total = 0;
    let bounds = bounds.iter().map(ToString::to_string).chain(std::iter::once("+Inf".to_owned()));
    for (bound, count) in bounds.zip(counts) {
        total += count;
        let labels: Vec<_> = labels.iter().copied().chain(std::iter::once(("le", bound.as_str()))).collect();
        line(text, &format!("{name}_bucket"), &labels, total as f64);
    }
    line(text, &format!("{name}_sum"), labels, sum);
    line(text, &format!("{name}_count"), labels, total as f64);
}
