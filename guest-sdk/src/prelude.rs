//! The items that most plugins need: `use hookhost_guest::prelude::*;`.

pub use crate::effects::{Finding, Reminder, Severity};
pub use crate::types::*;
pub use crate::{Configured, Plugin, Tool, Verdict, effects, event, json, log, model, plugin, state, transcript};
