//! Shared by the developer's commands and the measurements of `bench/`: the workspace, its plugins and its programs. Standard library
//! only, so that the first command starts within seconds of a clone.

pub mod embed;
pub mod plugins;
pub mod programs;
pub mod workspace;

/// The result of a command; the error is a sentence.
pub type Outcome<T = ()> = Result<T, String>;
