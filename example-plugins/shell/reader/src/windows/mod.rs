//! Reads commands of `cmd.exe` and PowerShell as far as their words tell.

use super::ascii::Ascii as _;
use super::code::language;
use super::path::slashed;
use super::read::{Reader, Unreadable};
use super::unwrap::runs_others;
use super::word::{UNKNOWN, Word, joined};
use super::{Command, MAX_LENGTH, Redirect, RedirectKind, program_name, program_names};
use base64::Engine;
use expression::{Values, evaluated};
use std::iter::Peekable;
use std::str::Chars;

mod expression;

/// Maximum number of commands in one text.
const MAX_COMMANDS: usize = 2000;
/// Maximum length of a word that calls a method of a class, in bytes, and maximum number of words in a value of `set`.
const MAX_METHOD: usize = 128;
const MAX_VALUE: usize = 16;
/// Maximum length of an expression that is evaluated, in bytes.
const MAX_EXPRESSION: usize = 1024;

/// Reads every command of `text`.
pub(super) fn read(reader: &mut Reader<'_>, text: &str) -> Result<(), Unreadable> {
    if text.len() > MAX_LENGTH {
        return Err(Unreadable(format!("it is {} bytes long, and no more than {MAX_LENGTH} are read", text.len())));
    }
    reader.spend(text.len())?;
    let Splitting { pipelines, nested, builds, evaluated, .. } = split(text);
    reader.spend(evaluated)?;
    reader.script.runs_unknown |= builds;
    if pipelines.iter().flat_map(|pipeline| &pipeline.stages).filter(|stage| !stage.words.is_empty()).count()
        > MAX_COMMANDS
    {
        return Err(Unreadable(format!("it runs more than {MAX_COMMANDS} commands")));
    }
    for (number, pipeline) in pipelines.iter().enumerate() {
        let stages = &pipeline.stages;
        reader.spend(stages.len() * stages.len())?;
        let names: Vec<String> = stages.iter().map(|stage| stage.words.first().map(name).unwrap_or_default()).collect();
        for (at, Stage { words, redirects }) in stages.iter().enumerate() {
            if words.is_empty() && redirects.is_empty() {
                continue;
            }
            let mut upstream = names[..at].to_vec();
            // The command also reads the output of the commands in its brackets.
            for inner in pipelines.iter().skip(number + 1).take_while(|inner| inner.depth > pipeline.depth) {
                reader.spend(1)?;
                if inner.stage == Some((number, at)) {
                    upstream.extend(inner.stages.iter().filter_map(|stage| stage.words.first().map(name)));
                }
            }
            let place = reader.place.clone();
            let downstream = names[at + 1..].to_vec();
            let redirects = redirects.clone();
            let command = Command { windows: true, place, upstream, downstream, redirects, ..Command::default() };
            let piped = at.checked_sub(1).map(|before| &stages[before].words);
            match words.split_first() {
                Some((program, args)) => stage(reader, program, args, piped, command)?,
                None => reader.note(command)?,
            }
        }
    }
    nested.iter().try_for_each(|text| reader.nested_windows(text))
}

