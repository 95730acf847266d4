//! Finds the calls in program code that run a command, and the calls that remove, read or write files.

use super::Language;
use super::names::{
    hands_over, is_dangerous, last, moves_or_copies, reads_file, removes_all, removes_file, runs_by_library,
    runs_command, writes_file,
};
use super::tokens::Token;
use super::values::{Argument, MAX_RECEIVER, MAX_TOKENS, Scan, Value, words};
use crate::ascii::Ascii as _;
use crate::bounds::MAX_WORK;
use crate::secret_files::is_secret_file;
use crate::word::{UNKNOWN, Word};

/// Maximum number of variables with known values.
const MAX_VARIABLES: usize = 64;

/// An effect of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CodeEffect {
    /// Runs a text as a command.
    Text(Word),
    /// Runs a program with these words.
    Words(Vec<Word>),
    /// Runs a text as code.
    Code(String),
    Write(Word),
    /// Reads a secret file.
    Read(Word),
    /// Runs a text that was encoded.
    Decoded,
}

/// Returns the effects that can be seen in the code.
pub(super) fn found(tokens: &[Token<'_>], language: Language, work: &mut usize) -> Vec<CodeEffect> {
    let mut scan = Scan {
        tokens,
        all: tokens,
        libraries: Vec::new(),
        language,
        variables: Vec::new(),
        aliases: Vec::new(),
        work: 0,
        depth: 0,
    };
    let mut found = Vec::new();
    // `[remove(x) for x in …]`: the values of a loop may follow its body.
    for at in 0..tokens.len() {
        if let Token::Name("for" | "foreach") = tokens[at]
            && scan.work <= MAX_WORK / 2
        {
            scan.tokens = &tokens[..tokens.len().min(at + MAX_TOKENS)];
            scan.bind(at);
        }
    }
    for at in 0..tokens.len() {
        scan.tokens = &tokens[..tokens.len().min(at + MAX_TOKENS)];
        // The reader refuses code that takes more work than this.
        if scan.work > MAX_WORK / 2 {
            break;
        }
        match &tokens[at] {
            Token::Run(text) => found.push(CodeEffect::Text(text.clone())),
            Token::Name(name) => scan.name(name, at, &mut found),
            Token::Mark('(') => scan.computed(at, &mut found),
            Token::Text(text) if language == Language::Awk && scan.is_piped(at) => {
                found.push(CodeEffect::Text(text.clone()));
            }
            Token::Text(target) if language == Language::Awk && at > 0 && tokens[at - 1] == Token::Mark('>') => {
                found.push(CodeEffect::Write(target.clone()));
            }
            Token::Text(source) if language == Language::Awk && at > 0 && tokens[at - 1] == Token::Mark('<') => {
                found.extend(read(source.clone()));
            }
            // `"rm x".execute()`
            Token::Text(text)
                if language == Language::Other && tokens.get(at + 1) == Some(&Token::Name(".execute")) =>
            {
                found.push(CodeEffect::Text(text.clone()));
            }
            _ => {}
        }
    }
    *work += tokens.len() + scan.work;
    found
}

impl<'a> Scan<'a> {
    /// Returns true if a text in awk is a command that awk pipes to or from.
    fn is_piped(&self, at: usize) -> bool {
        let is_bar = |at: Option<usize>| at.and_then(|at| self.tokens.get(at)) == Some(&Token::Mark('|'));
        // `("x") | getline`
        let at = if self.tokens.get(at + 1) == Some(&Token::Mark(')')) { at + 1 } else { at };
        let after = is_bar(at.checked_sub(1)) && !is_bar(at.checked_sub(2));
        // `|&` reads from a coprocess.
        let reader = at + if self.tokens.get(at + 2) == Some(&Token::Mark('&')) { 3 } else { 2 };
        let is_read = matches!(self.tokens.get(reader), Some(Token::Name(name)) if *name == "getline");
        let prints_to_shell = is_bar(Some(at + 1))
            && matches!(self.tokens.get(at + 2), Some(Token::Text(shell)) if crate::program_name(&shell.text).ends_with("sh"));
        after || (is_bar(Some(at + 1)) && is_read) || prints_to_shell
    }

    /// Handles the name of a variable that is assigned, or of a call that has an effect.
    fn name(&mut self, name: &'a str, at: usize, found: &mut Vec<CodeEffect>) {
        let is = |at: usize, c| self.tokens.get(at) == Some(&Token::Mark(c));
        if is(at + 1, '=') && !is(at + 2, '=') && !is(at + 2, '~') {
            if let (Some(Token::Name(other)), false) = (self.tokens.get(at + 2), is(at + 3, '(')) {
                self.alias(name, other);
            }
            if self.variables.len() < MAX_VARIABLES {
                let value = self.value(&mut (at + 2));
                self.variables.push((name, value));
            }
            return;
        }
        // `from os import system as s`, `{exec: e}`
        if let (Some(Token::Name("as")), Some(Token::Name(other))) = (self.tokens.get(at + 1), self.tokens.get(at + 2))
        {
            self.alias(other, name);
        }
        if let (true, Some(Token::Name(other)), true) =
            (is(at + 1, ':'), self.tokens.get(at + 2), is(at + 3, '}') || is(at + 3, ','))
        {
            self.alias(other, name);
        }
        if matches!(name, "for" | "foreach") || matches!(last(name), "each" | "forEach") {
            return self.bind(at);
        }
        // The name is a call only if brackets follow, or something that may be an argument without brackets.
        if !matches!(
            self.tokens.get(at + 1),
            Some(Token::Mark('(' | '*') | Token::Text(_) | Token::Run(_) | Token::Name(_))
        ) && !matches!(name, "unlink" | "rmdir")
        {
            return;
        }
        if self.language == Language::Php
            && let Value::One(word) = if name.starts_with('$') { self.variable(name) } else { Value::Unknown }
            && is(at + 1, '(')
        {
            return self.call(&word.text, at, found);
        }
        let of = self.aliases.iter().rev().find(|(alias, _)| *alias == name).map_or(name, |(_, of)| of);
        self.call(of, at, found);
    }

    fn alias(&mut self, alias: &'a str, of: &'a str) {
        if self.aliases.len() < MAX_VARIABLES && is_dangerous(of) && alias != of {
            self.aliases.push((alias, of));
        }
    }

    /// Sets the variables of a loop: `for x in glob('/srv/*')`, `foreach (glob('/srv/*') as $x)`, `glob('/srv/*').each { |x| … }`.
    fn bind(&mut self, at: usize) {
        let all = self.tokens;
        let near = &all[at + 1..all.len().min(at + 12)];
        let names = |tokens: &'a [Token<'a>]| {
            tokens.iter().find_map(|token| match token {
                Token::Name(name)
                    if !matches!(*name, "const" | "let" | "var" | "my" | "do" | "function" | "async" | "as") =>
                {
                    Some(*name)
                }
                _ => None,
            })
        };
        let is_within = near.iter().position(|token| matches!(token, Token::Name("in" | "of")));
        let (name, value) = if let Some(Token::Name(method)) =
            all.get(at).filter(|token| matches!(token, Token::Name(name) if name.contains("ach") && *name != "foreach"))
        {
            let value = if method.starts_with('.') { self.receiver(at).map(Value::One) } else { None };
            (names(near), value)
        } else if let Some(within) = is_within {
            (names(&near[..within]), Some(self.value(&mut (at + within + 2))))
        } else if self.language == Language::Perl {
            let open = near.iter().position(|token| {
                !matches!(token, Token::Name("my")) && !matches!(token, Token::Name(name) if name.starts_with('$'))
            });
            let name = near[..open.unwrap_or(0)].iter().rev().find_map(|token| match token {
                Token::Name(name) if name.starts_with('$') => Some(*name),
                _ => None,
            });
            (Some(name.unwrap_or("$_")), open.map(|open| self.value(&mut (at + 1 + open))))
        } else if self.language == Language::Php {
            let mut end = at + 2;
            let value = self.value(&mut end);
            (all.get(end..).and_then(names), Some(value))
        } else {
            (None, None)
        };
        if let (Some(name), Some(value)) = (name, value)
            && self.variables.len() < MAX_VARIABLES
        {
            let value = match words(value).into_iter().find(Word::is_known) {
                Some(word) => Value::One(word),
                None => Value::Unknown,
            };
            self.variables.push((name, value));
        }
    }

    /// Handles a call whose name is computed: `getattr(os, 'sys' + 'tem')(…)`, `fs['rm' + 'Sync'](…)`, `('sys'.'tem')(…)`.
    fn computed(&mut self, at: usize, found: &mut Vec<CodeEffect>) {
        let (close, open) = match at.checked_sub(1).map(|before| &self.tokens[before]) {
            Some(Token::Mark(')')) => (')', '('),
            Some(Token::Mark(']')) => (']', '['),
            _ => return,
        };
        let from = at.saturating_sub(MAX_RECEIVER);
        self.work += at - from;
        let mut depth = 0;
        let begin = (from..at).rev().find(|before| {
            match &self.tokens[*before] {
                Token::Mark(c) if *c == close => depth += 1,
                Token::Mark(c) if *c == open => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(begin) = begin else { return };
        let of = match begin.checked_sub(1).map(|before| &self.tokens[before]) {
            Some(Token::Name(name)) => *name,
            _ => "",
        };
        // The code calls the result of another call.
        if open == '(' && !of.is_empty() && !matches!(of, "getattr" | "eval") {
            return;
        }
        let given = self.list(&mut (begin + 1), close);
        match given.into_iter().next_back().map(|argument| argument.value) {
            Some(Value::One(word)) if word.is_known() => {
                let named = format!("{}.{}", if of == "getattr" { "os" } else { of }, word.text);
                let runs = of == "getattr" && runs_command(&word.text) && self.may_run(&word.text);
                if runs || is_dangerous(&word.text) || is_dangerous(&named) {
                    self.call(&named, at - 1, found);
                }
            }
            Some(Value::Decoded) => found.push(CodeEffect::Decoded),
            _ => {}
        }
    }

    /// Finds the effect of a call.
    fn call(&mut self, name: &str, at: usize, found: &mut Vec<CodeEffect>) {
        let call = last(name);
        let runs = runs_command(call) && self.may_run(call);
        let runs_code =
            matches!(call, "eval" | "exec" | "Function" | "instance_eval" | "compile") && self.runs_code(call);
        let is_named = |list: fn(&str) -> bool| list(call) || list(name);
        let is_whole = removes_all(call);
        let of_variable = name.rsplit_once('.').map(|(variable, _)| variable).filter(|variable| !variable.is_empty());
        let removes = is_named(removes_file)
            || (matches!(call, "unlink" | "rmdir") && name.starts_with('.'))
            || removes_file(name.trim_start_matches('.'))
            || (self.language == Language::Script && name == ".rm")
            || (self.language == Language::Other && name == "rm");
        let opens = matches!(call, "open" | "fopen" | "openSync");
        let program = moves_or_copies(name);
        let writes_to = name.starts_with('.') && matches!(call, "write_text" | "write_bytes" | "touch");
        let reads = is_named(reads_file)
            || (self.language == Language::Php && name == "file")
            || (self.language == Language::Other && name == "read");
        let truncates = name == "os.truncate";
        if hands_over(call) {
            return self.handed_over(at, found);
        }
        if self.language == Language::Perl && matches!(name, "find" | "finddepth") {
            return self.found_by_perl(at, found);
        }
        if matches!(call, "read_text" | "read_bytes") {
            let path = match name.rsplit_once('.') {
                Some((variable, _)) if !variable.is_empty() => words(self.variable(variable)).pop(),
                _ => self.receiver(at),
            };
            found.extend(path.and_then(read));
        }
        if !(runs
            || runs_code
            || runs_by_library(name)
            || is_whole
            || removes
            || opens
            || truncates
            || writes_to
            || reads
            || program.is_some()
            || is_named(writes_file))
        {
            return;
        }
        let mut end = at + 1;
        let arguments = self.arguments(&mut end);
        // In Perl, a call without an argument removes the file that the loop's current value names.
        let of_loop = || {
            (self.language == Language::Perl && removes).then(|| {
                let loops = self.variables.iter().rev().find(|(name, _)| *name == "$_").map(|(_, value)| value.clone());
                vec![Argument { name: None, value: loops.unwrap_or(Value::Unknown) }]
            })
        };
        let Some(arguments) =
            arguments.filter(|arguments| !arguments.is_empty() || self.language != Language::Perl).or_else(of_loop)
        else {
            return;
        };
        if truncates {
            found.extend(
                arguments.into_iter().next().and_then(|argument| words(argument.value).pop()).map(CodeEffect::Write),
            );
        } else if let Some(program) = program {
            let words = arguments.into_iter().take(2).flat_map(|argument| words(argument.value));
            found.push(CodeEffect::Words([Word::literal(program)].into_iter().chain(words).collect()));
        } else if writes_to {
            found.extend(self.receiver(at).map(CodeEffect::Write));
        } else if runs_code {
            found.extend(arguments.first().and_then(|argument| match &argument.value {
                Value::One(text) => Some(CodeEffect::Code(text.text.clone())),
                Value::Decoded => Some(CodeEffect::Decoded),
                _ => None,
            }));
        } else if removes || is_whole {
            let is_recursive = is_whole
                || self
                    .tokens
                    .get(at..end)
                    .unwrap_or_default()
                    .iter()
                    .any(|token| matches!(token, Token::Name("recursive")));
            let receiver = match (arguments.is_empty(), of_variable) {
                (true, None) => self.receiver(at),
                (true, Some(variable)) => words(self.variable(variable)).pop(),
                (false, _) => None,
            };
            found.extend(self.removed(arguments, receiver, is_recursive));
        } else if opens {
            found.extend(opened(&arguments));
        } else if reads {
            found.extend(arguments.into_iter().next().and_then(|argument| words(argument.value).pop()).and_then(read));
        } else if is_named(writes_file) {
            found.extend(
                arguments.into_iter().next().and_then(|argument| words(argument.value).pop()).map(CodeEffect::Write),
            );
        } else {
            found.extend(ran(call, arguments));
        }
    }

    /// Returns a command with the same effect as a call that removes files.
    fn removed(&self, arguments: Vec<Argument<'_>>, receiver: Option<Word>, is_recursive: bool) -> Option<CodeEffect> {
        // An unknown argument after the first argument is an option or a function to call, so it is left out.
        let named = arguments.into_iter().enumerate();
        let named = named.filter(|(at, argument)| *at == 0 || !matches!(argument.value, Value::Unknown));
        let mut words: Vec<Word> = named.flat_map(|(_, argument)| words(argument.value)).chain(receiver).collect();
        let has_home = matches!(self.language, Language::Lisp | Language::Other);
        for word in &mut words {
            word.home |= has_home && word.text.starts_with('~');
            // The value comes from a loop that may find any file.
            if let Some(at) = word.text.find(UNKNOWN).filter(|_| word.glob) {
                word.text.replace_range(at.., "*");
            }
        }
        if let Some(found) = words.iter().find(|word| word.glob).filter(|_| !is_recursive) {
            let fixed = found.text.find(['*', '?', '[']).unwrap_or(found.text.len());
            let (above, name) = found.text.split_at(found.text[..fixed].rfind('/').map_or(0, |at| at + 1));
            let above = if above.is_empty() { found.with_text(".") } else { found.with_text(above) };
            let above = Word { glob: false, home: found.home, ..above };
            let name = name.rsplit('/').next().unwrap_or_default();
            let rest = ["-type", "f", "-name", name, "-delete"].map(Word::literal);
            let rest = if name == "*" { [&rest[..2], &rest[4..]].concat() } else { rest.to_vec() };
            return Some(CodeEffect::Words([Word::literal("find"), above].into_iter().chain(rest).collect()));
        }
        let is_named = words.iter().any(|word| !word.text.starts_with(UNKNOWN));
        let begin = ["rm", if is_recursive { "-rf" } else { "-f" }].map(Word::literal);
        (!words.is_empty() && (is_recursive || is_named))
            .then(|| CodeEffect::Words(begin.into_iter().chain(words).collect()))
    }

    /// Handles a function that is passed to another function: `map(os.remove, …)`, `send(:system, …)`, `array_map('unlink', …)`.
    fn handed_over(&mut self, at: usize, found: &mut Vec<CodeEffect>) {
        if self.tokens.get(at + 1) != Some(&Token::Mark('(')) {
            return;
        }
        let symbol = at + 2 + usize::from(self.tokens.get(at + 2) == Some(&Token::Mark(':')));
        let named = match self.tokens.get(symbol) {
            // The result of another call is not a name.
            Some(Token::Name(name)) if self.tokens.get(symbol + 1) != Some(&Token::Mark('(')) => {
                Some((*name).to_owned())
            }
            _ => None,
        };
        if named.as_ref().is_some_and(|name| !is_dangerous(name)) {
            return;
        }
        let mut end = at + 2;
        let mut given = self.list(&mut end, ')');
        let is_name = |argument: &Argument<'_>| match &argument.value {
            Value::One(word) => is_dangerous(&word.text),
            Value::Decoded => true,
            _ => false,
        };
        let of = if named.is_some() { Some(0) } else { given.iter().position(is_name) };
        let Some(of) = of.filter(|of| *of < given.len()) else { return };
        let name = match (named, given.remove(of).value) {
            (Some(name), _) => name,
            (None, Value::One(word)) => word.text,
            _ => return found.push(CodeEffect::Decoded),
        };
        let call = last(&name);
        let is_whole = removes_all(call);
        if is_whole || removes_file(call) || removes_file(&name) {
            found.extend(self.removed(given, None, is_whole));
        } else {
            found.extend(ran(call, given));
        }
    }

    /// Handles Perl's `find(sub { unlink }, '/srv')`.
    fn found_by_perl(&mut self, at: usize, found: &mut Vec<CodeEffect>) {
        let mut end = at + 1;
        let Some(arguments) = self.arguments(&mut end) else { return };
        let is_removal =
            |token: &Token<'_>| matches!(token, Token::Name("unlink" | "rmdir" | "rmtree" | "remove_tree"));
        if self.tokens.get(at..end).unwrap_or_default().iter().any(is_removal) {
            let directories = arguments.into_iter().filter(|argument| matches!(argument.value, Value::One(_)));
            let directories = directories.collect();
            found.extend(self.removed(directories, None, true));
        }
    }

    /// Returns true if a call of this name can run a program in this code. The name alone does not show this, because other objects have
    /// methods of the same name.
    fn may_run(&mut self, call: &str) -> bool {
        match self.language {
            Language::Python => match call {
                "run" | "call" => self.names(&["subprocess"]),
                "exec" => false,
                "spawn" => self.names(&["pty", "pexpect"]),
                "shell" | "sh" | "cmd" | "command" => false,
                _ => true,
            },
            Language::Script if matches!(call, "sh" | "cmd" | "command" | "shell") => false,
            Language::Script => self.names(&["child_process", "Bun", "Deno", "shelljs", "execa"]),
            Language::Lisp | Language::Other => !matches!(call, "run" | "call"),
            _ => !matches!(call, "run" | "call" | "shell" | "sh" | "cmd" | "command"),
        }
    }

    /// Returns true if a name or a string in the code contains one of these parts.
    fn names(&mut self, parts: &'static [&'static str]) -> bool {
        if let Some((_, is_named)) = self.libraries.iter().find(|(others, _)| others[0] == parts[0]) {
            return *is_named;
        }
        self.work += self.all.len();
        let is_named = self.all.iter().any(|token| match token {
            Token::Name(text) => parts.iter().any(|part| text.contains(part)),
            Token::Text(text) => parts.iter().any(|part| text.text.contains(part)),
            _ => false,
        });
        self.libraries.push((parts, is_named));
        is_named
    }

    fn runs_code(&self, call: &str) -> bool {
        match self.language {
            Language::Python => matches!(call, "eval" | "exec" | "compile"),
            Language::Script => matches!(call, "eval" | "Function"),
            Language::Perl | Language::Ruby | Language::Php => matches!(call, "eval" | "instance_eval"),
            _ => false,
        }
    }
}

/// Returns the file that `open` writes or reads, or the command that Perl's `open` runs.
fn opened(arguments: &[Argument<'_>]) -> Option<CodeEffect> {
    let text = |at: usize| match arguments.get(at) {
        Some(Argument { name: None | Some("mode"), value: Value::One(word) }) => Some(word),
        _ => None,
    };
    let writes = |mode: &str| mode.len() <= 3 && (mode.has_one_of(b"wax+") || mode.starts_with('>'));
    // In Perl, the first argument is the handle.
    match (text(0), text(1), text(2)) {
        (Some(file), Some(mode), _) if writes(&mode.text) => Some(CodeEffect::Write(file.clone())),
        (_, Some(mode), Some(file)) if mode.text.starts_with('>') => Some(CodeEffect::Write(file.clone())),
        (_, Some(mode), Some(text)) if matches!(mode.text.as_str(), "-|" | "|-") => {
            Some(CodeEffect::Text(text.clone()))
        }
        (_, Some(both), None) if both.text.starts_with('|') || both.text.ends_with('|') => {
            Some(CodeEffect::Text(both.with_text(both.text.trim_matches('|').trim())))
        }
        (_, Some(both), None) if both.text.starts_with('>') => {
            Some(CodeEffect::Write(Word::literal(both.text.trim_start_matches('>').trim())))
        }
        // A text that is not a mode is the name of a file.
        (_, _, Some(file)) => read(file.clone()),
        (Some(file), Some(mode), _) if mode.text.len() <= 3 => read(file.clone()),
        (_, Some(both), None) => read(both.with_text(both.text.trim_start_matches('<').trim())),
        (Some(file), None, _) => read(file.clone()),
        _ => None,
    }
}

/// Returns the effect of reading a file, if the file contains secrets.
fn read(file: Word) -> Option<CodeEffect> {
    is_secret_file(&file.text).then_some(CodeEffect::Read(file))
}

/// Returns the effect of a call that runs a program with these arguments.
fn ran(call: &str, arguments: Vec<Argument<'_>>) -> Option<CodeEffect> {
    let mut program: Option<Value> = None;
    let mut rest: Vec<Word> = Vec::new();
    let repeats_name =
        call.starts_with("exec") && call != "exec" && !call.starts_with("execS") && !call.starts_with("execF");
    let repeats_name = repeats_name || call.starts_with("spawnl") || call.starts_with("spawnv");
    for (at, argument) in arguments.into_iter().enumerate() {
        match (&program, argument.name, argument.value) {
            (_, Some(name), _) if name != "args" && name != "command" => {}
            (_, _, Value::Decoded) => return Some(CodeEffect::Decoded),
            (None, _, Value::Unknown) if at == 0 && (call.starts_with("spawn") || call.starts_with("exec")) => {}
            (None, _, value) => program = Some(value),
            (Some(_), _, Value::One(mode)) if call.contains("open") && mode.text.len() <= 2 => {}
            (Some(_), _, Value::One(word)) => rest.push(word),
            (Some(_), _, Value::Many(words)) => rest.extend(words),
            (Some(_), _, Value::Unknown) => {}
        }
    }
    if repeats_name && !rest.is_empty() {
        rest.remove(0);
    }
    match program? {
        Value::One(text) if rest.is_empty() => Some(CodeEffect::Text(text)),
        Value::One(program) => Some(CodeEffect::Words([program].into_iter().chain(rest).collect())),
        Value::Many(mut words) => {
            words.extend(rest);
            Some(CodeEffect::Words(words))
        }
        Value::Unknown => None,
        Value::Decoded => Some(CodeEffect::Decoded),
    }
}
