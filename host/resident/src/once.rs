//! Settles each call once, even if two hook files or two programs of an agent report it, or a hook reports it again after a host was
//! killed. All reports get the same outcome.

use crate::call_key::{CallId, CallKey, KEPT};
use hookhost::store::KeptOutcome;
use hookhost_agents::{Answer, Outcome};
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{OnceCell, watch};

/// Maximum number of kept answers.
const MAX_KEPT: usize = 4096;

/// Maximum size of the kept answers together, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Bytes that each answer counts in addition to its texts and values.
const BESIDES: usize = 512;

/// Maximum size of an outcome that is kept for later hosts, in bytes.
const MAX_ROW: usize = 256 * 1024;

/// Old answers are first removed at this number of answers, and then each time the number has doubled.
const SWEPT_AT: usize = 64;

/// A settled call.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    /// The outcome.
    pub(crate) outcome: Outcome,
    /// The identifier of the event's record.
    pub(crate) event: Option<String>,
    /// Time for which the outcome is kept for a second report.
    pub(crate) kept: Duration,
}

/// The answers to calls, by call.
#[derive(Debug, Default)]
pub(crate) struct Once {
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    slots: HashMap<CallId, Arc<Slot>>,
    /// The number of answers at which old ones are removed next.
    swept_at: usize,
    /// Size of the answers added since the last removal, in bytes.
    bytes: usize,
}

impl Answers {
    fn insert(&mut self, call: CallId, slot: Arc<Slot>) {
        self.slots.insert(call, slot);
        if self.slots.len() >= self.swept_at.max(SWEPT_AT) {
            self.sweep();
        }
    }

    fn sweep(&mut self) {
        self.slots.retain(|_, slot| slot.is_kept());
        self.bytes = self.slots.values().map(|slot| slot.weight()).sum();
        if self.slots.len() >= MAX_KEPT || self.bytes > MAX_BYTES {
            // Calls under way stay, so that they are still settled once.
            self.slots.retain(|_, slot| slot.answer.get().is_none());
            self.bytes = 0;
        }
        self.swept_at = (2 * self.slots.len()).min(MAX_KEPT.max(self.slots.len() + SWEPT_AT));
    }
}

/// One call, and its answer once there is one.
#[derive(Debug)]
pub(crate) struct Slot {
    call: CallId,
    terms: [u8; 32],
    /// The revision of the rules under which the call is settled: rules of a program can change without a new digest. `None` for an
    /// outcome of an earlier host.
    rules: Option<u64>,
    answer: OnceCell<(Settled, Instant)>,
    /// Seconds for which the host waits for a person; 0 before one is asked.
    pub(crate) waiting: watch::Sender<u32>,
}

impl Once {
    /// Returns the slot of a call under the rules of this revision. Creates one if there is none that is still valid.
    pub(crate) fn slot(&self, key: &CallKey, rules: u64) -> Arc<Slot> {
        let mut answers = self.answers();
        let known = answers.slots.get(&key.call);
        let is_same = |slot: &&Arc<Slot>| {
            slot.is_kept() && slot.terms == key.terms && slot.rules.is_none_or(|revision| revision == rules)
        };
        if let Some(slot) = known.filter(is_same) {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot::new(key.call, key.terms, Some(rules)));
        answers.insert(key.call, Arc::clone(&slot));
        slot
    }

    /// Loads the outcomes that earlier hosts have kept. Skips rows that cannot be read: their calls are settled again.
    pub(crate) fn take_up(&self, rows: Vec<KeptOutcome>) {
        let (now, time) = (Instant::now(), milliseconds());
        let mut answers = self.answers();
        for KeptOutcome { call, terms, event, settled, expires, outcome } in rows {
            let kept = Duration::from_millis(expires.saturating_sub(settled)).min(KEPT);
            let age = Duration::from_millis(time.saturating_sub(settled));
            if let (Ok(outcome), Some(since)) = (serde_json::from_str(&outcome), now.checked_sub(age)) {
                let slot = Slot::new(call, terms, None);
                let _ = slot.answer.set((Settled { outcome, event, kept }, since));
                answers.insert(call, Arc::new(slot));
            }
        }
    }

    /// Returns the row of an outcome for later hosts, or `None` if it is too large.
    pub(crate) fn kept(&self, slot: &Slot) -> Option<KeptOutcome> {
        let (Settled { outcome, event, kept }, _) = slot.answer.get()?;
        let settled = milliseconds();
        let expires = settled + u64::try_from(kept.as_millis()).unwrap_or_default();
        let outcome = serde_json::to_string(outcome).ok().filter(|text| text.len() <= MAX_ROW)?;
        Some(KeptOutcome { call: slot.call, terms: slot.terms, event: event.clone(), settled, expires, outcome })
    }

