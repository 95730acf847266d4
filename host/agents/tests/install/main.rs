//! Plans carried out and undone, in a home directory of their own.

#![expect(clippy::unwrap_used, reason = "what a test sets up fails by panicking")]

mod agents;
mod doctor;
mod files;
mod home;