/// Reads one command. `piped` is the command before it in the pipeline.
fn stage(
    reader: &mut Reader<'_>,
    program: &Word,
    args: &[Word],
    piped: Option<&Vec<Word>>,
    mut command: Command,
) -> Result<(), Unreadable> {
    // `@rd`: a command that is not echoed still runs.
    if let Some(shown) = program.text.strip_prefix('@').filter(|shown| !shown.is_empty()) {
        return stage(reader, &expanded(Word::literal(shown)), args, piped, command);
    }
    let is_posix = |word: &Word| word.text.starts_with("-rf") || word.text.starts_with("-fr");
    match name(program).as_str() {
        name if matches!(name, "wsl" | "bash" | "sh") || (name == "rm" && args.iter().any(is_posix)) => {
            let words = [Word::literal(name)].into_iter().chain(args.iter().cloned()).collect();
            reader.run(words, Command { windows: false, ..command })
        }
        "cmd" | "powershell" | "pwsh" => {
            let words = [program].into_iter().chain(args).cloned().collect();
            reader.run(words, command)
        }
        // Aliases.
        "set-alias" | "new-alias" | "sal" | "nal" => {
            let mut operands = args.iter().filter(|word| !word.text.starts_with('-'));
            if let (Some(alias), Some(of)) = (operands.next(), operands.next()) {
                reader.spend(args.len())?;
                reader.aliases.insert(alias.text.to_ascii_lowercase(), Some(of.clone()));
            }
            noted(reader, program, args, command)
        }
        name if !reader.aliases.is_empty() && reader.aliases.contains_key(name) => {
            let of = reader.aliases.get(name).cloned().flatten().unwrap_or_default();
            reader.deeper(|reader| stage(reader, &of, args, piped, command))
        }
        "start-process" | "saps" | "start" if args.iter().any(is_arguments) => {
            noted(reader, program, args, command.clone())?;
            let words = started(args);
            match words.split_first() {
                Some((inner, args)) => reader.deeper(|reader| stage(reader, inner, args, None, command)),
                None => Ok(()),
            }
        }
        // The argument is a text to run.
        "iex" | "invoke-expression" => {
            let text = joined(args);
            reader.script.runs_unknown |= text.has_one_of(&[UNKNOWN as u8, b'$']) || args.is_empty();
            noted(reader, program, args, command)?;
            reader.nested_windows(&text)
        }
        "&" | "." | "call" | "start" | "start-process" | "saps" | "do" | "else" => {
            command_after(reader, program, args, switches(args), piped, command)
        }
        "if" => {
            let branch = position(args, "else");
            command_after(reader, program, &args[..branch], condition(args), piped, command.clone())?;
            command_after(reader, program, &args[branch..], 1, piped, command)
        }
        "for" => command_after(reader, program, args, position(args, "do") + 1, piped, command),
        _ if !program.is_known() && args.first().is_some_and(|word| word.text == "=") => {
            command_after(reader, program, args, 1, piped, command)
        }
        "cd" | "chdir" | "set-location" | "sl" | "pushd" => {
            noted(reader, program, args, command)?;
            let to = args.iter().find(|word| !word.text.starts_with('/') || word.text.len() != 2);
            let to = to.map(|word| Word { text: slashed(&word.text).into_owned(), ..word.clone() });
            reader.scope.cwd = to.and_then(|word| reader.places.directory(&word, reader.scope.cwd.as_deref()));
            Ok(())
        }
        verb if removes(verb) => {
            // `Remove-Item @x`: the content of the table is unknown.
            let mut args: Vec<Word> = args.iter().flat_map(splatted).collect();
            if let Some(piped) = piped.filter(|_| !args.iter().any(|word| !word.text.starts_with('-'))) {
                args.extend(found(piped));
            }
            command.input = None;
            noted(reader, program, &args, command)
        }
        // These programs run as in any shell, except `find`, which searches text on Windows.
        name if name != "find" && (runs_others(name) || language(program_names::usual(name)).is_some()) => {
            let words = [program].into_iter().chain(args).cloned().collect();
            reader.run(words, command)
        }
        _ => {
            // `%x% rd`: the unknown word decides if `rd` is run.
            reader.script.runs_unknown |=
                !program.is_known() && (args.iter().any(|word| removes(&name(word))) || has_switches_of_removal(args));
            noted(reader, program, args, command)
        }
    }
}

/// Returns true if the words are the switches of a command that removes a directory.
fn has_switches_of_removal(args: &[Word]) -> bool {
    let has = |begins: &[&str]| {
        args.iter().any(|word| begins.iter().any(|begin| word.text.to_ascii_lowercase().starts_with(begin)))
    };
    (has(&["/s"]) && has(&["/q", "/f"])) || (has(&["-rec"]) && has(&["-fo"]))
}

/// Expands a parameter table, `@x`, to `-Recurse` and an unknown word, because it may ask for a recursive removal.
fn splatted(word: &Word) -> Vec<Word> {
    let name = word.text.strip_prefix('@').filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    if name.is_some() { vec![Word::literal("-Recurse"), Word::unknown()] } else { vec![word.clone()] }
}

/// Returns true if an option of `Start-Process` holds the arguments.
fn is_arguments(word: &Word) -> bool {
    let option = word.text.to_ascii_lowercase();
    option.len() > 1 && "-argumentlist".starts_with(&*option) || option == "-args"
}

