//! Checks the text of an answer while it streams in, and decides which text may be shown now and which must wait.
//!
//! If a plugin subscribes to `stream-delta`, text is shown only in whole lines that have passed this event. Text that
//! `finalize-content` may still withhold is not shown. The engine buffers the text itself. If the program did so, and
//! missed a reload or a cancellation, it could show text that a plugin withholds a moment later. If the rules change in
//! the middle of an answer, a stricter rule applies at once, and a looser rule applies from the next answer on. So no
//! text escapes the checks, even if the configuration is saved twice in a row.

use super::handle::Session;
use super::inner::SessionInner;
use super::recorded_outcome::RecordedOutcome;
use crate::contract::{Cause, EventKind, Rejection, TransformOutcome};
use crate::event::{FinalizeContent, StreamDelta, StreamEnd};
use std::fmt;
use std::sync::Arc;

/// Maximum size of the text of one `stream-delta` event, in bytes. A longer line is split into several events.
const MAX_PIECE_BYTES: usize = 4096;

/// Maximum size of the text of one answer, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// The text of one answer of a model on its way to the user. [`Session::stream`] creates it.
///
/// The program passes the model's deltas to the stream, and the stream returns the text that may be shown so far:
///
/// - If no plugin subscribes to `stream-delta`, text is shown as it arrives.
/// - If a plugin subscribes to `stream-delta`, the plugin is asked about whole lines. Otherwise a secret could be cut
///   in two. A line that is longer than 4 KiB is passed to the plugin in pieces of 4 KiB.
/// - If a plugin subscribes to `finalize-content`, all text waits for [`Self::finish`], unless the setting
///   [`stream_unfinalised`](crate::config::Settings::stream_unfinalised) says otherwise.
///
/// Rules that become active in the middle of an answer apply from the next delta on. They also apply to earlier text
/// that was not returned yet. Rules that are removed in the middle of an answer apply until the answer ends.
///
/// An answer has at most 16 MiB of text. Text beyond this limit is not shown. Instead, the stream returns one piece
/// with a note about the limit.
///
/// Use a stream for text that is shown. If a program shows the model's reasoning, use a separate stream for the
/// reasoning; reasoning that is not shown needs no stream. If a stream is dropped, the rest of its text is discarded,
/// and no plugin is asked about it. If the future of a method is dropped, no text is lost, because the next call
/// returns the same text. After the session has ended, or after its handle was dropped, all text is withheld.
///
/// ```
/// use hookhost::contract::Refusal;
/// use hookhost::{Config, Host, Rule, config::Entry};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let rule = Rule::new().stream_delta(|_, line| line.contains("hunter2").then(|| Refusal::new("it holds the password")));
/// let host = Host::builder(Config::empty()).plugin(Entry::from_rule("no-passwords", rule)).build().await?;
/// let session = host.session("my-agent", "/work")?;
///
/// let mut shown = String::new();
/// let mut stream = session.stream();
/// for delta in ["I look", ".\nIt is hun", "ter2.\n", "Done."] {
///     for piece in stream.push(delta).await {
///         shown += &piece.text;
///     }
/// }
/// for piece in stream.finish().await.pieces {
///     shown += &piece.text;
/// }
/// assert_eq!(shown, "I look.\n[withheld: Rejected by no-passwords: it holds the password]\nDone.");
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[must_use = "a stream shows nothing by itself"]
pub struct TextStream {
    session: Arc<SessionInner>,
    /// The model's text so far.
    text: String,
    /// Offset in bytes up to which plugins were asked: the text before it has passed `stream-delta` or was withheld.
    asked: usize,
    /// Offset in bytes up to which the text was returned to the program or withheld. It is never less than `asked`.
    given: usize,
    /// The pieces that have not been returned yet.
    ready: Vec<Piece>,
    /// The text that was returned.
    shown: String,
    /// True if each line must pass `stream-delta` before it is shown.
    by_line: bool,
    /// True if all text waits until `finalize-content` has decided about it.
    is_held: bool,
    /// True once `finalize-content` has decided about the text.
    is_final: bool,
    /// True once the answer has ended.
    is_ended: bool,
    /// True once a rejection has ended the stream. After that, nothing more is shown.
    is_closed: bool,
    length: Length,
}

