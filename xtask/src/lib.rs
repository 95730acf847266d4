//! The workspace, its plugins and its programs, for the developer's commands and the measurements of `bench/`. This crate depends only on
//! the standard library, so that the first command after a clone starts within seconds.

pub mod embed;
pub mod plugins;
pub mod programs;
pub mod workspace;

/// The result of a command. The error is one sentence.
pub type Outcome<T = ()> = Result<T, String>;
