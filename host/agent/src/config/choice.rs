//! Chooses the provider and the model of an agent, from its section, from flags, and from the providers that are ready.

use super::AgentSection;
use hookhost_models::section::{ModelLimits, ProviderKind, ProviderSection, SectionError};
use hookhost_models::{Keys, PluginModels, Provider, builtin, served_models};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

/// Command-line settings that take precedence over the section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overrides {
    /// Replaces the section's provider.
    pub provider: Option<String>,
    /// Replaces the section's model.
    pub model: Option<String>,
    /// Replaces the section's script. If `provider` is not given, a script also selects the provider `scripted`.
    pub script: Option<PathBuf>,
}

impl Overrides {
    /// Creates overrides; `None` keeps the section's setting.
    #[must_use]
    pub fn new(provider: Option<String>, model: Option<String>, script: Option<PathBuf>) -> Self {
        Self { provider, model, script }
    }
}

/// Providers and models of a section, ready for use.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProviderChoice {
    /// Provider of the agent.
    pub provider: Arc<dyn Provider>,
    /// Model of the agent.
    pub model: String,
    /// Known limits of the model.
    pub limits: ModelLimits,
    /// Models that a plugin may choose for a request, by provider. The list includes the further models of the agent's
    /// own provider.
    pub others: Vec<(Arc<dyn Provider>, Vec<String>)>,
    /// One sentence for each provider that is unusable and therefore missing in `others`.
    pub notices: Vec<String>,
}

impl AgentSection {
    /// Creates the providers as [`Self::choose_with`] does, but with keys from the environment only.
    ///
    /// # Errors
    /// See [`Self::choose_with`].
    pub fn choose(&self, overrides: &Overrides) -> Result<ProviderChoice, SectionError> {
        self.choose_with(overrides, &Keys::default())
    }

    /// Creates the providers, with keys from the environment or from `keys`. If no provider is named, Anthropic is
    /// used. To use the first ready provider instead, call [`Self::first_ready`] beforehand.
    ///
    /// # Errors
    /// Returns an error if the provider is unknown or unusable (no key, no script), or if no model is named. If only
    /// plugins could choose an unusable provider, the result contains a notice instead.
    pub fn choose_with(&self, overrides: &Overrides, keys: &Keys) -> Result<ProviderChoice, SectionError> {
        let name = match overrides {
            Overrides { provider: Some(name), .. } => name.as_str(),
            Overrides { script: Some(_), .. } => "scripted",
            _ => self.named(),
        };
        let mut section = self.provider(name)?;
        if section.kind == Some(ProviderKind::Scripted) && overrides.script.is_some() {
            section.script.clone_from(&overrides.script);
        }
        let own = section.provider(name, keys)?;
        // The configured model belongs to the configured provider only.
        let configured = (self.named() == name).then_some(self.model.as_ref()).flatten();
        let model = overrides.model.as_ref().or(configured).cloned().or_else(|| section.default_model());
        let model = model.ok_or_else(|| SectionError::NoModel { provider: name.to_owned() })?;
        let mut limits = section.limits.get(&model).copied().unwrap_or_default();
        limits.context_window = self.context_window.or(limits.context_window);
        let mut others = Vec::new();
        if !section.models.is_empty() {
            others.push((Arc::clone(&own), section.models));
        }
        let mut notices = Vec::new();
        for (other, section) in
            self.providers.iter().filter(|(other, section)| *other != name && !section.models.is_empty())
        {
            match self.provider(other).and_then(|section| section.provider(other, keys)) {
                Ok(provider) => others.push((provider, section.models.clone())),
                Err(error) => notices.push(format!("plugins cannot use the provider {other}: {error}")),
            }
        }
        Ok(ProviderChoice { provider: own, model, limits, others, notices })
    }

