//! Reads and writes one message as a Markdown file with front matter and text.

use super::front_matter::Fields;
use super::markdown::Body;
use super::{Generation, timestamp};
use hookhost_models::message::{Author, Message, Thinking, Thoughts, TokenUsage};

const DELIMITER: &str = "---\n";
/// Key for the places of thinking, as `text/calls` per piece. It is absent if all thinking came first.
const PLACES: &str = "thinking_behind";

/// A stored message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredMessage {
    /// Number of the message in its session, from 1.
    pub number: u64,
    /// Time of writing in milliseconds since the Unix epoch, if recorded.
    pub time: Option<u64>,
    /// The message.
    pub message: Message,
    /// Model call of an answer, if recorded.
    pub generation: Option<Generation>,
}

/// Returns the word for a message's kind in its file name and front matter.
pub(super) fn role(message: &Message) -> &'static str {
    match message {
        Message::User { .. } => "user",
        Message::Assistant { .. } => "assistant",
        Message::Tool { .. } => "tool_result",
    }
}

/// Returns the name of a message's file.
pub(super) fn name(number: u64, message: &Message) -> String {
    format!("{number:04}-{}.md", role(message))
}

/// Returns the number in the name of a message's file; `None` for other files.
pub(super) fn number(name: &str) -> Option<u64> {
    let (number, role) = name.strip_suffix(".md")?.split_once('-')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (digits && matches!(role, "user" | "assistant" | "tool_result")).then(|| number.parse().ok())?
}

impl StoredMessage {
    pub(super) fn write(&self) -> String {
        let mut fields = Fields::default();
        fields.set("role", role(&self.message));
        fields.set("seq", &format!("{:04}", self.number));
        if let Some(time) = self.time {
            fields.set("timestamp", &timestamp::format(time));
        }
        if let Some(Generation { provider, model, stop, usage }) = &self.generation {
            fields.set("model", model);
            fields.set("provider", provider);
            fields.set("stop", stop);
            fields.set("tokens_in", &usage.input_tokens);
            fields.set("tokens_out", &usage.output_tokens);
            fields.set("tokens_cached", &usage.cached_input_tokens);
        }
        let body = match &self.message {
            Message::User { text, author } => {
                if *author != Author::User {
                    fields.set("author", author.name());
                }
                text.clone()
            }
            Message::Assistant { text, tool_calls, thoughts } => {
                let thinking = thoughts.thinking.clone();
                if let Some(places) = places(&thinking) {
                    fields.set(PLACES, &places);
                }
                Body { thinking, text: text.clone(), tool_calls: tool_calls.clone() }.write()
            }
            Message::Tool { call_id, name, text, is_error } => {
                fields.set("call_id", call_id);
                fields.set("tool", name);
                fields.set("error", is_error);
                text.clone()
            }
        };
        format!("{DELIMITER}{}{DELIMITER}{body}\n", fields.text(": "))
    }

    /// Parses a file. The error describes the fault.
    pub(super) fn read(number: u64, bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| format!("it is no UTF-8 text from byte {} on", error.valid_up_to() + 1))?;
        let rest = text.strip_prefix(DELIMITER).ok_or("it has no front matter: its first line must be `---`")?;
        // An empty front matter has no line break before its closing line.
        let (front, body) = match rest.strip_prefix(DELIMITER) {
            Some(body) => ("", body),
            None => rest.split_once("\n---\n").ok_or("its front matter is not closed by a line `---`")?,
        };
        let fields = Fields::parse(front, ':');
        let body = body.strip_suffix('\n').unwrap_or(body);
        let generation = fields.word("provider").map(|provider| Generation {
            provider,
            model: fields.word("model").unwrap_or_default(),
            stop: fields.word("stop").unwrap_or_default(),
            usage: TokenUsage::new(fields.number("tokens_in"), fields.number("tokens_out"))
                .cached(fields.number("tokens_cached")),
        });
        let message = match fields.get("role") {
            Some("user") => Message::User { text: body.to_owned(), author: author(&fields)? },
            Some("tool_result") => Message::Tool {
                call_id: fields.word("call_id").ok_or("its front matter names no `call_id`")?,
                name: fields.word("tool").unwrap_or_default(),
                text: body.to_owned(),
                is_error: fields.get("error") == Some("true"),
            },
            Some("assistant") => {
                let Body { mut thinking, text, tool_calls } = Body::read(body).map_err(|error| {
                    let line = front.split('\n').count() + 2 + error.line;
                    format!("line {line}: {}", error.reason)
                })?;
                put_in_places(&mut thinking, fields.get(PLACES).unwrap_or_default());
                Message::Assistant { text, tool_calls, thoughts: thoughts(thinking, generation.as_ref()) }
            }
            Some(role) => {
                return Err(format!(
                    "its role is `{}`: there are user, assistant and tool_result",
                    role.escape_debug()
                ));
            }
            None => return Err("its front matter names no `role`".into()),
        };
        let time = fields.get("timestamp").and_then(timestamp::parse);
        Ok(Self { number, time, message, generation })
    }
}

