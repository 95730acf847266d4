//! In place of `http`, in a program that is built without the feature of that name: nothing of `wasi:http` is linked.

use super::guest::Guest;
use crate::config::{Grants, Server};
use std::sync::Arc;
use wasmtime::component::Linker;

/// The line that grants it in an entry.
pub(crate) const GRANT: &str = r#"http = ["api.example.com"]"#;

/// The network of no requests.
#[derive(Debug, Default)]
pub(crate) struct Network;

/// State of the requests of one call: there are none.
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
