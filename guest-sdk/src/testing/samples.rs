//! Sample events for tests. They have plausible values, and a test changes only the values that matter for the test.

use crate::types::{
    Action, Completion, Inference, Session, ShellCommand, ShellDialect, ToolCall, ToolOrigin, Totals, Usage,
};
use serde_json::{Value, json};

/// Returns a session of the agent `hookhost` in `/work/project`, in which no person can be asked.
#[must_use]
pub fn session() -> Session {
    Session {
        id: "session-1".into(),
        agent: "hookhost".into(),
        turn: 1,
        depth: 0,
        cwd: "/work/project".into(),
        workspace: "/work/project".into(),
        interactive: false,
    }
}

/// Returns a call of the built-in tool `name`.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "so that `json!({…})` needs no `&`")]
pub fn call(name: &str, arguments: Value, action: Action) -> ToolCall {
    ToolCall {
        id: "call-1".into(),
        name: name.into(),
        arguments: arguments.to_string(),
        action,
        origin: ToolOrigin::Builtin,
    }
}

/// Returns a call of `bash` that runs `command` in the session's directory.
#[must_use]
pub fn shell(command: &str) -> ToolCall {
    let shell = ShellCommand { command: command.into(), cwd: session().cwd, dialect: ShellDialect::Posix };
    call("bash", json!({ "command": command }), Action::Shell(shell))
}

/// Returns a call of `write_file` that writes the files `paths`. The paths are used unchanged.
#[must_use]
pub fn write_files<'a>(paths: impl IntoIterator<Item = &'a str>) -> ToolCall {
    let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
    call("write_file", json!({ "path": paths.first(), "content": "" }), Action::WriteFiles(paths))
}

/// Returns the usage of one model call in a session with these totals. The session has no sub-agents.
#[must_use]
pub fn usage(session_input_tokens: u64, session_output_tokens: u64) -> Usage {
    Usage {
        provider: "scripted".into(),
        model: "scripted".into(),
        input_tokens: session_input_tokens,
        cached_input_tokens: 0,
        output_tokens: session_output_tokens,
        session_input_tokens,
        session_output_tokens,
        run_input_tokens: session_input_tokens,
        run_output_tokens: session_output_tokens,
    }
}

/// Returns a request of about `input_tokens` tokens.
#[must_use]
pub fn inference(prompt: &str, input_tokens: u64) -> Inference {
    Inference {
        provider: "scripted".into(),
        model: "scripted".into(),
        system_prompt: String::new(),
        prompt: prompt.into(),
        tools: vec!["bash".into(), "read_file".into()],
        input_tokens,
        used: Totals {
            session_input_tokens: 100,
            session_output_tokens: 10,
            run_input_tokens: 300,
            run_output_tokens: 30,
            run_requests: 3,
        },
    }
}

/// Returns the completion of a task that ended with this status after one model call.
#[must_use]
pub fn completion(status: &str) -> Completion {
    Completion { status: status.into(), turns: 1, input_tokens: 100, output_tokens: 10 }
}