    /// Returns the answer to a call, and true if this report settled it. Awaits `settle` if there is no answer yet.
    pub(crate) async fn answer(
        &self,
        slot: &Slot,
        settle: impl Future<Output = Result<Settled, String>>,
    ) -> Result<(Settled, bool), String> {
        let mut is_ours = false;
        let settled = async {
            is_ours = true;
            Ok::<_, String>((settle.await?, Instant::now()))
        };
        let (settled, _) = slot.answer.get_or_try_init(|| settled).await?;
        let settled = settled.clone();
        if is_ours {
            let mut answers = self.answers();
            answers.bytes += slot.weight();
            if answers.bytes > MAX_BYTES {
                answers.sweep();
            }
        }
        Ok((settled, is_ours))
    }

    /// Forgets calls, and returns those that were known.
    pub(crate) fn end(&self, calls: &[CallId]) -> Vec<CallId> {
        let mut answers = self.answers();
        calls.iter().copied().filter(|call| answers.slots.remove(call).is_some()).collect()
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn new(call: CallId, terms: [u8; 32], rules: Option<u64>) -> Self {
        Self { call, terms, rules, answer: OnceCell::new(), waiting: watch::Sender::new(0) }
    }

    fn is_kept(&self) -> bool {
        // A call under way may take as long as a person takes.
        self.answer.get().is_none_or(|(settled, since)| since.elapsed() < settled.kept)
    }

    /// Returns the size that the answer counts, in bytes; 0 before there is one.
    fn weight(&self) -> usize {
        self.answer.get().map_or(0, |(settled, _)| weight(&settled.outcome))
    }
}

fn weight(outcome: &Outcome) -> usize {
    let answer = match &outcome.answer {
        Answer::Changed { arguments, .. } => json_length(arguments),
        Answer::Responded { result, .. } | Answer::ReplacedResult(result) => json_length(result),
        Answer::Rejected(no) => json_length(no),
        Answer::Ask { questions, arguments } => json_length(questions) + json_length(arguments),
        Answer::Replaced(text) => text.len(),
        Answer::GoOn(tasks) => json_length(tasks),
        Answer::Neutral | Answer::Approved { .. } => 0,
    };
    let texts: usize = outcome.context.iter().chain(&outcome.notices).map(String::len).sum();
    answer + texts + BESIDES
}

/// Returns the time in milliseconds since the Unix epoch.
fn milliseconds() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the length of a value as JSON, without building the text.
pub(crate) fn json_length(value: &impl Serialize) -> usize {
    struct Length(usize);
    impl io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut length = Length(0);
    // A value that cannot be JSON is counted up to the error.
    let _ = serde_json::to_writer(&mut length, value);
    length.0
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, Once, Settled};
    use crate::call_key::{CallKey, KEPT, KEPT_AFTER_YES};
    use hookhost_agents::{Answer, Outcome};
    use std::time::{Duration, Instant};

    fn key(number: u32) -> CallKey {
        CallKey { call: crate::call_key::digest(&[&number.to_string()]), terms: [0; 32] }
    }

    fn settled(text: String, kept: Duration) -> Settled {
        Settled { outcome: Outcome::new(Answer::Replaced(text)), event: None, kept }
    }

    #[tokio::test]
    async fn a_yes_of_a_person_counts_for_reports_at_once_and_not_for_one_much_later() {
        let once = Once::default();
        for (kept, age) in [(KEPT, 59), (KEPT_AFTER_YES, 9)] {
            let slot = once.slot(&key(1), 1);
            let before = Instant::now().checked_sub(Duration::from_secs(age));
            let answer = (settled(String::new(), kept), before.unwrap());
            slot.answer.set(answer).unwrap();
            assert!(slot.is_kept());
            once.end(&[key(1).call]);
            let slot = once.slot(&key(1), 1);
            let before = Instant::now().checked_sub(Duration::from_secs(age + 1));
            slot.answer.set((settled(String::new(), kept), before.unwrap())).unwrap();
            assert!(!slot.is_kept());
            once.end(&[key(1).call]);
        }
    }

    #[tokio::test]
    async fn kept_answers_have_a_bound_in_bytes() {
        let once = Once::default();
        let text = "x".repeat(4 << 20);
        for number in 0..40 {
            let slot = once.slot(&key(number), 1);
            let settle = async { Ok(settled(text.clone(), KEPT)) };
            assert!(once.answer(&slot, settle).await.unwrap().1);
            let kept: usize = once.answers().slots.values().map(|slot| slot.weight()).sum();
            assert!(kept <= MAX_BYTES, "{kept} after {number}");
        }
    }
}
