//! The capabilities of the embedding program: interfaces of the program's own WIT packages. Arguments and results are
//! JSON.
//!
//! Because values are JSON, the engine itself can record, mask and replay calls. If programs used wasmtime's linker
//! instead, each release of wasmtime would break them, and each program would have to implement recording and
//! deadlines.

use super::Interface;
use super::embedder_json;
use crate::callback;
use crate::config::Grants;
use crate::contract::bytes::written_size;
use crate::contract::{Failure, FailureKind};
use crate::sandbox::guest::Guest;
use crate::sandbox::trap::Limit;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use wasmtime::StoreContextMut;
use wasmtime::component::types::ComponentFunc;
use wasmtime::component::{Linker, Val};

/// Maximum length of the error message of a call without an answer, in characters.
const MAX_REASON: usize = 1000;

/// Maximum nesting depth of an answer. The parser of JSON has the same maximum. The stack of a call is too small for
/// many more levels.
const MAX_LEVELS: usize = 128;

/// Maximum size of the capability calls and answers in the record of one plugin call, in bytes of JSON. If they are
/// larger, the plugin call cannot be replayed.
const RECORDED: usize = 4 << 20;

/// A capability of the embedding program: an interface of the program's own WIT package. A plugin that imports the
/// interface can be loaded if its entry grants the capability by its name: `capabilities = ["customers"]` in
/// `[plugin.grants]`.
///
/// Values are JSON. A record is an object with the field names of the WIT. A variant with a payload is an object with
/// one key. A variant without a payload and an `enum` are strings. Flags are a list of strings, and a tuple is a list.
/// An `option` is its value or `null`, and a `result` is `{"ok": …}` or `{"err": …}`. Resources, futures and streams
/// cannot be JSON, so a plugin does not load if it imports a function that uses one of them.
///
/// The audit record of a plugin's call contains all calls of the capability and their answers. A replay gives the
/// plugin the same answers. The time that an answer takes is part of the time of the plugin's call (`limits.deadline`).
///
/// A capability runs on the stack of the plugin's call, and can use half a megabyte of this stack. Code that needs more
/// stack belongs in a separate task. If a capability sends an event to the session of the calling plugin, the event is
/// rejected, because that session waits for the answer.
///
/// ```
/// use hookhost::BoxFuture;
/// use hookhost::capability::{Capability, CapabilityCall};
/// use hookhost::{Config, Host};
/// use serde_json::{Value, json};
/// use std::sync::Arc;
///
/// /// Answers the calls of this WIT: `find: func(id: u64) -> result<option<string>, string>`.
/// struct Customers;
///
/// impl Capability for Customers {
///     fn name(&self) -> &str {
///         "customers"
///     }
///
///     fn interface(&self) -> &str {
///         "acme:crm/customers@1.0.0"
///     }
///
///     fn call(&self, call: CapabilityCall) -> BoxFuture<'_, Result<Value, String>> {
///         Box::pin(async move {
///             match (call.function.as_str(), call.arguments[0].as_u64()) {
///                 ("find", Some(1)) => Ok(json!({ "ok": "Ada" })),
///                 ("find", _) => Ok(json!({ "ok": null })),
///                 (other, _) => Err(format!("there is no function `{other}`")),
///             }
///         })
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let host = Host::builder(Config::empty()).capability(Arc::new(Customers)).build().await?;
/// # let _ = host;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub trait Capability: Send + Sync {
    /// Returns the name by which an entry grants the capability. The name must follow the same rules as the name of an
    /// entry.
    fn name(&self) -> &str;

    /// Returns the full name of the interface, such as `acme:crm/customers@1.0.0`.
    fn interface(&self) -> &str;

    /// Answers a call with the function's result, or with `null` if the function has no result.
    ///
    /// # Errors
    /// Returns one sentence that says why there is no answer. Only its first 1000 characters are used. If the function
    /// returns `result<_, string>`, the plugin gets the sentence as the error. Otherwise the plugin's call fails.
    fn call(&self, call: CapabilityCall) -> BoxFuture<'_, Result<Value, String>>;
}

/// A call of a capability of the embedding program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct CapabilityCall {
    /// The session of the event that the plugin handles.
    #[serde(skip)]
    pub session: String,
    /// The name of the plugin that makes the call.
    #[serde(skip)]
    pub plugin: String,
    /// The name of the capability.
    pub capability: String,
    /// The function.
    pub function: String,
    /// The arguments, in order.
    pub arguments: Vec<Value>,
}

