//! Commands of `cmd.exe` and PowerShell, as far as their words tell.

use super::read::{Reader, Unreadable};
use super::word::{UNKNOWN, Word, joined};
use super::{Command, LENGTH, program_name};
use base64::Engine;

/// The most commands of one text.
const COMMANDS: usize = 2000;

/// Reads every command of `text`.
pub(super) fn read(reader: &mut Reader<'_>, text: &str) -> Result<(), Unreadable> {
    if text.len() > LENGTH {
        return Err(Unreadable(format!("it is {} bytes long, and no more than {LENGTH} are read", text.len())));
    }
    reader.spend(text.len())?;
    let pipelines = split(text);
    if pipelines.iter().map(Vec::len).sum::<usize>() > COMMANDS {
        return Err(Unreadable(format!("it runs more than {COMMANDS} commands")));
    }
    for stages in pipelines {
        reader.spend(stages.len() * stages.len())?;
        let names: Vec<String> = stages.iter().map(|words| words.first().map(name).unwrap_or_default()).collect();
        for (at, words) in stages.iter().enumerate() {
            let Some((program, args)) = words.split_first() else { continue };
            let mut command = Command {
                windows: true,
                upstream: names[..at].to_vec(),
                downstream: names[at + 1..].to_vec(),
                ..Command::default()
            };
            match name(program).as_str() {
                "cmd" | "powershell" | "pwsh" | "bash" | "sh" | "wsl" => {
                    let unwrapped = if name(program) == "wsl" { args.to_vec() } else { words.clone() };
                    reader.run(unwrapped, command)?;
                }
                // What is invoked is a text.
                "iex" | "invoke-expression" if at == 0 && !args.is_empty() => {
                    let text = joined(args);
                    reader.script.runs_unknown |= text.contains([UNKNOWN, '$']);
                    reader.nested_windows(&text)?;
                }
                "&" | "." | "call" | "start" | "start-process" if !args.is_empty() => {
                    command.program = name(&args[0]);
                    command.program_word = args[0].clone();
                    command.args = args[1..].to_vec();
                    reader.note(command)?;
                }
                "cd" | "chdir" | "set-location" | "sl" | "pushd" => {
                    let to = args.iter().find(|word| !word.text.starts_with('/') || word.text.len() > 2);
                    reader.scope.cwd = to.and_then(|word| reader.places.directory(word, reader.scope.cwd.as_deref()));
                }
                program_name => {
                    command.program = program_name.to_owned();
                    command.program_word = program.clone();
                    command.args = args.to_vec();
                    reader.note(command)?;
                }
            }
        }
    }
    Ok(())
}

/// Whether the first word of `text` is a shell of Windows.
pub(super) fn is_named_in(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    matches!(program_name(first).to_ascii_lowercase().as_str(), "cmd" | "powershell" | "pwsh")
}

fn name(word: &Word) -> String {
    program_name(&word.text).to_ascii_lowercase()
}

/// The text that PowerShell is given by `-Command`, `-EncodedCommand` or as its words.
pub(super) fn powershell_text(args: &[Word]) -> Result<Option<String>, Unreadable> {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let option = word.text.to_ascii_lowercase();
        let Some(option) = option.strip_prefix(['-', '/']) else { break };
        let begins = |name: &str, least: usize| option.len() >= least && name.starts_with(option);
        if begins("encodedcommand", 1) || option == "ec" {
            let text = args.get(at + 1).map(|word| word.text.clone()).unwrap_or_default();
            return decoded(&text).map(Some).ok_or_else(|| Unreadable("its -EncodedCommand cannot be decoded".into()));
        }
        if begins("command", 1) {
            return Ok(Some(joined(&args[at + 1..])));
        }
        if begins("file", 1) {
            return Ok(None);
        }
        let takes_value =
            ["executionpolicy", "windowstyle", "version", "workingdirectory", "inputformat", "outputformat"];
        at += if takes_value.iter().any(|name| begins(name, 1)) || option == "ep" { 2 } else { 1 };
    }
    Ok((at < args.len()).then(|| joined(&args[at..])))
}

/// Base64 of UTF-16, low byte first.
fn decoded(text: &str) -> Option<String> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.trim()).ok()?;
    let units = bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair.get(1).copied().unwrap_or_default()]));
    char::decode_utf16(units).collect::<Result<String, _>>().ok()
}

/// The pipelines of a text, each the words of its commands.
fn split(text: &str) -> Vec<Vec<Vec<Word>>> {
    let mut pipelines = vec![vec![Vec::new()]];
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    let end_word = |word: &mut Option<Word>, pipelines: &mut Vec<Vec<Vec<Word>>>| {
        if let (Some(word), Some(words)) = (word.take(), pipelines.last_mut().and_then(|stages| stages.last_mut())) {
            words.push(expanded(word));
        }
    };
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().text.push(c),
            (None, '"' | '\'') => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (None, '^' | '`') => {
                if let Some(next) = chars.next() {
                    word.get_or_insert_default().text.push(next);
                }
            }
            (None, '|') if chars.peek() != Some(&'|') => {
                end_word(&mut word, &mut pipelines);
                if let Some(stages) = pipelines.last_mut() {
                    stages.push(Vec::new());
                }
            }
            (None, ';' | '&' | '|' | '\n' | '{' | '}' | '(' | ')') => {
                end_word(&mut word, &mut pipelines);
                pipelines.push(vec![Vec::new()]);
            }
            (None, c) if c.is_whitespace() => end_word(&mut word, &mut pipelines),
            (None, c) => word.get_or_insert_default().text.push(c),
        }
    }
    end_word(&mut word, &mut pipelines);
    pipelines.retain(|stages| stages.iter().any(|words| !words.is_empty()));
    pipelines
}

/// With the variables filled in that name a home; others are unknown.
fn expanded(mut word: Word) -> Word {
    let lower = word.text.to_ascii_lowercase();
    for home in ["$home", "$env:userprofile", "%userprofile%", "~"] {
        if let Some(rest) = lower.strip_prefix(home)
            && (rest.is_empty() || rest.starts_with(['\\', '/']))
        {
            word.text = format!("~{}", &word.text[home.len()..]);
            word.home = true;
            return word;
        }
    }
    for (variable, path) in [
        ("%systemdrive%", "C:"),
        ("$env:systemdrive", "C:"),
        ("%systemroot%", "C:\\Windows"),
        ("$env:systemroot", "C:\\Windows"),
    ] {
        if lower.starts_with(variable) {
            word.text = format!("{path}{}", &word.text[variable.len()..]);
            return word;
        }
    }
    if word.text.contains('$') || (word.text.matches('%').count() > 1) {
        let at = word.text.find(['$', '%']).unwrap_or_default();
        word.text.truncate(at);
        word.text.push(UNKNOWN);
    }
    word.glob = word.text.contains(['*', '?']);
    word
}
