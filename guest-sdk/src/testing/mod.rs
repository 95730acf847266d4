//! For a plugin's own tests, run natively by plain `cargo test`: a stand-in host that a test can prime and inspect, and short ways to write
//! an event. Not available on wasm.
//!
//! The stand-in belongs to the thread, as a test does. It behaves as the contract says of each capability, except for quotas: it has none
//! unless a test asks for a failure.
//!
//! ```
//! use hookhost_guest::prelude::*;
//! use hookhost_guest::testing;
//!
//! struct Counting;
//!
//! #[plugin]
//! impl Plugin for Counting {
//!     fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
//!         let calls = state::increment(state::Scope::Session, &call.name, 1).unwrap_or_default();
//!         if calls == 3 {
//!             effects::remind(&Reminder::new(format!("{} was called three times", call.name)));
//!         }
//!         Verdict::allow()
//!     }
//! }
//!
//! testing::prime(|_host| {});
//! for _ in 0..3 {
//!     Counting::before_tool_call(&testing::session(), &testing::shell("ls"));
//! }
//! testing::inspect(|host| assert_eq!(host.reminders[0].body, "bash was called three times"));
//! ```

pub(crate) mod host;
mod samples;

pub use host::{Host, inspect, prime};
pub use samples::{call, completion, inference, session, shell, usage, write_files};
