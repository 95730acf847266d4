//! An event that is settled by a process of its own, where no resident host answers.
//!
//! The program `hookhost-settle` does it, with plugins that are compiled already. It has no compiler, no TLS and no commands, and
//! so begins in a fraction of the time that `hookhost` takes. What it cannot settle exactly as `hookhost` would, it leaves to
//! `hookhost` before anything is settled or recorded.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`section`] | the section `[agents]` |
//! | [`asked`] | the message of a hook, and the frames that it gets |
//! | [`cached`] | an event under rules whose plugins are compiled |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod asked;
pub mod cached;
pub mod section;