/// Returns the words of the program that `Start-Process` starts.
fn started(args: &[Word]) -> Vec<Word> {
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

/// Reads the command that begins at index `begin` of `args`.
fn command_after(
    reader: &mut Reader<'_>,
    program: &Word,
    args: &[Word],
    begin: usize,
    piped: Option<&Vec<Word>>,
    command: Command,
) -> Result<(), Unreadable> {
    match args.get(begin..).and_then(<[Word]>::split_first) {
        Some((inner, args)) => reader.deeper(|reader| stage(reader, inner, args, piped, command)),
        None => noted(reader, program, args, command),
    }
}

/// Returns the number of leading words that are switches of `start` and its like, their values, or a title.
fn switches(args: &[Word]) -> usize {
    let mut at = 0;
    while let Some(word) =
        args.get(at).filter(|word| word.text.is_empty() || word.text.starts_with(['/', '-']) || word.text.has(b' '))
    {
        let takes_value = ["/d", "-verb", "-windowstyle", "-workingdirectory"];
        at += if takes_value.iter().any(|switch| switch.eq_ignore_ascii_case(&word.text)) { 2 } else { 1 };
    }
    at
}

/// Returns the index of a word, or the length if it is missing.
fn position(args: &[Word], word: &str) -> usize {
    args.iter().position(|arg| arg.text.eq_ignore_ascii_case(word)).unwrap_or(args.len())
}

/// Returns the number of words in the condition of an `if`.
fn condition(args: &[Word]) -> usize {
    let is = |at: usize, words: &str| {
        args.get(at).is_some_and(|arg| words.split(' ').any(|word| word.eq_ignore_ascii_case(&arg.text)))
    };
    let mut at = 0;
    while is(at, "/i not") {
        at += 1;
    }
    let has_operator = is(at + 1, "== equ neq lss leq gtr geq");
    at + if has_operator { 3 } else { 1 + usize::from(is(at, "exist defined errorlevel")) }
}

fn removes(program: &str) -> bool {
    matches!(program, "remove-item" | "ri" | "rm" | "del" | "erase" | "rd" | "rmdir")
}

fn noted(reader: &mut Reader<'_>, program: &Word, args: &[Word], command: Command) -> Result<(), Unreadable> {
    reader.note(Command { program: name(program), program_word: program.clone(), args: args.to_vec(), ..command })
}

/// Returns the paths that `Get-ChildItem` passes on: all entries of its directories, or an unspecified one if it filters.
fn found(words: &[Word]) -> Vec<Word> {
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

/// Returns true if `text`, which no POSIX shell can read, is meant for a Windows shell. The first word shows that, or a cmdlet after `if`.
pub(super) fn is_named_in(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_shell = matches!(program_name(first).to_ascii_lowercase().as_str(), "cmd" | "powershell" | "pwsh");
    let is_branch = matches!(first, "if" | "foreach" | "while" | "try" | "switch" | "function" | "param");
    // `if exist x …` and `for %f in …`
    let second = text.split_whitespace().nth(1).unwrap_or_default();
    let is_batch = (first == "if" && matches!(second, "exist" | "not" | "defined" | "errorlevel" | "/i"))
        || (first == "for" && second.starts_with(['%', '/']))
        || (is_branch && second.starts_with("($") && text.has(b'{'));
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    is_shell || is_batch || is_cmdlet(first) || (is_branch && words.any(is_cmdlet)) || is_expression_of_cmdlet(text)
}

/// Returns true if `text` begins with an expression of PowerShell: `(Get-Item x).Length`, `[Math]::Round(1.5)`, `"$((Get-Date).Year)"`.
fn is_expression_of_cmdlet(text: &str) -> bool {
    let text = text.trim_start();
    let opened = text.trim_start_matches(['(', '{', '@', '$', '"', '&', ' ']);
    let end = opened.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(opened.len());
    // Methods that change something are left to a person.
    let reads = |rest: &str| {
        let begins = [
            "Get",
            "Read",
            "Exists",
            "Is",
            "Parse",
            "Round",
            "Format",
            "Combine",
            "Join",
            "New",
            "UTF8",
            "To",
            "From",
            "OSVersion",
            "Now",
            "UtcNow",
            "Max",
            "Min",
        ];
        begins.iter().any(|begin| rest.starts_with(begin))
    };
    let is_static = text.starts_with('[') && text.contains("]::") && text.split("]::").skip(1).all(reads);
    // `(git rev-parse HEAD).Substring(0, 7)`, `& "C:\\x.exe"`
    let is_method = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase());
    let calls = (text.starts_with('(') && text.split(").").skip(1).any(is_method))
        || (text.starts_with('"') && text.split("\".").skip(1).any(is_method));
    let is_invoked = text.strip_prefix('&').is_some_and(|rest| rest.trim_start().starts_with(['"', '\'']));
    is_static || calls || is_invoked || is_cmdlet(&opened[..end])
}

/// Returns true for a word like `Get-ChildItem`.
fn is_cmdlet(word: &str) -> bool {
    let Some((verb, noun)) = word.halves(b'-') else { return false };
    let is_upper = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase());
    let is_letters = |text: &str| text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_upper(verb) && is_upper(noun) && is_letters(verb) && is_letters(noun)
}

