//! Providers of models. The crate implements the protocols of model servers, stores the user's keys, and answers plugins that ask a
//! model.
//!
//! A [`Provider`] answers a [`Request`] with a stream of [`Delta`]s. [`RemoteProvider`] sends a request to a server, or to a local program
//! that takes the server's place. It uses one of the two protocols that most servers offer. [`Scripted`] plays a script. A
//! [`ProviderSection`] is the configuration of one provider, and [`PluginModels`] answers the plugins that have the grant `model`. The
//! crate needs Unix, because it kills programs as process groups. It also needs a tokio runtime with all drivers enabled.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`message`] | the conversation, independent of any provider |
//! | [`origin`] | the servers that keys belong to |
//! | `keys` | the user's stored keys ([`Keys`]) |
//! | [`process`] | child processes that end with everything that they have started |
//! | `script` | the file that a scripted provider plays |
//! | `error` | failures of providers |
//! | `retry` | the policy for failed requests |
//! | `provider` | the trait [`Provider`], its requests and answers |
//! | `program` | a local program that takes the place of a provider's server |
//! | `endpoint` | the address of a provider with its key; requests and streams over HTTP |
//! | `reasoning` | thinking in OpenAI's protocol |
//! | `anthropic` | the Messages API of Anthropic |
//! | `openai` | the chat completions of OpenAI |
//! | `remote` | a provider in one of the two protocols |
//! | `scripted` | a provider that plays a script |
//! | [`section`] | the configuration of a provider |
//! | `variant` | files that name a protocol and a server |
//! | [`builtin`] | the providers that are known without configuration |
//! | `probe` | the models that a local server lists |
//! | `configured` | creates a provider from its section |
//! | `plugin_models` | the models that plugins may ask |

#![deny(missing_docs)]
#![cfg(unix)]

mod anthropic;
pub mod builtin;
mod configured;
mod endpoint;
mod error;
mod keys;
pub mod message;
mod openai;
pub mod origin;
mod plugin_models;
mod probe;
pub mod process;
mod program;
mod provider;
mod reasoning;
mod remote;
mod retry;
mod script;
mod scripted;
pub mod section;
mod variant;

pub use endpoint::{Endpoint, Timeouts, http_client};
pub use error::ProviderError;
pub use keys::{Keys, KeysError};
pub use origin::Origin;
pub use plugin_models::{PluginModels, answer};
pub use probe::served_models;
pub use program::{COMMON_VARIABLES, ProgramDescription, ProviderProgram};
pub use provider::{Delta, DeltaStream, Provider, Request, ToolDefinition};
pub use remote::RemoteProvider;
pub use retry::RetryPolicy;
pub use script::{Script, ScriptError};
pub use scripted::Scripted;
pub use section::ProviderSection;
