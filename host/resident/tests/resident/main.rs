//! Tests of the resident host with native rules. They check the reply to the messages of each agent over the socket, over HTTP and
//! without a transport.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod facts;
mod http;
mod resident;
mod rules;
mod settling;
mod support;
