//! Example plugins as components in a host.

mod frozen;
mod labels;
mod path_guard;
mod profiles;
mod rules;
mod secrets;
mod self_defence;
mod shell_guard;
mod tool_policy;
mod wishes;
