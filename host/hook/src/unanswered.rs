//! Calls that nobody answered. The hook writes a line; the resident host records it when it is there again.

use crate::place::Place;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::time::{SystemTime, UNIX_EPOCH};

/// Upper bound of the file, in bytes: 1 MiB. Later calls are not noted; that something was is said nevertheless.
const MAX_BYTES: u64 = 1024 * 1024;

/// A call that nobody answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unanswered {
    /// The agent.
    pub agent: String,
    /// The hook point; empty where it is not known.
    pub point: String,
    /// When, in milliseconds since the Unix epoch.
    pub time: u64,
    /// Why, one sentence.
    pub why: String,
    /// Whether the agent could continue, since the operator chose so.
    pub was_allowed: bool,
}

impl Unanswered {
    /// A call of now.
    #[must_use]
    pub fn now(agent: &str, point: &str, why: &str, was_allowed: bool) -> Self {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        Self { agent: agent.to_owned(), point: point.to_owned(), time, why: why.to_owned(), was_allowed }
    }

    fn to_json(&self) -> Value {
        let Self { agent, point, time, why, was_allowed } = self;
        json!({ "agent": agent, "point": point, "time": time, "why": why, "was-allowed": was_allowed })
    }

    fn of_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            agent: text("agent")?,
            point: text("point")?,
            time: value.get("time")?.as_u64()?,
            why: text("why")?,
            was_allowed: value.get("was-allowed")?.as_bool()?,
        })
    }

    /// Notes it, as one line at the end of the file.
    ///
    /// # Errors
    /// If the system says no. Nobody is left to be told then but the agent.
    pub fn note(&self, place: &Place) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(place.directory())?;
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(place.unanswered())?;
        if file.metadata()?.len() < MAX_BYTES {
            file.write_all(format!("{}\n", self.to_json()).as_bytes())?;
        }
        Ok(())
    }

    /// Takes all that were noted, each once: the file is gone afterwards. A line that cannot be read is left out.
    ///
    /// # Errors
    /// If the file is there and cannot be taken.
    pub fn take(place: &Place) -> io::Result<Vec<Self>> {
        let taken = place.unanswered().with_extension(format!("{}", std::process::id()));
        match fs::rename(place.unanswered(), &taken) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            renamed => renamed?,
        }
        let mut text = String::new();
        File::open(&taken)?.take(2 * MAX_BYTES).read_to_string(&mut text)?;
        fs::remove_file(&taken)?;
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        Ok(lines.filter_map(|value| Self::of_json(&value)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Unanswered;
    use crate::place::Place;

    #[test]
    fn what_nobody_answered_is_taken_once() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::below(directory.path());
        assert_eq!(Unanswered::take(&place).unwrap(), []);
        let first = Unanswered::now("codex", "PreToolUse", "no resident \"host\"\nanswered", false);
        let second = Unanswered::now("claude-code", "", "too late", true);
        first.note(&place).unwrap();
        second.note(&place).unwrap();
        assert_eq!(Unanswered::take(&place).unwrap(), [first, second]);
        assert_eq!(Unanswered::take(&place).unwrap(), []);
    }
}