/// The length of the text, compared with [`MAX_TEXT_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Within,
    /// The text is too long, and no piece has reported this yet.
    Exceeded,
    Reported,
}

/// A part of an answer that may be shown. Displays as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The text after the changes of plugins. Show the pieces one after the other, without separators. For a withheld
    /// line, the text is a note, `[withheld: Rejected by …]`. If the line was already shown before it was rejected,
    /// the text is empty.
    pub text: String,
    /// The rejection, if `stream-delta` withheld the text. [`Rejection::ends`] says whether the agent's run has to end.
    pub rejection: Option<Rejection>,
}

/// The result of [`TextStream::finish`].
#[derive(Clone, Debug)]
#[must_use = "its pieces have not been shown"]
#[non_exhaustive]
pub struct FinalText {
    /// The pieces to be shown now, in order.
    pub pieces: Vec<Piece>,
    /// True if the pieces are the whole text, which replaces the text that was shown before. This happens only if
    /// text was shown before `finalize-content` decided about it. There are two possible reasons: the setting
    /// `stream-unfinalised`, or a plugin that was loaded in the middle of the answer.
    pub replaces: bool,
    /// The final text for the conversation: the text after `finalize-content`, or the note about a withheld text. It
    /// does not contain changes by `stream-delta`, which only affect what is shown.
    pub text: String,
    /// The final text in the form that is shown, including the part that was shown before.
    pub shown: String,
    /// The outcome of `finalize-content`.
    pub settled: RecordedOutcome<TransformOutcome<String>>,
}

impl Session {
    /// Creates a stream for the text of one answer. The stream does not keep the session open.
    pub fn stream(&self) -> TextStream {
        TextStream::new(Arc::clone(&self.shared))
    }
}

impl TextStream {
    fn new(session: Arc<SessionInner>) -> Self {
        let mut stream = Self {
            session,
            text: String::new(),
            asked: 0,
            given: 0,
            ready: Vec::new(),
            shown: String::new(),
            by_line: false,
            is_held: false,
            is_final: false,
            is_ended: false,
            is_closed: false,
            length: Length::Within,
        };
        stream.follow_rules();
        stream
    }

    /// Creates an empty stream of the same session.
    pub(crate) fn emptied(&self) -> Self {
        Self::new(Arc::clone(&self.session))
    }