    /// Creates the models to which plugins may send requests. If a model is unusable, each call of a plugin to this
    /// model fails with the reason.
    #[must_use]
    pub fn plugin_models(&self, keys: &Keys) -> PluginModels {
        let models = PluginModels::new(self.retry());
        self.plugin_models.iter().fold(models, |models, (name, chosen)| {
            let found = self.provider(&chosen.provider).and_then(|section| {
                let model = chosen.model.clone().or_else(|| section.default_model());
                Ok((section.provider(&chosen.provider, keys)?, model, section.limits))
            });
            match found {
                Ok((provider, Some(model), limits)) => {
                    let longest = limits.get(&model).and_then(|limits| limits.max_output_tokens);
                    models.with(name, provider, model, longest.map(NonZeroU32::get))
                }
                Ok((_, None, _)) => models.without(
                    name,
                    format!("the entry {name} of [agent.plugin-models] needs a `model`, since its provider {} has no default model", chosen.provider),
                ),
                Err(error) => models.without(name, format!("the model {name} for plugins cannot be used: {error}")),
            }
        })
    }

    /// Finds the first ready provider and its model, unless the section or a flag already chooses one. A provider is
    /// ready if its key is present, if its program reports that the provider is ready, or if its local server answers.
    /// The user's own providers come first.
    pub async fn first_ready(&self, overrides: &Overrides, keys: &Keys) -> Option<Overrides> {
        let says_which = self.provider.is_some() || self.model.is_some() || self.base_url.is_some();
        let says_which = says_which || self.key_variable.is_some() || self.script.is_some();
        if says_which || overrides.provider.is_some() || overrides.script.is_some() {
            return None;
        }
        let own = self.providers.keys().cloned();
        let known = builtin::names().into_iter().filter(|name| !self.providers.contains_key(name));
        for name in own.chain(known) {
            let Ok(section) = self.provider(&name) else { continue };
            if section.kind == Some(ProviderKind::Scripted) || section.provider(&name, keys).is_err() {
                continue;
            }
            let program = section.program(&name);
            if let Some(program) = &program
                && !program.is_ready().await
            {
                continue;
            }
            let mut model = overrides.model.clone().or(section.model);
            if section.key_variable.is_none() && program.is_none() {
                let Some(served) = served_models(section.base_url.as_deref().unwrap_or_default()).await else {
                    continue;
                };
                model = model.or_else(|| served.into_iter().next());
            }
            if model.is_some() {
                return Some(Overrides { provider: Some(name), model, script: None });
            }
        }
        None
    }

    /// Returns all valid provider names: the built-in names, then the names in the section.
    #[must_use]
    pub fn provider_names(&self) -> Vec<String> {
        let own = self.providers.keys().filter(|name| builtin::provider(name).is_none()).cloned();
        builtin::names().into_iter().chain(own).collect()
    }

    /// Asks each provider program for its default model and its description. Failures are ignored here, because they
    /// are reported when such a provider is chosen.
    pub async fn ask_programs(&mut self) {
        for (name, section) in &mut self.providers {
            section.ask_program(name).await;
        }
    }

    fn named(&self) -> &str {
        self.provider.as_deref().unwrap_or("anthropic")
    }

    /// Returns the settings of a provider. They come from the provider's own section, or from the keys of `[agent]` if
    /// these keys name this provider. Missing settings come from the built-in table.
    ///
    /// # Errors
    /// Returns an error if no provider has this name, or if its protocol is not given.
    pub fn provider(&self, name: &str) -> Result<ProviderSection, SectionError> {
        let section = match self.providers.get(name) {
            Some(section) => section.clone(),
            None if builtin::provider(name).is_none() => {
                let names = builtin::names().into_iter().chain(self.providers.keys().cloned());
                let known = names.collect::<Vec<_>>().join(", ");
                return Err(SectionError::UnknownProvider { name: name.to_owned(), known });
            }
            None => {
                let mut section = ProviderSection::default();
                // The keys of `[agent]` do not apply to another provider that a flag chooses.
                if self.named() == name {
                    section.base_url.clone_from(&self.base_url);
                    section.key_variable.clone_from(&self.key_variable);
                    section.script.clone_from(&self.script);
                    section.models.clone_from(&self.models);
                }
                section
            }
        };
        section.completed(name)
    }

