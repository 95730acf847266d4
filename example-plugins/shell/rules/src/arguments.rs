//! Names programs, and splits the words of their commands into options and operands, for other plugins. A component that uses only this
//! module does not contain the catalogues.

pub use crate::rules::{Arguments, Programs, is_program};
