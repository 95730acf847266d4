//! Questions that wait for a person. The person sees exactly the value that would run.

use super::layout::View;
use crate::log_rows::agent;
use crate::shown_text::{shown, shown_block, shown_short};
use hookhost::approval::ApprovalRequest;
use maud::{Markup, html};
use serde_json::Value;
use serde_json::value::RawValue;

/// A question.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) code: String,
    /// The digest of the question, to which a yes refers.
    pub(crate) digest: String,
    pub(crate) headline: String,
    pub(crate) agent: String,
    pub(crate) session: String,
    pub(crate) task: Option<String>,
    /// The questions, each with the name of the asker.
    pub(crate) questions: Vec<(String, String)>,
    /// The command that would run, if the value is one.
    pub(crate) command: Option<String>,
    /// The value that would run.
    pub(crate) value: String,
    /// The value before plugins changed it, and their names.
    pub(crate) before: Option<(String, String)>,
    /// The result that a plugin gives in place of running the value, and the plugin.
    pub(crate) response: Option<(String, String)>,
    /// True if the call was rejected, and a yes lets it pass once when it comes again.
    pub(crate) is_overridable: bool,
    pub(crate) can_be_kept: bool,
}

impl Waiting {
    pub(crate) fn new(request: &ApprovalRequest) -> Self {
        let call = request.tool_call();
        let argument = |key: &str| {
            let arguments = serde_json::from_str::<Value>(&call.as_ref()?.arguments).ok()?;
            arguments.get(key)?.as_str().map(str::to_owned)
        };
        Self {
            code: request.code.clone(),
            digest: request.digest.map(|digest| digest.to_string()).unwrap_or_default(),
            headline: crate::log_rows::subject(&request.value),
            agent: agent(&request.session).to_owned(),
            session: request.session.clone(),
            task: request.agent.task.clone(),
            questions: request
                .questions
                .iter()
                .map(|question| (question.by.to_string(), question.escalation.question.clone()))
                .collect(),
            command: argument("command").or_else(|| argument("cmd")),
            value: pretty(&request.value),
            before: (!request.changed_by.is_empty())
                .then(|| (pretty(&request.original), request.changed_by.join(", "))),
            response: request.response.as_ref().map(|response| (pretty(&response.result), response.by.clone())),
            is_overridable: request.is_overridable(),
            can_be_kept: request.can_be_kept() && !request.is_overridable(),
        }
    }
}

/// Formats a value with line breaks. What is no JSON is returned as it is.
pub(crate) fn pretty(value: &RawValue) -> String {
    let parsed = serde_json::from_str::<Value>(value.get());
    parsed.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| value.get().to_owned())
}

pub(crate) struct ApprovalsView {
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) has_passkey: bool,
}

impl ApprovalsView {
    pub(crate) fn render(&self) -> View {
        let content = html! {
            div.head { h1 { "Approvals" } p.facts { span { "Questions that agents could not show you themselves." } span { a href="/passkeys" { (if self.has_passkey { "A yes needs your passkey" } else { "Let only a passkey say yes" }) } } } }
            p.empty #no-questions hidden[!self.waiting.is_empty()] { "No question waits for you." }
            div #questions { @for waiting in &self.waiting { (question(waiting)) } }
        };
        View { title: "Approvals", content }
    }
}

/// One question with its buttons. They are switched off until the script has let some time pass, so that a click for something else, which
/// stood in the same place a moment ago, gives no answer.
pub(crate) fn question(waiting: &Waiting) -> Markup {
    let path = format!("/approvals/{}", waiting.code);
    let answer = |word: &str, label: &str, class: &str, is_yes: bool| {
        html! {
            button type="button" class=(class) data-post=(path) data-answer=(word) data-yes[is_yes] data-wake disabled { (label) }
        }
    };
    let heading = format!("h{}", waiting.code);
    html! {
        div.question role="group" id={ "q" (waiting.code) } data-shown=(waiting.digest) aria-labelledby=(heading) {
            header {
                h2 id=(heading) { (shown(waiting.questions.first().map_or("May this run?", |(_, question)| question))) }
                p.quiet {
                    @if let Some((by, _)) = waiting.questions.first() { "asked by " (shown(by)) " · " }
                    (shown(&waiting.agent)) " · session " (shown_short(&waiting.session)) " · " span.code { (waiting.code) }
                }
            }
            @if let Some(task) = &waiting.task { p { span.label { "works on" } " " (shown(task)) } }
            @for (by, question) in waiting.questions.iter().skip(1) {
                p { span.label { (shown(by)) " asks" } " " (shown(question)) }
            }
            @if waiting.is_overridable {
                p { "The rules rejected this call. A yes lets exactly this call pass once, if the agent makes it again within ten minutes." }
            }
            @if let Some(command) = &waiting.command { (block("The command", command)) }
            @if let Some((before, by)) = &waiting.before { (folded(&format!("Before {by} changed it"), before)) }
            @if let Some((result, by)) = &waiting.response { (block(&format!("Does not run: {by} answers"), result)) }
            @if waiting.command.is_some() { (folded("The whole call, exactly", &waiting.value)) } @else { (block("Exactly this", &waiting.value)) }
            p.buttons {
                (answer("no", "No", "", false))
                @if waiting.can_be_kept { (answer("yes-for-session", "Yes, for this session", "", true)) }
                (answer("yes", if waiting.is_overridable { "Let it pass once" } else { "Yes, once" }, "primary", true))
            }
            p.answered role="status" {}
        }
    }
}

/// A text that is judged, shown completely.
pub(crate) fn block(label: &str, text: &str) -> Markup {
    html! { figure { figcaption { (shown(label)) } pre tabindex="0" { (shown_block(text)) } } }
}

/// A text that a person opens.
pub(crate) fn folded(label: &str, text: &str) -> Markup {
    html! { details { summary { (shown(label)) } pre tabindex="0" { (shown_block(text)) } } }
}
