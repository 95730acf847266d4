//! `session.conf`: facts and state of a session.

use super::front_matter::Fields;
use super::{Ending, Header, timestamp};
use hookhost_models::message::TokenUsage;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Name of the file.
pub(super) const FILE: &str = "session.conf";

/// Content of the file. Unknown keys are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata(Fields);

impl Metadata {
    pub(super) fn parse(text: &str) -> Self {
        Self(Fields::parse(text, '='))
    }

    pub(super) fn text(&self) -> String {
        self.0.text("=")
    }

    /// Creates the content for a new session.
    pub(super) fn new(header: &Header, now: u64) -> Self {
        let mut metadata = Self::default();
        metadata.0.set("id", &header.id);
        metadata.take_up(header);
        metadata.0.set("created", &timestamp::format(now));
        if let Some(parent) = &header.parent {
            metadata.0.set("parent", parent);
        }
        metadata
    }

    /// Records a resumed session, which may have another model. It removes the recorded end.
    pub(super) fn take_up(&mut self, header: &Header) {
        self.0.set("model", &header.model);
        self.0.set("provider", &header.provider);
        self.0.set_path("cwd", header.workspace.as_os_str());
        for key in ["status", "reason", "ended"] {
            self.0.remove(key);
        }
    }

    pub(super) fn end(&mut self, ending: &Ending, now: u64) {
        self.0.set("status", &ending.status);
        match &ending.reason {
            Some(reason) => self.0.set("reason", reason),
            None => self.0.remove("reason"),
        }
        self.0.set("ended", &timestamp::format(now));
        self.0.set("turns", &ending.turns);
        self.0.set("subagent_turns", &ending.subagent_turns);
        self.0.set("tokens_in", &ending.usage.input_tokens);
        self.0.set("tokens_out", &ending.usage.output_tokens);
        self.0.set("tokens_cached", &ending.usage.cached_input_tokens);
    }

    /// Returns the facts of the session with this id.
    pub(super) fn header(&self, id: &str) -> Header {
        Header {
            id: id.to_owned(),
            provider: self.0.word("provider").unwrap_or_default(),
            model: self.0.word("model").unwrap_or_default(),
            workspace: self.0.path("cwd").map(PathBuf::from).unwrap_or_default(),
            parent: self.0.word("parent"),
        }
    }

    pub(super) fn created(&self) -> Option<u64> {
        self.0.get("created").and_then(timestamp::parse)
    }

    /// Returns the end; `None` if the session was killed or still runs.
    pub(super) fn ending(&self) -> Option<Ending> {
        let Used { turns, subagent_turns, usage } = self.used();
        Some(Ending { status: self.0.word("status")?, reason: self.0.word("reason"), turns, subagent_turns, usage })
    }

    /// Returns the counts at the last recorded end.
    pub(super) fn used(&self) -> Used {
        let usage = TokenUsage::new(self.0.number("tokens_in"), self.0.number("tokens_out"))
            .cached(self.0.number("tokens_cached"));
        let calls = |key: &str| u32::try_from(self.0.number(key)).unwrap_or(u32::MAX);
        Used { turns: calls("turns"), subagent_turns: calls("subagent_turns"), usage }
    }
}

/// Numbers of model calls, those of sub-agents separately, and tokens of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) turns: u32,
    pub(super) subagent_turns: u32,
    pub(super) usage: TokenUsage,
}

/// Returns true if a session can have this id.
pub(super) fn is_id(id: &str) -> bool {
    let named = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    !id.is_empty() && id.len() <= 128 && id.chars().all(named) && !id.starts_with('.')
}

/// Returns the id in a directory's name; `None` for other directories.
pub(super) fn id_of(name: &OsStr) -> Option<&str> {
    name.to_str().filter(|name| is_id(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    #[test]
    fn a_session_of_another_program_is_read_and_its_own_keys_are_kept() {
        let theirs = "id=20260324-143022-12345\nmodel=claude-x\nprovider=anthropic\ncreated=2026-03-24T14:30:22+01:00\ncwd=/home/me/a=b\ncolour=red\n";
        let mut metadata = Metadata::parse(theirs);
        assert_eq!(metadata.text(), theirs);
        let header = metadata.header("20260324-143022-12345");
        assert_eq!((header.workspace.to_str(), header.provider.as_str()), (Some("/home/me/a=b"), "anthropic"));
        assert_eq!((metadata.created(), metadata.ending()), (Some(1_774_359_022_000), None));
        metadata.take_up(&Header { provider: "openai".into(), ..header });
        assert!(metadata.text().contains("provider=openai\n") && metadata.text().contains("colour=red\n"));
    }

    #[test]
    fn a_path_of_any_bytes_is_read_as_it_was_written() {
        for bytes in [b"/a b/\xff\n=".to_vec(), b"/plain".to_vec(), "/\u{e4}\u{85}".into()] {
            let workspace = PathBuf::from(OsString::from_vec(bytes));
            let (provider, model) = ("p\nstatus=x".to_owned(), "m".to_owned());
            let header = Header { id: "s".into(), provider, model, workspace, parent: Some("p".into()) };
            let read = Metadata::parse(&Metadata::new(&header, 0).text());
            assert_eq!((read.header("s"), read.ending()), (header, None));
        }
    }
}