    /// Returns the environment variables that hold keys of providers, sorted.
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let of_sections = self.providers.values().flat_map(ProviderSection::secret_variables).map(str::to_owned);
        let known = builtin::key_variables().into_iter().chain(self.key_variable.clone());
        let mut variables: Vec<String> = known.chain(of_sections).collect();
        variables.sort();
        variables.dedup();
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookhost_models::Origin;
    use std::num::NonZeroU64;

    fn section(text: &str) -> AgentSection {
        toml::from_str(text).unwrap()
    }

    fn error(text: &str) -> String {
        section(text).choose(&Overrides::default()).unwrap_err().to_string()
    }

    #[test]
    fn no_key_goes_to_another_server_unless_it_is_named() {
        // The default variable may well be set where this test runs. If a provider has its own base URL, that variable
        // must not even be read.
        let elsewhere = section("provider = 'openai'\nmodel = 'm'\nbase-url = 'http://localhost:1/v1'\n");
        assert!(elsewhere.choose(&Overrides::default()).is_ok());
        let named = "provider = 'openai'\nmodel = 'm'\nbase-url = 'http://localhost:1/v1'\nkey-variable = 'HOOKHOST_TEST_NO_SUCH_KEY'\n";
        assert!(error(named).contains("HOOKHOST_TEST_NO_SUCH_KEY"));
        let official = "key-variable = 'HOOKHOST_TEST_NO_SUCH_KEY'\n";
        assert!(error(official).starts_with("the provider anthropic needs an API key"));
    }

    #[test]
    fn settings_beside_the_provider_do_not_apply_to_another_that_a_flag_chooses() {
        let section = section(
            "provider = 'openai'\nmodel = 'm'\nbase-url = 'http://localhost:1/v1'\n[providers.x]\nkind = 'openai'\nbase-url = 'http://localhost:2/v1'\n",
        );
        let overrides = Overrides { provider: Some("x".into()), ..Overrides::default() };
        let error = section.choose(&overrides).unwrap_err().to_string();
        assert_eq!(error, "the provider x needs a model: name one with --model, or with `model` in [agent]");
    }

