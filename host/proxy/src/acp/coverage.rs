//! Counts how often the agent asked for permission, and how many tool calls ran although the agent had not asked.

use serde_json::{Value, json};

/// The counts of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoverageSummary {
    /// Requests for permission to run a tool call.
    pub permissions: QuestionCounts,
    /// Requests for permission that the proxy forwarded to the editor, where the user decides.
    pub to_the_user: usize,
    /// Prompts.
    pub prompts: QuestionCounts,
    /// MCP servers that were put behind the MCP proxy.
    pub servers: usize,
    /// MCP servers that the agent did not get, because they could not be put behind the MCP proxy.
    pub servers_left_out: usize,
    /// Files that the agent asked the editor to read or write.
    pub files: QuestionCounts,
    /// Commands that the agent asked the editor to run.
    pub commands: QuestionCounts,
    /// Tool calls that the agent reported as run.
    pub calls: usize,
    /// Tool calls that ran although the agent had not asked for permission.
    pub ungated: usize,
    /// Tool calls that are recorded only in part, because the agent reported more about its calls than the proxy stores.
    pub cut: usize,
    /// Events that could not be recorded.
    pub unrecorded: usize,
}

/// The counts of one kind of question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuestionCounts {
    /// Number of questions.
    pub all: usize,
    /// Number of questions that were rejected.
    pub rejected: usize,
    /// Number of questions whose content was changed before they were forwarded.
    pub changed: usize,
}

impl QuestionCounts {
    fn to_text(self, what: &str, none: &str) -> String {
        let Self { all, rejected, changed } = self;
        if all == 0 {
            return format!("{what}: {none}");
        }
        let changed = if changed > 0 { format!(", {changed} changed") } else { String::new() };
        format!("{what}: {all}, {rejected} rejected{changed}")
    }

    fn to_json(self) -> Value {
        let Self { all, rejected, changed } = self;
        json!({ "all": all, "rejected": rejected, "changed": changed })
    }
}

impl CoverageSummary {
    /// Returns true if all counts are zero.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a text for people, which is one sentence followed by a line for each kind of question.
    pub fn to_text(&self, agent: &str) -> String {
        let Self { servers, servers_left_out, calls, ungated, cut, unrecorded, .. } = self;
        let mut lines =
            vec![format!("what the agent {agent} asked about (an agent that does not ask is not restricted)")];
        let permissions = self.permissions.to_text("questions for permission", "it never asked");
        lines.push(format!("{permissions}, {} put to you", self.to_the_user));
        lines.push(self.prompts.to_text("prompts", "none"));
        lines.push(format!("MCP servers: {servers} behind the proxy, {servers_left_out} left out"));
        lines.push(self.files.to_text("files through the editor", "it never asked"));
        lines.push(self.commands.to_text("commands through the editor", "it never asked"));
        lines.push(format!("tool calls that it reported: {calls}, {ungated} of them without asking"));
        if *cut > 0 {
            lines.push(format!("tool calls that are recorded only in part: {cut}"));
        }
        if *unrecorded > 0 {
            lines.push(format!("events that could not be recorded: {unrecorded}"));
        }
        lines.join("\n")
    }

    /// Returns the counts as JSON for the log.
    pub fn to_json(&self) -> Value {
        json!({
            "permissions": self.permissions.to_json(), "to-the-user": self.to_the_user,
            "prompts": self.prompts.to_json(), "servers": self.servers, "servers-left-out": self.servers_left_out,
            "files": self.files.to_json(), "commands": self.commands.to_json(), "calls": self.calls,
            "ungated": self.ungated, "cut": self.cut, "unrecorded": self.unrecorded,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CoverageSummary, QuestionCounts};

    #[test]
    fn a_summary_says_what_the_agent_asked_about_and_what_it_did_not() {
        let mut summary = CoverageSummary::default();
        assert!(summary.is_empty());
        summary.permissions = QuestionCounts { all: 3, rejected: 1, changed: 0 };
        summary.prompts = QuestionCounts { all: 2, rejected: 0, changed: 1 };
        (summary.calls, summary.ungated, summary.to_the_user) = (5, 4, 1);
        let text = summary.to_text("gemini");
        for line in [
            "what the agent gemini asked about (an agent that does not ask is not restricted)",
            "questions for permission: 3, 1 rejected, 1 put to you",
            "prompts: 2, 0 rejected, 1 changed",
            "files through the editor: it never asked",
            "tool calls that it reported: 5, 4 of them without asking",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
        assert!(!summary.is_empty() && !text.contains("recorded"));
        summary.cut = 2;
        assert!(summary.to_text("gemini").ends_with("tool calls that are recorded only in part: 2"));
    }
}
