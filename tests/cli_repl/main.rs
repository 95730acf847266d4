//! A person who talks with the agent at a terminal.