/// Returns true if `text` begins with a variable or an assignment in PowerShell's syntax, `$env:X`, `$x = …`. No other shell has it.
pub(super) fn is_assigned(text: &str) -> bool {
    if begins_with_list(text) {
        return true;
    }
    let Some(rest) = text.trim_start().strip_prefix('$') else { return false };
    if rest.starts_with("env:") || rest.starts_with("PSVersionTable") {
        return true;
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(rest.len());
    let after = rest[end..].trim_start_matches(' ');
    end > 0 && after.starts_with('=') && !after.starts_with("==")
}

/// Returns true if a POSIX shell would take a PowerShell variable or its property for a program: `$x = …`, `$x.Count`.
pub(super) fn is_expression(text: &str, command: &Command) -> bool {
    let is_variable =
        |text: &str| text.strip_prefix('$').is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    command.program.is_empty()
        && text.get(command.place.clone()).is_some_and(|text| is_variable(text) || begins_with_list(text))
}

/// Returns true for `@(Get-ChildItem).Count` and `[Environment]::OSVersion`.
fn begins_with_list(text: &str) -> bool {
    let text = text.trim_start();
    text.strip_prefix("@(").is_some_and(is_expression_of_cmdlet)
        || (text.starts_with('[') && is_expression_of_cmdlet(text))
}

/// Returns true if only Windows has a program with this name and these words.
pub(super) fn is_only_there(command: &Command) -> bool {
    const VERBS: [&str; 19] = [
        "remove-",
        "clear-",
        "set-",
        "add-",
        "new-",
        "stop-",
        "disable-",
        "enable-",
        "format-",
        "initialize-",
        "reset-",
        "invoke-",
        "start-",
        "restart-",
        "register-",
        "get-",
        "import-",
        "copy-",
        "move-",
    ];
    let program = command.program.as_str();
    let is_cmdlet = || {
        let lower = program.to_ascii_lowercase();
        program.starts_with(|c: char| c.is_ascii_uppercase()) && VERBS.iter().any(|verb| lower.starts_with(verb))
    };
    let has_switch =
        || command.args.iter().any(|word| matches!(word.text.as_str(), "/s" | "/S" | "/q" | "/Q" | "/f" | "/F"));
    // Elixir's shell has the same name but takes no text.
    let is_invoked = || program == "iex" && matches!(command.args.as_slice(), [text] if text.text.has(b' '));
    let is_shell = || program.eq_ignore_ascii_case("%comspec%") || matches!(program, "iwr" | "irm");
    let has_variable = || command.args.iter().any(|word| has_variable(&word.text));
    !command.windows
        && (is_cmdlet()
            || is_shell()
            || has_variable()
            || is_invoked()
            || (matches!(program, "rd" | "del" | "erase" | "rmdir") && has_switch()))
}

/// Returns true if a text has a variable in the syntax of `cmd.exe`: `%USERPROFILE%`.
fn has_variable(text: &str) -> bool {
    let is_name = |part: &str| part.len() >= 4 && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let closed = text.rfind('%').unwrap_or_default();
    text[..closed].split('%').skip(1).any(is_name)
}

fn name(word: &Word) -> String {
    program_name(&word.text).to_ascii_lowercase()
}

/// Returns the text that PowerShell runs: from `-Command`, from `-EncodedCommand` or from its words.
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

/// Decodes Base64 of UTF-16, little endian.
fn decoded(text: &str) -> Option<String> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.trim()).ok()?;
    let units = bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair.get(1).copied().unwrap_or_default()]));
    char::decode_utf16(units).collect::<Result<String, _>>().ok()
}

