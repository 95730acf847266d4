//! State that an agent shares with all agents below it. It contains the limits on concurrency, tokens, requests and
//! refusals. If a session has ended the whole run, the state also contains that end. The agents of one run form a tree
//! of sessions.

use super::state::TaskEnd;
use super::{AgentConfig, MAX_REJECTED_ANSWERS, MAX_REPEATED_REJECTIONS, Status};
use hookhost::contract::{Rejection, Stop};
use hookhost_models::message::{TokenUsage, ToolUse};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The limits of one run, sub-agents included.
#[derive(Debug)]
pub(super) struct Limits {
    /// One semaphore per depth. A parent that waits for sub-agents must not block them, so depths do not share permits.
    levels: Vec<Semaphore>,
    max_tokens: Option<NonZeroU64>,
    max_requests: u32,
    max_subagents: u32,
    /// True if neither `max-tokens` nor `max-time` bounds the run.
    unbounded: bool,
    requests: AtomicU32,
    subagents: AtomicU32,
    tokens: Mutex<Tokens>,
    told_unbounded: AtomicBool,
    told_subagents: AtomicBool,
    refusals: Mutex<Refusals>,
    /// End of all sessions of the tree. It is set when one of these sessions ends the whole run.
    halted: OnceLock<TaskEnd>,
}

/// Rejections in all sessions of the tree during the root session's current task.
#[derive(Debug, Default)]
struct Refusals {
    /// Number of rejections of each call, by tool and arguments.
    calls: HashMap<(String, String), u32>,
    /// Number of consecutive answers in which calls were rejected and no call ran.
    answers: u32,
}

/// Tokens of the whole tree.
#[derive(Debug, Default)]
struct Tokens {
    /// Tokens of the root session's earlier runs.
    before: TokenUsage,
    spent: TokenUsage,
}

/// Result of counting a new sub-agent.
pub(super) enum Spawn {
    /// The sub-agent may start. If the run has no limit on tokens or time, the first sub-agent carries a notice about
    /// that for the user.
    Counted(Option<String>),
    /// The tree has already started the maximum number of sub-agents, which is the first field. The text is a notice
    /// for the user, which only the first refused sub-agent carries.
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
            refusals: Mutex::default(),
            halted: OnceLock::new(),
        }
    }

    fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the tokens that the root session used in earlier runs.
    pub(super) fn begin_at(&self, used: TokenUsage) {
        self.tokens().before = used;
    }

    /// Returns the tokens of the root session and all sessions below it.
    pub(super) fn tree_usage(&self) -> TokenUsage {
        let tokens = self.tokens();
        let mut sum = tokens.before;
        sum.add(tokens.spent);
        sum
    }

    /// Returns the number of requests of this run, in all sessions of the tree.
    pub(super) fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Waits for a permit to run an agent of this depth.
    pub(super) async fn subagent(&self, depth: u32) -> Option<SemaphorePermit<'_>> {
        let level = usize::try_from(depth.saturating_sub(1)).ok().and_then(|place| self.levels.get(place))?;
        level.acquire().await.ok()
    }

    /// Counts a sub-agent, unless the tree has reached its maximum.
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
                "the run starts sub-agents, but neither `max-tokens` nor `max-time` is set. The run ends after at most {} \
                 requests to models (`max-requests`)",
                self.max_requests
            )
        }))
    }

    /// Counts a request before it is sent.
    ///
    /// # Errors
    /// Returns the end of the task if the tree has sent all its requests, or if a session has ended the run.
    pub(super) fn count_request(&self) -> Result<(), TaskEnd> {
        match self.halted() {
            Some(ended) => Err(ended),
            None if counted(&self.requests, self.max_requests) => Ok(()),
            None => Err(self.no_requests()),
        }
    }

    fn no_requests(&self) -> TaskEnd {
        let reason = format!("the run has sent all of its {} requests to models (`max-requests`)", self.max_requests);
        TaskEnd { status: Status::MaxTurns, stop: Some(Stop::Session), ..TaskEnd::error(reason) }
    }

    fn refusals(&self) -> MutexGuard<'_, Refusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets the counts of rejections. This is called when the root session begins a task that its own model did not
    /// plan.
    pub(super) fn begin_task(&self) {
        *self.refusals() = Refusals::default();
    }

    /// Counts a rejected call. Returns the end of the run after too many rejections of the same call.
    pub(super) fn count_refusal(&self, call: &ToolUse, rejection: &Rejection) -> Option<TaskEnd> {
        let mut refusals = self.refusals();
        let times = refusals.calls.entry((call.name.clone(), call.arguments.to_string())).or_default();
        *times = times.saturating_add(1);
        let reason =
            || format!("the model repeated a rejected call of {} {times} times in this run: {rejection}", call.name);
        (*times >= MAX_REPEATED_REJECTIONS).then(|| refused(reason(), rejection))
    }

    /// Counts an answer in which calls were rejected and no call ran. `rejection` is the last rejection. Returns the
    /// end of the run after too many such answers in a row.
    pub(super) fn count_refused_answer(&self, rejection: &Rejection) -> Option<TaskEnd> {
        let mut refusals = self.refusals();
        refusals.answers = refusals.answers.saturating_add(1);
        (refusals.answers >= MAX_REJECTED_ANSWERS).then(|| {
            let reason = format!(
                "all calls of the last {MAX_REJECTED_ANSWERS} answers in this run were rejected; the last rejection was: \
                 {rejection}"
            );
            refused(reason, rejection)
        })
    }

    /// Resets the count of rejected answers.
    pub(super) fn note_useful_answer(&self) {
        self.refusals().answers = 0;
    }

    /// Records the end of a session if it ends the whole run.
    pub(super) fn halt(&self, ended: &TaskEnd) {
        if ended.stop == Some(Stop::Run) {
            self.halted.get_or_init(|| ended.clone());
        }
    }

    /// Returns the end of the whole run if a session has ended the run.
    pub(super) fn halted(&self) -> Option<TaskEnd> {
        self.halted.get().cloned()
    }

    pub(super) fn spend(&self, used: TokenUsage) {
        self.tokens().spent.add(used);
    }

    /// Returns the end of the task if the tree has used all its tokens or requests.
    pub(super) fn used_up(&self) -> Option<TaskEnd> {
        let spent = self.tokens().spent;
        let spent = spent.input_tokens.saturating_add(spent.output_tokens);
        if let Some(max) = self.max_tokens.filter(|max| spent >= max.get()) {
            let reason = format!("the run has used all of its {max} tokens");
            return Some(TaskEnd { status: Status::MaxTokens, stop: Some(Stop::Session), ..TaskEnd::error(reason) });
        }
        (self.requests() >= self.max_requests).then(|| self.no_requests())
    }
}

fn refused(reason: String, rejection: &Rejection) -> TaskEnd {
    let rejection = Some(rejection.clone());
    TaskEnd { status: Status::Rejected, reason: Some(reason), rejection, stop: Some(Stop::Run) }
}

/// Increments the count and returns true. If the count has reached `max`, it returns false instead.
fn counted(count: &AtomicU32, max: u32) -> bool {
    let more = |count: u32| (count < max).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}
