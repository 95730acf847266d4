//! An event under rules whose plugins are compiled. What is out of the ordinary is an error, before anything is settled or
//! recorded: `hookhost` settles it then.

use crate::asked::{AT_ONCE, Asked, DATABASE};
use crate::section::AgentsSection;
use hookhost::command::{self, ProjectFile, TrustStore};
use hookhost::config::{Config, ConfigError, Entry, UserDirectories};
use hookhost::{Engine, Host, files};
use hookhost_adapters::Adapter;
use hookhost_hook::place::Place;
use hookhost_server::{Claims, Configurations, Found, Settler, users_file};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The section that agents read of a configuration. With another one, of which this program knows nothing, nothing is settled.
const SECTION: &str = "agents";

/// Why `hookhost` has to settle an event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeftOver {
    /// The message does not come, or a directory cannot be used.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The user's directories are not known.
    #[error(transparent)]
    Directories(#[from] ConfigError),
    /// The log cannot be used.
    #[error(transparent)]
    Host(#[from] hookhost::Error),
    /// Its rules are more than plugins that are compiled already, or cannot be loaded.
    #[error("{0}")]
    Rules(String),
}

/// Settles the message on the standard input and prints the frames of its reply.
///
/// # Errors
/// Why `hookhost` has to settle it. Nothing was settled, recorded or printed then.
pub async fn settle(adapter: &'static dyn Adapter, point: Option<&str>) -> Result<(), LeftOver> {
    let places = UserDirectories::of_user()?;
    let asked = Asked::read(adapter, point, std::env::current_dir()?)?;
    files::make_own_directory(&places.state)?;
    let engine = Engine::without_pools();
    // To its end: the system gives back faster what is mapped.
    std::mem::forget(engine.clone());
    let mut builder = Host::builder(Config::empty()).engine(&engine).without_compiler().share_questions();
    builder = builder.store(places.state.join(DATABASE));
    if let Some(directory) = command::default_directory() {
        builder = builder.cache(directory);
    }
    let claims = Claims::new(Place::below(&places.state).claims(), None);
    let settler = Settler::new(builder.build().await?, Arc::new(OfOneEvent(places))).beside_others(claims);
    asked.prepare(&settler).await.map_err(LeftOver::Rules)?;
    // A reply that nobody reads any more changes nothing of what was settled.
    let _ = asked.settle(settler).await;
    Ok(())
}

/// What counts in a directory, read once.
struct OfOneEvent(UserDirectories);

impl Configurations for OfOneEvent {
    fn find(&self, directory: &Path, loaded: Option<&Config>) -> Result<Found, String> {
        if loaded.is_some() {
            return Err("the configuration changed while the event was settled".to_owned());
        }
        let found = Config::discover(directory, &self.0, &[SECTION]).map_err(|error| error.to_string())?;
        users_file::check(&Place::below(&self.0.state), &self.0.user_file(), &found.config)?;
        found.config.section::<AgentsSection>(SECTION).map_err(|error| error.to_string())?;
        if !found.inert.is_empty() || !found.changes.is_empty() {
            return Err("a file of the project is not as it was approved, which its user is told".to_owned());
        }
        let mut config = found.config;
        if let Some(entry) = config.enabled().find(|entry| asks_others(entry)) {
            return Err(format!("the plugin {} may ask a server or a model", entry.name));
        }
        config.limit_concurrent_calls(AT_ONCE);
        Ok(Found::new(config))
    }

    fn files(&self, directory: &Path, loaded: Option<&Config>) -> Vec<PathBuf> {
        let mut files = ProjectFile::places(directory);
        files.extend([self.0.user_file(), TrustStore::of(&self.0).file()]);
        files.extend(loaded.into_iter().flat_map(|config| config.files().iter().cloned()));
        files
    }

    fn is_revoked(&self, file: &Path) -> bool {
        TrustStore::of(&self.0).is_revoked(file)
    }

    fn takes_up_changes(&self) -> bool {
        false
    }
}

fn asks_others(entry: &Entry) -> bool {
    let grants = &entry.grants;
    grants.model.is_some() || !grants.http.is_empty() || !grants.capabilities.is_empty()
}
