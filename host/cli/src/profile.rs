//! Profiles: ready configurations of the bundled plugins. The profile in force is the file `profile.toml` beside the user's own
//! hookhost.toml. It applies like that file, and an entry of hookhost.toml replaces the entry of the profile with the same name.

use crate::bundled::{self, BundledPlugin};
use crate::configuration::{self, SECTIONS};
use crate::exit::CliError;
use anyhow::anyhow;
use hookhost::config::{Config, Entry, Layer, OnQuestion, Rule, Source, UserDirectories};
use hookhost::files::{self, FileError, Guard, Links, NewFile};
use hookhost_resident::users_file;
use shell_guard_rules::document;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Maximum size of the file of a profile, in bytes: 4 MiB, as for every configuration file.
const MAX_SIZE: u64 = 4 << 20;

/// A ready configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Profile {
    /// Asks about everything that does more than read.
    Careful,
    /// Asks about what cannot be undone.
    Developer,
    /// Rejects what `developer` asks about.
    Unattended,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Profile {
    /// All profiles, the strictest first.
    pub(crate) const ALL: [Self; 3] = [Self::Careful, Self::Developer, Self::Unattended];

    /// The profile of a user who names none.
    pub(crate) const DEFAULT: Self = Self::Developer;

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Careful => "careful",
            Self::Developer => "developer",
            Self::Unattended => "unattended",
        }
    }

    /// Returns what the profile does, as the end of a sentence about it.
    pub(crate) fn summary(self) -> &'static str {
        match self {
            Self::Careful => "asks about everything that does more than read",
            Self::Developer => "asks about what cannot be undone",
            Self::Unattended => "rejects what developer asks about, because nobody is there to answer",
        }
    }

    /// Returns the configuration without the paths and digests of the plugins.
    pub(crate) fn template(self) -> &'static str {
        match self {
            Self::Careful => include_str!("../profiles/careful.toml"),
            Self::Developer => include_str!("../profiles/developer.toml"),
            Self::Unattended => include_str!("../profiles/unattended.toml"),
        }
    }

    /// Returns the profile with the bundled plugins of this program. Nothing is written.
    ///
    /// # Errors
    /// Fails if the program was built without plugins.
    pub(crate) fn prepare(self, places: &UserDirectories) -> Result<PreparedProfile, CliError> {
        let mut text = format!(
            "# The profile {self}, which {}. `hookhost profile use {self}` writes this file again,\n\
             # so put your own rules into hookhost.toml in this directory. An entry there replaces the entry here with the same name.\n\
             profile = \"{self}\"\n",
            self.summary()
        );
        let mut plugins = Vec::new();
        let mut before = "";
        for line in self.template().lines() {
            text.push_str(line);
            text.push('\n');
            let name = line.strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"'));
            if let Some(name) = name.filter(|_| before == "[[plugin]]") {
                let plugin = bundled::find(name)?;
                let path = toml::Value::String(plugin.path(places).to_string_lossy().into_owned());
                text.push_str(&format!("path = {path}\nsha256 = \"{}\"\n", plugin.digest()?));
                plugins.push(plugin);
            }
            before = line;
        }
        PreparedProfile::parse(self, text, plugins, places)
    }
}

/// A profile that can be written.
#[derive(Debug)]
pub(crate) struct PreparedProfile {
    pub(crate) profile: Profile,
    /// The file to write.
    pub(crate) file: PathBuf,
    /// The content of the file.
    pub(crate) text: String,
    /// The configuration that the text contains.
    pub(crate) config: Config,
    plugins: Vec<&'static BundledPlugin>,
}

impl PreparedProfile {
    fn parse(
        profile: Profile,
        text: String,
        plugins: Vec<&'static BundledPlugin>,
        places: &UserDirectories,
    ) -> Result<Self, CliError> {
        let file = places.profile_file();
        let source = Source::new(&file, Layer::User).with_home(places.home.clone());
        let config = Config::parse(&text, &source, SECTIONS).map_err(CliError::not_loaded)?;
        let config = configuration::with_rules_entry(config, places)?;
        Ok(Self { profile, file, text, config, plugins })
    }