/// A call of a capability of the embedding program, and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct CapabilityAnswer {
    /// The call.
    #[serde(flatten)]
    pub call: CapabilityCall,
    /// The answer.
    pub answer: CapabilityReply,
}

/// The answer to a call of a capability of the embedding program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CapabilityReply {
    /// The function's result.
    Value(Value),
    /// The reason why there is no result.
    Failed(String),
}

/// The capabilities that an embedding program provides, by their interfaces.
#[derive(Clone, Default)]
pub(crate) struct OwnCapabilities(Arc<BTreeMap<String, Brought>>);

/// A capability with its name. The engine calls [`Capability::name`] only once.
pub(crate) struct Brought {
    pub(crate) name: Arc<str>,
    capability: Arc<dyn Capability>,
}

impl OwnCapabilities {
    /// # Errors
    /// Fails if a capability has no valid name or interface, or if two capabilities have the same name or interface.
    pub(crate) fn new(capabilities: Vec<Arc<dyn Capability>>) -> Result<Self, String> {
        let mut by_interface = BTreeMap::<String, Brought>::new();
        for capability in capabilities {
            let named = || (capability.name().to_owned(), capability.interface().to_owned());
            let (name, interface) = callback::caught(named)
                .map_err(|_| "a capability cannot be added: it panicked when it was asked for its name".to_owned())?;
            crate::config::name_rule(&name).map_err(|why| {
                let name: String = name.chars().take(100).flat_map(char::escape_debug).collect();
                format!("the capability `{name}` cannot be added: {why}")
            })?;
            if !is_own(&interface) {
                let interface: String = interface.chars().take(100).flat_map(char::escape_debug).collect();
                return Err(format!(
                    "the capability `{name}` cannot be added: `{interface}` is not an interface of your own package, such as `acme:crm/customers@1.0.0`"
                ));
            }
            let has_name = by_interface.values().any(|other| *other.name == *name);
            let brought = Brought { name: name.as_str().into(), capability };
            if has_name || by_interface.insert(interface, brought).is_some() {
                return Err(format!(
                    "the capability `{name}` is added twice: give each capability its own name and its own interface"
                ));
            }
        }
        Ok(Self(Arc::new(by_interface)))
    }

    /// Returns the capability with this interface.
    pub(crate) fn of_interface(&self, interface: &str) -> Option<&Brought> {
        self.0.get(interface)
    }

    fn named(&self, name: &str) -> Option<&Arc<dyn Capability>> {
        self.0.values().find(|brought| *brought.name == *name).map(|brought| &brought.capability)
    }

    /// Returns the first of `names` that is not the name of a capability.
    pub(crate) fn missing<'a>(&self, mut names: impl Iterator<Item = &'a String>) -> Option<&'a str> {
        names.find(|name| self.named(name).is_none()).map(String::as_str)
    }

    /// Returns the names of all capabilities.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.values().map(|brought| &*brought.name).collect()
    }
}

/// Returns true if `interface` has the form of an interface and belongs neither to the contract nor to WASI.
fn is_own(interface: &str) -> bool {
    let package = interface.split_once('/').map(|(package, _)| package);
    package.and_then(|package| package.split_once(':')).is_some_and(|(namespace, package)| {
        !namespace.is_empty() && !package.is_empty() && !matches!(namespace, "wasi" | "hookhost")
    })
}

/// The capabilities of the embedding program in one call of a plugin.
pub(crate) struct OwnCall {
    pub(crate) capabilities: OwnCapabilities,
    pub(crate) session: String,
}

/// An imported capability of the embedding program, for linking.
pub(crate) struct Own {
    pub(crate) name: Arc<str>,
    pub(crate) interface: String,
    /// The functions of the interface that the plugin imports.
    pub(crate) functions: Vec<String>,
}

