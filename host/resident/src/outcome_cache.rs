//! The outcomes of calls. Each call gets one decision, and all reports of the call get the same outcome. This is true even if two
//! hook configurations or two programs of an agent report the call, or if a hook reports the call again after the host was killed.
//! An outcome is lost only if the host is killed within 20 ms after its reply.

use crate::call_key::{CallId, CallKey, OUTCOME_LIFETIME};
use hookhost::contract::bytes::written_size;
use hookhost::store::KeptOutcome;
use hookhost_agents::{Answer, Outcome};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{OnceCell, watch};

/// Maximum number of cached outcomes.
const MAX_OUTCOMES: usize = 4096;

/// Maximum total size of the cached outcomes, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Assumed size of an outcome in addition to its strings and values, in bytes.
const BASE_SIZE: usize = 512;

/// Maximum size of an outcome that is written to the store for later hosts, in bytes.
const MAX_ROW_SIZE: usize = 256 * 1024;

/// Number of entries at which expired entries are removed for the first time. Later, expired entries are removed each time the
/// number of entries has doubled.
const MIN_SWEEP_SIZE: usize = 64;

/// The outcome of a call. It is cached because the call can be reported again.
#[derive(Clone, Debug)]
pub(crate) struct CachedOutcome {
    /// The outcome.
    pub(crate) outcome: Outcome,
    /// The identifier of the event's record in the log.
    pub(crate) event: Option<String>,
    /// Time for which the outcome is valid for further reports of the call.
    pub(crate) lifetime: Duration,
}

/// The cached outcomes, by call.
#[derive(Debug, Default)]
pub(crate) struct OutcomeCache {
    state: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    entries: HashMap<CallId, Arc<CacheEntry>>,
    /// Number of entries at which expired entries are removed next.
    next_sweep: usize,
    /// Size of the outcomes added since the last removal, in bytes.
    bytes: usize,
    /// True if outcomes were dropped from the cache because it was full. The store still contains these outcomes.
    has_evicted: bool,
}

impl CacheState {
    fn insert(&mut self, call: CallId, entry: Arc<CacheEntry>) {
        self.entries.insert(call, entry);
        if self.entries.len() >= self.next_sweep.max(MIN_SWEEP_SIZE) {
            self.sweep();
        }
    }

    fn sweep(&mut self) {
        self.entries.retain(|_, entry| entry.is_valid());
        self.bytes = self.entries.values().map(|entry| entry.size()).sum();
        if self.entries.len() >= MAX_OUTCOMES || self.bytes > MAX_BYTES {
            // All outcomes are dropped. Only the entries of pending calls stay, because each pending call must still get only one
            // decision.
            self.entries.retain(|_, entry| entry.outcome.get().is_none());
            self.bytes = 0;
            self.has_evicted = true;
        }
        self.next_sweep = (2 * self.entries.len()).min(MAX_OUTCOMES.max(self.entries.len() + MIN_SWEEP_SIZE));
    }
}

/// A call, and its outcome as soon as the call is decided.
#[derive(Debug)]
pub(crate) struct CacheEntry {
    call: CallId,
    terms: [u8; 32],
    /// The revision of the rules that apply to the call. The digest of the rules is not enough, because rules that are compiled
    /// into a program can change without changing the digest. `None` for an outcome of an earlier host.
    rules: Option<u64>,
    outcome: OnceCell<(CachedOutcome, Instant)>,
    /// Number of seconds for which the host waits for a person, or 0 if no person has been asked.
    pub(crate) waiting: watch::Sender<u32>,
}

impl OutcomeCache {
    /// Returns the entry of a call under the rules of this revision. Creates an entry if no valid entry exists.
    pub(crate) fn entry(&self, key: &CallKey, rules: u64) -> Arc<CacheEntry> {
        let mut state = self.state();
        let known = state.entries.get(&key.call);
        let is_same = |entry: &&Arc<CacheEntry>| {
            entry.is_valid() && entry.terms == key.terms && entry.rules.is_none_or(|revision| revision == rules)
        };
        if let Some(entry) = known.filter(is_same) {
            return Arc::clone(entry);
        }
        let entry = Arc::new(CacheEntry::new(key.call, key.terms, Some(rules)));
        state.insert(key.call, Arc::clone(&entry));
        entry
    }

    /// Loads the outcomes that earlier hosts have stored. Skips rows that cannot be parsed. Their calls are decided again.
    pub(crate) fn load(&self, rows: Vec<KeptOutcome>) {
        let (now, time) = (Instant::now(), milliseconds());
        let mut state = self.state();
        for KeptOutcome { call, terms, event, settled, expires, outcome } in rows {
            let lifetime = Duration::from_millis(expires.saturating_sub(settled)).min(OUTCOME_LIFETIME);
            let age = Duration::from_millis(time.saturating_sub(settled));
            if let (Ok(outcome), Some(since)) = (serde_json::from_str(&outcome), now.checked_sub(age)) {
                let entry = CacheEntry::new(call, terms, None);
                let _ = entry.outcome.set((CachedOutcome { outcome, event, lifetime }, since));
                state.insert(call, Arc::new(entry));
            }
        }
    }

