//! What an agent and all agents below it share: how many run at once, and what all of them have used.

use super::AgentConfig;
use crate::message::TokenUsage;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The limits of one run, sub-agents included.
#[derive(Debug)]
pub(super) struct Limits {
    /// One for each level: an agent that waits for those below it must not keep them from running.
    levels: Vec<Semaphore>,
    max_tokens: Option<NonZeroU64>,
    spent: AtomicU64,
}

impl Limits {
    pub(super) fn new(config: &AgentConfig) -> Self {
        let at_once = usize::try_from(config.max_concurrent_subagents.get()).unwrap_or(usize::MAX);
        let level = || Semaphore::new(at_once.min(Semaphore::MAX_PERMITS));
        Self {
            levels: (0..config.max_depth).map(|_| level()).collect(),
            max_tokens: config.max_tokens,
            spent: AtomicU64::new(0),
        }
    }

    /// Waits until another agent of this depth may run.
    pub(super) async fn subagent(&self, depth: u32) -> Option<SemaphorePermit<'_>> {
        let level = usize::try_from(depth.saturating_sub(1)).ok().and_then(|place| self.levels.get(place))?;
        level.acquire().await.ok()
    }

    pub(super) fn spend(&self, used: TokenUsage) {
        let tokens = used.input_tokens.saturating_add(used.output_tokens);
        let add = |spent: u64| Some(spent.saturating_add(tokens));
        let _ = self.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// The budget, once all of it is used.
    pub(super) fn used_up(&self) -> Option<u64> {
        self.max_tokens.map(NonZeroU64::get).filter(|most| self.spent.load(Ordering::Relaxed) >= *most)
    }
}