    /// Takes the next part of the answer. Returns the text that may be shown by now.
    // This is not an `async fn`, because the text must be stored even if the future is dropped before it is polled.
    pub fn push<'s>(&'s mut self, delta: &str) -> impl Future<Output = Vec<Piece>> + Send + use<'s> {
        self.take(delta);
        async move {
            // No more text follows a text that is too long, so its last line is complete.
            self.advance(self.length != Length::Within).await;
            self.report_length();
            self.take_ready()
        }
    }

    /// Returns the text that may be shown by now, including the last line, although this line has not ended. Call
    /// this when a tool call begins in the middle of the answer. Text that waits for `finalize-content` still waits.
    pub async fn flush(&mut self) -> Vec<Piece> {
        self.advance(true).await;
        self.take_ready()
    }

    /// Ends the answer, reports `stream-end`, and returns the rest of the text, except text that waits for
    /// `finalize-content`. Use this for an answer with tool calls, which is not the final text of a task. If
    /// [`Self::is_held`] is true, also call [`Self::finish`].
    pub async fn end(&mut self) -> Vec<Piece> {
        self.advance(true).await;
        self.tell_end().await;
        self.take_ready()
    }

    /// Ends the answer without `stream-end`. Use this for an answer that was interrupted, or for a text that no model
    /// has streamed, such as the response of a plugin.
    pub async fn end_untold(&mut self) -> Vec<Piece> {
        self.is_ended = true;
        self.flush().await
    }

    /// Ends the answer, if it has not ended, and asks plugins about the whole text (`finalize-content`). Returns the
    /// text that was held back, or a text that replaces the text shown before.
    pub async fn finish(mut self) -> FinalText {
        self.settle().await
    }

    /// Returns the model's text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if all text waits until `finalize-content` has decided about it.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Returns the size of the text that waits until it is final or until its line ends, in bytes.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.text.len() - self.given
    }

    async fn settle(&mut self) -> FinalText {
        self.advance(true).await;
        self.tell_end().await;
        let settled = self.session.dispatch::<FinalizeContent>(self.text.clone()).await;
        self.is_final = true;
        self.is_held = false;
        let (text, mut replaces) = match &settled.outcome {
            TransformOutcome::Passed { value } if *value == self.text => {
                self.by_line = true;
                self.advance(true).await;
                (value.clone(), false)
            }
            TransformOutcome::Passed { value } => {
                self.start_over(value.clone());
                self.advance(true).await;
                (value.clone(), true)
            }
            TransformOutcome::Withheld(rejection) => {
                let note = note(rejection);
                self.start_over(String::new());
                self.ready.push(Piece { text: note.clone(), rejection: None });
                (note, true)
            }
        };
        // If nothing was shown, nothing is replaced.
        replaces &= !self.shown.is_empty();
        if replaces {
            self.shown.clear();
        }
        let pieces = self.take_ready();
        FinalText { pieces, replaces, text, shown: self.shown.clone(), settled }
    }

    /// Adds a delta, up to the maximum size of the text.
    fn take(&mut self, delta: &str) {
        if self.is_closed || self.length != Length::Within {
            return;
        }
        let end = delta.floor_char_boundary(MAX_TEXT_BYTES - self.text.len());
        self.text.push_str(&delta[..end]);
        if end < delta.len() {
            self.length = Length::Exceeded;
        }
    }

    fn report_length(&mut self) {
        if self.length == Length::Exceeded {
            self.length = Length::Reported;
            let reason = format!("the text of one answer has at most {} MiB", MAX_TEXT_BYTES >> 20);
            let rejection = Rejection::host(Vec::new(), Cause::Invalid, reason);
            self.ready.push(Piece { text: note(&rejection), rejection: Some(rejection) });
        }
    }

    /// Adds all pieces to `ready` that may be shown by now. If `to_end` is true, the last line is treated as
    /// complete.
    async fn advance(&mut self, to_end: bool) {
        while !self.is_closed {
            self.follow_rules();
            if !self.by_line && !self.is_held {
                self.give_rest();
            }
            let Some(end) = self.next_piece(to_end) else { return };
            let piece = self.text[self.asked..end].to_owned();
            let outcome = self.session.dispatch::<StreamDelta>(piece).await.outcome;
            // Other rules may have become active meanwhile. If the new rules make text wait for `finalize-content`,
            // this piece waits as well, although it has passed the old rules.
            self.follow_rules();
            if self.is_held && self.given < end && matches!(outcome, TransformOutcome::Passed { .. }) {
                return;
            }
            self.take_up(end, outcome);
        }
    }

    /// Returns the end of the next piece for `stream-delta`, if the piece is complete.
    fn next_piece(&self, to_end: bool) -> Option<usize> {
        // If a part of a line was shown before a plugin subscribed, this part is a separate piece.
        let is_shown = self.asked < self.given && (self.by_line || self.is_held);
        let (limit, is_whole) = match (is_shown, self.is_held) {
            (true, _) => (self.given, true),
            (false, true) => return None,
            (false, false) => (self.text.len(), to_end),
        };
        Some(self.asked + piece(&self.text[self.asked..limit], is_whole)?)
    }

    /// Handles the outcome of the piece that ends at `end`.
    fn take_up(&mut self, end: usize, outcome: TransformOutcome<String>) {
        let was_given = self.given >= end;
        let newline = if self.text[..end].ends_with('\n') { "\n" } else { "" };
        self.asked = end;
        self.given = self.given.max(end);
        match outcome {
            TransformOutcome::Passed { .. } if was_given => {}
            TransformOutcome::Passed { value } => self.give(value),
            TransformOutcome::Withheld(rejection) => {
                let text = if was_given { String::new() } else { note(&rejection) + newline };
                self.is_closed = rejection.cause == Cause::Ended;
                self.ready.push(Piece { text, rejection: Some(rejection) });
                // This text may have been shown without a check. From now on, each line must pass before it is shown.
                self.by_line = true;
            }
        }
    }

    fn give(&mut self, text: String) {
        if !text.is_empty() {
            self.ready.push(Piece { text, rejection: None });
        }
    }

    fn give_rest(&mut self) {
        self.give(self.text[self.given..].to_owned());
        self.given = self.text.len();
    }

    /// Applies the current rules. Stricter settings of earlier rules stay in effect until the answer has ended.
    fn follow_rules(&mut self) {
        if self.is_final {
            return;
        }
        let rules = self.session.config();
        // After the session has ended, each line is dispatched as well, because an ended session withholds the text
        // of every dispatch.
        self.by_line |= rules.has_subscriber(EventKind::StreamDelta) || self.session.is_over();
        self.is_held |= rules.has_subscriber(EventKind::FinalizeContent) && !rules.settings().stream_unfinalised;
    }

    /// Continues with `text` in place of the text so far. Pieces that were not returned yet are dropped. A rejection
    /// among them stays, but without its text.
    fn start_over(&mut self, text: String) {
        self.ready.retain(|piece| piece.rejection.is_some());
        self.ready.iter_mut().for_each(|piece| piece.text.clear());
        (self.text, self.asked, self.given, self.by_line) = (text, 0, 0, true);
    }

    async fn tell_end(&mut self) {
        if !self.is_ended {
            self.is_ended = true;
            let _ = self.session.dispatch::<StreamEnd>(self.text.clone()).await;
        }
    }

    fn take_ready(&mut self) -> Vec<Piece> {
        let pieces = std::mem::take(&mut self.ready);
        pieces.iter().for_each(|piece| self.shown.push_str(&piece.text));
        pieces
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Leaves out the text, because it may not have passed the plugins.
impl fmt::Debug for TextStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stream = f.debug_struct("TextStream");
        stream.field("session", &self.session.id).field("bytes", &self.text.len()).field("held", &self.held_bytes());
        stream.finish_non_exhaustive()
    }
}