/// Returns the author of a message in the user's role; the user by default.
fn author(fields: &Fields) -> Result<Author, String> {
    let Some(name) = fields.get("author") else { return Ok(Author::User) };
    Author::from_name(name)
        .ok_or_else(|| format!("its author is `{}`: there are user, model, plugin and policy", name.escape_debug()))
}

fn places(thinking: &[Thinking]) -> Option<String> {
    let place = |one: &Thinking| format!("{}/{}", one.text_before, one.calls_before);
    let first = |one: &Thinking| one.text_before == 0 && one.calls_before == 0;
    (!thinking.iter().all(first)).then(|| thinking.iter().map(place).collect::<Vec<_>>().join(" "))
}

fn put_in_places(thinking: &mut [Thinking], places: &str) {
    for (one, place) in thinking.iter_mut().zip(places.split(' ')) {
        if let Some((text, calls)) = place.split_once('/') {
            one.text_before = text.parse().unwrap_or(0);
            one.calls_before = calls.parse().unwrap_or(0);
        }
    }
}

/// Assigns thinking to the model of its answer. If the file names no model, the thinking matches none and is never
/// sent.
fn thoughts(thinking: Vec<Thinking>, generation: Option<&Generation>) -> Thoughts {
    let of = |name: fn(&Generation) -> &String| generation.map(name).cloned().unwrap_or_default();
    if thinking.is_empty() {
        return Thoughts::default();
    }
    Thoughts::new(of(|from| &from.provider), of(|from| &from.model), thinking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stored(message: Message) -> StoredMessage {
        StoredMessage { number: 7, time: Some(1_760_000_000_123), message, generation: None }
    }

    /// What a line-based front matter could trip over.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![any::<String>(), Just("\n---\n".into()), Just("---".into()), Just("\r\n".into())];
        proptest::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn whatever_a_message_says_is_read_as_it_was_written(
            text in text(), id in text(), name in text(), is_error: bool, model in text(), provider in text(),
            author in proptest::sample::select(&Author::ALL[..])
        ) {
            prop_assume!(!id.is_empty() && !provider.is_empty() && !model.is_empty());
            let usage = TokenUsage::new(3, u64::MAX).cached(2);
            let answer = StoredMessage {
                generation: Some(Generation { provider, model, stop: "end".into(), usage }),
                ..stored(Message::assistant(text.clone(), Vec::new()))
            };
            let result = Message::Tool { call_id: id, name, text: text.clone(), is_error };
            for stored in [stored(Message::User { text, author }), stored(result), answer] {
                prop_assert_eq!(StoredMessage::read(7, stored.write().as_bytes()), Ok(stored));
            }
        }

        #[test]
        fn any_content_of_a_file_is_read_or_refused(bytes: Vec<u8>, text in text()) {
            let _ = StoredMessage::read(1, &bytes);
            let _ = StoredMessage::read(1, format!("---\nrole: user\n{text}").as_bytes());
        }
    }

    #[test]
    fn a_file_is_as_people_and_the_fourth_seed_read_it() {
        let usage = TokenUsage::new(100, 10).cached(60);
        let (provider, model) = ("anthropic".into(), "claude-x".into());
        let generation = Some(Generation { provider, model, stop: "end".into(), usage });
        let answer = Message::assistant("Done.", Vec::new());
        let written = StoredMessage { generation, ..stored(answer) }.write();
        assert_eq!(
            written,
            "---\nrole: assistant\nseq: 0007\ntimestamp: 2025-10-09T08:53:20.123+00:00\nmodel: claude-x\n\
             provider: anthropic\nstop: end\ntokens_in: 100\ntokens_out: 10\ntokens_cached: 60\n---\nDone.\n"
        );
    }

    #[test]
    fn what_is_wrong_with_a_file_is_one_sentence() {
        let error = |text: &str| StoredMessage::read(1, text.as_bytes()).unwrap_err();
        assert_eq!(error("Hello\n"), "it has no front matter: its first line must be `---`");
        assert_eq!(error("---\nrole: user\n"), "its front matter is not closed by a line `---`");
        assert_eq!(error("---\n---\nHello\n"), "its front matter names no `role`");
        assert_eq!(error("---\nrole: robot\n---\n"), "its role is `robot`: there are user, assistant and tool_result");
        assert_eq!(
            error("---\nrole: user\nauthor: root\n---\n"),
            "its author is `root`: there are user, model, plugin and policy"
        );
        assert_eq!(error("---\nrole: tool_result\n---\n"), "its front matter names no `call_id`");
        assert_eq!(
            error("---\nrole: assistant\n---\nHi\n\n```tool_call id=1 name=bash\n{}\n"),
            "line 6: the block is not closed by ```"
        );
        assert_eq!(StoredMessage::read(1, b"---\n\xff").unwrap_err(), "it is no UTF-8 text from byte 5 on");
    }

    #[test]
    fn only_messages_are_taken_for_messages() {
        assert_eq!(number("0012-user.md"), Some(12));
        assert_eq!(number("10000-tool_result.md"), Some(10_000));
        for name in ["user.md", "0001-robot.md", "0001-user.md~", ".0001-user.md", "-user.md", "+1-user.md"] {
            assert_eq!(number(name), None, "{name}");
        }
    }
}
