//! Counts the records for monitoring, and sends the counters with OTLP.

use crate::counters::{Counters, Kind, METRICS, Value};
use crate::error::TelemetryError;
use crate::gauges::{self, Gauge};
use crate::otlp::{Otlp, Signal, key_value, metrics_request};
use crate::positions::PositionFile;
use crate::sink::{Entry, Sent, Sink};
use hookhost::Host;
use hookhost_agents::clock::now;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge as OtlpGauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum,
};
use rusqlite::Connection;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The counters, which the meter writes and others read.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedCounters(Arc<Mutex<Counters>>);

impl SharedCounters {
    pub(crate) fn get(&self) -> MutexGuard<'_, Counters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sink that counts.
pub(crate) struct Meter {
    counters: SharedCounters,
}

impl Meter {
    pub(crate) const NAME: &str = "metrics";

    pub(crate) fn new(counters: SharedCounters, positions: &PositionFile) -> Self {
        *counters.get() = Counters::new(positions.series());
        Self { counters }
    }
}

impl Sink for Meter {
    fn name(&self) -> &str {
        Self::NAME
    }

    async fn send(&mut self, entries: &[Entry]) -> Sent {
        let mut counters = self.counters.get();
        entries.iter().for_each(|entry| counters.add(entry));
        Sent::All
    }

    fn save(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.counters.get().save(connection)
    }

    fn saved(&mut self) {
        self.counters.get().saved();
    }
}

/// What metrics are made of.
pub(crate) struct Counted {
    pub(crate) counters: SharedCounters,
    pub(crate) log: PathBuf,
    /// The host whose questions are counted.
    pub(crate) host: Option<Host>,
}

/// Sends the counters at an interval if they have changed, until `stop` is cancelled, and then once more.
pub(crate) async fn send_metrics(
    otlp: Otlp,
    interval: Duration,
    counted: Counted,
    positions: Rc<PositionFile>,
    stop: CancellationToken,
) {
    let mut sent = None;
    loop {
        let ends = stop.is_cancelled();
        // Positions that cannot be read or saved, for example because the disk is full, may be usable at the next interval.
        if let Err(error) = send_changed(&otlp, interval, &counted, &positions, &mut sent).await {
            tracing::warn!(sink = Signal::Metrics.sink(), "{error}");
        }
        if ends {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = stop.cancelled() => {}
        }
    }
}

/// Sends the counters unless `sent` is the last record that they count.
async fn send_changed(
    otlp: &Otlp,
    interval: Duration,
    counted: &Counted,
    positions: &PositionFile,
    sent: &mut Option<u64>,
) -> Result<(), TelemetryError> {
    let meter = positions.sink(Meter::NAME)?;
    let Some(position) = meter.position.filter(|position| Some(position.seq) != *sent) else { return Ok(()) };
    let mut state = positions.sink(Signal::Metrics.sink())?;
    let machine = crate::described::machine_id(&position.log);
    let waiting = match &counted.host {
        Some(host) => host.questions().await.ok().map(|questions| questions.len() as u64),
        None => None,
    };
    let gauges = gauges::measure(&counted.log, waiting);
    let request = metrics_request(otlp.resource(&machine), data(&counted.counters.get(), &gauges, now()));
    match otlp.send_metrics(&request).await {
        Sent::All | Sent::AllBut { .. } => {
            *sent = Some(position.seq);
            state.sent += position.seq.saturating_sub(state.position.map_or(0, |position| position.seq));
            state.position = Some(position);
            (state.error, state.since, state.next_attempt) = (None, None, None);
        }
        Sent::Refused { because } | Sent::Later { because, .. } | Sent::Misconfigured { because } => {
            state.error = Some(because);
            state.since.get_or_insert_with(now);
            state.next_attempt = Some(now() + u64::try_from(interval.as_millis()).unwrap_or(0));
        }
    }
    positions.save(&state, |_| Ok(()))
}

/// Returns the metrics of OTLP.
pub(crate) fn data(counters: &Counters, gauges: &[Gauge], now: u64) -> Vec<Metric> {
    let (start, now) = (counters.start.saturating_mul(1_000_000), now.saturating_mul(1_000_000));
    let metrics = METRICS.iter().filter_map(|metric| {
        let mut numbers = Vec::new();
        let mut histograms = Vec::new();
        for (labels, value) in counters.of(metric) {
            let labels = metric.labels.iter().zip(labels);
            let attributes = labels.map(|(label, value)| key_value(label, value.as_str().into())).collect();
            match (metric.kind, value) {
                (Kind::Histogram(bounds), Value::Histogram(counts, sum)) => histograms.push(HistogramDataPoint {
                    attributes,
                    start_time_unix_nano: start,
                    time_unix_nano: now,
                    count: counts.iter().sum(),
                    sum: Some(*sum),
                    bucket_counts: counts.clone(),
                    explicit_bounds: bounds.to_vec(),
                    ..HistogramDataPoint::default()
                }),
                (_, Value::Number(number)) => numbers.push(NumberDataPoint {
                    attributes,
                    start_time_unix_nano: start,
                    time_unix_nano: now,
                    value: Some(Number::AsDouble(*number)),
                    ..NumberDataPoint::default()
                }),
                _ => {}
            }
        }
        if numbers.is_empty() && histograms.is_empty() {
            return None;
        }
        let aggregation_temporality = AggregationTemporality::Cumulative.into();
        let (unit, data) = match metric.kind {
            Kind::Counter => {
                ("1", Data::Sum(Sum { data_points: numbers, aggregation_temporality, is_monotonic: true }))
            }
            Kind::Gauge => ("s", Data::Gauge(OtlpGauge { data_points: numbers })),
            Kind::Histogram(_) => {
                ("s", Data::Histogram(Histogram { data_points: histograms, aggregation_temporality }))
            }
        };
        let (name, description, unit) = (metric.name.to_owned(), metric.help.to_owned(), unit.to_owned());
        Some(Metric { name, description, unit, data: Some(data), ..Metric::default() })
    });
    let gauges = gauges.iter().map(|measured| {
        let value = Some(Number::AsInt(measured.value.try_into().unwrap_or(i64::MAX)));
        let point = NumberDataPoint { time_unix_nano: now, value, ..NumberDataPoint::default() };
        let data = Some(Data::Gauge(OtlpGauge { data_points: vec![point] }));
        let (name, description, unit) = (measured.name.to_owned(), measured.help.to_owned(), measured.unit.to_owned());
        Metric { name, description, unit, data, ..Metric::default() }
    });
    metrics.chain(gauges).collect()
}

#[cfg(test)]
mod tests;