    /// Returns the profile with rules that are only observed.
    ///
    /// # Errors
    /// Fails if the profile is not valid.
    pub(crate) fn observing(&self, places: &UserDirectories) -> Result<Self, CliError> {
        let table = "[settings]\n";
        let text = match self.text.split_once(table) {
            Some((before, after)) => format!("{before}{table}observe = true\n{after}"),
            None => format!("{}\n{table}observe = true\n", self.text),
        };
        Self::parse(self.profile, text, self.plugins.clone(), places)
    }

    /// Writes the bundled plugins of the profile into the user's directory, without which its configuration does not load.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub(crate) fn install_plugins(&self, places: &UserDirectories) -> Result<(), CliError> {
        configuration::install_rules_plugin(&self.config, places)?;
        self.plugins.iter().try_for_each(|plugin| plugin.install(places).map(|_| ()))
    }

    /// Puts the profile into force, unless it is already. If it is not valid together with the user's own files, restores what was there
    /// before. Its plugins must be installed. Returns the copy of the file that somebody had edited, if there is one.
    ///
    /// # Errors
    /// Fails if a file cannot be written, or if the configuration is not valid.
    pub(crate) fn put_into_force(&self, places: &UserDirectories) -> Result<Option<PathBuf>, CliError> {
        let before = read(places)?;
        if before.as_deref() == Some(self.text.as_bytes()) {
            return Ok(None);
        }
        let copy = self.write(places)?;
        let Err(error) = configuration::find(None, &places.config) else { return Ok(copy) };
        match before {
            Some(before) => files::replace(&self.file, &before, NewFile::Usual).map_err(anyhow::Error::new)?,
            None => _ = remove(places)?,
        }
        Err(error)
    }

    /// Writes the profile. Its plugins must be installed. Returns the path of the copy of the file before, if that was not as a
    /// program of this version writes it.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    fn write(&self, places: &UserDirectories) -> Result<Option<PathBuf>, CliError> {
        let unwritable = |error: &dyn fmt::Display| {
            CliError::not_loaded(anyhow!("the profile cannot be written to {}: {error}", self.file.display()))
        };
        let copy = keep_edited(places)?;
        fs::create_dir_all(&places.config).map_err(|error| unwritable(&error))?;
        files::replace(&self.file, self.text.as_bytes(), NewFile::Usual).map_err(|error| unwritable(&error))?;
        users_file::remember(places, &self.file).map_err(|error| unwritable(&error))?;
        Ok(copy)
    }
}

/// The profile that the user's `profile.toml` contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProfileInForce {
    pub(crate) profile: Profile,
    /// True if the file is exactly what this program writes. Otherwise another version wrote it, or somebody edited it.
    pub(crate) is_current: bool,
}

/// Reads the file of the profile in force, or returns `None` if there is no such file.
///
/// # Errors
/// Fails if the file cannot be read.
pub(crate) fn read(places: &UserDirectories) -> Result<Option<Vec<u8>>, CliError> {
    let file = places.profile_file();
    match files::read(&file, Guard::OnlyMineToWrite, Links::Followed, MAX_SIZE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(FileError::Refused(refused)) => Err(CliError::not_loaded(refused)),
        Err(error) => Err(CliError::not_loaded(anyhow!("{} cannot be read: {error}", file.display()))),
    }
}

/// Copies the file of the profile if it is not as a program of this version writes it. Somebody may have edited it. Returns the path of the
/// copy, which no earlier copy has.
fn keep_edited(places: &UserDirectories) -> Result<Option<PathBuf>, CliError> {
    let Some(bytes) = read(places)? else { return Ok(None) };
    if in_force(places).is_ok_and(|found| found.is_some_and(|found| found.is_current)) {
        return Ok(None);
    }
    let mut number = 1;
    loop {
        let copy = places.profile_file().with_extension(format!("toml.before-{number}"));
        match fs::OpenOptions::new().write(true).create_new(true).open(&copy) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            opened => {
                let written = opened.and_then(|mut file| file.write_all(&bytes));
                written.map_err(|error| anyhow!("{} cannot be written: {error}", copy.display()))?;
                return Ok(Some(copy));
            }
        }
    }
}

