//! Child processes with all their descendants. Each child has its own process group, which is killed as a whole. The children are
//! the programs of providers, tools, MCP servers and proxies.

mod descendants;
mod group;

pub use descendants::{StillRunning, adopt_orphans};
pub use group::{ProcessGroup, kill_started};
