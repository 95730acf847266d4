//! Child processes with all their descendants: each child has its own group, and is killed as a whole. They are the
//! programs of providers, tools, MCP servers and proxies.

mod descendants;
mod group;

pub use descendants::{StillRunning, adopt_orphans};
pub use group::{ProcessGroup, kill_started};
