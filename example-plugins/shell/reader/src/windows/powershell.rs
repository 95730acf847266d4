//! Reads syntax that only PowerShell has: encoded commands, calls of .NET methods, and names of commands that are built from pieces.

use super::detection::is_cmdlet;
use super::name;
use crate::ascii::Ascii as _;
use crate::read::Unreadable;
use crate::word::{Word, joined};
use base64::Engine;

/// Expands a parameter table, `@x`, to `-Recurse` and an unknown word, because the table may ask for a recursive removal.
pub(super) fn splatted(word: &Word) -> Vec<Word> {
    let name = word.text.strip_prefix('@').filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    if name.is_some() { vec![Word::literal("-Recurse"), Word::unknown()] } else { vec![word.clone()] }
}

/// Returns true if this is the option of `Start-Process` for the arguments of the program.
pub(super) fn is_arguments(word: &Word) -> bool {
    let option = word.text.to_ascii_lowercase();
    option.len() > 1 && "-argumentlist".starts_with(&*option) || option == "-args"
}

/// Returns the words of the program that `Start-Process` starts.
pub(super) fn started(args: &[Word]) -> Vec<Word> {
    let (mut program, mut words) = (None, Vec::new());
    let mut args = args.iter().peekable();
    while let Some(word) = args.next() {
        let option = word.text.to_ascii_lowercase();
        if is_arguments(word) {
            let is_value = |word: &&Word| !word.text.starts_with('-') || word.text.has_one_of(b", ");
            while let Some(word) = args.next_if(is_value) {
                let parts = word.text.split([',', ' ']).filter(|part| !part.is_empty());
                words.extend(parts.map(|part| Word { text: part.to_owned(), ..word.clone() }));
            }
        } else if option.len() > 1 && "-filepath".starts_with(&*option) {
            program = args.next().cloned();
        } else if !option.starts_with('-') && program.is_none() {
            program = Some(word.clone());
        }
    }
    program.into_iter().chain(words).collect()
}

/// Returns the paths that `Get-ChildItem` passes on. These are all entries of the named directories, or an unknown entry of each directory
/// if a filter is given.
pub(super) fn found(words: &[Word]) -> Vec<Word> {
    let Some((program, args)) = words.split_first() else { return vec![Word::unknown()] };
    if !matches!(name(program).as_str(), "get-childitem" | "gci" | "dir" | "ls" | "get-item" | "gi") {
        return vec![Word::unknown()];
    }
    let says_which = ["-fi", "-inc"];
    let is_chosen = args.iter().any(|word| {
        let option = word.text.to_ascii_lowercase();
        says_which.iter().any(|begin| option.starts_with(begin))
    });
    let mut directories: Vec<Word> = args.iter().filter(|word| !word.text.starts_with(['-', '/'])).cloned().collect();
    if directories.is_empty() || (is_chosen && directories.len() == 1) {
        directories = vec![Word::literal(".")];
    }
    let (end, glob) = if is_chosen { ("found", false) } else { ("*", true) };
    let below = |directory: Word| Word {
        text: format!("{}/{end}", directory.text.trim_end_matches(['/', '\\'])),
        glob: directory.glob || glob,
        ..directory
    };
    directories.into_iter().map(below).collect()
}

/// Returns the text that PowerShell runs: from `-Command`, from `-EncodedCommand` or from its words.
pub(crate) fn powershell_text(args: &[Word]) -> Result<Option<String>, Unreadable> {
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

/// Decodes Base64 of UTF-16, little endian.
fn decoded(text: &str) -> Option<String> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.trim()).ok()?;
    let units = bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair.get(1).copied().unwrap_or_default()]));
    char::decode_utf16(units).collect::<Result<String, _>>().ok()
}

/// Returns true if the name of a command is built from pieces, and is more than a path or a program name.
pub(super) fn is_built(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let parts = ["-join", "-f ", "-f'", "-f\"", "-replace", "[char", ".replace(", "frombase64", ".invoke", "-split"];
    let picks =
        lower.starts_with('$') && lower.split('[').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let finds = ["gcm ", "get-command ", "gal ", "get-alias "].iter().any(|find| lower.trim_start().starts_with(find));
    picks || parts.iter().any(|part| lower.contains(part)) || (finds && lower.has_one_of(b"*?"))
}

/// Returns the command name in `(Get-Command x)`.
pub(super) fn command_of(text: &str) -> Option<Vec<String>> {
    let mut words = text.split_whitespace();
    let finds = ["gcm", "get-command", "gal", "get-alias"]
        .iter()
        .any(|find| words.clone().next().is_some_and(|word| word.eq_ignore_ascii_case(find)));
    let name = words.nth(1)?.trim_matches(['\'', '"']);
    (finds && words.next().is_none() && !name.has_one_of(b"*?$-") || finds && is_cmdlet(name) && words.next().is_none())
        .then(|| vec![name.to_owned()])
}

/// Returns the cmdlet that matches a .NET method for files.
pub(super) fn cmdlet_of(method: &str) -> Option<&'static str> {
    let lower = method.to_ascii_lowercase();
    let (class, method) = lower.strip_prefix('[')?.split_once("]::")?;
    let class = class.strip_prefix("system.").unwrap_or(class);
    Some(match (class, method) {
        ("io.file" | "io.directory", "delete") => "remove-item",
        ("io.file", "copy") => "copy-item",
        ("io.file" | "io.directory", "move") => "move-item",
        ("io.file", "writealltext" | "writealllines" | "writeallbytes") => "set-content",
        ("io.file", name) if name.starts_with("read") || name.starts_with("open") => "get-content",
        _ => return None,
    })
}
