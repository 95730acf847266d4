//! Batches, which are JSON arrays of messages. All batches are refused. The identifiers of the answers in a batch are read, because
//! the requests with these identifiers get an error as their answer.

use super::{EnvelopeGuess, INVALID_REQUEST, Id, MAX_VALUES, UnreadableMessage};
use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Returns the error for a batch. The error contains the identifiers of the requests that the batch answers.
pub(super) fn refused(text: &str) -> UnreadableMessage {
    let mut batch = Batch::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    // Nothing is assumed about a text that is not a valid array, or that contains too many messages.
    if reader.deserialize_seq(&mut batch).and_then(|()| reader.end()).is_err() {
        batch = Batch::default();
    }
    let is_answer = !batch.answers.is_empty() && !batch.has_others;
    let why = "a batch of messages is not taken: send each message separately".into();
    UnreadableMessage { code: INVALID_REQUEST, id: None, is_answer, answers: batch.answers.into(), why }
}

/// The content of a batch.
#[derive(Default)]
struct Batch {
    /// The identifiers of the requests to which the answers belong.
    answers: Vec<Id>,
    /// True if the batch contains something other than answers.
    has_others: bool,
}

impl<'de> Visitor<'de> for &mut Batch {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    /// Reads one message after another, and stores only the identifiers of answers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut count = 0;
        while let Some(message) = seq.next_element::<&RawValue>()? {
            count += 1;
            if count > MAX_VALUES {
                return Err(A::Error::custom(format!("it has more than {MAX_VALUES} messages")));
            }
            match EnvelopeGuess::of(message.get()) {
                EnvelopeGuess { id: Some(id), is_answer: true, has_outcome: true } => self.answers.push(id),
                _ => self.has_others = true,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Id, MAX_VALUES, Message};
    use bytes::Bytes;

    #[test]
    fn a_batch_is_refused_with_the_requests_that_its_answers_are_to() {
        let of = |text: &str| {
            let refused = Message::of(Bytes::copy_from_slice(text.as_bytes())).unwrap_err();
            assert!(refused.id.is_none() && refused.why.contains("batch"), "{text}: {refused}");
            (refused.answered_requests().map(Id::to_json).collect::<Vec<_>>().join(" "), refused.is_answer)
        };
        let answers = r#" [{"jsonrpc":"2.0","id":1,"result":{}}, {"jsonrpc":"2.0","id":"a","error":{}}]"#;
        assert_eq!(of(answers), (r#"1 "a""#.to_owned(), true));
        // An answer can be invalid although its identifier is clear.
        let odd = r#"[{"id":1,"result":{},"result":{}},{"id":2,"id":3,"result":{}},{"id":[4],"result":{}},{"id":5}]"#;
        assert_eq!(of(odd), ("1".to_owned(), false));
        let others = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},[{"id":2,"result":{}}],{"id":3,"result":{}},7]"#;
        assert_eq!(of(others), ("3".to_owned(), false));
        for none in ["[]", r#"[{"id":1,"result":{}}"#, r#"[{"id":1,"result":{}}] x"#, r#"[{"id":1,"method":"ping"}]"#] {
            assert_eq!(of(none), (String::new(), false), "{none}");
        }
        let many = format!("[{}0]", r#"{"id":1,"result":0},"#.repeat(MAX_VALUES));
        assert_eq!(of(&many), (String::new(), false), "it has too many messages");
        let alone = Message::of(Bytes::from_static(others.as_bytes())).unwrap_err().answers_only();
        assert_eq!((alone.answered_requests().collect::<Vec<_>>(), alone.is_answer), (vec![&Id::from(3)], true));
        let refused = Message::of(Bytes::from_static(b"[{\"id\":7,\"result\":\"caf\xe9\"}]")).unwrap_err();
        assert_eq!((&*refused.answers, refused.is_answer), (&[Id::from(7)][..], true));
    }
}
