//! Child processes with everything that they start: each has a group of its own, and ends as a whole.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | `descendants` | processes that have left their group |
//! | `group` | a child process, and the group that it leads |

#![deny(missing_docs)]
#![cfg(unix)]

mod descendants;
mod group;

pub use descendants::{StillRunning, adopt_orphans};
pub use group::{ProcessGroup, kill_started};
