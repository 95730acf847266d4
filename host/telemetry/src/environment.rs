//! The variables of OpenTelemetry. <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>

use crate::error::TelemetryError;
use crate::http;
use crate::otlp::Signal;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::HashMap;
use std::time::Duration;

/// The variables that begin with `OTEL_`.
#[derive(Clone, Default)]
pub struct Environment(HashMap<String, String>);

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The values may contain keys.
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Environment {
    /// Returns the variables of this process.
    pub fn of_process() -> Self {
        Self::of(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// Returns these variables. An empty variable is as good as none.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let is_used = |(name, value): &(String, String)| name.starts_with("OTEL_") && !value.trim().is_empty();
        Self(variables.into_iter().filter(is_used).map(|(name, value)| (name, value.trim().to_owned())).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a variable of the exporter: that of the signal, or else the general one.
    fn exporter(&self, signal: Signal, what: &str) -> Option<&str> {
        let name = signal.name().to_uppercase();
        self.get(&format!("OTEL_EXPORTER_OTLP_{name}_{what}"))
            .or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{what}")))
    }

    /// Returns true if the variables switch a signal off.
    ///
    /// # Errors
    /// If they name an exporter that hookhost does not have.
    pub(crate) fn is_off(&self, signal: Signal) -> Result<bool, TelemetryError> {
        if self.get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(true);
        }
        let variable = format!("OTEL_{}_EXPORTER", signal.name().to_uppercase());
        match self.get(&variable) {
            None | Some("otlp") => Ok(false),
            Some("none") => Ok(true),
            Some(other) => {
                Err(TelemetryError::Setting(format!("{variable} is `{other}`, and hookhost knows `otlp` and `none`")))
            }
        }
    }

    /// Returns the URL of a signal. `configured` is the address of the configuration.
    ///
    /// # Errors
    /// If the address is not that of OTLP over HTTP.
    pub(crate) fn url(&self, signal: Signal, configured: Option<&str>) -> Result<Option<Url>, TelemetryError> {
        let name = signal.name();
        let variable = format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", name.to_uppercase());
        let of_signal = self.get(&variable);
        let general = self.get("OTEL_EXPORTER_OTLP_ENDPOINT").or(configured);
        let url = match (of_signal, general) {
            (Some(url), _) => http::parsed(url)?,
            (None, Some(base)) => {
                http::parsed(base)?;
                http::parsed(&format!("{}/v1/{name}", base.trim_end_matches('/')))?
            }
            (None, None) => return Ok(None),
        };
        let shown = url.origin().ascii_serialization();
        if let Some(protocol) = self.exporter(signal, "PROTOCOL").filter(|protocol| *protocol != "http/protobuf") {
            return Err(TelemetryError::Setting(format!(
                "OTEL_EXPORTER_OTLP_PROTOCOL is `{protocol}`, and hookhost sends `http/protobuf`, usually to port 4318"
            )));
        }
        if url.port() == Some(4317) {
            return Err(TelemetryError::Setting(format!(
                "{shown} has the port of gRPC: give the address for HTTP, usually port 4318"
            )));
        }
        if self.exporter(signal, "CERTIFICATE").is_some() {
            return Err(TelemetryError::Setting(
                "OTEL_EXPORTER_OTLP_CERTIFICATE is not read: add the certificate to those of the system".to_owned(),
            ));
        }
        Ok(Some(url))
    }

    /// Returns the headers of a signal. `configured` are those of the configuration.
    ///
    /// # Errors
    /// If a header is invalid.
    pub(crate) fn headers(&self, signal: Signal, configured: &HeaderMap) -> Result<HeaderMap, TelemetryError> {
        let Some(list) = self.exporter(signal, "HEADERS") else { return Ok(configured.clone()) };
        let mut headers = configured.clone();
        for (name, value) in pairs(list) {
            headers.insert(header_name(&name)?, header_value(&name, &value)?);
        }
        Ok(headers)
    }

    /// Returns the time to wait for the receiver of a signal.
    pub(crate) fn timeout(&self, signal: Signal) -> Duration {
        milliseconds(self.exporter(signal, "TIMEOUT")).unwrap_or(Duration::from_secs(10))
    }

    /// Returns the interval at which metrics are sent.
    pub(crate) fn interval(&self) -> Duration {
        milliseconds(self.get("OTEL_METRIC_EXPORT_INTERVAL")).unwrap_or(Duration::from_secs(60))
    }

    /// Returns the attributes of the resource.
    pub(crate) fn resource(&self) -> Vec<(String, String)> {
        let mut attributes = self.get("OTEL_RESOURCE_ATTRIBUTES").map(pairs).unwrap_or_default();
        if let Some(name) = self.get("OTEL_SERVICE_NAME") {
            attributes.retain(|(other, _)| other != crate::names::SERVICE_NAME);
            attributes.push((crate::names::SERVICE_NAME.to_owned(), name.to_owned()));
        }
        attributes
    }
}

fn milliseconds(text: Option<&str>) -> Option<Duration> {
    text?.parse().ok().filter(|&milliseconds| milliseconds > 0).map(Duration::from_millis)
}

/// Reads a list such as `a=1,b=2`, with percent-encoded values.
fn pairs(list: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| percent_decode_str(text.trim()).decode_utf8_lossy().into_owned();
    let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (decoded(name), decoded(value)));
    list.split(',').filter_map(pair).filter(|(name, _)| !name.is_empty()).collect()
}

/// Reads the name of a header.
///
/// # Errors
/// If it cannot be one.
pub(crate) fn header_name(name: &str) -> Result<HeaderName, TelemetryError> {
    name.parse().map_err(|_| TelemetryError::Setting(format!("`{name}` cannot be the name of a header")))
}

/// Reads the value of a header. The message does not contain the value.
///
/// # Errors
/// If it cannot be one.
pub(crate) fn header_value(name: &str, value: &str) -> Result<HeaderValue, TelemetryError> {
    let mut value: HeaderValue = value
        .parse()
        .map_err(|_| TelemetryError::Setting(format!("the header `{name}` has characters that no header can have")))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::Environment;
    use crate::otlp::Signal;
    use reqwest::header::HeaderMap;
    use std::time::Duration;

    fn variables(variables: &[(&str, &str)]) -> Environment {
        Environment::of(variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())))
    }

    #[test]
    fn the_variable_of_a_signal_outranks_the_general_one_and_that_the_configuration() {
        let none = variables(&[]);
        let url = |environment: &Environment, signal| {
            environment.url(signal, Some("http://file:4318/")).unwrap().unwrap().to_string()
        };
        assert_eq!(url(&none, Signal::Logs), "http://file:4318/v1/logs");
        let both = variables(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://general:4318"),
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://own/exactly"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, a = b"),
            ("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "250"),
        ]);
        assert_eq!(url(&both, Signal::Logs), "http://own/exactly");
        assert_eq!(url(&both, Signal::Traces), "http://general:4318/v1/traces");
        let headers = both.headers(Signal::Traces, &HeaderMap::new()).unwrap();
        assert_eq!((headers["authorization"].to_str().unwrap(), headers["a"].to_str().unwrap()), ("Bearer x", "b"));
        assert_eq!(both.timeout(Signal::Logs), Duration::from_millis(250));
        assert_eq!(both.timeout(Signal::Traces), Duration::from_secs(10));
    }

    #[test]
    fn a_signal_is_off_if_its_exporter_is_none_and_all_are_if_the_sdk_is_disabled() {
        let one = variables(&[("OTEL_TRACES_EXPORTER", "none")]);
        assert!(one.is_off(Signal::Traces).unwrap() && !one.is_off(Signal::Logs).unwrap());
        assert!(variables(&[("OTEL_SDK_DISABLED", "true")]).is_off(Signal::Logs).unwrap());
        assert!(variables(&[("OTEL_LOGS_EXPORTER", "zipkin")]).is_off(Signal::Logs).is_err());
    }

    #[test]
    fn the_address_of_grpc_is_refused_with_the_address_for_http() {
        let said =
            |environment: Environment, address| environment.url(Signal::Logs, Some(address)).unwrap_err().to_string();
        assert!(said(variables(&[]), "http://collector:4317").contains("4318"));
        assert!(said(variables(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]), "http://c:1").contains("http/protobuf"));
    }

    #[test]
    fn an_address_without_a_scheme_is_shown_as_it_was_given_unless_it_may_contain_a_key() {
        let said = |address| variables(&[]).url(Signal::Logs, Some(address)).unwrap_err().to_string();
        for address in ["collector:4318", "localhost", "ftp://collector"] {
            let expected = format!(
                "[telemetry]: `{address}` is not an http or https URL: write one such as http://localhost:4318"
            );
            assert_eq!(said(address), expected);
        }
        assert!(!said("me:secret@collector:4318").contains("secret"));
    }

    #[test]
    fn the_name_of_the_service_outranks_the_attributes_of_the_resource() {
        let both = variables(&[("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,team=b%2Cc"), ("OTEL_SERVICE_NAME", "d")]);
        let expected = [("team", "b,c"), ("service.name", "d")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(both.resource(), expected);
    }
}
