//! Replaces the module `http` in a program that is built without the feature `http`. No interface of `wasi:http` is
//! linked.

use super::guest::Guest;
use crate::config::{Grants, Server};
use std::sync::Arc;
use wasmtime::component::Linker;

/// An example of the line in `[plugin.grants]` that grants `http`.
pub(crate) const GRANT: &str = r#"http = ["api.example.com"]"#;

/// The network, which sends no requests.
#[derive(Debug, Default)]
pub(crate) struct Network;

/// The state of the requests of one call. There are none.
#[derive(Debug)]
pub(super) enum Http {}

pub(crate) fn is_http(_: &str) -> bool {
    false
}

pub(super) fn link(_: &mut Linker<Guest>) -> wasmtime::Result<()> {
    Ok(())
}

pub(crate) fn servers(_: &Grants) -> Arc<[Server]> {
    Arc::default()
}
