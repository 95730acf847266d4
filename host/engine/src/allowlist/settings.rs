//! The engine's own settings.

use serde::Deserialize;

/// `[settings]`: what the operator decides for all plugins. A project's file can tighten one, never loosen it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `stream-unfinalised`: whether text is shown as it streams in although a plugin exports `finalize-content` and has
    /// not seen the whole of it. Default `false`, which holds the text back until it is final; `true` is the looser.
    pub stream_unfinalised: bool,
}

/// The keys of `[settings]`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct WrittenSettings {
    stream_unfinalised: Option<bool>,
}

impl Settings {
    /// Takes over what the user's own file says.
    pub(super) fn set(&mut self, written: &WrittenSettings) {
        self.stream_unfinalised = written.stream_unfinalised.unwrap_or(self.stream_unfinalised);
    }

    /// Takes over what a project's file says, or names the setting that it would loosen.
    pub(super) fn tighten(&mut self, written: &WrittenSettings) -> Result<(), &'static str> {
        match written.stream_unfinalised {
            Some(true) if !self.stream_unfinalised => return Err("stream-unfinalised"),
            Some(value) => self.stream_unfinalised = value,
            None => {}
        }
        Ok(())
    }
}