    /// Returns an outcome as a row for the store, or `None` if the outcome is too large.
    pub(crate) fn to_row(&self, entry: &CacheEntry) -> Option<KeptOutcome> {
        let (CachedOutcome { outcome, event, lifetime }, _) = entry.outcome.get()?;
        let settled = milliseconds();
        let expires = settled + u64::try_from(lifetime.as_millis()).unwrap_or_default();
        let outcome = serde_json::to_string(outcome).ok().filter(|text| text.len() <= MAX_ROW_SIZE)?;
        Some(KeptOutcome { call: entry.call, terms: entry.terms, event: event.clone(), settled, expires, outcome })
    }

    /// Returns the outcome of a call. If the call has no outcome yet, awaits `dispatch`, which decides on the call. The returned
    /// flag is true if this report awaited `dispatch`.
    pub(crate) async fn get_or_dispatch(
        &self,
        entry: &CacheEntry,
        dispatch: impl Future<Output = Result<CachedOutcome, String>>,
    ) -> Result<(CachedOutcome, bool), String> {
        let mut is_first = false;
        let settled = async {
            is_first = true;
            Ok::<_, String>((dispatch.await?, Instant::now()))
        };
        let (settled, _) = entry.outcome.get_or_try_init(|| settled).await?;
        let settled = settled.clone();
        if is_first {
            let mut state = self.state();
            state.bytes += entry.size();
            if state.bytes > MAX_BYTES {
                state.sweep();
            }
        }
        Ok((settled, is_first))
    }

    /// Removes calls from the cache. Returns the calls whose outcomes may be in the store.
    pub(crate) fn remove(&self, calls: &[CallId]) -> Vec<CallId> {
        let mut state = self.state();
        let has_evicted = state.has_evicted;
        calls.iter().copied().filter(|call| state.entries.remove(call).is_some() || has_evicted).collect()
    }

    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheEntry {
    fn new(call: CallId, terms: [u8; 32], rules: Option<u64>) -> Self {
        Self { call, terms, rules, outcome: OnceCell::new(), waiting: watch::Sender::new(0) }
    }

    fn is_valid(&self) -> bool {
        // The entry of a pending call is always valid, because a person may take any time to answer.
        self.outcome.get().is_none_or(|(settled, since)| since.elapsed() < settled.lifetime)
    }

    /// Returns the size of the outcome in bytes, or 0 if the call is pending.
    fn size(&self) -> usize {
        self.outcome.get().map_or(0, |(settled, _)| outcome_size(&settled.outcome))
    }
}

/// Returns the size of an outcome, in bytes.
fn outcome_size(outcome: &Outcome) -> usize {
    let answer = match &outcome.answer {
        Answer::Changed { arguments, .. } => written_size(arguments),
        Answer::Responded { result, .. } | Answer::ReplacedResult(result) => written_size(result),
        Answer::Rejected(no) => written_size(no),
        Answer::Ask { questions, arguments } => written_size(questions) + written_size(arguments),
        Answer::Replaced(text) => text.len(),
        Answer::GoOn(tasks) => written_size(tasks),
        Answer::Neutral | Answer::Approved { .. } => 0,
    };
    let texts: usize = outcome.context.iter().chain(&outcome.notices).map(String::len).sum();
    answer + texts + BASE_SIZE
}

/// Returns the time in milliseconds since the Unix epoch.
fn milliseconds() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{CachedOutcome, MAX_BYTES, OutcomeCache};
    use crate::call_key::{APPROVED_OUTCOME_LIFETIME, CallKey, OUTCOME_LIFETIME};
    use hookhost_agents::{Answer, Outcome};
    use std::time::{Duration, Instant};

    fn key(number: u32) -> CallKey {
        CallKey { call: crate::call_key::digest(&[&number.to_string()]), terms: [0; 32] }
    }

    fn settled(text: String, lifetime: Duration) -> CachedOutcome {
        CachedOutcome { outcome: Outcome::new(Answer::Replaced(text)), event: None, lifetime }
    }

    #[tokio::test]
    async fn the_outcome_after_a_yes_expires_earlier() {
        let cache = OutcomeCache::default();
        for (lifetime, age) in [(OUTCOME_LIFETIME, 59), (APPROVED_OUTCOME_LIFETIME, 9)] {
            let entry = cache.entry(&key(1), 1);
            let before = Instant::now().checked_sub(Duration::from_secs(age));
            let answer = (settled(String::new(), lifetime), before.unwrap());
            entry.outcome.set(answer).unwrap();
            assert!(entry.is_valid());
            cache.remove(&[key(1).call]);
            let entry = cache.entry(&key(1), 1);
            let before = Instant::now().checked_sub(Duration::from_secs(age + 1));
            entry.outcome.set((settled(String::new(), lifetime), before.unwrap())).unwrap();
            assert!(!entry.is_valid());
            cache.remove(&[key(1).call]);
        }
    }

    #[tokio::test]
    async fn cached_outcomes_have_a_bound_in_bytes() {
        let cache = OutcomeCache::default();
        let text = "x".repeat(4 << 20);
        for number in 0..40 {
            let entry = cache.entry(&key(number), 1);
            let settle = async { Ok(settled(text.clone(), OUTCOME_LIFETIME)) };
            assert!(cache.get_or_dispatch(&entry, settle).await.unwrap().1);
            let kept: usize = cache.state().entries.values().map(|entry| entry.size()).sum();
            assert!(kept <= MAX_BYTES, "{kept} after {number}");
        }
    }
}