/// A command with its redirections.
#[derive(Default)]
struct Stage {
    words: Vec<Word>,
    redirects: Vec<Redirect>,
}

/// Commands that pass their output to the next one.
#[derive(Default)]
struct Pipeline {
    stages: Vec<Stage>,
    /// The pipeline and the stage whose words contain this pipeline in brackets.
    stage: Option<(usize, usize)>,
    depth: usize,
}

/// The state while a text is split into commands.
#[derive(Default)]
struct Splitting {
    pipelines: Vec<Pipeline>,
    /// The index of the pipeline to which words are added.
    current: usize,
    /// The pipelines that continue after a closing bracket.
    outer: Vec<usize>,
    word: Option<Word>,
    /// The direction if the next word is the target of a redirection.
    redirect: Option<RedirectKind>,
    /// The texts of `"$(…)"`.
    nested: Vec<String>,
    values: Values,
    /// The variable that the current stage begins with, and may set.
    variable: Option<String>,
    /// True if the name of a command is built in a way that cannot be followed.
    builds: bool,
    /// The pipeline that begins directly after a single `&`, which may be the call operator.
    invoked: Option<usize>,
    /// Bytes of expressions that were evaluated.
    evaluated: usize,
}

impl Splitting {
    fn end_word(&mut self) {
        let Some(mut word) = self.word.take() else { return };
        let is_many = self.fill(&mut word);
        self.assign(&word.text);
        let stages = &mut self.pipelines[self.current].stages;
        if stages.is_empty() {
            stages.push(Stage::default());
        }
        let Some(Stage { words, redirects }) = stages.last_mut() else { return };
        match self.redirect.take() {
            Some(kind) => redirects.push(Redirect { kind, target: expanded(word) }),
            // `cmd.exe` splits the value of a variable into words.
            None if is_many => {
                words.extend(word.text.split_whitespace().map(|part| expanded(Word::literal(part))));
            }
            // This is the text of another shell, which sets its own variables.
            None if word.text.has(b' ') && word.text.has_one_of(b"&;") => words.push(word),
            None => words.extend(parted(&word.text).unwrap_or_else(|| vec![expanded(word)])),
        }
    }

    /// Fills in the known values of a word, and records the variable that begins an assignment. Returns true if the word must now be split.
    fn fill(&mut self, word: &mut Word) -> bool {
        let Some(Stage { words, .. }) = self.pipelines[self.current].stages.last_mut() else { return false };
        if word.text == "=" && words.len() == 1 && self.variable.is_some() {
            words[0] = Word::unknown();
            return false;
        }
        let is_batch = word.text.has_one_of(b"%!");
        let begin = if words.is_empty() { word.text.strip_prefix('$') } else { None };
        let named = begin.map(|name| name.split('=').next().unwrap_or_default());
        self.variable = named.map(str::to_owned);
        let set = named.filter(|_| word.text.has(b'=')).map_or(0, |name| name.len() + 2);
        if let Some(text) = self.values.filled(&word.text[set..]) {
            let is_changed = text != word.text[set..];
            word.text.truncate(set);
            word.text.push_str(&text);
            return is_batch && is_changed && word.text.has(b' ');
        }
        false
    }

    /// Records the variable that `set x=y` of `cmd.exe` sets.
    fn assign(&mut self, text: &str) {
        let Some(Stage { words, .. }) = self.pipelines[self.current].stages.last() else { return };
        match words.as_slice() {
            [set] if set.text.eq_ignore_ascii_case("set") => {
                if let Some((name, value)) = text.halves(b'=') {
                    self.values.set(name, Some(value.to_owned()));
                }
            }
            [set, first, ..] if set.text.eq_ignore_ascii_case("set") && words.len() < MAX_VALUE => {
                if let Some((name, _)) = first.text.halves(b'=') {
                    let whole =
                        words[1..].iter().map(|word| word.text.as_str()).chain([text]).collect::<Vec<_>>().join(" ");
                    self.values.set(name, whole.halves(b'=').map(|(_, value)| value.to_owned()));
                }
            }
            _ => {}
        }
    }

