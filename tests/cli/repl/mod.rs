//! A person who talks with the agent: `hookhost` alone on a terminal.

mod commands;
mod progress;
mod stopping;
mod talking;
mod typing;

use crate::pty::Session;
use hookhost_tests::User;
use serde_json::Value;

/// A user whose model plays these turns.
fn scripted(turns: &[&str]) -> User {
    let user = User::new();
    let turns: String = turns.iter().map(|turn| format!("[[turn]]\n{turn}\n")).collect();
    user.write("script.toml", turns);
    user
}

/// A turn that says this.
fn says(text: &str) -> String {
    format!("text = {text:?}")
}

/// A turn that runs this command.
fn runs(command: &str) -> String {
    format!("call = [{{ tool = \"bash\", arguments = {{ command = {command:?} }} }}]")
}

/// Begins to talk, with more arguments.
fn talk_with(user: &User, more: &[&str]) -> Session {
    let arguments = ["--script", "script.toml"].iter().chain(more);
    Session::start(user.command(arguments).env("TERM", "xterm"))
}

fn talk(user: &User) -> Session {
    talk_with(user, &[])
}

/// The texts of a session's messages.
fn texts(session: &Value) -> Vec<&str> {
    session["messages"].as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap()).collect()
}
