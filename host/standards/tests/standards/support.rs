//! A settler with the rules of a test, the settler's log, and HTTP requests to the settler.

use hookhost::audit::{Delivery, EventRecord, MemoryLog, Record};
use hookhost::config::{Entry, Settings};
use hookhost::native::Rule;
use hookhost::{Config, Host};
use hookhost_resident::{ConfigurationSource, FoundConfiguration, Settler};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The token of the HTTP service.
pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Returns a configuration with one rule, or an empty one if the rule handles no event.
pub(crate) fn of_rule(rule: Rule) -> Config {
    if format!("{rule:?}") == format!("{:?}", Rule::new()) {
        return Config::empty();
    }
    Config::from_entries(vec![Entry::from_rule("rule", rule)], Settings::default()).unwrap()
}

/// A configuration that is the same in each directory. `file` is reported as the file from which the configuration was
/// read.
struct OneConfiguration {
    config: Mutex<Result<Config, String>>,
    file: PathBuf,
}

impl ConfigurationSource for OneConfiguration {
    fn find(&self, _: &Path, _: Option<&Config>) -> Result<FoundConfiguration, String> {
        self.config.lock().unwrap().clone().map(FoundConfiguration::new)
    }

    fn files(&self, _: &Path, _: Option<&Config>) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }
}

/// A settler and its log.
pub(crate) struct Lab {
    pub(crate) settler: Arc<Settler>,
    log: MemoryLog,
    configuration: Arc<OneConfiguration>,
    _directory: tempfile::TempDir,
}

impl Lab {
    pub(crate) async fn new(rule: Rule) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = MemoryLog::default();
        let host = Host::builder(Config::empty()).without_cache().audit(log.clone()).build().await.unwrap();
        let file = directory.path().join("hookhost.toml");
        std::fs::write(&file, "1").unwrap();
        let configuration = Arc::new(OneConfiguration { config: Mutex::new(Ok(of_rule(rule))), file });
        let settler = Arc::new(Settler::new(host, Arc::clone(&configuration) as Arc<dyn ConfigurationSource>));
        Self { settler, log, configuration, _directory: directory }
    }

    /// Replaces the configuration with a configuration that cannot be read.
    pub(crate) fn break_configuration(&self) {
        *self.configuration.config.lock().unwrap() = Err("hookhost.toml:1:1: it is broken".to_owned());
        std::fs::write(&self.configuration.file, "22").unwrap();
    }

    /// Returns the records of events of this name.
    pub(crate) fn events(&self, name: &str) -> Vec<EventRecord> {
        let events = self.log.records().into_iter().filter_map(|record| match record {
            Record::Event(event) if event.event.name() == name => Some(*event),
            _ => None,
        });
        events.collect()
    }

    pub(crate) async fn deliveries(&self) -> Vec<Delivery> {
        self.settler.host().drain(std::time::Duration::from_secs(5)).await.unwrap();
        let deliveries = self.log.records().into_iter().filter_map(|record| match record {
            Record::Delivery(delivery) => Some(delivery),
            _ => None,
        });
        deliveries.collect()
    }
}

/// Sends one request, and returns the status and the body of the answer.
pub(crate) async fn post(address: SocketAddr, path: &str, token: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
