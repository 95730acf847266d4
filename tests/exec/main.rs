//! `hookhost exec` as a whole: a stand-in agent runs attacks as real commands inside, and features of the kernel are taken away.
//!
//! Programs run as root and as an ordinary user that the tests make; without root, as the user who runs the tests.

#![cfg(target_os = "linux")]

mod attacks;
mod features;
mod home;
mod hooks;
mod sockets;
#[path = "../../host/exec/tests/support/mod.rs"]
mod support;