    /// Returns the text up to the closing bracket, or `None` if it is longer than [`MAX_EXPRESSION`].
    fn bracketed(&mut self, chars: &Peekable<Chars<'_>>) -> Option<String> {
        let (mut text, mut depth, mut quote) = (String::new(), 0, None);
        for c in chars.clone().take(MAX_EXPRESSION) {
            self.evaluated += 1;
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') if depth == 0 => return Some(text),
                (None, ')') => depth -= 1,
                _ => {}
            }
            text.push(c);
        }
        None
    }

    /// Replaces an expression in brackets by its value, if known: `('Remove'+'-Item')`, `(gcm Remove-Item)`. Returns true if it did.
    fn evaluate(&mut self, chars: &mut Peekable<Chars<'_>>, most: usize) -> bool {
        let invokes = |word: &Word| word.text == ".";
        let words = self.pipelines[self.current].stages.last().map_or(&[][..], |stage| &stage.words);
        let is_invoked = match (words, &self.word) {
            ([], None) => self.invoked == Some(self.current),
            ([], Some(word)) | ([word], None) => invokes(word),
            _ => false,
        };
        // `$x=[IO.File]::ReadAllText`
        let written = self.word.as_ref().filter(|word| word.text.len() < MAX_METHOD).map_or("", |word| &word.text);
        let (set, method) = written.split_at(written.find('=').map_or(0, |at| at + 1));
        let (set, method) = (set.to_owned(), cmdlet_of(method));
        let mut ahead = chars.clone();
        while ahead.next_if(|c| c.is_whitespace()).is_some() {
            self.evaluated += 1;
        }
        // For a method, these are its arguments.
        let begins = self.word.as_ref().is_none_or(|word| word.text.ends_with(['$', '=', '+', ',']));
        let may_be = begins && matches!(ahead.peek(), Some('\'' | '"' | '$' | '[' | '-' | '(' | '@' | 'j' | 'J'));
        if !(may_be || is_invoked || method.is_some()) {
            return false;
        }
        if self.evaluated > most {
            self.builds |= is_invoked;
            return false;
        }
        let Some(text) = self.bracketed(chars) else { return false };
        let found = evaluated(&text, &mut self.values).or_else(|| if is_invoked { command_of(&text) } else { None });
        let taken = text.chars().count();
        let is_followed = matches!(chars.clone().nth(taken + 1), Some('.' | '['));
        let texts = match (found, method) {
            (found, Some(cmdlet)) => {
                let cmdlet_word = format!("{set}{cmdlet}");
                let given = found.unwrap_or_else(|| vec![UNKNOWN.to_string()]);
                let recursive = if cmdlet == "remove-item" { Some("-Recurse") } else { None };
                for text in [cmdlet_word.as_str()].into_iter().chain(recursive).chain(given.iter().map(String::as_str))
                {
                    self.word = Some(Word::literal(text));
                    self.end_word();
                }
                // If the value is unknown, read the commands in the brackets.
                if given.iter().any(|text| text.has(UNKNOWN as u8)) {
                    self.nested.push(text);
                }
                chars.nth(taken);
                return true;
            }
            (Some(texts), None) if !is_followed => texts,
            _ => {
                self.builds |= is_invoked && is_built(&text);
                return false;
            }
        };
        chars.nth(taken);
        if self.word.as_ref().is_some_and(invokes) {
            self.end_word();
        }
        let word = self.word.get_or_insert_default();
        // `$('x')`
        if word.text.ends_with('$') {
            word.text.pop();
        }
        word.text.push_str(&texts.join(" "));
        true
    }

    /// Records the value that `$x = …` of PowerShell sets, if known.
    fn assigned(&mut self, chars: &Peekable<Chars<'_>>) {
        let stages = &self.pipelines[self.current].stages;
        let name = match (stages.last().map(|stage| stage.words.as_slice()), &self.word, &self.variable) {
            (Some([]), Some(word), _) => {
                let is_name =
                    |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte));
                word.text.strip_prefix('$').filter(is_name).map(str::to_owned)
            }
            (Some([_]), None, Some(name)) => Some(name.clone()),
            _ => None,
        };
        let Some(name) = name else { return };
        let (mut text, mut quote) = (String::new(), None);
        for c in chars.clone().take(MAX_EXPRESSION) {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, ';' | '\n' | '|' | '&' | '}') => break,
                _ => {}
            }
            text.push(c);
        }
        let value = evaluated(text.trim_end(), &mut self.values).map(|texts| texts.join(" "));
        self.values.set(&name, value);
    }

    /// Handles `>`, `2>>`, `*>` and `<`. `2>&1` has no file as its target.
    fn redirect(&mut self, chars: &mut Peekable<Chars<'_>>, mut kind: RedirectKind) {
        let is_stream = |word: &Word| word.text == "*" || word.text.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_stream) {
            self.word = None;
        }
        self.end_word();
        if kind == RedirectKind::Write && chars.next_if_eq(&'>').is_some() {
            kind = RedirectKind::Append;
        }
        let duplicates = chars.next_if(|c| matches!(c, '&' | '|')) == Some('&');
        if duplicates && chars.peek().is_some_and(char::is_ascii_digit) {
            chars.next();
        } else {
            self.redirect = Some(kind);
        }
    }

    /// Takes the text of a `$(…)` in quotes. It becomes an unknown part of the word.
    fn expression(&mut self, chars: &mut Peekable<Chars<'_>>) {
        let (mut text, mut depth) = (String::new(), 1);
        for c in chars.by_ref().skip(1) {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            text.push(c);
        }
        self.word.get_or_insert_default().text.push(UNKNOWN);
        self.nested.push(text);
    }

    fn begin(&mut self, stage: Option<(usize, usize)>) {
        self.redirect = None;
        self.current = self.pipelines.len();
        self.pipelines.push(Pipeline { stages: vec![Stage::default()], stage, depth: self.outer.len() });
    }

    /// Starts a pipeline for the text in brackets. For the command around it, the brackets are an unknown word.
    fn open(&mut self) {
        self.end_word();
        let at = self.current;
        let stage = self.pipelines[at].stages.len().saturating_sub(1);
        if let Some(Stage { words, redirects }) = self.pipelines[at].stages.last_mut() {
            match self.redirect.take() {
                Some(kind) => redirects.push(Redirect { kind, target: Word::unknown() }),
                None if !words.is_empty() => words.push(Word::unknown()),
                None => {}
            }
        }
        self.outer.push(at);
        self.begin(Some((at, stage)));
    }

    fn close(&mut self) {
        self.end_word();
        match self.outer.pop() {
            Some(outer) => self.current = outer,
            None => self.begin(None),
        }
    }
}

