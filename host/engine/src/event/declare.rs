//! Macros for the common parts of most events.

use crate::compose::Passage;
use crate::contract::TextVerdict;

/// Declares an event for which `handle` has two parameters: the session and the payload.
macro_rules! event {
    ($(#[$doc:meta])* $event:ident($parameter:literal: $payload:ty) -> $return:ty $({ $($item:item)* })?) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $event;

        impl $crate::event::Event for $event {
            type Payload = $payload;
            type Params<'a> = ($crate::wire::In<'a, $crate::contract::Session>, $crate::wire::In<'a, $payload>);
            type Return = $return;
            const PARAMETER: Option<&'static str> = Some($parameter);

            fn params<'a>(session: &'a $crate::contract::Session, payload: &'a $payload) -> Self::Params<'a> {
                use $crate::wire::Given as _;
                (session.given(), payload.given())
            }
            $($($item)*)?
        }
    };
}

/// Declares a transform whose value is a text.
macro_rules! text_event {
    ($(#[$doc:meta])* $event:ident($parameter:literal)) => {
        $crate::event::declare::event! {
            $(#[$doc])* $event($parameter: String) -> ($crate::contract::TextVerdict,)
        }

        impl $crate::event::TransformEvent for $event {
            type Verdict = $crate::contract::TextVerdict;
            type Value = String;

            fn value(text: &String) -> &String {
                text
            }
            fn replace(text: &mut String, new: String) {
                *text = new;
            }
            fn passage(verdict: Self::Verdict, _: &String) -> Result<$crate::compose::Passage<String>, String> {
                Ok(verdict.into())
            }
        }
    };
}

pub(super) use {event, text_event};

impl From<TextVerdict> for Passage<String> {
    fn from(verdict: TextVerdict) -> Self {
        match verdict {
            TextVerdict::Keep => Self::Keep,
            TextVerdict::Replace(text) => Self::Replace(text),
            TextVerdict::Reject(refusal) => Self::Reject(refusal),
        }
    }
}
