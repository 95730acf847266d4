//! Calls that are reported twice, by two hook files or two programs of an agent: they are settled once, and both get the same
//! answer.

use crate::call_key::{CallId, CallKey};
use hookhost_adapters::{Answer, Outcome};
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, watch};

/// Upper bound of the kept answers.
const MAX_KEPT: usize = 4096;

/// Upper bound of the kept answers together, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Bytes that an answer is counted as beside its texts and values.
const BESIDES: usize = 512;

/// Old answers are removed when there are so many, and then each time that their number has doubled.
const SWEPT_AT: usize = 64;

/// What was settled.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    /// The outcome.
    pub(crate) outcome: Outcome,
    /// The identifier of the event's record.
    pub(crate) event: Option<String>,
    /// How long it counts for a second report.
    pub(crate) kept: Duration,
}

/// The answers.
#[derive(Debug, Default)]
pub(crate) struct Once {
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    slots: HashMap<CallId, Arc<Slot>>,
    /// How many there are when the old ones are removed next.
    swept_at: usize,
    /// Bytes that were answered since the old ones were removed.
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
            // What is under way is still settled once.
            self.slots.retain(|_, slot| slot.answer.get().is_none());
            self.bytes = 0;
        }
        self.swept_at = (2 * self.slots.len()).min(MAX_KEPT.max(self.slots.len() + SWEPT_AT));
    }
}

/// One call, and its answer once there is one.
#[derive(Debug)]
pub(crate) struct Slot {
    terms: [u8; 32],
    /// The rules under which it is settled, by their revision: rules of a program can change without their digest.
    rules: u64,
    answer: OnceCell<(Settled, Instant)>,
    /// For how many seconds a person is waited for; 0 before one is asked.
    pub(crate) waiting: watch::Sender<u32>,
}

impl Once {
    /// The place of a call's answer under the rules of this revision.
    pub(crate) fn slot(&self, key: &CallKey, rules: u64) -> Arc<Slot> {
        let mut answers = self.answers();
        let known = answers.slots.get(&key.call);
        if let Some(slot) = known.filter(|slot| slot.is_kept() && slot.rules == rules && slot.terms == key.terms) {
            return Arc::clone(slot);
        }
        let (answer, waiting) = (OnceCell::new(), watch::Sender::new(0));
        let slot = Arc::new(Slot { terms: key.terms, rules, answer, waiting });
        answers.insert(key.call, Arc::clone(&slot));
        slot
    }

    /// The answer to a call, which is settled now unless it was; and whether this report settled it.
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

    /// Forgets calls.
    pub(crate) fn end(&self, calls: &[CallId]) {
        let mut answers = self.answers();
        for call in calls {
            answers.slots.remove(call);
        }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn is_kept(&self) -> bool {
        // One that is under way may take as long as a person takes.
        self.answer.get().is_none_or(|(settled, since)| since.elapsed() < settled.kept)
    }

    /// How many bytes its answer is counted as; none before there is one.
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

/// The length of a value as JSON, without making it.
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
    // What cannot be JSON is counted as far as it is.
    let _ = serde_json::to_writer(&mut length, value);
    length.0
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, Once, Settled};
    use crate::call_key::{CallKey, KEPT, KEPT_AFTER_YES};
    use hookhost_adapters::{Answer, Outcome};
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