/// Splits a text into pipelines, and collects the commands in its quotes.
fn split(text: &str) -> Splitting {
    let mut splitting = Splitting::default();
    splitting.begin(None);
    let most = text.len() * 4;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                joins(&mut chars);
            }
            (Some('"'), '$') if chars.peek() == Some(&'(') => splitting.expression(&mut chars),
            (Some(_), c) => splitting.word.get_or_insert_default().text.push(c),
            (None, '"' | '\'') => {
                splitting.word.get_or_insert_default();
                quote = Some(c);
            }
            (None, '^' | '`') => {
                if let Some(next) = chars.next() {
                    splitting.word.get_or_insert_default().text.push(next);
                }
            }
            (None, '>') => splitting.redirect(&mut chars, RedirectKind::Write),
            (None, '<') => splitting.redirect(&mut chars, RedirectKind::Read),
            (None, '|') if chars.peek() != Some(&'|') => {
                splitting.end_word();
                splitting.redirect = None;
                let at = splitting.current;
                splitting.pipelines[at].stages.push(Stage::default());
            }
            (None, '(') if splitting.evaluate(&mut chars, most) => {}
            (None, '(' | '{') => splitting.open(),
            (None, ')' | '}') => {
                splitting.close();
                // `(Get-Location)/x`: the path begins with an unknown part.
                if matches!(chars.peek(), Some('/' | '\\')) {
                    splitting.word = Some(Word::unknown());
                }
            }
            (None, ';' | '&' | '|' | '\n') => {
                splitting.end_word();
                let stage = splitting.pipelines[splitting.current].stage;
                splitting.begin(stage);
                splitting.invoked = (c == '&').then_some(splitting.current);
            }
            (None, c) if c.is_whitespace() => splitting.end_word(),
            (None, c) => {
                if c == '=' {
                    splitting.assigned(&chars);
                }
                splitting.word.get_or_insert_default().text.push(c);
            }
        }
    }
    splitting.end_word();
    splitting
}

