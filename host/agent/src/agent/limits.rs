//! What an agent and all agents below it share: how many run at once, and what all of them have used.

use super::AgentConfig;
use super::Status;
use super::state::Ended;
use crate::message::TokenUsage;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The limits of one run, sub-agents included.
#[derive(Debug)]
pub(super) struct Limits {
    /// One for each level: an agent that waits for those below it must not keep them from running.
    levels: Vec<Semaphore>,
    max_tokens: Option<NonZeroU64>,
    max_requests: u32,
    max_subagents: u32,
    /// Neither `max-tokens` nor `max-time` bounds the run.
    unbounded: bool,
    requests: AtomicU32,
    subagents: AtomicU32,
    tokens: Mutex<Tokens>,
    told_unbounded: AtomicBool,
    told_subagents: AtomicBool,
}

/// Tokens of the whole tree.
#[derive(Debug, Default)]
struct Tokens {
    /// What the root session had used before the run began: a session can have many runs.
    before: TokenUsage,
    spent: TokenUsage,
}

/// Whether a sub-agent may be started, as far as the whole tree is concerned.
pub(super) enum Spawn {
    /// It may. The text is for the user, at the first one of a run that little else bounds.
    Counted(Option<String>),
    /// The tree has started all of its sub-agents. The text is for the user, once.
    Full(u32, Option<String>),
}

impl Limits {
    pub(super) fn new(config: &AgentConfig) -> Self {
        let at_once = usize::try_from(config.max_concurrent_subagents.get()).unwrap_or(usize::MAX);
        let level = || Semaphore::new(at_once.min(Semaphore::MAX_PERMITS));
        Self {
            levels: (0..config.max_depth).map(|_| level()).collect(),
            max_tokens: config.max_tokens,
            max_requests: config.max_requests.get(),
            max_subagents: config.max_subagents.get(),
            unbounded: config.max_tokens.is_none() && config.max_time.is_none(),
            requests: AtomicU32::new(0),
            subagents: AtomicU32::new(0),
            tokens: Mutex::default(),
            told_unbounded: AtomicBool::new(false),
            told_subagents: AtomicBool::new(false),
        }
    }

    fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the root session had used before this run.
    pub(super) fn begin_at(&self, used: TokenUsage) {
        self.tokens().before = used;
    }

    /// What the root session and all sessions below it have used.
    pub(super) fn tree_usage(&self) -> TokenUsage {
        let tokens = self.tokens();
        let mut sum = tokens.before;
        sum.add(tokens.spent);
        sum
    }

    /// Requests that all sessions of the tree have sent in this run.
    pub(super) fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Waits until another agent of this depth may run.
    pub(super) async fn subagent(&self, depth: u32) -> Option<SemaphorePermit<'_>> {
        let level = usize::try_from(depth.saturating_sub(1)).ok().and_then(|place| self.levels.get(place))?;
        level.acquire().await.ok()
    }

    /// Counts a sub-agent of the tree, unless it has started all of them.
    pub(super) fn count_subagent(&self) -> Spawn {
        let max = self.max_subagents;
        if !counted(&self.subagents, max) {
            let first = !self.told_subagents.swap(true, Ordering::Relaxed);
            let told = first.then(|| {
                format!("the run has started all of its {max} sub-agents (`max-subagents`): it starts no further one")
            });
            return Spawn::Full(max, told);
        }
        let tells = self.unbounded && !self.told_unbounded.swap(true, Ordering::Relaxed);
        Spawn::Counted(tells.then(|| {
            format!(
                "the run starts sub-agents, and neither `max-tokens` nor `max-time` is set: it ends after {} requests \
                 to models (`max-requests`) at the latest",
                self.max_requests
            )
        }))
    }

    /// Counts a request before it is sent.
    ///
    /// # Errors
    /// How the task ends, where the tree has sent all of its requests.
    pub(super) fn count_request(&self) -> Result<(), Ended> {
        if counted(&self.requests, self.max_requests) { Ok(()) } else { Err(self.no_requests()) }
    }

    fn no_requests(&self) -> Ended {
        let reason = format!("the run has sent all of its {} requests to models (`max-requests`)", self.max_requests);
        Ended { status: Status::MaxTurns, stop: true, ..Ended::error(reason) }
    }

    pub(super) fn spend(&self, used: TokenUsage) {
        self.tokens().spent.add(used);
    }

    /// How the task ends, once all tokens or all requests of the tree are used.
    pub(super) fn used_up(&self) -> Option<Ended> {
        let spent = self.tokens().spent;
        let spent = spent.input_tokens.saturating_add(spent.output_tokens);
        if let Some(max) = self.max_tokens.filter(|max| spent >= max.get()) {
            let reason = format!("the run has used all of its {max} tokens");
            return Some(Ended { status: Status::MaxTokens, stop: true, ..Ended::error(reason) });
        }
        (self.requests() >= self.max_requests).then(|| self.no_requests())
    }
}

/// Counts one more, unless that would be more than `max`.
fn counted(count: &AtomicU32, max: u32) -> bool {
    let more = |count: u32| (count < max).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}
