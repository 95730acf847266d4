//! The destination of records beside the database: the embedding program.

/// Receives each record as the log would hold it: masked and cut as the configuration says.
///
/// The records of one session come in their order. The record of a gate comes before its outcome is known to the agent: if it
/// cannot be taken, the gate is rejected with the cause [`NotRecorded`](crate::contract::Cause::NotRecorded), and what a plugin
/// wrote about it to its state does not hold. Instead comes the record of its rejection. Where another record cannot be taken, such
/// as that rejection or the end of a session, it comes again before the next one, and until it is taken no gate opens.
///
/// An event that a sink sends is rejected: events wait for the sink, and it would be given their records, too.
///
/// Every function `Fn(&str) -> Result<(), String>` is one.
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
    /// Takes a record, a JSON object in one line without a line break; [`Record::from_json`](super::Record::from_json) reads it. It is called by the task
    /// that settles the event, which waits for it: a sink that sends records over a network hands them to a task of its own.
    ///
    /// # Errors
    /// One sentence on why the record cannot be taken.
    fn take(&self, record: &str) -> Result<(), String>;
}

impl<F: Fn(&str) -> Result<(), String> + Send + Sync> AuditSink for F {
    fn take(&self, record: &str) -> Result<(), String> {
        self(record)
    }
}
