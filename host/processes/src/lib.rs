//! Child processes with all their descendants: each child has its own group, and is killed as a whole.
//!
//! The two modules use each other:
//!
//! | module | purpose |
//! |---|---|
//! | `group` | a child process, and the group that it leads |
//! | `descendants` | processes that have left their group |

#![deny(missing_docs)]
#![cfg(unix)]

mod descendants;
mod group;

pub use descendants::adopt_orphans;
pub use group::{ProcessGroup, StillRunning, kill_started};
