//! The views. Each has a struct with what it shows, and a function that makes markup of it.
//!
//! | module | view |
//! |---|---|
//! | `layout` | the frame around a view, and parts that several views have |
//! | `now` | what happens now |
//! | `approvals` | questions that wait for a person |
//! | `found` | the result of a search |
//! | `event` | why an event was decided as it was |
//! | `rules` | the rules, and what they would say to a call |
//! | `health` | what works, and what does not |
//! | `report` | the counts of a period |
//! | `passkeys` | the passkeys with which a person says yes |
//! | `plain` | all views without a script |

pub(crate) mod approvals;
pub(crate) mod event;
pub(crate) mod found;
pub(crate) mod health;
pub(crate) mod layout;
pub(crate) mod now;
pub(crate) mod passkeys;
pub(crate) mod plain;
pub(crate) mod report;
pub(crate) mod rules;
