//! What the events about a text on its way share.

use crate::chain::Passage;
use crate::contract::TextVerdict;

/// Declares an event about a text on its way.
macro_rules! text_event {
    ($(#[$doc:meta])* $event:ident, $parameter:literal) => {
        $(#[$doc])*
        pub(crate) struct $event;

        impl Event for $event {
            type Payload = String;
            type Params<'a> = (&'a Session, &'a String);
            type Return = (TextVerdict,);
            const PARAMETER: Option<&'static str> = Some($parameter);

            fn params<'a>(session: &'a Session, text: &'a String) -> Self::Params<'a> {
                (session, text)
            }
        }

        impl TransformEvent for $event {
            type Verdict = TextVerdict;
            type Value = String;

            fn value(text: &String) -> &String {
                text
            }
            fn replace(text: &mut String, new: String) {
                *text = new;
            }
            fn passage(verdict: TextVerdict) -> Result<Passage<String>, String> {
                Ok(verdict.into())
            }
        }
    };
}
pub(super) use text_event;

impl From<TextVerdict> for Passage<String> {
    fn from(verdict: TextVerdict) -> Self {
        match verdict {
            TextVerdict::Keep => Self::Keep,
            TextVerdict::Replace(text) => Self::Replace(text),
            TextVerdict::Reject(refusal) => Self::Reject(refusal),
        }
    }
}
