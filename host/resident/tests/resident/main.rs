//! The resident host with rules of the test's own, which are native: what each agent's message leads to, over all of its ways
//! in.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod http;
mod resident;
mod rules;
mod settling;
mod support;
