//! Child processes with everything that they start: each has a group of its own, and ends as a whole.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | `group` | a child process, and the group that it leads |
//! | `descendants` | processes that have left their group |

#![deny(missing_docs)]
#![cfg(unix)]

mod descendants;
mod group;

pub use descendants::adopt_orphans;
pub use group::{ProcessGroup, StillRunning, kill_started};
