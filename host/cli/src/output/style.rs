//! The styles of the output, each for one purpose.

use anstyle::{AnsiColor, Style};

/// `error:`
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// `warning:`, and unexpected results.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// `try:`
pub(crate) const ADVICE: Style = AnsiColor::Cyan.on_default().bold();
/// Permitted calls, and finished work.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Changed values.
pub(crate) const CHANGED: Style = AnsiColor::Magenta.on_default().bold();
/// The subject of a paragraph.
pub(crate) const NAME: Style = Style::new().bold();
/// Code within a text.
pub(crate) const CODE: Style = AnsiColor::Cyan.on_default();
/// Secondary details.
pub(crate) const DIM: Style = Style::new().dimmed();
