//! Creates a provider from its configuration.

use crate::endpoint::{Endpoint, Timeouts};
use crate::error::ProviderError;
use crate::keys::Keys;
use crate::origin::Origin;
use crate::program::{self, COMMON_VARIABLES, ProviderProgram};
use crate::provider::Provider;
use crate::remote::RemoteProvider;
use crate::script::Script;
use crate::scripted::Scripted;
use crate::section::{ProviderKind, ProviderSection, SectionError};
use crate::{builtin, variant};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl ProviderSection {
    /// Completes the section of the provider `name` with its variant file and with the built-in provider of this name.
    ///
    /// # Errors
    /// Returns an error if the variant file cannot be used, or if the protocol is not given.
    pub fn completed(self, name: &str) -> Result<Self, SectionError> {
        let mut section = match &self.variant {
            Some(file) => self.with_variant(name, file)?,
            None => self,
        };
        let Some(known) = builtin::provider(name) else {
            return match section.kind {
                Some(_) => Ok(section),
                None => Err(SectionError::NoKind { name: name.to_owned() }),
            };
        };
        section.kind = section.kind.or(known.kind);
        if section.kind == known.kind {
            // With another base URL, the key variable of the built-in provider is not used, because its key must not be sent to
            // another server.
            if section.base_url.is_none() {
                section.base_url = known.base_url;
                section.key_variable = section.key_variable.or(known.key_variable);
                section.model = section.model.or(known.model);
            }
            let own = std::mem::replace(&mut section.limits, known.limits);
            section.limits.extend(own);
        }
        Ok(section)
    }

    /// Creates the provider of a [completed](Self::completed) section.
    ///
    /// # Errors
    /// Returns an error if the provider has no key or no script, or if its program cannot be used.
    pub fn provider(&self, name: &str, keys: &Keys) -> Result<Arc<dyn Provider>, SectionError> {
        Ok(match self.kind {
            Some(ProviderKind::Anthropic) => {
                Arc::new(RemoteProvider::anthropic(self.endpoint(name, keys, "anthropic")?))
            }
            Some(ProviderKind::OpenAi) => Arc::new(RemoteProvider::openai(self.endpoint(name, keys, "openai")?)),
            Some(ProviderKind::Scripted) => {
                let script = self.script.as_deref();
                let script = script.ok_or_else(|| SectionError::NoScript { provider: name.to_owned() })?;
                let script = Script::open(script).map_err(ProviderError::from)?;
                Arc::new(Scripted::new(script))
            }
            None => return Err(SectionError::NoKind { name: name.to_owned() }),
        })
    }

    /// Returns the program that answers instead of a server, if a program is configured.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<ProviderProgram> {
        let program = |file: &PathBuf| ProviderProgram::new(name, file.clone(), self.sha256, self.variables.clone());
        self.program.as_ref().map(program)
    }

    /// Asks the provider's program, if there is one, for its default model and its description. A failure is ignored here, because
    /// [`Self::provider`] reports it later.
    pub async fn ask_program(&mut self, name: &str) {
        let Some(program) = self.program(name) else { return };
        let Ok(described) = program.describe().await else { return };
        self.model = self.model.take().or_else(|| described.defaults.get("model").cloned());
        self.description = described.summary;
    }

    /// Returns the default model. A scripted provider needs no model, so its default model is named `scripted`.
    #[must_use]
    pub fn default_model(&self) -> Option<String> {
        self.model.clone().or_else(|| (self.kind == Some(ProviderKind::Scripted)).then(|| "scripted".to_owned()))
    }

    /// Returns the environment variables that contain secrets of the provider: the variable of its key, and the configured
    /// variables of its program, except the variables that every program gets.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let of_program = self.variables.iter().flatten().map(String::as_str);
        self.key_variable.as_deref().into_iter().chain(of_program.filter(|name| !COMMON_VARIABLES.contains(name)))
    }

    /// Returns the section with its unset fields filled in from the variant file. The limits of a model in the section replace those
    /// in the file.
    fn with_variant(&self, name: &str, file: &Path) -> Result<Self, ProviderError> {
        let unusable = |reason: String| {
            let (provider, program) = (name.to_owned(), file.display().to_string());
            ProviderError::Program { provider, program, reason }
        };
        if !file.is_absolute() {
            return Err(unusable("must be named by its full path".to_owned()));
        }
        let bytes = program::read_pinned(file, self.sha256, variant::MAX_FILE).map_err(unusable)?;
        let text = String::from_utf8(bytes).map_err(|_| unusable("is not UTF-8 text".to_owned()))?;
        let variant = variant::read(&text).map_err(unusable)?;
        let mut section = self.clone();
        section.kind = section.kind.or(variant.kind);
        section.base_url = section.base_url.or(variant.base_url);
        section.key_variable = section.key_variable.or(variant.key_variable);
        section.model = section.model.or(variant.model);
        let own = std::mem::replace(&mut section.limits, variant.limits);
        section.limits.extend(own);
        Ok(section)
    }

    /// Creates the endpoint. Without a base URL, the server of the company that defines the protocol is used.
    fn endpoint(&self, name: &str, keys: &Keys, protocol: &str) -> Result<Endpoint, ProviderError> {
        if let Some(program) = self.program(name) {
            return Endpoint::of_program(name, program, self.description.clone(), Timeouts::default());
        }
        let home = self.home(protocol);
        let base_url = self.base_url.as_ref().or(home.base_url.as_ref()).cloned().unwrap_or_default();
        let key = self.key_variable.as_ref().or(home.key_variable.as_ref());
        Endpoint::with_keys(name, &base_url, key.map(String::as_str), keys, Timeouts::default())?
            .with_headers(&self.headers)
    }

    /// Returns the built-in section of the provider that defines the protocol, or an empty section if a base URL is set.
    fn home(&self, protocol: &str) -> Self {
        self.base_url.is_none().then(|| builtin::provider(protocol)).flatten().unwrap_or_default()
    }

    /// Returns the server that gets this provider's key, or `None` for a program or a script.
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        if self.program.is_some() {
            return None;
        }
        let home = self.home(self.protocol()?);
        Origin::of(self.base_url.as_ref().or(home.base_url.as_ref())?)
    }

    /// Returns the environment variable whose value is sent as the key, or `None` if no key is sent.
    #[must_use]
    pub fn sent_variable(&self) -> Option<String> {
        if self.program.is_some() {
            return None;
        }
        let home = self.home(self.protocol()?);
        self.key_variable.clone().or(home.key_variable)
    }

    /// Returns the name of the built-in provider that defines the protocol, or `None` for a script.
    fn protocol(&self) -> Option<&'static str> {
        match self.kind? {
            ProviderKind::Anthropic => Some("anthropic"),
            ProviderKind::OpenAi => Some("openai"),
            ProviderKind::Scripted => None,
        }
    }
}
