//! Asking the person at the terminal: shows what would run, what was changed and by whom, and the questions.

use crate::args::{Approve, ApproveArgs};
use crate::output::{
    self, one_line, printable,
    style::{CHANGED, DIM, NAME, WARNING},
};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The person at the terminal; `None` where there is none, or the answer is to be no.
pub(crate) fn of(args: &ApproveArgs) -> Option<Arc<dyn Approver>> {
    let there = io::stdin().is_terminal() && io::stderr().is_terminal();
    (there && args.approve == Approve::Ask).then(|| Arc::new(Terminal) as Arc<dyn Approver>)
}

/// The terminal of the standard input and error.
#[derive(Debug)]
struct Terminal;

impl Approver for Terminal {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            output::note(&describe(&request));
            let (answer, answered) = oneshot::channel();
            // Reading a terminal cannot be called off: it has a thread of its own, which may outlive the question.
            std::thread::spawn(move || {
                let mut line = String::new();
                let read = io::stdin().read_line(&mut line);
                let _ = answer.send(read.is_ok_and(|length| length > 0).then_some(line));
            });
            match answered.await {
                Ok(Some(line)) if output::is_yes(&line) => Approval::Approved,
                Ok(Some(_)) => Approval::Denied(None),
                Ok(None) | Err(_) => Approval::Denied(Some("nobody answered".into())),
            }
        })
    }
}

fn describe(request: &ApprovalRequest) -> String {
    let mut text = String::new();
    for question in &request.questions {
        let _ = writeln!(text, "{WARNING}{} asks:{WARNING:#} {}", question.by, one_line(&question.escalation.question));
    }
    let _ = writeln!(text, "{DIM}what would happen ({}):{DIM:#}\n{}", request.event, indented(request.value.get()));
    if !request.changed_by.is_empty() {
        let by = request.changed_by.join(", ");
        let _ = writeln!(text, "{CHANGED}changed by {by}{CHANGED:#}; it came as\n{}", indented(request.original.get()));
    }
    if let Some(response) = &request.response {
        let by = one_line(&response.by);
        let result = indented(response.result.get());
        let _ = writeln!(
            text,
            "{CHANGED}{by} answers in its place{CHANGED:#}: it does not run, and this is its result\n{result}"
        );
    }
    let _ = write!(text, "{NAME}Go on? [y/N]{NAME:#} ");
    text
}

/// A record as lines of `key: value`, long texts as they are.
fn indented(json: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(json) else {
        return format!("  {}", one_line(json));
    };
    let line = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("  {DIM}{key}:{DIM:#} {}", printable(text).replace('\n', "\n    ")),
        other => format!("  {DIM}{key}:{DIM:#} {}", one_line(&other.to_string())),
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::describe;
    use hookhost::approval::{ApprovalRequest, Asker, Question};
    use hookhost::contract::Escalation;
    use hookhost::event::EventKind;
    use serde_json::value::RawValue;
    use std::time::Duration;

    #[test]
    fn a_question_shows_the_final_value_what_was_changed_by_whom_and_who_asks() {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        let request = ApprovalRequest {
            id: "1".into(),
            session: "s".into(),
            event: EventKind::BeforeToolCall,
            original: raw(r#"{"name":"bash","arguments":{"command":"make"}}"#),
            value: raw(r#"{"name":"bash","arguments":{"command":"timeout 60 make\u001b[2J"}}"#),
            changed_by: vec!["bounded-shell".into()],
            response: None,
            questions: vec![
                Question {
                    by: Asker::Plugin("careful".into()),
                    escalation: Escalation { question: "Really make?\u{1b}[1A".into(), code: None },
                },
                Question {
                    by: Asker::Configuration,
                    escalation: Escalation { question: "May the tool bash\nrun?".into(), code: None },
                },
            ],
            deadline: Duration::from_secs(300),
        };
        let text = anstream::adapter::strip_str(&describe(&request)).to_string();
        assert_eq!(
            text,
            "careful asks: Really make?\u{fffd}[1A\n\
             the configuration asks: May the tool bash run?\n\
             what would happen (before-tool-call):\n  name: bash\n  arguments: {\"command\":\"timeout 60 make\\u001b[2J\"}\n\
             changed by bounded-shell; it came as\n  name: bash\n  arguments: {\"command\":\"make\"}\n\
             Go on? [y/N] "
        );
    }
}
