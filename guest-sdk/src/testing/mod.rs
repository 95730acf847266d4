//! Support for testing a plugin with plain `cargo test`. The module has a stand-in host that a test can set up and
//! inspect, and functions that create sample events. It is not available on wasm.
//!
//! Each thread has a separate stand-in, because each test runs on one thread. The stand-in behaves as the contract
//! describes for each capability, except that it has no quotas. A test can make it return errors.
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
