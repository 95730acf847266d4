//! Time limits of a reply.

use hookhost_agents::{Adapter, agent};
use hookhost_client::hook::MAX_REPLY_TIME;
use std::time::{Duration, Instant};

/// The time that the sender of a message waits, if it says so, or the reason why that cannot be read.
pub type ClientTimeout = Result<Option<Duration>, &'static str>;

/// Called with the number of seconds that the reply can take from now on, if that is long.
pub type WaitCallback<'a> = &'a (dyn Fn(u32) + Send + Sync);

/// The deadlines of a reply. An agent that has no reply in time continues without one.
pub(crate) struct ReplyDeadlines {
    /// The deadline for people and plugins. The rest of the time is for the reply.
    pub(crate) decision: Instant,
    /// The deadline for everything.
    pub(crate) reply: Instant,
}

impl ReplyDeadlines {
    /// Derives the deadlines from the time that the agent waits at this point, or from the shorter time that the sender names.
    pub(crate) fn new(adapter: &Adapter, point: &str, sender: Option<Duration>) -> Self {
        let seconds = adapter.agent().point(point).map_or(agent::TIMEOUT, |point| point.timeout);
        let agent = Duration::from_secs(seconds.into());
        let timeout = sender.map_or(agent, |sender| sender.min(agent));
        let reserved = MAX_REPLY_TIME.min(timeout / 4);
        let now = Instant::now();
        Self { decision: now + (timeout - reserved), reply: now + (timeout - reserved / 2) }
    }
}

/// Returns the time until a deadline, zero after it.
pub(crate) fn time_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Returns the whole seconds of a duration, as [`WaitCallback`] takes them.
pub(crate) fn whole_seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