    #[test]
    fn a_script_alone_chooses_the_scripted_provider() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[[turn]]\ntext = 'hello'\n").unwrap();
        let overrides = Overrides { script: Some(file.path().to_owned()), ..Overrides::default() };
        let chosen = AgentSection::default().choose(&overrides).unwrap();
        assert_eq!((chosen.provider.name(), chosen.model.as_str()), ("scripted", "scripted"));
        assert!(error("provider = 'scripted'").contains("needs a script"));
    }

    #[test]
    fn an_unknown_provider_is_reported_with_those_that_exist() {
        assert_eq!(
            error("provider = 'opnai'\n[providers.local]\nkind = 'openai'\n"),
            "there is no provider named `opnai`: use anthropic, openai, groq, deepseek, openrouter, fireworks, zai, ollama, llama.cpp, vllm, scripted, local, or add [agent.providers.opnai]"
        );
    }

    #[test]
    fn a_provider_that_only_plugins_could_choose_is_left_out_with_a_notice() {
        let text = "provider = 'openai'\nmodel = 'm'\nmodels = ['n']\nbase-url = 'http://localhost:1/v1'\n[providers.far]\nkind = 'anthropic'\nkey-variable = 'HOOKHOST_TEST_NO_SUCH_KEY'\nmodels = ['x']\n";
        let chosen = section(text).choose(&Overrides::default()).unwrap();
        assert_eq!(chosen.others.len(), 1);
        assert_eq!(chosen.others[0].1, ["n"]);
        assert!(chosen.notices[0].starts_with("plugins cannot use the provider far: "));
    }

    #[test]
    fn a_section_of_a_shipped_name_changes_what_it_says_and_no_more() {
        let own = section("[providers.groq]\nmodel = 'm'\n[providers.groq.limits.m]\ncontext-window = 5\n");
        let groq = own.provider("groq").unwrap();
        assert_eq!(groq.base_url.as_deref(), Some("https://api.groq.com/openai/v1"));
        assert_eq!((groq.key_variable.as_deref(), groq.model.as_deref()), (Some("GROQ_API_KEY"), Some("m")));
        assert_eq!(groq.limits["m"].context_window, NonZeroU64::new(5));
        // Another server gets a key only if the section names the key's variable for this server.
        let elsewhere = section("[providers.groq]\nbase-url = 'http://localhost:1/v1'\n").provider("groq").unwrap();
        assert_eq!((elsewhere.key_variable, elsewhere.kind), (None, Some(ProviderKind::OpenAi)));
        assert!(matches!(section("[providers.x]\n").provider("x"), Err(SectionError::NoKind { .. })));
    }

    #[test]
    fn a_kept_key_opens_its_own_server_and_no_other() {
        let mut keys = Keys::default();
        keys.set("far", &Origin::of("https://far.example.com").unwrap(), "sk-kept").unwrap();
        let at = |url: &str| {
            let text = format!(
                "provider = 'far'\nmodel = 'm'\n[providers.far]\nkind = 'openai'\nbase-url = '{url}'\nkey-variable = 'HOOKHOST_TEST_NO_SUCH_KEY'\n"
            );
            section(&text).choose_with(&Overrides::default(), &keys)
        };
        assert!(at("https://far.example.com/v1").is_ok());
        for other in ["https://evil.example.com/v1", "https://far.example.com:8443/v1", "http://far.example.com:443/v1"]
        {
            let error = at(other).unwrap_err().to_string();
            assert!(error.contains("the stored key is for https://far.example.com, "), "{error}");
        }
    }

    #[test]
    fn a_key_never_travels_in_the_clear_to_another_machine() {
        let at = |url: &str, more: &str| {
            let text = format!(
                "provider = 'far'\nmodel = 'm'\n[providers.far]\nkind = 'openai'\nbase-url = '{url}'\n{more}\n[plugin-models]\nsmall = {{ provider = 'far', model = 'm' }}\n"
            );
            section(&text)
        };
        // `PATH` is set wherever this test runs.
        let key = "key-variable = 'PATH'";
        let refused = at("http://far.example.com/v1", key);
        let said = refused.choose(&Overrides::default()).unwrap_err().to_string();
        assert!(
            said.starts_with("the provider far is at http://far.example.com/v1, and its API key would travel"),
            "{said}"
        );
        assert!(refused.plugin_models(&Keys::default()).problem("small").unwrap().contains("in the clear"));
        assert!(at("http://ada:secret@far.example.com", "").choose(&Overrides::default()).is_err());
        for url in ["http://127.0.0.1:1/v1", "http://localhost:1/v1", "https://far.example.com/v1"] {
            assert!(at(url, key).choose(&Overrides::default()).is_ok(), "{url}");
        }
        assert!(at("http://far.example.com/v1", "").choose(&Overrides::default()).is_ok(), "there is no key");
    }

    #[test]
    fn a_header_that_carries_a_key_is_refused() {
        let text = "provider = 'x'\nmodel = 'm'\n[providers.x]\nkind = 'openai'\nbase-url = 'http://localhost:1'\nheaders = { Authorization = 'sk' }\n";
        assert!(error(text).starts_with("the header Authorization of the provider x cannot be sent: it carries a key"));
    }

    #[tokio::test]
    async fn the_first_provider_that_is_ready_is_taken_and_a_server_is_asked_for_its_model() {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let body = r#"{"data":[{"id":"served-1"},{"id":"served-2"}]}"#;
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        let text = format!(
            "[providers.a]\nkind = 'openai'\nbase-url = 'http://127.0.0.1:1/v1'\n[providers.b]\nkind = 'openai'\nbase-url = '{url}'\n"
        );
        let none = Overrides::default();
        let found = section(&text).first_ready(&none, &Keys::default()).await.unwrap();
        assert_eq!((found.provider.as_deref(), found.model.as_deref()), (Some("b"), Some("served-1")));
        assert_eq!(section("model = 'm'").first_ready(&none, &Keys::default()).await, None);
    }
}
