//! `[[ask]]`: rules that ask a person about tool calls, even if the plugins allow them.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{ActionKind, Layer, Origin, ToolPattern, narrowing::Narrowing};
use crate::contract::{Escalation, ToolCall};

/// A rule that asks a person about each tool call that it matches. If several rules match, each of them asks. A
/// project's file can add rules but cannot remove rules. A plugin with the grant `approve` can waive the questions of
/// these rules. If the plugin's entry is in a project's file, the plugin can waive only the questions of project files.
/// A plugin can never waive the question of another plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AskRule {
    /// `actions`: actions of the calls; default all. An empty list is an error.
    pub actions: Option<BTreeSet<ActionKind>>,
    /// `tools`: patterns of the tools' names; default all. If the rule also has `actions`, a call must match both. An
    /// empty list is an error. A rule with neither `actions` nor `tools` is an error, too; to match every tool, write
    /// `["*"]`.
    pub tools: Option<Vec<ToolPattern>>,
    /// `question`: the question to the person. Default: one sentence that names the tool. An empty question is an
    /// error.
    pub question: Option<String>,
    /// File and line of the rule; `None` for a rule that a program created.
    pub origin: Option<Origin>,
}

impl AskRule {
    /// Creates a rule about calls with one of these actions.
    #[must_use]
    pub fn about_actions(actions: impl IntoIterator<Item = ActionKind>) -> Self {
        Self { actions: Some(actions.into_iter().collect()), ..Self::default() }
    }

    /// Creates a rule about calls of tools that match one of these patterns.
    #[must_use]
    pub fn about_tools(tools: impl IntoIterator<Item = ToolPattern>) -> Self {
        Self { tools: Some(tools.into_iter().collect()), ..Self::default() }
    }

    /// Returns the rule without its position in the file.
    pub(crate) fn without_origin(&self) -> Self {
        Self { origin: None, ..self.clone() }
    }

    /// Returns true if the rule asks about this call. If the call's arguments cannot be parsed but its tool is known,
    /// the call is treated as having the action of this tool.
    #[must_use]
    pub fn matches(&self, call: &ToolCall) -> bool {
        Narrowing { actions: self.actions.as_ref(), tools: self.tools.as_deref() }.admits(call)
    }

    /// Returns the layer of the rule.
    pub(crate) fn layer(&self) -> Layer {
        Layer::of(self.origin.as_ref())
    }

    /// Returns the question about this call.
    #[must_use]
    pub(crate) fn question_about(&self, call: &ToolCall) -> Escalation {
        let question = self.question.clone().unwrap_or_else(|| format!("May the tool {} run?", call.name));
        Escalation { question, code: None }
    }

    /// Returns the mistakes of the rule. Each mistake has a reason and, if it concerns a single key, the name of this
    /// key.
    pub(super) fn broken(&self) -> impl Iterator<Item = (Option<&'static str>, &'static str)> {
        const EMPTY: &str = "an empty list selects no call: remove the key, or the whole rule";
        let broken = [
            (
                self.actions.is_none() && self.tools.is_none(),
                None,
                "a rule must say about which calls it asks: give `tools`, `actions` or both; `tools = [\"*\"]` is every call",
            ),
            (self.actions.as_ref().is_some_and(BTreeSet::is_empty), Some("actions"), EMPTY),
            (self.tools.as_ref().is_some_and(Vec::is_empty), Some("tools"), EMPTY),
            (
                self.question.as_ref().is_some_and(|question| question.trim().is_empty()),
                Some("question"),
                "the question is empty: remove the key to ask the default question",
            ),
        ];
        broken.into_iter().filter(|(broken, ..)| *broken).map(|(_, key, why)| (key, why))
    }
}

/// The keys of `[[ask]]`.
#[derive(Deserialize)]
pub(super) struct RawAsk {
    tools: Option<Vec<ToolPattern>>,
    actions: Option<BTreeSet<ActionKind>>,
    question: Option<String>,
}

impl RawAsk {
    /// Returns the rule with these keys, without checking it.
    pub(super) fn rule(self, origin: Origin) -> AskRule {
        AskRule { actions: self.actions, tools: self.tools, question: self.question, origin: Some(origin) }
    }
}
