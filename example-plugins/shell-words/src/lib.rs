//! What a guard looks at in every command: single characters of its words, names of programs that write, and the lists of words
//! of its rules. It is a crate of its own because it is compiled for speed, and what is asked of few commands for size.

pub mod ascii;
pub mod known;
pub mod text;
pub mod words;
