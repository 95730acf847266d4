//! The reasons why no plugin is asked about an event.

use crate::contract::Cause;
use crate::runtime;
use crate::store::StoreError;

/// The reason why no plugin is asked about an event.
pub(crate) enum NotAsked {
    /// The event did not get its turn, because of an error of the store.
    Store(StoreError),
    /// The session has ended.
    Ended,
    /// There is no tokio runtime, or the runtime has no timer.
    NoRuntime(runtime::Missing),
    /// The payload is invalid. The string is the reason.
    Invalid(String),
}

impl NotAsked {
    pub(super) fn cause(&self) -> Cause {
        match self {
            Self::Store(_) => Cause::NotRecorded,
            Self::Ended => Cause::Ended,
            Self::NoRuntime(_) => Cause::NoRuntime,
            Self::Invalid(_) => Cause::Invalid,
        }
    }
}

impl std::fmt::Display for NotAsked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Ended => {
                f.write_str("the agent has ended it or dropped its handle; open the session again to continue it")
            }
            Self::NoRuntime(runtime::Missing::Runtime) => {
                f.write_str("send the event from within a runtime, or use `hookhost::blocking`")
            }
            Self::NoRuntime(runtime::Missing::Timer) => {
                f.write_str("the runtime of the caller has no timer; build the runtime with `enable_time`")
            }
            Self::Invalid(why) => f.write_str(why),
        }
    }
}
