//! Write a [hookhost](https://github.com/hookhost/hookhost) plugin: a policy or a customisation for LLM agents, in one
//! sandboxed WebAssembly component.
//!
//! This is a whole plugin:
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
//! // What `cargo test` can say of it, without any wasm:
//! use hookhost_guest::testing;
//! let verdict = NoForcePush::before_tool_call(&testing::session(), &testing::shell("git push --force"));
//! assert!(matches!(verdict, ToolCallVerdict::Reject(_)));
//! let verdict = NoForcePush::before_tool_call(&testing::session(), &testing::shell("git push"));
//! assert_eq!(verdict, ToolCallVerdict::Allow);
//! ```
//!
//! Each method that is written becomes an export of the component; [`Plugin`] lists them all. `call.action` says what a
//! call does, with any names of the tool and its arguments.
//!
//! # Configuration
//!
//! `configure` takes a struct of the author's own, filled from the `[plugin.config]` table of the plugin's allowlist
//! entry, and keeps what it makes of it in a [`Configured`]:
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
//! What a plugin can ask of the host is a module each: [`event`], [`log`], [`effects`], [`state`], [`transcript`] and
//! [`model`]. A component imports what its code uses, and the allowlist must grant the last three.
//!
//! # What does not compile
//!
//! A method that is no event, with the nearest one named, and a signature that is not the event's:
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
//! `cargo build --target wasm32-wasip2 --release`. The crate needs
//! `crate-type = ["cdylib", "rlib"]` (the second for its tests) and, so that a fresh instance touches few pages of
//! memory, a small stack, which only the crate that is linked can ask for. A directory to copy is in
//! [`guest-sdk/template`](https://github.com/hookhost/hookhost/tree/main/guest-sdk/template).
//!
//! The exports are made of `unsafe` code that `#[plugin]` writes, so a plugin's crate can `deny(unsafe_code)` but not
//! `forbid` it. One crate is one plugin.

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
pub use capabilities::{effects, event, log, model, state, transcript};
pub use configured::{Configured, NoConfig};
/// The contract's types, as `wit/types.wit` has them.
pub use generated::hookhost::hooks::types;
pub use hookhost_guest_macros::plugin;
pub use plugin::Plugin;
pub use serde_json::{self, json};
pub use verdict::Verdict;

// What `#[plugin]` refers to.
#[doc(hidden)]
pub use configured::parse_config;
#[doc(hidden)]
pub use generated::hookhost::hooks as __bindings;
#[doc(hidden)]
pub use wit_bindgen;
