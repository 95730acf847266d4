//! An answer as it streams in: which of its text may be shown now, and which has to wait.
//!
//! What is shown has passed `stream-delta` in whole lines where a plugin subscribes to it, and nothing is shown that
//! `finalize-content` may still withhold. The engine does this, because a program that forgets a reload or a cancellation shows
//! text that a plugin withholds a moment later. A stricter rule counts at once and a looser one from the next answer on, so a
//! configuration that is saved twice in a row opens no gap.

use super::handle::Session;
use super::inner::SessionInner;
use super::recorded_outcome::RecordedOutcome;
use crate::contract::{Cause, EventKind, Rejection, TransformOutcome};
use crate::event::{FinalizeContent, StreamDelta, StreamEnd};
use std::fmt;
use std::sync::Arc;

/// Upper bound of a piece that `stream-delta` is asked about, in bytes: a longer line is cut.
const MAX_PIECE_BYTES: usize = 4096;

/// Upper bound of the text of one answer, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// The text of one answer of a model on its way to the user, made by [`Session::stream`].
///
/// It takes the deltas of the model and returns what may be shown by now:
///
/// - Where no plugin subscribes to `stream-delta`, text is shown as it comes.
/// - Where one does, it is asked about whole lines, so that a secret is not cut in two. Of a line without an end it gets
///   4 KiB at a time.
/// - Where a plugin subscribes to `finalize-content`, all text waits for [`Self::finish`], unless the setting
///   [`stream_unfinalised`](crate::config::Settings::stream_unfinalised) says otherwise.
///
/// Rules that become active in the middle of an answer count from the next delta on: text that was not returned by then
/// waits for their plugins. Rules that are gone release nothing before the answer ends.
///
/// An answer has at most 16 MiB of text. What exceeds them is not shown, and one piece says so.
///
/// A stream is about text that is shown. Reasoning that a program shows has a stream of its own; reasoning that it does not
/// show needs none. Dropping a stream shows nothing more of it and tells no plugin. Dropping a future of one of
/// its methods loses no text: the next call returns what that one would have returned. Once the session has ended, or its
/// handle was dropped, text is withheld.
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
    /// Up to where `stream-delta` was asked, in bytes of the text.
    asked: usize,
    /// Up to where the text was given to the program or withheld, in bytes of the text; never less than `asked`.
    given: usize,
    /// The pieces that have not been returned yet.
    ready: Vec<Piece>,
    /// The text that was returned.
    shown: String,
    /// True if each line passes `stream-delta` before it is shown.
    by_line: bool,
    /// True if text waits until it is final.
    is_held: bool,
    /// True once `finalize-content` has settled the text.
    is_final: bool,
    /// True once the answer has ended.
    is_ended: bool,
    /// True once a rejection has said that nothing more is shown.
    is_closed: bool,
    length: Length,
}

/// True if the text is longer than [`MAX_TEXT_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Within,
    /// It is, and no piece has said so yet.
    Exceeded,
    Reported,
}

/// A part of an answer that may be shown. Displays as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The text, with the changes of plugins. The pieces follow each other without anything between. For a withheld line, the text
    /// is a note, `[withheld: Rejected by …]`. The text is empty if the line was shown before it was rejected.
    pub text: String,
    /// The rejection with which `stream-delta` withheld the text, if it did. [`Rejection::ends`] says whether the run has to end.
    pub rejection: Option<Rejection>,
}

/// A text as [`TextStream::finish`] settled it.
#[derive(Clone, Debug)]
#[must_use = "its pieces have not been shown"]
#[non_exhaustive]
pub struct FinalText {
    /// The pieces to be shown now, in order.
    pub pieces: Vec<Piece>,
    /// True if the pieces are the whole text in place of what was shown before. Only text that was shown before it was final
    /// can be replaced: under the setting `stream-unfinalised`, or if the plugin was loaded in the middle of the answer.
    pub replaces: bool,
    /// The final text, for the conversation: as `finalize-content` left it, or the note in its place. Changes by
    /// `stream-delta` are about what is shown, and are not part of it.
    pub text: String,
    /// The final text as it is shown, with the part that was shown before.
    pub shown: String,
    /// The outcome of `finalize-content`.
    pub settled: RecordedOutcome<TransformOutcome<String>>,
}

impl Session {
    /// A stream for the text of one answer. It does not keep the session open.
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

    /// An empty stream of the same session.
    pub(crate) fn emptied(&self) -> Self {
        Self::new(Arc::clone(&self.session))
    }

