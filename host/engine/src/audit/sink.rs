//! Sinks, through which the embedding program gets the records of the log.

/// Receives each record exactly as the log contains it, after values were masked and cut according to the
/// configuration.
///
/// The records of one session arrive in order. The record of a gate event arrives before the agent gets the outcome. If
/// the sink cannot take this record, the event is rejected with the cause
/// [`NotRecorded`](crate::contract::Cause::NotRecorded), and the plugins' writes to their state are discarded. The sink
/// then gets the record of the rejection instead. If the sink cannot take a record of any other kind, such as this
/// rejection or the end of a session, it gets the same record again before the next record. Until the sink has taken
/// that record, every gate event is rejected.
///
/// An event that the sink itself sends is rejected. Otherwise the sink would get the record of that event while it is
/// still handling the previous record.
///
/// Every function `Fn(&str) -> Result<(), String>` is a sink.
///
/// ```
/// use hookhost::audit::Record;
/// use hookhost::{Config, Host};
/// use std::sync::mpsc;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let (send, records) = mpsc::sync_channel(100);
/// let sink = move |record: &str| send.try_send(record.to_owned()).map_err(|error| format!("the queue is full: {error}"));
/// let host = Host::builder(Config::empty()).audit(sink).build().await?;
/// let session = host.session("my-agent", "/work")?;
/// assert!(session.check_tool("ls", &serde_json::json!({})).await.outcome.is_allowed());
///
/// let events = records.try_iter().filter(|line| Record::from_json(line).is_ok_and(|record| record.kind() == "event"));
/// assert_eq!(events.count(), 1);
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub trait AuditSink: Send + Sync {
    /// Takes a record, which is a JSON object in one line without a line break.
    /// [`Record::from_json`](super::Record::from_json) parses it. The task that dispatches the event calls this method
    /// and waits for it. So a sink that sends records over a network should pass them to a different task.
    ///
    /// # Errors
    /// Returns one sentence that says why the record cannot be taken.
    fn take(&self, record: &str) -> Result<(), String>;
}

impl<F: Fn(&str) -> Result<(), String> + Send + Sync> AuditSink for F {
    fn take(&self, record: &str) -> Result<(), String> {
        self(record)
    }
}
