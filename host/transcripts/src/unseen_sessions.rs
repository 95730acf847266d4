//! Finds the sessions of agents that are in their transcripts but not in the log: hookhost was not asked about their calls.

use crate::past_events::{EventQuery, PastEvents};
use crate::places::TranscriptPlaces;
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant, SystemTime};

/// Maximum time for reading transcripts. The newest transcripts are read first.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The sessions of one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCount {
    /// Sessions in the transcripts.
    pub all: u64,
    /// Sessions without an event in the log.
    pub unseen: u64,
}

/// The sessions in the transcripts of a period.
#[derive(Debug, Default)]
pub struct UnseenSessions {
    /// The agents with unseen sessions, by name.
    pub agents: BTreeMap<&'static str, SessionCount>,
    /// Number of transcripts that were not read in time.
    pub unread: usize,
}

impl UnseenSessions {
    /// Reads the transcripts since this time. `is_seen` says whether the log has an event of a session of an agent.
    pub fn read(places: TranscriptPlaces, since: SystemTime, is_seen: impl Fn(&str, &str) -> bool) -> Self {
        Self::read_period(places, since, None, is_seen)
    }

    /// Reads the transcripts like [`read`](Self::read), without the calls at the time `until` or later.
    pub fn read_period(
        places: TranscriptPlaces,
        since: SystemTime,
        until: Option<SystemTime>,
        is_seen: impl Fn(&str, &str) -> bool,
    ) -> Self {
        let query = EventQuery { since: Some(since), ..EventQuery::default() };
        let (began, mut events) = (Instant::now(), PastEvents::new(places, &query));
        let (mut known, mut agents) = (HashSet::new(), BTreeMap::<&'static str, SessionCount>::new());
        let is_over = || began.elapsed() > READ_TIMEOUT;
        while let Some(event) = events.next_unless(is_over) {
            if until.is_some_and(|until| event.time >= until) {
                continue;
            }
            let agent = event.adapter.agent().name;
            // The log has a digest in place of an identifier with a colon.
            if let Some(id) = event.call.session.id.filter(|id| !id.contains(':'))
                && !known.contains(&(agent, id.clone()))
            {
                let count = agents.entry(agent).or_default();
                count.all += 1;
                count.unseen += u64::from(!is_seen(agent, &id));
                known.insert((agent, id));
            }
        }
        let unread = if is_over() { events.remaining_transcripts() } else { 0 };
        agents.retain(|_, count| count.unseen > 0);
        Self { agents, unread }
    }
}