/// Returns the length of the first piece of a text: a line, or 4 KiB of a longer line. If `is_whole` is true, the
/// piece may also be a last line without a line break.
fn piece(text: &str, is_whole: bool) -> Option<usize> {
    let window = &text.as_bytes()[..text.len().min(MAX_PIECE_BYTES)];
    match window.iter().position(|&byte| byte == b'\n') {
        Some(newline) => Some(newline + 1),
        None if text.len() >= MAX_PIECE_BYTES => Some(text.floor_char_boundary(MAX_PIECE_BYTES)),
        None if is_whole && !text.is_empty() => Some(text.len()),
        None => None,
    }
}

/// Returns the note that is shown in place of a withheld text.
fn note(rejection: &Rejection) -> String {
    format!("[withheld: {rejection}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pieces of a text that arrives in these deltas.
    fn cut(deltas: &[&str]) -> Vec<String> {
        let (mut text, mut pieces) = (String::new(), Vec::new());
        for (place, delta) in deltas.iter().enumerate() {
            text.push_str(delta);
            while let Some(end) = piece(&text, place + 1 == deltas.len()) {
                let rest = text.split_off(end);
                pieces.push(std::mem::replace(&mut text, rest));
            }
        }
        assert!(text.is_empty(), "{text}");
        pieces
    }

    #[test]
    fn pieces_are_whole_lines_however_the_text_comes() {
        let expected = ["one\n", "\n", "two\n", "thr"];
        assert_eq!(cut(&["one\n\ntwo\nthr"]), expected);
        assert_eq!(cut(&["o", "ne", "\n", "\ntw", "o\nth", "r"]), expected);
        assert!(cut(&[""]).is_empty());
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let long = "ä".repeat(MAX_PIECE_BYTES);
        let cut = cut(&["x", &long, "\nend"]);
        assert_eq!(cut.concat(), format!("x{long}\nend"));
        assert!(cut.iter().all(|piece| piece.len() <= MAX_PIECE_BYTES));
        assert_eq!(cut.len(), 4);
    }
}
