//! What a shell command obviously writes: redirections, and the files named to commands that are known to write.
//!
//! `words` splits a command as a POSIX shell does, `writes` knows the commands. This reads, it does not run: what a
//! script, an interpreter or a variable does at run time is not seen.

mod known;
mod words;
mod writes;

pub(crate) use writes::writes;
