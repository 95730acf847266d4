//! Tests that plans are installed and uninstalled correctly, in a temporary home directory.

#![expect(clippy::unwrap_used, reason = "what a test sets up fails by panicking")]

mod agent_plugin;
mod agents;
mod doctor;
mod files;
mod home;
mod project_hooks;
