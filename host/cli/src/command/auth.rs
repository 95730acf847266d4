//! `hookhost auth`: manages the keys of providers, in a file that only the user can read.

use crate::args::{AuthArgs, AuthCommand};
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{DIM, NAME},
    wrap::wrapped,
};
use anyhow::anyhow;
use hookhost_agent::config::AgentSection;
use hookhost_models::{Keys, KeysError};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal as _, Read as _};

/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: u64 = 16 * 1024;

pub(crate) fn run(args: &AuthArgs) -> Result<Exit, CliError> {
    let section = configuration::agent(&configuration::read(None, &configuration::cwd()?)?)?;
    match &args.command {
        AuthCommand::Set { provider } => set(&section, provider),
        AuthCommand::List { json } => list(&section, *json),
        AuthCommand::Rm { provider } => remove(provider),
    }
}

/// Returns the known providers that accept a key.
pub(crate) fn providers_with_a_key(section: &AgentSection) -> Vec<String> {
    let takes_one = |name: &String| section.provider(name).is_ok_and(|section| section.key_variable.is_some());
    section.provider_names().into_iter().filter(takes_one).collect()
}

/// Asks the person at the terminal for a key and stores it. Returns the provider's name, or `None` if the person gives no key.
pub(crate) fn ask_for_key(section: &AgentSection) -> Result<Option<String>, CliError> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Ok(None);
    }
    let names = providers_with_a_key(section).join(", ");
    let lines = [
        "hookhost alone starts its own agent, which needs a model. No provider has a key, and no server on this machine answers.",
        "To check the agents that you already use, you need no model: press Enter, and run `hookhost on`.",
        &format!("To store a provider's key now, type its name: {names}."),
    ];
    let text: String = lines.iter().map(|line| wrapped(line, 0) + "\n").collect();
    output::note(&format!("{text}{NAME}Provider:{NAME:#} "));
    let typed = line(&mut std::io::stdin().lock()).map_err(|error| CliError::from(anyhow!(error)))?;
    let provider = typed.trim();
    if provider.is_empty() {
        return Ok(None);
    }
    set(section, provider)?;
    Ok(Some(provider.to_owned()))
}

fn set(section: &AgentSection, provider: &str) -> Result<Exit, CliError> {
    let origin = section.provider(provider).map_err(CliError::usage)?.origin();
    let origin = origin
        .ok_or_else(|| CliError::usage(format!("the provider {provider} needs no key, because it has no server")))?;
    let file = configuration::keys_file()?;
    // The file of keys is read now, so that an error in this file is reported before the user types the key.
    configuration::keys()?;
    let key = typed(provider)?;
    change(|keys| keys.set(provider, &origin, &key))?;
    let origin = origin.to_string();
    output::print(&format!(
        "stored a key of {} for {} in {}\n",
        one_line(provider),
        one_line(&origin),
        file.display()
    ))?;
    Ok(Exit::Done)
}

fn remove(provider: &str) -> Result<Exit, CliError> {
    configuration::keys()?;
    if !change(|keys| Ok(keys.remove(provider)))? {
        return Err(CliError::usage(format!("no key of {provider} is stored")).advise("hookhost auth list"));
    }
    output::print(&format!("removed the key of {}\n", one_line(provider)))?;
    Ok(Exit::Done)
}

/// Reads the file of keys, applies `change`, and writes the file.
fn change<T>(change: impl FnOnce(&mut Keys) -> Result<T, KeysError>) -> Result<T, CliError> {
    let state = configuration::places()?.state;
    Keys::change(&configuration::keys_file()?, &state, change).map_err(|error| match error {
        KeysError::NoKey => CliError::usage(error),
        KeysError::Open(_) | KeysError::Unreadable { .. } => CliError::not_loaded(error),
        error => CliError::from(anyhow::Error::new(error)),
    })
}

/// Prints the providers that have a key and where each key is stored, but never a key itself.
fn list(section: &AgentSection, as_json: bool) -> Result<Exit, CliError> {
    let keys = configuration::keys()?;
    let kept: Vec<_> =
        keys.iter().map(|(provider, origin)| json!({ "provider": provider, "for": origin, "in": "file" })).collect();
    let set = |variable: &String| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let variables: Vec<_> = section.key_variables().into_iter().filter(set).collect();
    if as_json {
        output::print_json(&json!({ "kept": kept, "variables": variables }))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (provider, origin) in keys.iter() {
        let _ = writeln!(text, "{NAME}{}{NAME:#} {DIM}stored, for {}{DIM:#}", one_line(provider), one_line(&origin));
    }
    for variable in &variables {
        let _ = writeln!(text, "{NAME}{}{NAME:#} {DIM}is set in the environment{DIM:#}", one_line(variable));
    }
    if text.is_empty() {
        text.push_str("No key is stored, and none is in the environment. To store one: hookhost auth set PROVIDER\n");
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

/// Reads the key from a pipe, or from the terminal without echo.
fn typed(provider: &str) -> Result<String, CliError> {
    let input = std::io::stdin();
    let unreadable =
        |error: std::io::Error| CliError::from(anyhow!("the key cannot be read from the standard input: {error}"));
    let mut key = String::new();
    if input.is_terminal() {
        // Turns echo off before the prompt, so that early keystrokes are neither echoed nor lost.
        let shown = Unshown::begin();
        output::note(&format!("The key of {} (it is not shown; Ctrl-C to leave): ", one_line(provider)));
        let line = line(&mut input.lock());
        drop(shown);
        output::note("\n");
        key = line.map_err(unreadable)?;
        if key.ends_with(char::from(CTRL_C)) {
            return Err(CliError::new(Exit::Interrupted, anyhow!("no key was stored")));
        }
    } else {
        input.take(MAX_KEY_BYTES).read_to_string(&mut key).map_err(unreadable)?;
    }
    Ok(key)
}

/// The character of Ctrl-C.
const CTRL_C: u8 = 3;

/// Reads the typed text up to Enter or Ctrl-C.
fn line(input: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = Vec::new();
    loop {
        let typed = input.fill_buf()?;
        let end = typed.iter().position(|byte| matches!(*byte, b'\n' | CTRL_C)).map(|at| at + 1);
        let taken = end.unwrap_or(typed.len());
        line.extend_from_slice(&typed[..taken]);
        input.consume(taken);
        if end.is_some() || taken == 0 {
            break;
        }
    }
    String::from_utf8(line).map_err(|_| std::io::Error::other("it is not UTF-8"))
}

/// Turns off the terminal's echo until this value is dropped. During this time Ctrl-C sends no signal and is an ordinary character that
/// ends the line, because a signal would end the process and leave the echo off.
struct Unshown(Option<Termios>);

impl Unshown {
    fn begin() -> Self {
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(before) = &before {
            let mut unshown = before.clone();
            unshown.local_modes -= LocalModes::ECHO | LocalModes::ISIG;
            unshown.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &unshown);
        }
        Self(before)
    }
}

impl Drop for Unshown {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
