//! Sessions: the events of a session are decided one at a time, in order of arrival, by the plugins that subscribe to
//! them.
//!
//! A module uses only modules above it in this table; a test checks this.
//!
//! | module | contents |
//! |---|---|
//! | `clock` | the time, from the program or the operating system |
//! | `notice` | sentences that the user reads once |
//! | `spec` | the properties with which a session is opened |
//! | `options` | options of an event |
//! | `recorded_outcome` | an outcome with its record |
//! | `not_asked` | the reasons why no plugin is asked about an event |
//! | `failure_count` | counts failures in a row, which trip a plugin |
//! | `replay_inputs` | recorded inputs of an event that is replayed |
//! | `kept_answers` | answers that are valid for the rest of the session |
//! | `state` | the session's row in the store, and the changes to it |
//! | `ids` | identifiers of events, calls and records |
//! | `observer_queue` | events that wait for their observers |
//! | `refused_answers` | counts answers that did not count |
//! | `services` | the parts of a host that all its sessions share |
//! | `passkeys` | verifies each yes, if a passkey is registered |
//! | `shared_questions` | questions that another process may answer |
//! | `inner` | the part of a session that its handle, its events and its observers share |
//! | `invocation` | one call of a plugin |
//! | `dispatch` | the dispatch of one event: its chain, its record, its question and its observers |
//! | `handle` | the handle of a session |
//! | `plugin_state` | the state of plugins, as a test of rules sets and reads it |
//! | `reminders` | reminders of plugins for the model |
//! | `prepared` | a tool call, with the data that the host derives |
//! | `checked` | a tool call that may run |
//! | `payload` | payloads as JSON |
//! | `dispatched` | dispatches each event according to its shape |
//! | `turn` | dispatches an event when its turn has come |
//! | `typed` | the events as types, decided as far as possible without a person |
//! | `events` | the typed methods, one per event |
//! | `stream` | text of the model that is checked as it arrives |
//! | `tools` | the tools of plugins |

mod checked;
mod clock;
mod dispatch;
mod dispatched;
mod events;
mod failure_count;
mod handle;
mod ids;
mod inner;
mod invocation;
mod kept_answers;
mod not_asked;
mod notice;
mod observer_queue;
mod options;
mod passkeys;
mod payload;
mod plugin_state;
mod prepared;
mod recorded_outcome;
mod refused_answers;
mod reminders;
mod replay_inputs;
mod services;
mod shared_questions;
mod spec;
mod state;
mod stream;
mod tools;
mod turn;
mod typed;

pub use checked::AllowedCall;
pub use clock::Clock;
pub use dispatch::{OpenDecision, OpenOutcome, PendingApproval};
pub use handle::Session;
pub use notice::{Notice, NoticeKind};
pub use options::DispatchOptions;
pub use passkeys::PasskeyError;
pub use prepared::PreparedCall;
pub use recorded_outcome::RecordedOutcome;
pub use shared_questions::QuestionGone;
pub use spec::{SessionError, SessionSpec};
pub use stream::{FinalText, Piece, TextStream};
pub use tools::{PluginTools, ToolCallError};
pub use typed::EventType;

pub(crate) use clock::{SystemClock, now};
pub(crate) use observer_queue::ObserverTasks;
pub(crate) use replay_inputs::{ReplayInputs, ReplayedConsent};
pub(crate) use services::Services;
