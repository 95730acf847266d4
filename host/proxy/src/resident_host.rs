//! Code that both proxies share in addition to JSON-RPC. It asks the resident host for decisions, and creates texts for people.

use hookhost_agents::proxies::ProxyReply;
use hookhost_client::async_client::{AsyncClient, LongWaitCallback};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The error if the resident host returns an outcome that is not possible for the event.
pub(crate) const OTHER_EVENT: &str = "the outcome is of another event";

/// Sends an event to the resident host and returns the host's reply. `agent` is the name of the proxy, and `directory` selects the
/// rules. Returns [`ProxyReply::Failed`] if the host gives no answer.
pub(crate) async fn ask(
    host: &AsyncClient,
    agent: &str,
    directory: &Path,
    event: &impl Serialize,
    on_wait: LongWaitCallback<'_>,
) -> ProxyReply {
    let outcome = host.ask(agent, directory, event, on_wait).await;
    outcome.unwrap_or_else(|why| ProxyReply::Failed { why })
}

/// Returns the text that replaces a message which could not be checked.
pub(crate) fn failure_text(why: &str) -> String {
    format!("hookhost could not decide on this request, so it is not passed on: {}.", why.trim_end_matches('.'))
}

/// Shows texts to the user.
#[derive(Clone)]
pub(crate) struct UserNotifier(Arc<dyn Fn(&str) + Send + Sync>);

impl UserNotifier {
    /// Creates a notifier that shows each text by calling `show`.
    pub(crate) fn new(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show))
    }

    /// Shows a text.
    pub(crate) fn tell(&self, text: &str) {
        (self.0)(text);
    }

    /// Shows each of the notices of an outcome.
    pub(crate) fn tell_all(&self, notices: &[String]) {
        notices.iter().for_each(|notice| self.tell(notice));
    }
}

impl fmt::Debug for UserNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserNotifier(…)")
    }
}
