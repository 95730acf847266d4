//! Providers and models of an agent: its own model, and the models that a plugin may choose for a request.

use super::AgentError;
use hookhost::contract::ModelRef;
use hookhost_models::Provider;
use std::sync::Arc;

/// Configured providers, each with its models. The first model of the first provider is the agent's own.
#[derive(Clone, Debug)]
pub(super) struct Models {
    providers: Vec<(Arc<dyn Provider>, Vec<String>)>,
}

impl Models {
    pub(super) fn new(provider: Arc<dyn Provider>, model: String) -> Self {
        Self { providers: vec![(provider, vec![model])] }
    }

    /// Adds models of a known or new provider.
    pub(super) fn add(&mut self, provider: Arc<dyn Provider>, models: Vec<String>) -> Result<(), AgentError> {
        match self.providers.iter_mut().find(|(known, _)| known.name() == provider.name()) {
            Some((known, list)) if Arc::ptr_eq(known, &provider) => list.extend(models),
            Some(_) => return Err(AgentError::DuplicateProvider { name: provider.name().to_owned() }),
            None => self.providers.push((provider, models)),
        }
        Ok(())
    }

    pub(super) fn own(&self) -> ModelRef {
        let (provider, models) = &self.providers[0];
        ModelRef::new(provider.name(), &models[0])
    }

    pub(super) fn provider(&self, name: &str) -> Option<&Arc<dyn Provider>> {
        self.providers.iter().map(|(provider, _)| provider).find(|provider| provider.name() == name)
    }

    /// Returns all models. The engine uses this list to check a plugin's choice.
    pub(super) fn refs(&self) -> Vec<ModelRef> {
        let refs = self
            .providers
            .iter()
            .flat_map(|(provider, models)| models.iter().map(|model| ModelRef::new(provider.name(), model)));
        refs.collect()
    }

    /// Returns the notice for the user about the session's provider.
    pub(super) fn notice(&self, own: &ModelRef) -> Option<String> {
        self.provider(&own.provider)?.notice()
    }
}
