//! The time and the facts of a past call. A transcript contains few facts, and those of today are not those of then.

use hookhost::Clock;
use hookhost::contract::{Fact, FactName, ToolHints};
use hookhost::facts::{AgentContext, GivenFacts};
use hookhost_agents::HookCall;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::future::Future;
use std::sync::Arc;
use std::time::SystemTime;

tokio::task_local! {
    static EVENT_TIME: SystemTime;
}

/// The clock of past events: each has its own time.
pub(super) struct PastClock;

impl Clock for PastClock {
    fn now(&self) -> SystemTime {
        EVENT_TIME.try_with(|time| *time).unwrap_or_else(|_| SystemTime::now())
    }
}

/// Does something at the time of a past event.
pub(super) async fn at<T>(time: SystemTime, work: impl Future<Output = T>) -> T {
    EVENT_TIME.scope(time, work).await
}

/// Returns what is known of the agent at a past call. A fact that its transcript does not contain cannot be read, so that a rule with
/// `reject` or `ask` applies.
pub(super) fn agent(call: &HookCall, time: SystemTime) -> AgentContext {
    let ToolHints { read_only, destructive, open_world, .. } =
        call.event.tool().map(|tool| tool.hints).unwrap_or_default();
    let text = |text: String| Fact::Text(text);
    let known = [
        // An agent that reports no mode has none.
        (FactName::SessionMode, Some(call.session.mode.map_or(Fact::Absent, |mode| text(mode.name().to_owned())))),
        (FactName::AgentVersion, call.session.version.clone().map(text)),
        (FactName::ToolReadOnly, read_only.map(Fact::Flag)),
        (FactName::ToolDestructive, destructive.map(Fact::Flag)),
        (FactName::ToolOpenWorld, open_world.map(Fact::Flag)),
        (FactName::TimeOffset, Timestamp::try_from(time).ok().map(offset)),
    ];
    let given = GivenFacts {
        facts: known.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect(),
        others: Fact::Unreadable("a transcript does not contain it".to_owned()),
    };
    let mut agent = AgentContext::default();
    agent.given = Some(Arc::new(given));
    agent
}

/// Returns the offset of the local time from UTC, in minutes.
fn offset(time: Timestamp) -> Fact {
    Fact::Number(i64::from(TimeZone::system().to_offset(time).seconds() / 60))
}
