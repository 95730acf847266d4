//! Write a [hookhost](https://github.com/hookhost/hookhost) plugin: a policy or a customisation for LLM agents, in one
//! sandboxed WebAssembly component.
//!
//! This is a complete plugin:
//!
//! ```
//! use hookhost_guest::prelude::*;
//!
//! struct NoForcePush;
//!
//! #[plugin]
//! impl Plugin for NoForcePush {
//!     fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
//!         match call.action.shell() {
//!             Some(shell) if shell.command.contains("push --force") => {
//!                 Refusal::new("force-push rewrites shared history").into()
//!             }
//!             _ => Verdict::allow(),
//!         }
//!     }
//! }
//!
//! // A test calls the method directly, without wasm:
//! use hookhost_guest::testing;
//! let verdict = NoForcePush::before_tool_call(&testing::session(), &testing::shell("git push --force"));
//! assert!(matches!(verdict, ToolCallVerdict::Reject(_)));
//! let verdict = NoForcePush::before_tool_call(&testing::session(), &testing::shell("git push"));
//! assert_eq!(verdict, ToolCallVerdict::Allow);
//! ```
//!
//! Each method that you write becomes an export of the component. [`Plugin`] lists all methods. `call.action` describes the effect of a
//! call, whatever the names of the tool and its arguments are.
//!
//! # Configuration
//!
//! `configure` gets a struct that you define. The host fills it from the `[plugin.config]` table of the plugin's allowlist entry. Store the
//! struct, or a value that you compute from it, in a [`Configured`]:
//!
//! ```
//! use hookhost_guest::prelude::*;
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields, rename_all = "kebab-case")]
//! struct Config {
//!     forbidden: Vec<String>,
//! }
//!
//! static CONFIG: Configured<Config> = Configured::new();
//!
//! struct ForbiddenWords;
//!
//! #[plugin]
//! impl Plugin for ForbiddenWords {
//!     fn configure(config: Config) -> Result<(), String> {
//!         if config.forbidden.is_empty() {
//!             return Err("`forbidden` is empty: name at least one word".into());
//!         }
//!         CONFIG.set(config);
//!         Ok(())
//!     }
//!
//!     fn prompt_submit(_session: &Session, prompt: &str) -> TextVerdict {
//!         match CONFIG.get().forbidden.iter().find(|word| prompt.contains(word.as_str())) {
//!             Some(word) => Refusal::new(format!("the prompt holds the word `{word}`")).code("words.forbidden").into(),
//!             None => Verdict::keep(),
//!         }
//!     }
//! }
//! # ForbiddenWords::configure(Config { forbidden: vec!["mellon".into()] }).unwrap();
//! # let verdict = ForbiddenWords::prompt_submit(&hookhost_guest::testing::session(), "say mellon");
//! # assert!(matches!(verdict, TextVerdict::Reject(_)));
//! ```
//!
//! # Capabilities
//!
//! Each capability of a plugin is a module: [`event`], [`log`], [`effects`], [`state`], [`transcript`], [`model`], [`facts`],
//! [`labels`], [`secrets`] and [`grants`]. A component imports only the capabilities that its code uses. The allowlist must grant all but the first
//! three and [`grants`]. The last four belong to version 0.2 of the contract, which is a draft; a component that uses none of them is one
//! of version 0.1.
//!
//! # Compile errors
//!
//! A method whose name is not the name of an event does not compile, and the error names the most similar event. A method whose signature
//! differs from the signature of its event does not compile either:
//!
//! ```compile_fail
//! # use hookhost_guest::prelude::*;
//! # struct Wrong;
//! #[plugin]
//! impl Plugin for Wrong {
//!     fn before_toolcall(_session: &Session, _call: &ToolCall) -> ToolCallVerdict {
//!         Verdict::allow()
//!     }
//! }
//! ```
//!
//! ```compile_fail,E0053
//! # use hookhost_guest::prelude::*;
//! # struct Wrong;
//! #[plugin]
//! impl Plugin for Wrong {
//!     fn before_tool_call(_session: &Session, _call: &ToolCall) -> TextVerdict {
//!         Verdict::keep()
//!     }
//! }
//! ```
//!
//! # Building
//!
//! Build a plugin with `cargo build --target wasm32-wasip2 --release`. Its crate needs `crate-type = ["cdylib", "rlib"]`, because its tests
//! use the `rlib`. The crate must also set a small stack, so that a new instance touches few pages of memory. This SDK cannot set the stack
//! size for the crate. Copy [`guest-sdk/template`](https://github.com/hookhost/hookhost/tree/main/guest-sdk/template), which has these
//! settings.
//!
//! `#[plugin]` generates `unsafe` code for the exports, so a plugin's crate can `deny(unsafe_code)` but not `forbid` it. A crate can
//! contain only one plugin.

#![deny(missing_docs)]

mod call;
mod capabilities;
mod configured;
#[cfg(all(feature = "host", not(target_arch = "wasm32")))]
mod conversions;
#[expect(missing_docs, reason = "written by wit-bindgen")]
mod generated;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
mod plugin;
pub mod prelude;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod verdict;

pub use call::{Tool, parse};
pub use capabilities::{effects, event, facts, grants, labels, log, model, secrets, state, transcript};
pub use configured::{Configured, NoConfig};
/// The contract's types, from `wit/0.1/types.wit`.
pub use generated::v0_1::types;
pub use hookhost_guest_macros::plugin;
pub use plugin::Plugin;
pub use serde_json::{self, json};
pub use verdict::Verdict;

// Items that the code of `#[plugin]` refers to.
#[doc(hidden)]
pub use configured::parse_config;
#[doc(hidden)]
pub use generated::hookhost as __bindings;
#[doc(hidden)]
pub use wit_bindgen;
