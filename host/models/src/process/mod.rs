//! Child processes with all their descendants: each child has its own group, and is killed as a whole.
//!
//! The two modules use each other:
//!
//! | module | purpose |
//! |---|---|
//! | `descendants` | processes that have left their group |
//! | `group` | a child process, and the group that it leads |

#![deny(missing_docs)]
#![cfg(unix)]

mod descendants;
mod group;

pub use descendants::{StillRunning, adopt_orphans};
pub use group::{ProcessGroup, kill_started};