    /// Takes more of the answer. Returns what may be shown by now.
    // Not an `async fn`: the text is taken even if the future is dropped before it is polled.
    pub fn push<'s>(&'s mut self, delta: &str) -> impl Future<Output = Vec<Piece>> + Send + use<'s> {
        self.take(delta);
        async move {
            // Nothing follows on the last line of a text that is too long.
            self.advance(self.length != Length::Within).await;
            self.report_length();
            self.take_ready()
        }
    }

    /// Returns the line that has not ended, too, for a tool call that begins in the middle of the answer. Text that waits
    /// until it is final still waits.
    pub async fn flush(&mut self) -> Vec<Piece> {
        self.advance(true).await;
        self.take_ready()
    }

    /// Ends the answer: returns the rest, and tells `stream-end`. Text that waits until it is final still waits. This is for
    /// an answer with tool calls, which is not the final text of a task; call [`Self::finish`] as well where
    /// [`Self::is_held`].
    pub async fn end(&mut self) -> Vec<Piece> {
        self.advance(true).await;
        self.tell_end().await;
        self.take_ready()
    }

    /// Ends the answer without `stream-end`: an answer that was interrupted, or a text that no model has streamed, such as
    /// the response of a plugin.
    pub async fn end_untold(&mut self) -> Vec<Piece> {
        self.is_ended = true;
        self.flush().await
    }

    /// Ends the answer, if it has not ended, and asks `finalize-content` about the whole of it. Returns the rest: what has
    /// waited, or the text in place of what was shown.
    pub async fn finish(mut self) -> FinalText {
        self.settle().await
    }

    /// The model's text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if text waits until it is final.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// The size of the text that waits, in bytes: until it is final, or until its line ends.
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
        // Where nothing was shown, nothing is replaced.
        replaces &= !self.shown.is_empty();
        if replaces {
            self.shown.clear();
        }
        let pieces = self.take_ready();
        FinalText { pieces, replaces, text, shown: self.shown.clone(), settled }
    }

    /// Adds a delta, as far as there is room.
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

    /// Gives what may be shown by now; with `to_end`, the last line counts as complete.
    async fn advance(&mut self, to_end: bool) {
        while !self.is_closed {
            self.follow_rules();
            if !self.by_line && !self.is_held {
                self.give_rest();
            }
            let Some(end) = self.next_piece(to_end) else { return };
            let piece = self.text[self.asked..end].to_owned();
            let outcome = self.session.dispatch::<StreamDelta>(piece).await.outcome;
            // Other rules may have become active meanwhile. What passed the old ones waits, and is asked about again.
            self.follow_rules();
            if self.is_held && self.given < end && matches!(outcome, TransformOutcome::Passed { .. }) {
                return;
            }
            self.take_up(end, outcome);
        }
    }

    /// The end of the next piece that `stream-delta` is to be asked about, if it is complete.
    fn next_piece(&self, to_end: bool) -> Option<usize> {
        // What was shown in the middle of a line before anyone subscribed is a piece of its own.
        let is_shown = self.asked < self.given && (self.by_line || self.is_held);
        let (limit, is_whole) = match (is_shown, self.is_held) {
            (true, _) => (self.given, true),
            (false, true) => return None,
            (false, false) => (self.text.len(), to_end),
        };
        Some(self.asked + piece(&self.text[self.asked..limit], is_whole)?)
    }

    /// Takes up the outcome of the piece that ends there.
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
                // It was shown before, and could not be recorded or is no longer allowed: from now on each line passes first.
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

    /// Takes up what the rules of now ask for. What older rules asked for stays until the answer has ended.
    fn follow_rules(&mut self) {
        if self.is_final {
            return;
        }
        let rules = self.session.config();
        // Once the session has ended, each line is asked about, and so withheld.
        self.by_line |= rules.has_subscriber(EventKind::StreamDelta) || self.session.is_over();
        self.is_held |= rules.has_subscriber(EventKind::FinalizeContent) && !rules.settings().stream_unfinalised;
    }

    /// Continues with another text in place of this one. Of what was not returned yet, only rejections are kept.
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

/// Without the text, which nobody may have approved.
impl fmt::Debug for TextStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stream = f.debug_struct("TextStream");
        stream.field("session", &self.session.id).field("bytes", &self.text.len()).field("held", &self.held_bytes());
        stream.finish_non_exhaustive()
    }
}

/// Length of the first piece of a text: a line, or 4 KiB of one; with `is_whole`, also a line without an end.
fn piece(text: &str, is_whole: bool) -> Option<usize> {
    let window = &text.as_bytes()[..text.len().min(MAX_PIECE_BYTES)];
    match window.iter().position(|&byte| byte == b'\n') {
        Some(newline) => Some(newline + 1),
        None if text.len() >= MAX_PIECE_BYTES => Some(text.floor_char_boundary(MAX_PIECE_BYTES)),
        None if is_whole && !text.is_empty() => Some(text.len()),
        None => None,
    }
}

/// The note in place of a text.
fn note(rejection: &Rejection) -> String {
    format!("[withheld: {rejection}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a text that comes in these deltas.
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
