//! Namespaces: the keeper makes the mounts and repairs them, and the first process inside starts the program.

pub(crate) mod init;
pub(crate) mod keeper;
mod loopback;
mod map;
mod mounts;
mod nested;
mod world;

pub(crate) use map::map_identities;
