//! Rules in words that a person has switched off for some time with `hookhost rule off`. Each ends by itself, like a [`Pause`].

use crate::pause::{Clocks, Pause};
use hookhost::config::{Layer, Rule};
use hookhost::files::{self, Guard, Links, Lock, NewFile};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of the file, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The rules that are switched off, by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePauses(BTreeMap<String, Pause>);

impl RulePauses {
    /// Returns the rules that are switched off now. A file that cannot be read, or that others could have written, switches none off.
    pub fn current(state: &Path) -> Self {
        let read = files::read(&Self::file(state), Guard::OnlyMineToWrite, Links::Refused, MAX_BYTES);
        let Ok(mut pauses) = serde_json::from_slice::<BTreeMap<String, Pause>>(&read.unwrap_or_default()) else {
            return Self::default();
        };
        let now = Clocks::now();
        pauses.retain(|_, pause| pause.lasts(&now));
        Self(pauses)
    }

    /// Returns the path of the file in this state directory.
    pub fn file(state: &Path) -> PathBuf {
        state.join("rules-off.json")
    }

    /// Returns the pause of a rule. Only rules of the user can be switched off.
    pub fn of(&self, rule: &Rule) -> Option<&Pause> {
        self.0.get(&rule.row.id).filter(|_| rule.origin.layer == Layer::User)
    }

    /// Returns the rules with their pauses.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Pause)> {
        self.0.iter()
    }

    /// Switches a rule off.
    ///
    /// # Errors
    /// If the file cannot be written. The rule stays in force then.
    pub fn begin(state: &Path, id: &str, pause: Pause) -> io::Result<()> {
        Self::change(state, |pauses| {
            pauses.insert(id.to_owned(), pause);
        })
    }

    /// Switches a rule on. Returns true if it was off.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end(state: &Path, id: &str) -> io::Result<bool> {
        let mut was_off = false;
        Self::change(state, |pauses| was_off = pauses.remove(id).is_some())?;
        Ok(was_off)
    }

    fn change(state: &Path, change: impl FnOnce(&mut BTreeMap<String, Pause>)) -> io::Result<()> {
        let _lock = Lock::take(state)?;
        let Self(mut pauses) = Self::current(state);
        change(&mut pauses);
        let file = Self::file(state);
        // The new file must not get the permissions of the old file.
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if pauses.is_empty() {
            return Ok(());
        }
        files::replace(&file, &serde_json::to_vec(&pauses)?, NewFile::Private)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    #[test]
    fn rules_are_off_until_their_ends_and_a_file_of_others_switches_none_off() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        let off = || RulePauses::current(state).iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
        let pause = |seconds| Pause::new(None, Duration::from_secs(seconds), Clocks::now());
        for (id, seconds) in [("a", 60), ("b", 60), ("over", 0)] {
            RulePauses::begin(state, id, pause(seconds)).unwrap();
        }
        assert_eq!(off(), ["a", "b"]);
        assert!(RulePauses::end(state, "a").unwrap() && !RulePauses::end(state, "a").unwrap());
        assert_eq!(off(), ["b"]);
        fs::set_permissions(RulePauses::file(state), fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(off(), [""; 0]);
        fs::write(RulePauses::file(state), "nonsense").unwrap();
        assert_eq!(off(), [""; 0]);
        RulePauses::begin(state, "c", pause(60)).unwrap();
        assert_eq!(off(), ["c"]);
        assert!(RulePauses::end(state, "c").unwrap() && !RulePauses::file(state).exists());
    }
}
