//! `[[ask]]`: the tool calls that a person is asked about, even if the plugins allow them.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{ActionKind, Layer, Origin, ToolPattern, narrowing::Narrowing};
use crate::contract::{Escalation, ToolCall};

/// A rule that asks a person about each tool call that it matches. Rules add up: where several match, each asks, and a
/// project's file can add some and take none away. A plugin's `approve`, with the grant of that name, waives what rules
/// ask, of a project's plugin what rules of projects ask; it waives no question of another plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AskRule {
    /// `actions`: it asks about calls that do one of these; default all. An empty list is an error.
    pub actions: Option<BTreeSet<ActionKind>>,
    /// `tools`: it asks about calls of tools that fit one of these; default all. Narrows `actions`
    /// further. An empty list is an error, and so is a rule with neither `actions` nor `tools`:
    /// `["*"]` is every tool.
    pub tools: Option<Vec<ToolPattern>>,
    /// `question`: what the person is asked. Default: one sentence that names the tool. An empty text is an error.
    pub question: Option<String>,
    /// The place of the rule in a file; `None` for a program's rule.
    pub origin: Option<Origin>,
}

impl AskRule {
    /// Asks about calls that do one of `actions`.
    #[must_use]
    pub fn about_actions(actions: impl IntoIterator<Item = ActionKind>) -> Self {
        Self { actions: Some(actions.into_iter().collect()), ..Self::default() }
    }

    /// Asks about calls of tools that fit one of `tools`.
    #[must_use]
    pub fn about_tools(tools: impl IntoIterator<Item = ToolPattern>) -> Self {
        Self { tools: Some(tools.into_iter().collect()), ..Self::default() }
    }

    /// The same rule, wherever it is written.
    pub(crate) fn without_origin(&self) -> Self {
        Self { origin: None, ..self.clone() }
    }

    /// Returns true if a person is asked about this call. If the arguments of a known tool cannot be read, the rule also matches if
    /// it asks about actions of such a tool.
    #[must_use]
    pub fn matches(&self, call: &ToolCall) -> bool {
        Narrowing { actions: self.actions.as_ref(), tools: self.tools.as_deref() }.admits(call)
    }

    /// The layer of the rule's file.
    pub(crate) fn layer(&self) -> Layer {
        Layer::of(self.origin.as_ref())
    }

    /// The question to the person about this call.
    #[must_use]
    pub(crate) fn question_about(&self, call: &ToolCall) -> Escalation {
        let question = self.question.clone().unwrap_or_else(|| format!("May the tool {} run?", call.name));
        Escalation { question, code: None }
    }

    /// The rules of the file that it breaks: each with the key that it is about, where it is about one, and why.
    pub(super) fn broken(&self) -> impl Iterator<Item = (Option<&'static str>, &'static str)> {
        const EMPTY: &str = "an empty list asks about nothing: leave the key out, or the whole rule";
        let broken = [
            (
                self.actions.is_none() && self.tools.is_none(),
                None,
                "a rule says what it asks about: give `tools`, `actions` or both; `tools = [\"*\"]` is every call",
            ),
            (self.actions.as_ref().is_some_and(BTreeSet::is_empty), Some("actions"), EMPTY),
            (self.tools.as_ref().is_some_and(Vec::is_empty), Some("tools"), EMPTY),
            (
                self.question.as_ref().is_some_and(|question| question.trim().is_empty()),
                Some("question"),
                "an empty question asks nothing: leave the key out for the default",
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
    /// The rule that these keys make, not checked.
    pub(super) fn rule(self, origin: Origin) -> AskRule {
        AskRule { actions: self.actions, tools: self.tools, question: self.question, origin: Some(origin) }
    }
}
