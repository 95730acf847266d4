//! The endpoints of the draft standards, with native rules of the tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod acs;
mod interceptor;
mod support;
