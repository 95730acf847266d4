//! The few styles, each for one kind of thing.

use anstyle::{AnsiColor, Style};

/// `error:`
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// `warning:`, and what will not be as one may think.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// `try:`
pub(crate) const ADVICE: Style = AnsiColor::Cyan.on_default().bold();
/// What was permitted, or is done.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What was changed.
pub(crate) const CHANGED: Style = AnsiColor::Magenta.on_default().bold();
/// The thing that a paragraph is about.
pub(crate) const NAME: Style = Style::new().bold();
/// Code within a text.
pub(crate) const CODE: Style = AnsiColor::Cyan.on_default();
/// What is beside the point.
pub(crate) const DIM: Style = Style::new().dimmed();
