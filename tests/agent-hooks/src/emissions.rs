//! What plugins are to do, and what they say that they were given: the program's side of the interface `emission`.

use crate::plugin;
use hookhost::BoxFuture;
use hookhost::capability::{Capability, CapabilityCall};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One event that is an interception point.
#[derive(Clone, Debug)]
pub(crate) struct Emission {
    /// The event's identifier.
    pub(crate) event: String,
    /// The contexts, each with the plugin that got it, in the order in which plugins were asked.
    pub(crate) given: Vec<(String, Value)>,
    /// The context after the last change.
    pub(crate) changed: Option<Value>,
}

impl Emission {
    /// The context before anything changed it.
    pub(crate) fn first(&self) -> Option<&Value> {
        self.given.first().map(|(_, context)| context)
    }

    /// The context as it is now.
    pub(crate) fn last(&self) -> Option<&Value> {
        self.changed.as_ref().or_else(|| self.first())
    }

    /// The context as this plugin saw it first.
    pub(crate) fn as_seen_by(&self, plugin: &str) -> Option<&Value> {
        self.given.iter().find(|(given, _)| given == plugin).map(|(_, context)| context)
    }
}

/// The emissions of a session, in the order of their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Emissions {
    seen: Arc<Mutex<Vec<Emission>>>,
    /// What each interceptor does.
    scripts: Arc<[String]>,
}

impl Emissions {
    /// None so far. Each interceptor has rules; all know the tools and have the identity provider.
    pub(crate) fn new(rules: &[Value], tools: &[String], identity: &str) -> Self {
        let script = |rules: &Value| {
            let rules = if rules.is_null() { &json!([]) } else { rules };
            json!({ "rules": rules, "tools": tools, "identity": identity }).to_string()
        };
        Self { seen: Arc::default(), scripts: rules.iter().map(script).collect() }
    }

    pub(crate) fn all(&self) -> Vec<Emission> {
        self.lock().clone()
    }

    pub(crate) fn of(&self, event: &str) -> Option<Emission> {
        self.lock().iter().find(|emission| emission.event == event).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Emission>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, call: &CapabilityCall) -> Result<Value, String> {
        let text = |at: usize| call.arguments.get(at).and_then(Value::as_str).unwrap_or_default();
        let context = || serde_json::from_str(text(1)).map_err(|error| format!("a context is no JSON: {error}"));
        if call.function == "script" {
            let script = plugin::place(&call.plugin).and_then(|place| self.scripts.get(place));
            return script.map(|script| json!(script)).ok_or_else(|| format!("{} has no script", call.plugin));
        }
        let mut emissions = self.lock();
        let place = emissions.iter().position(|emission| emission.event == text(0)).unwrap_or_else(|| {
            emissions.push(Emission { event: text(0).to_owned(), given: Vec::new(), changed: None });
            emissions.len() - 1
        });
        match call.function.as_str() {
            "sequence" => return Ok(json!(place)),
            "given" => emissions[place].given.push((call.plugin.clone(), context()?)),
            "changed" => emissions[place].changed = Some(context()?),
            other => return Err(format!("there is no function `{other}`")),
        }
        Ok(Value::Null)
    }
}

impl Capability for Emissions {
    fn name(&self) -> &str {
        "emission"
    }

    fn interface(&self) -> &str {
        "agent-hooks:kit/emission@0.1.0"
    }

    fn call(&self, call: CapabilityCall) -> BoxFuture<'_, Result<Value, String>> {
        Box::pin(async move { self.answer(&call) })
    }
}