/// Skips a `+` between two quoted texts, so that both become one word.
fn joins(chars: &mut Peekable<Chars<'_>>) {
    let mut ahead = chars.clone();
    while ahead.next_if(|c| c.is_whitespace()).is_some() {}
    if ahead.next_if_eq(&'+').is_none() {
        return;
    }
    while ahead.next_if(|c| c.is_whitespace()).is_some() {}
    if matches!(ahead.peek(), Some('\'' | '"' | '$')) {
        *chars = ahead;
    }
}

/// Returns true if the name of a command is built from pieces, and is more than a path or a program name.
fn is_built(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let parts = ["-join", "-f ", "-f'", "-f\"", "-replace", "[char", ".replace(", "frombase64", ".invoke", "-split"];
    let picks =
        lower.starts_with('$') && lower.split('[').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let finds = ["gcm ", "get-command ", "gal ", "get-alias "].iter().any(|find| lower.trim_start().starts_with(find));
    picks || parts.iter().any(|part| lower.contains(part)) || (finds && lower.has_one_of(b"*?"))
}

/// Returns the command name in `(Get-Command x)`.
fn command_of(text: &str) -> Option<Vec<String>> {
    let mut words = text.split_whitespace();
    let finds = ["gcm", "get-command", "gal", "get-alias"]
        .iter()
        .any(|find| words.clone().next().is_some_and(|word| word.eq_ignore_ascii_case(find)));
    let name = words.nth(1)?.trim_matches(['\'', '"']);
    (finds && words.next().is_none() && !name.has_one_of(b"*?$-") || finds && is_cmdlet(name) && words.next().is_none())
        .then(|| vec![name.to_owned()])
}

/// Returns the cmdlet that matches a .NET method for files.
fn cmdlet_of(method: &str) -> Option<&'static str> {
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

/// Splits a word that holds several: `/s/q`, `-Path:C:\\`.
fn parted(text: &str) -> Option<Vec<Word>> {
    if let Some((option, value)) = text.halves(b':')
        && ["-path", "-literalpath", "-lp"].iter().any(|name| name.eq_ignore_ascii_case(option))
    {
        return Some(vec![Word::literal(option), expanded(Word::literal(value))]);
    }
    if let Some((_, value)) =
        text.halves(b'=').filter(|(name, value)| name.starts_with(['$', UNKNOWN]) && !value.is_empty())
    {
        return Some(vec![Word::unknown(), Word::literal("="), expanded(Word::literal(value))]);
    }
    let letters: Vec<&str> = text.strip_prefix('/')?.split('/').collect();
    let is_switch = |part: &&str| part.len() == 1 && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    (letters.len() > 1 && letters.iter().all(is_switch))
        .then(|| letters.iter().map(|letter| Word::literal(format!("/{letter}"))).collect())
}

/// Replaces variables for a home and for known directories. Other variables become unknown.
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
        ("%comspec%", "cmd"),
        ("$env:comspec", "cmd"),
        ("%temp%", "/tmp/session"),
        ("$env:temp", "/tmp/session"),
    ] {
        if lower.starts_with(variable) {
            word.text = format!("{path}{}", &word.text[variable.len()..]);
            return word;
        }
    }
    if word.text.has(b'$') || (word.text.matches('%').count() > 1) {
        word.text = unfilled(&word.text);
    }
    word.glob = word.text.has_one_of(b"*?");
    word
}

/// Replaces `$x`, `${x}`, `$env:x` and `%x%` by [`UNKNOWN`].
fn unfilled(text: &str) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '%']) {
        let (known, variable) = rest.split_at(at);
        made.push_str(known);
        made.push(UNKNOWN);
        let after = &variable[1..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        let length = match (after.strip_prefix('{'), after.find('%').filter(|_| variable.starts_with('%'))) {
            (Some(name), _) => name.find('}').map_or(after.len(), |end| end + 2),
            (None, Some(end)) => end + 1,
            (None, None) => after.find(|c| !is_part(c)).unwrap_or(after.len()),
        };
        rest = &after[length..];
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::unfilled;

    #[test]
    fn the_text_around_a_variable_is_kept() {
        for (text, expected) in [
            ("$DIR/infra/x", "?/infra/x"),
            ("a/${b c}/d", "a/?/d"),
            ("$env:TEMP\\x", "?\\x"),
            ("%A%\\x%B%", "?\\x?"),
            ("${a", "?"),
            ("$", "?"),
            ("a$(", "a?("),
        ] {
            assert_eq!(unfilled(text).replace('\u{1A}', "?"), expected, "{text}");
        }
    }
}
