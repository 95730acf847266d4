//! The items that most plugins need: `use hookhost_guest::prelude::*;`.

pub use crate::effects::{Finding, Reminder, Severity};
pub use crate::types::*;
pub use crate::{
    Configured, Plugin, Tool, Verdict, effects, event, facts, grants, json, labels, log, model, plugin, secrets, state,
    transcript,
};
