//! Tests the endpoints for draft standards, with native rules.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod acs;
mod interceptor;
mod support;
