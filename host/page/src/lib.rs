//! The page of the resident host: what the agents of a user do, why each event was decided as it was, and what waits for a person.
//!
//! The page has listeners of its own on the loopback addresses. It renders on the server and needs no other origin. It holds no state that
//! is not in the store: it reads the log, and it answers questions in the same way as every other program of the user.
//!
//! Data flows down this list and never back up:
//!
//! | module | purpose |
//! |---|---|
//! | `guard` | decides which requests of a browser are answered at all |
//! | `access` | the codes of links, and the tokens of tabs |
//! | `listeners` | the two loopback listeners |
//! | `peer` | the user to whom the other end of a connection belongs |
//! | `shown_text` | texts of others in which every character can be seen |
//! | `log_rows` | reads the log as rows, newest first |
//! | `search` | finds records by words, with an index or without |
//! | `views` | one module for each view: its data, and its markup |
//! | `health` | reads what works, and what does not |
//! | `live` | new rows and questions, for all open tabs |
//! | `assets` | the style and the script |
//! | `routes` | finds the view of a request, and gives answers |
//! | `server` | serves connections |

#![deny(missing_docs)]

mod access;
mod assets;
mod guard;
mod health;
mod listeners;
mod live;
mod log_rows;
mod peer;
mod routes;
mod search;
mod server;
mod shown_text;
mod views;

pub use health::FurtherChecks;
pub use listeners::LoopbackListeners;
pub use server::{Page, PageSettings};
