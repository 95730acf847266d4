//! Data for checks that a guard makes on every command: single characters of its words, names of programs that write, and the word lists of
//! its rules. It is a separate crate because it is compiled for speed, and code for rare commands for size.

pub mod ascii;
pub mod known;
pub mod text;
pub mod words;
