//! Labels the session by what its calls reach: `read:secret`, `read:outside`, `text:untrusted` and `wrote:startup-file`. A call is
//! labelled before it runs, so the label is there when the next call is judged.

use call_paths::{CommandLine, ReadCall, Target, Touch, Touched};
use hookhost_guest::prelude::*;
use shell_reader::path::{Normal, below};
use shell_reader::{Class, Command, PathContext, Word, is_secret_file, is_startup_file, lower};
use std::collections::BTreeSet;

/// The fact that says whether a tool of an MCP server reaches others than its server.
const OPEN_WORLD: &str = "tool.open_world";

/// Programs that fetch what their operands name, and show it.
const FETCHERS: [&str; 16] = [
    "curl",
    "wget",
    "http",
    "https",
    "xh",
    "aria2c",
    "axel",
    "lynx",
    "w3m",
    "elinks",
    "links",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "httpie",
];

/// Maximum number of words whose files are looked for, because each costs thousands of units of fuel. Calls with more words get the labels
/// of all that they may read.
const MAX_WORDS: usize = 1_000;

/// Adds the labels that a call deserves, if the plugin has the grant.
pub(crate) fn add(session: &Session, call: &ToolCall, read: &ReadCall<'_>, written: &Touched) {
    if !grants::has("labels") {
        return;
    }
    let (context, from) = (PathContext::new(&session.workspace), PathContext::new(&session.cwd));
    let mut found = BTreeSet::new();
    let is_long = words(read) > MAX_WORDS;
    if is_long {
        found.extend(["read:secret", "read:outside"]);
    }
    let touched = if is_long { Touched::default() } else { read.touched(Touch::READS) };
    for (path, target) in &touched.targets {
        if is_secret_file(text(target)) {
            found.insert("read:secret");
        }
        if is_outside(path, target, [context.workspace(), from.workspace()]) {
            found.insert("read:outside");
        }
    }
    if written.targets.iter().any(|(path, target)| is_startup(path, target, &context)) {
        found.insert("wrote:startup-file");
    }
    if is_untrusted(call, read) {
        found.insert("text:untrusted");
    }
    found.into_iter().for_each(labels::add);
}

/// Returns the number of words of all commands. A wrapper such as `sudo` repeats the words of the command behind it.
fn words(read: &ReadCall<'_>) -> usize {
    read.lines.iter().flat_map(CommandLine::commands).map(|command| command.args.len()).sum()
}

fn text(target: &Target) -> &str {
    let (Normal::Absolute(text) | Normal::Below(text)) = &target.path;
    text
}

/// Returns true if a path begins in a home directory whose place is unknown.
fn is_in_unknown_home(path: &str, target: &Target) -> bool {
    matches!(target.path, Normal::Below(_)) && (target.reach.in_home || path.starts_with("~/"))
}

/// Returns true if a path is known to lie outside of these directories. A device is no file.
fn is_outside(path: &str, target: &Target, directories: [&str; 2]) -> bool {
    match &target.path {
        Normal::Absolute(absolute) => {
            let is_inside = directories.iter().any(|directory| below(absolute, directory).is_some());
            !is_inside && !absolute.starts_with("/dev/")
        }
        Normal::Below(_) => is_in_unknown_home(path, target),
    }
}

fn is_startup(path: &str, target: &Target, context: &PathContext) -> bool {
    let is_in_home = || match &target.path {
        Normal::Absolute(absolute) => context.class(&Word::literal(absolute.as_str()), None) == Class::Home,
        Normal::Below(_) => is_in_unknown_home(path, target),
    };
    // The names in the table follow a slash.
    is_startup_file(&format!("/{}", text(target)), is_in_home)
}

/// Returns true if a call gives the model a text that anybody may have written: a page of the web, or the result of a tool of an MCP server
/// that reaches others, or of which this is unknown.
fn is_untrusted(call: &ToolCall, read: &ReadCall<'_>) -> bool {
    match &call.action {
        Action::Fetch(url) => !is_local(url),
        Action::Mcp(_) => {
            let closed = facts::Fact::Flag(false);
            !(grants::has(OPEN_WORLD) && facts::read(OPEN_WORLD, None) == closed)
        }
        Action::Other(kind) => {
            let name: String = call.name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
            kind == "fetch" || name.contains("websearch") || fetches(read)
        }
        _ => fetches(read),
    }
}

fn fetches(read: &ReadCall<'_>) -> bool {
    read.lines.iter().filter(|line| line.is_certain).any(|line| line.commands().any(fetches_page))
}

/// Returns true if a command fetches something that is not on this machine.
fn fetches_page(command: &Command) -> bool {
    let mut operands = command.args.iter().filter(|word| !word.text.starts_with('-')).peekable();
    FETCHERS.contains(&&*lower(&command.program))
        && (operands.peek().is_none() || operands.any(|word| !is_local(&word.text)))
}

/// Returns true if an address is one of this machine.
fn is_local(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // Programs do not agree on the host of such an address.
    if place.contains(['@', '\\']) {
        return false;
    }
    let host = place.split(':').next().unwrap_or_default();
    let is_number = host.starts_with("127.") && host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    host == "localhost" || is_number || place.starts_with("[::1]")
}
