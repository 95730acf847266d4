//! The command `hookhost`, as a user runs it.

#![expect(clippy::unwrap_used, reason = "what a test sets up fails by panicking")]

mod acp_proxy;
mod agents;
mod allow_and_trust;
mod audit;
mod auth;
mod cache;
mod case_files;
mod check;
mod configuration;
mod dispatch;
mod dispatch_shell;
mod evidence;
mod failing_plugins;
mod generated;
#[cfg(target_os = "linux")]
mod hook;
mod hostile;
mod import;
mod inspect_and_hooks;
mod interrupt;
mod mcp;
mod mcp_proxy;
mod not_loaded;
mod on_off;
mod plugin_models;
#[cfg(target_os = "linux")]
mod processes;
mod profiles;
mod provider;
mod proxied;
mod pty;
mod recording;
mod reload;
mod repl;
mod replay;
mod replay_exactly;
mod replay_past;
mod report;
mod requests;
mod rule;
mod rule_commands;
mod rule_files;
mod rules_in_words;
mod rules_meanwhile;
mod run;
mod sessions;
mod shipped_rules;
mod suggest;
mod telemetry;
mod terminal;
mod tools;
mod update;
mod why;
