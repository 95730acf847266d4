//! Support for programs that contain a plugin and call it natively, without wasm. The program implements the plugin's
//! capabilities and passes the plugin's configuration. Authors of plugins do not need this module.
//!
//! During a call, the plugin can use capabilities only on the thread of the call.

use crate::capabilities::effects::{Finding, Reminder};
use crate::capabilities::facts::Fact;
use crate::capabilities::log::Level;
use crate::capabilities::model::{Error as ModelError, Request};
use crate::capabilities::secrets::{Found, Uncovered};
use crate::capabilities::state::{Error as StateError, Scope};
use crate::capabilities::transcript::Message;
use crate::configured;
use std::cell::RefCell;
use std::rc::Rc;

pub use crate::configured::Configuration;

/// The capabilities for a plugin that is called natively. They replace the stand-in of [`testing`](crate::testing).
/// Each method implements one function of a capability: for example, `event_id` implements
/// [`event::id`](crate::event::id).
#[expect(missing_docs, reason = "the modules of the capabilities document them")]
pub trait Capabilities {
    fn event_id(&self) -> String;
    fn event_time(&self) -> u64;
    fn event_round(&self) -> u32;
    fn parent_session(&self) -> Option<String>;
    fn raw(&self) -> Option<String>;
    fn log(&self, level: Level, message: &str);
    fn report(&self, finding: &Finding);
    fn remind(&self, reminder: &Reminder);
    fn get(&self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, StateError>;
    fn set(&self, scope: Scope, key: &str, value: &[u8], ttl_seconds: Option<u64>) -> Result<(), StateError>;
    fn delete(&self, scope: Scope, key: &str) -> Result<(), StateError>;
    fn increment(&self, scope: Scope, key: &str, by: i64) -> Result<i64, StateError>;
    fn transcript_length(&self) -> u32;
    fn read_transcript(&self, start: u32, count: u32) -> Vec<Message>;
    fn complete(&self, request: &Request) -> Result<String, ModelError>;
    fn fact(&self, name: &str, at: Option<&str>) -> Fact;
    fn has_grant(&self, name: &str) -> bool;
    fn add_label(&self, label: &str);
    fn has_label(&self, label: &str) -> bool;
    fn label_added_at(&self, label: &str) -> Option<u64>;
    fn labels(&self) -> Vec<String>;
    fn find_secrets(&self, text: &str) -> Vec<Found>;
    fn list_uncovered_secrets(&self) -> Vec<Uncovered>;
    fn is_secrets_source(&self, path: &str) -> bool;
}

thread_local! {
    static ANSWERING: RefCell<Option<Rc<dyn Capabilities>>> = const { RefCell::new(None) };
}

/// Runs a call of a plugin on this thread. During the call, the plugin uses `capabilities`, and can read the values
/// that [`configure`] has stored in `configuration`.
pub fn call<R>(configuration: &Configuration, capabilities: Rc<dyn Capabilities>, call: impl FnOnce() -> R) -> R {
    let _entered = Entered {
        capabilities: ANSWERING.replace(Some(capabilities)),
        configuration: configured::replace(configuration.clone()),
    };
    call()
}

/// Runs the `configure` of a plugin on this thread, and returns the values that it stores in each [`Configured`](crate::Configured).
/// `config` is the JSON of the plugin's configuration.
///
/// # Errors
/// Returns the errors of [`Plugin::configure`](crate::Plugin::configure), and an error if `config` does not fit.
pub fn configure<P: crate::Plugin>(config: &str, capabilities: Rc<dyn Capabilities>) -> Result<Configuration, String> {
    call(&Configuration::default(), capabilities, || {
        P::configure(crate::parse_config(config.to_owned())?)?;
        Ok(configured::current())
    })
}

/// The thread's previous values. They are restored after a call, even if the call panics.
struct Entered {
    capabilities: Option<Rc<dyn Capabilities>>,
    configuration: Configuration,
}

impl Drop for Entered {
    fn drop(&mut self) {
        ANSWERING.set(self.capabilities.take());
        configured::replace(std::mem::take(&mut self.configuration));
    }
}

fn answering() -> Option<Rc<dyn Capabilities>> {
    ANSWERING.with_borrow(Clone::clone)
}

/// Defines the functions of a capability with the names of the bindings. They call the calling program. If there is no
/// calling program, they call the stand-in of `testing`.
macro_rules! answered {
    ($capability:ident { $($function:ident = $method:ident($($argument:ident: $type:ty),*) $(-> $answer:ty)?;)* }) => {
        pub(crate) mod $capability {
            use super::*;
            use crate::testing::host::$capability as stand_in;

            $(pub(crate) fn $function($($argument: $type),*) $(-> $answer)? {
                match answering() {
                    Some(capabilities) => capabilities.$method($($argument),*),
                    None => stand_in::$function($($argument),*),
                }
            })*
        }
    };
}

answered!(event {
    id = event_id() -> String;
    time = event_time() -> u64;
    round = event_round() -> u32;
    parent_session = parent_session() -> Option<String>;
    raw = raw() -> Option<String>;
});
answered!(log { write = log(level: Level, message: &str); });
answered!(effects {
    report = report(finding: &Finding);
    remind = remind(reminder: &Reminder);
});
answered!(state {
    get = get(scope: Scope, key: &str) -> Result<Option<Vec<u8>>, StateError>;
    set = set(scope: Scope, key: &str, value: &[u8], ttl_seconds: Option<u64>) -> Result<(), StateError>;
    delete = delete(scope: Scope, key: &str) -> Result<(), StateError>;
    increment = increment(scope: Scope, key: &str, by: i64) -> Result<i64, StateError>;
});
answered!(transcript {
    length = transcript_length() -> u32;
    read = read_transcript(start: u32, count: u32) -> Vec<Message>;
});
answered!(model { complete = complete(request: &Request) -> Result<String, ModelError>; });
answered!(facts { read = fact(name: &str, at: Option<&str>) -> Fact; });
answered!(grants { has = has_grant(name: &str) -> bool; });
answered!(labels {
    add = add_label(label: &str);
    has = has_label(label: &str) -> bool;
    added_at = label_added_at(label: &str) -> Option<u64>;
    list = labels() -> Vec<String>;
});
answered!(secrets {
    find = find_secrets(text: &str) -> Vec<Found>;
    list_uncovered = list_uncovered_secrets() -> Vec<Uncovered>;
    is_source = is_secrets_source(path: &str) -> bool;
});
