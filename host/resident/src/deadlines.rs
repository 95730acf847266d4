//! Time limits of a reply.

use hookhost_agents::Adapter;
use hookhost_client::hook::reply_reserve;
use std::time::{Duration, Instant};

/// The time that the sender of a message waits, if the sender has given a time. An error contains the reason why the given time
/// cannot be parsed.
pub type ClientTimeout = Result<Option<Duration>, &'static str>;

/// A callback for long waits. It is called with the number of seconds that the reply can take from now on.
pub type WaitCallback<'a> = &'a (dyn Fn(u32) + Send + Sync);

/// The deadlines of a reply. They are needed because an agent that gets no reply in time continues without a decision.
pub(crate) struct ReplyDeadlines {
    /// The deadline for decisions of people and plugins. The time between this deadline and `reply` is needed to send the reply.
    pub(crate) decision: Instant,
    /// The deadline for sending the reply.
    pub(crate) reply: Instant,
}

impl ReplyDeadlines {
    /// Derives the deadlines from the time that the agent waits at this hook point. If the sender has given a shorter time, uses
    /// that time.
    pub(crate) fn new(adapter: &Adapter, point: &str, sender: Option<Duration>) -> Self {
        let agent = Duration::from_secs(adapter.agent().timeout(point).into());
        let timeout = sender.map_or(agent, |sender| sender.min(agent));
        let reserved = reply_reserve(timeout);
        let now = Instant::now();
        Self { decision: now + (timeout - reserved), reply: now + (timeout - reserved / 2) }
    }
}

/// Returns the time until a deadline, or zero if the deadline has passed.
pub(crate) fn time_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Returns the whole seconds of a duration, in the type of the argument of [`WaitCallback`].
pub(crate) fn whole_seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
