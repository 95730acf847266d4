//! Example plugins as components in a host.

mod shell_guard;
mod tool_policy;