impl Interface for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn line(&self) -> Option<String> {
        Some(format!("capabilities = [{:?}]", self.name))
    }

    fn is_granted(&self, grants: &Grants) -> bool {
        grants.capabilities.contains(&*self.name)
    }

    fn link(&self, linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
        let mut instance = linker.instance(&self.interface)?;
        for function in &self.functions {
            let (capability, function_name) = (Arc::clone(&self.name), Arc::<str>::from(function.as_str()));
            instance.func_new_async(function, move |store, ty, arguments, results| {
                let (capability, function) = (Arc::clone(&capability), Arc::clone(&function_name));
                Box::new(called(store, capability, function, ty, arguments, results))
            })?;
        }
        Ok(())
    }
}

/// Handles a guest's call. Converts the arguments to JSON, and the answer to a value of the function's type.
async fn called(
    mut store: StoreContextMut<'_, Guest>,
    capability: Arc<str>,
    function: Arc<str>,
    ty: ComponentFunc,
    arguments: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let guest = store.data_mut();
    guest.count_call()?;
    let failed = |why: String| {
        let detail = format!("called `{function}` of the capability `{capability}`, which failed: {why}");
        Limit(Failure::new(FailureKind::Trap, detail))
    };
    let arguments = arguments.iter().map(embedder_json::to_json).collect::<Result<_, _>>().map_err(failed)?;
    let call = CapabilityCall {
        session: guest.given.own.as_ref().map(|own| own.session.clone()).unwrap_or_default(),
        plugin: guest.given.plugin.to_string(),
        capability: capability.to_string(),
        function: function.to_string(),
        arguments,
    };
    let answer = match &mut guest.given.replayed {
        Some(replayed) => replayed.own(&call),
        None => guest.ask_own(call.clone()).await,
    };
    guest.note_own(call, &answer);
    match (ty.results().next(), results) {
        (Some(ty), [result]) => *result = embedder_json::answer(answer, &ty).map_err(failed)?,
        _ => {
            if let CapabilityReply::Failed(why) = answer {
                return Err(failed(why).into());
            }
        }
    }
    Ok(())
}

impl Guest {
    /// Passes a call to the embedding program.
    fn ask_own(&self, call: CapabilityCall) -> impl Future<Output = CapabilityReply> + Send + use<> {
        let own = self.given.own.as_ref().and_then(|own| own.capabilities.named(&call.capability)).cloned();
        let waiters = self.given.waiters.clone();
        async move {
            let Some(own) = own else {
                return CapabilityReply::Failed(
                    "capabilities of the program are not available before the first event".into(),
                );
            };
            match callback::polled(waiters, || own.call(call)).await {
                Ok(Ok(value)) if is_within(&value, MAX_LEVELS) => CapabilityReply::Value(value),
                Ok(Ok(value)) => {
                    dismantle(value);
                    CapabilityReply::Failed(format!("the answer nests more than {MAX_LEVELS} levels"))
                }
                Ok(Err(why)) => CapabilityReply::Failed(why.chars().take(MAX_REASON).collect()),
                Err(_) => CapabilityReply::Failed("the program that answers it panicked".into()),
            }
        }
    }

    /// Records a call and its answer, if the record does not become too large.
    fn note_own(&mut self, call: CapabilityCall, answer: &CapabilityReply) {
        let asked = CapabilityAnswer { call, answer: answer.clone() };
        self.asked_bytes = self.asked_bytes.saturating_add(size_of::<CapabilityAnswer>() + written_size(&asked));
        if self.asked_bytes > RECORDED {
            self.did.unrepeatable.insert("the plugin got more from the program's capabilities than the log stores");
            return;
        }
        self.did.inputs.capabilities.push(asked);
    }
}

/// Returns true if no part of the value is nested deeper than `levels`.
fn is_within(value: &Value, levels: usize) -> bool {
    let mut parts = vec![(value, levels)];
    while let Some((value, left)) = parts.pop() {
        let Some(left) = left.checked_sub(usize::from(value.is_array() || value.is_object())) else { return false };
        match value {
            Value::Array(items) => parts.extend(items.iter().map(|item| (item, left))),
            Value::Object(fields) => parts.extend(fields.values().map(|field| (field, left))),
            _ => {}
        }
    }
    true
}

/// Drops a value level by level, because the recursive drop of a deep value would need a deep stack.
fn dismantle(value: Value) {
    let mut parts = vec![value];
    while let Some(part) = parts.pop() {
        match part {
            Value::Array(items) => parts.extend(items),
            Value::Object(fields) => parts.extend(fields.into_iter().map(|(_, field)| field)),
            _ => {}
        }
    }
}