/// Returns the profile in force, or `None` if there is no such file.
///
/// # Errors
/// Fails if the file cannot be read, or does not contain a profile.
pub(crate) fn in_force(places: &UserDirectories) -> Result<Option<ProfileInForce>, CliError> {
    let file = places.profile_file();
    let Some(bytes) = read(places)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let source = Source::new(&file, Layer::User).with_home(places.home.clone());
    let config = Config::parse(&text, &source, SECTIONS).map_err(CliError::not_loaded)?;
    let name: Option<String> = config.section("profile").map_err(CliError::not_loaded)?;
    let named = Profile::ALL.into_iter().find(|profile| name.as_deref() == Some(profile.name()));
    let Some(profile) = named else {
        let why = anyhow!("{} names no profile that this hookhost knows", file.display());
        return Err(CliError::not_loaded(why).advise(format!("hookhost profile use {}", Profile::DEFAULT)));
    };
    let is_current = profile.prepare(places).is_ok_and(|prepared| {
        prepared.text == text || prepared.observing(places).is_ok_and(|observing| observing.text == text)
    });
    Ok(Some(ProfileInForce { profile, is_current }))
}

/// A profile that was removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RemovedProfile {
    /// The copy of the file, if the file was not as a program of this version writes it.
    pub(crate) copy: Option<PathBuf>,
}

/// Removes the profile in force. Returns `None` if there is none. The plugins stay, because other entries may name them.
///
/// # Errors
/// Fails if the file cannot be removed.
pub(crate) fn remove(places: &UserDirectories) -> Result<Option<RemovedProfile>, CliError> {
    let file = places.profile_file();
    let failed =
        |error: &dyn fmt::Display| CliError::not_loaded(anyhow!("{} cannot be removed: {error}", file.display()));
    let is_there = fs::symlink_metadata(&file).is_ok();
    let copy = keep_edited(places)?;
    // A file that somebody has removed counts until it is forgotten.
    if is_there || users_file::is_noted(places, &file).map_err(|error| failed(&error))? {
        users_file::forget(places, &file).map_err(|error| failed(&error))?;
    }
    if !is_there {
        return Ok(None);
    }
    fs::remove_file(&file).map_err(|error| failed(&error))?;
    Ok(Some(RemovedProfile { copy }))
}

/// The number of rules of a configuration that stop a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleCounts {
    /// Rules that ask a person.
    pub(crate) asking: usize,
    /// Rules that reject the call.
    pub(crate) rejecting: usize,
}

impl RuleCounts {
    /// Returns the number of rules that ask or reject.
    pub(crate) fn total(self) -> usize {
        self.asking + self.rejecting
    }
}

/// Counts the rules that the bundled plugins of a configuration apply, and its `[[rule]]` tables.
///
/// # Errors
/// Fails if the config of a plugin is not valid.
pub(crate) fn rule_counts(config: &Config) -> Result<RuleCounts, CliError> {
    let on_question = config.settings().on_question;
    let mut counts = RuleCounts::default();
    let mut add = |of_part: RuleCounts, on_question| {
        counts.rejecting += of_part.rejecting;
        match on_question {
            OnQuestion::Reject => counts.rejecting += of_part.asking,
            _ => counts.asking += of_part.asking,
        }
    };
    add(of_rows(config.rules()), on_question);
    for entry in config.enabled() {
        let of_plugin = of_plugin(entry).map_err(|why| CliError::not_loaded(anyhow!("{}: {why}", entry.name)))?;
        add(of_plugin, entry.on_question.min(on_question));
    }
    Ok(counts)
}

