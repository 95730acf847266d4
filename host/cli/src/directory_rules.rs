//! Finds the rules for users' own agents. Each message of an agent names a directory. The configuration for this directory is found in the
//! same way as for every other command.

use crate::output::time;
use crate::{configuration, loading};
use hookhost::command::{ProjectFile, TrustStore, rule_files};
use hookhost::config::{Config, FILE_NAME};
use hookhost_resident::{ConfigurationSource, FoundConfiguration, Pause, RulePauses, users_file};
use std::path::{Path, PathBuf};

/// The note for the user while rules are only observed.
pub(crate) const OBSERVES: &str = "hookhost only observes: it records what your rules decide, and blocks nothing";

/// Describes a pause for the user.
pub(crate) fn pause_note(pause: &Pause) -> String {
    format!("hookhost is paused until {}: no rule is asked, and every call passes", time::local(pause.until))
}

/// Describes a rule that is switched off for some time.
pub(crate) fn rule_pause_note(id: &str, pause: &Pause) -> String {
    format!("the rule {id} is off until {}", time::local(pause.until))
}

/// Finds the user's own files and the project's approved files.
#[derive(Debug)]
pub(crate) struct UserConfigurations;

impl ConfigurationSource for UserConfigurations {
    fn find(&self, directory: &Path, loaded: Option<&Config>) -> Result<FoundConfiguration, String> {
        let found = configuration::find(None, directory).map_err(|stop| stop.message())?;
        if let Some(loaded) = loaded {
            loading::keeps_all_files(&found, loaded).map_err(|stop| stop.message())?;
        }
        let places = configuration::places().map_err(|stop| stop.message())?;
        users_file::check(&places, &found.config)?;
        let changes = found.changes.iter().map(configuration::changed);
        let inert = found.inert.iter().map(configuration::inert);
        let pause = Pause::current(&places.state);
        let paused = pause.as_ref().map(pause_note);
        let observed = found.config.settings().observe.then(|| OBSERVES.to_owned());
        let off = RulePauses::current(&places.state);
        let rules_off = off.iter().map(|(id, pause)| rule_pause_note(id, pause));
        let notes = paused.or(observed).into_iter().chain(rules_off).chain(changes).chain(inert);
        let notes = notes.map(|note| format!("hookhost: {note}")).collect();
        let rule_pauses = off.iter().map(|(_, pause)| pause.clone()).collect();
        Ok(FoundConfiguration::new(found.config).notes(notes).pause(pause).rule_pauses(rule_pauses))
    }

    fn files(&self, directory: &Path, loaded: Option<&Config>) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = directory.ancestors().map(|directory| directory.join(FILE_NAME)).collect();
        files.extend(ProjectFile::find(directory));
        if let Ok(places) = configuration::places() {
            files.extend(places.user_files());
            files.extend(rule_files(directory, None, &places));
            files.push(TrustStore::of(&places).file());
            files.push(Pause::file(&places.state));
            files.push(RulePauses::file(&places.state));
        }
        if let Some(config) = loaded {
            files.extend(config.files().iter().cloned());
            files.extend(config.enabled().filter_map(|entry| entry.code.path().map(Path::to_owned)));
        }
        // Also watches the target of a symbolic link, because editors write the target.
        let targets: Vec<PathBuf> = files.iter().filter_map(|file| file.canonicalize().ok()).collect();
        files.extend(targets);
        files.sort();
        files.dedup();
        files
    }

    fn is_revoked(&self, file: &Path) -> bool {
        configuration::places().is_ok_and(|places| TrustStore::of(&places).is_revoked(file))
    }
}