fn of_rows(rules: &[Rule]) -> RuleCounts {
    let rows = || rules.iter().map(|rule| &rule.row).filter(|row| !row.observe);
    let asking = rows().filter(|row| row.ask.is_some()).count();
    RuleCounts { asking, rejecting: rows().filter(|row| row.reject.is_some()).count() }
}

/// Returns true if a configuration asks about every command that is not known to only read.
pub(crate) fn asks_about_unknown(config: &Config) -> bool {
    let asks = |entry: &Entry| entry.config.get("unknown").is_some_and(|unknown| unknown == "ask");
    config.enabled().any(|entry| entry.name == "shell-guard" && asks(entry))
}

fn of_plugin(entry: &Entry) -> Result<RuleCounts, String> {
    let config = serde_json::Value::Object(entry.config.clone());
    let length = |key: &str| config[key].as_array().map_or(0, Vec::len);
    Ok(match entry.name.as_str() {
        "shell-guard" => {
            let config = serde_json::from_value(config).map_err(|error| error.to_string())?;
            let document::RuleCounts { asking, denying } = document::rule_counts(config)?;
            RuleCounts { asking, rejecting: denying }
        }
        "path-guard" => RuleCounts { asking: 0, rejecting: length("protected") },
        "token-budget" => RuleCounts { asking: 0, rejecting: 1 },
        _ => RuleCounts::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns directories of a user, and the profiles with the plugins that the program contains.
    fn prepared(directory: &std::path::Path) -> (UserDirectories, Vec<PreparedProfile>) {
        let places = UserDirectories::new(directory.join("config"), directory.join("state"));
        let profiles = Profile::ALL.iter().filter_map(|profile| profile.prepare(&places).ok());
        let profiles: Vec<_> = profiles.collect();
        assert_eq!(profiles.is_empty(), bundled::all().is_err(), "every profile can be prepared");
        (places, profiles)
    }

    #[test]
    fn a_profile_is_in_force_from_when_it_is_written_until_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (places, profiles) = prepared(directory.path());
        assert_eq!(in_force(&places).unwrap(), None);
        for prepared in &profiles {
            prepared.write(&places).unwrap();
            let expected = ProfileInForce { profile: prepared.profile, is_current: true };
            assert_eq!(in_force(&places).unwrap(), Some(expected));
        }
        if let Some(prepared) = profiles.first() {
            fs::write(places.profile_file(), prepared.text.clone() + "# mine\n").unwrap();
            let expected = ProfileInForce { profile: prepared.profile, is_current: false };
            assert_eq!(in_force(&places).unwrap(), Some(expected));
            assert!(remove(&places).unwrap().unwrap().copy.is_some());
        }
        assert_eq!(remove(&places).unwrap(), None);
    }

    #[test]
    fn every_profile_has_rules_that_ask_or_reject_and_unattended_asks_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (_, profiles) = prepared(directory.path());
        for PreparedProfile { profile, config, .. } in &profiles {
            let counts = rule_counts(config).unwrap();
            assert!(counts.total() > 100, "{profile}: {counts:?}");
            assert_eq!(counts.asking == 0, *profile == Profile::Unattended, "{profile}: {counts:?}");
        }
    }

    #[test]
    fn each_profile_can_be_observed_and_is_then_in_force_as_this_program_writes_it() {
        let directory = tempfile::tempdir().unwrap();
        let (places, profiles) = prepared(directory.path());
        for prepared in &profiles {
            let observing = prepared.observing(&places).unwrap();
            assert!(observing.config.settings().observe && !prepared.config.settings().observe);
            assert_eq!(rule_counts(&observing.config).unwrap(), rule_counts(&prepared.config).unwrap());
            observing.write(&places).unwrap();
            let expected = ProfileInForce { profile: prepared.profile, is_current: true };
            assert_eq!(in_force(&places).unwrap(), Some(expected));
        }
    }
}
