//! Reads a simple command: its words, variables and redirections.

use super::ascii::Ascii as _;
use super::expansion::MAX_VALUE;
use super::read::{Reader, Unreadable};
use super::secret_access::is_for_access;
use super::secret_files::is_secret_file;
use super::unwrap::reads_commands;
use super::word::{Word, joined};
use super::{Command, Redirect, RedirectKind, program_name};
use brush_parser::ast;
use std::ops::Range;

/// A simple command under construction.
#[derive(Default)]
struct CommandParts {
    command: Command,
    environment: Vec<(String, Option<Word>)>,
    words: Vec<Word>,
    place: Option<Range<usize>>,
}

impl Reader<'_> {
    /// Reads a simple command. The function is not inlined, so that the stack frame of a compound command does not include the variables of
    /// this function.
    #[inline(never)]
    pub(super) fn simple(
        &mut self,
        simple: &ast::SimpleCommand,
        input: Option<Word>,
    ) -> Result<Option<Word>, Unreadable> {
        let mut parts = CommandParts {
            command: Command { exact: self.source.exact, ..Command::default() },
            ..CommandParts::default()
        };
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.part(item, &mut parts)?;
        }
        if let Some(word) = &simple.word_or_name {
            self.part_word(word, &mut parts)?;
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.part(item, &mut parts)?;
        }
        let CommandParts { mut command, environment, words, place } = parts;
        command.input = command.input.or(input);
        command.place = place.filter(|_| self.source.exact).unwrap_or_else(|| self.source.place.clone());
        if words.is_empty() {
            for (name, value) in environment {
                self.assign(&name, value)?;
            }
            // `$(<x)` prints the content of the file.
            if self.nesting.commands > 0
                && let [Redirect { kind: RedirectKind::Read, .. }] = command.redirects.as_slice()
            {
                command.program = "cat".into();
                command.program_word = Word::literal("cat");
            }
            self.record(command)?;
            return Ok(None);
        }
        command.environment =
            environment.into_iter().map(|(name, value)| (name, value.unwrap_or_else(Word::unknown))).collect();
        for (name, value) in &command.environment {
            self.commands_in(name, value)?;
        }
        self.settings_in(&command.environment)?;
        let program = words.first().map_or("", |word| program_name(&word.text));
        let reads_file = command.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read);
        if command.input.is_none()
            && let Some(input) = self
                .surroundings
                .input
                .as_ref()
                .filter(|input| reads_commands(program) || (input.secret && !reads_file))
        {
            command.input = Some(input.clone());
            let length = input.text.len();
            self.spend(length)?;
        }
        // The commands that follow read the file that `exec < x` opens.
        if words.len() == 1 && program == "exec" && reads_file {
            command.cwd = self.scope.cwd.clone();
            self.surroundings.input = self.secret_input(&command).or_else(|| self.surroundings.input.take());
        }
        let is_shadowed = self.defines(program);
        let printed = self.printed(&words, &command).filter(|_| !is_shadowed);
        // The program computes its output from known text in a way that the reader does not follow, so the output is unknown.
        let is_made = printed.is_none() && !command.redirects.is_empty() && self.makes_text(&words, &command);
        let made = is_made.then(Word::unknown);
        if let Some(text) = printed.as_ref().or(made.as_ref()) {
            let ends = program == "printf" || words.get(1).is_some_and(|word| word.text == "-n");
            let end = if ends { "" } else { "\n" };
            for redirect in command.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read) {
                let text = format!("{}{end}", text.with_mark());
                self.write(&redirect.target, &text, redirect.kind == RedirectKind::Append)?;
            }
        }
        let outer = std::mem::replace(&mut self.source.place, command.place.clone());
        let redirects = if is_shadowed { command.redirects.clone() } else { Vec::new() };
        let begin = self.script.commands.len();
        let result = self.run(words, command);
        self.source.place = outer;
        result?;
        self.printed_since(begin, redirects)?;
        Ok(printed)
    }

    fn part(&mut self, item: &ast::CommandPrefixOrSuffixItem, parts: &mut CommandParts) -> Result<(), Unreadable> {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect, &mut parts.command)?,
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) if parts.words.is_empty() => {
                let before = std::mem::replace(&mut self.surroundings.captured, true);
                let assignment = self.assignment(assignment);
                self.surroundings.captured = before;
                let assignment = assignment?;
                parts.environment.push(assignment);
            }
            ast::CommandPrefixOrSuffixItem::Word(word) => self.part_word(word, parts)?,
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                let begin = self.script.commands.len();
                let is_split = !declares(&parts.words) || matches!(assignment.value, ast::AssignmentValue::Array(_));
                let before = parts.words.len();
                self.part_word(word, parts)?;
                if !is_split && parts.words.len() > before + 1 {
                    let whole = Word::of_all(&parts.words[before..]);
                    parts.words.truncate(before);
                    parts.words.push(whole);
                }
                let (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _)) =
                    &assignment.name;
                self.remember_fetched(name, begin);
                if let ast::AssignmentValue::Scalar(word) = &assignment.value {
                    self.remember_written(name, &word.value);
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(ast::ProcessSubstitutionKind::Read, subshell) => {
                let begin = self.script.commands.len();
                let file = self.substitute(&subshell.list)?;
                self.downloads.files.extend(self.has_fetcher(begin).then(|| file.text.clone()));
                // A shell runs the output as a script: `bash <(…)`.
                if parts.words.iter().skip(1).all(|word| word.text.starts_with('-')) {
                    parts.command.upstream.extend(self.programs_since(begin));
                }
                parts.words.push(file);
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(ast::ProcessSubstitutionKind::Write, subshell) => {
                self.written_to(&subshell.list)?;
                parts.words.push(Word::literal("/dev/fd/63"));
            }
        }
        Ok(())
    }

    fn part_word(&mut self, word: &ast::Word, parts: &mut CommandParts) -> Result<(), Unreadable> {
        let span = self.span(word.loc.as_ref());
        if let Some(span) = &span {
            let whole = parts.place.get_or_insert(span.clone());
            *whole = whole.start.min(span.start)..whole.end.max(span.end);
        }
        if !word.value.has_one_of(b"$`") {
            return self.words(&word.value, span, &mut parts.words);
        }
        let before = self.surroundings.captured;
        self.surroundings.captured |= is_kept(&parts.words, &word.value);
        let result = self.words(&word.value, span, &mut parts.words);
        self.surroundings.captured = before;
        result
    }

    pub(super) fn redirects(&mut self, list: Option<&ast::RedirectList>) -> Result<((), Option<Word>), Unreadable> {
        let Some(list) = list else { return Ok(((), None)) };
        let mut command = Command { place: self.source.place.clone(), ..Command::default() };
        list.0.iter().try_for_each(|redirect| self.redirect(redirect, &mut command))?;
        command.cwd = self.scope.cwd.clone();
        let input = self.secret_input(&command).or_else(|| command.input.clone());
        self.record(command)?;
        Ok(((), input))
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect, command: &mut Command) -> Result<(), Unreadable> {
        let (kind, word) = match redirect {
            ast::IoRedirect::File(_, kind, target) => {
                let kind = match kind {
                    ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput => RedirectKind::Read,
                    // `cat <> .env`
                    ast::IoFileRedirectKind::ReadAndWrite if is_named(target) => RedirectKind::Read,
                    ast::IoFileRedirectKind::Append => RedirectKind::Append,
                    _ => RedirectKind::Write,
                };
                match target {
                    ast::IoFileRedirectTarget::Filename(word) => (kind, word),
                    ast::IoFileRedirectTarget::Duplicate(word)
                        if kind == RedirectKind::Read && word.value.has(b'$') =>
                    {
                        self.within_word(&word.value)?;
                        command.input = Some(Word::unknown());
                        return Ok(());
                    }
                    ast::IoFileRedirectTarget::Duplicate(word) if !is_descriptor(&word.value) => (kind, word),
                    ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) if kind == RedirectKind::Read => {
                        let begin = self.script.commands.len();
                        let output = self.output_of_list(&subshell.list)?;
                        command.upstream.extend(self.programs_since(begin));
                        command.input = Some(output.unwrap_or_else(Word::unknown));
                        return Ok(());
                    }
                    ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                        return self.written_to(&subshell.list);
                    }
                    // The content behind a descriptor is unknown, unless `exec` has opened a secret file.
                    _ if kind == RedirectKind::Read => {
                        let opened = self.surroundings.input.clone().filter(|input| input.secret);
                        command.input = Some(opened.unwrap_or_else(Word::unknown));
                        return Ok(());
                    }
                    // Output to stderr is visible even if the output is captured. `record` inverts the flag later.
                    ast::IoFileRedirectTarget::Duplicate(word) => {
                        command.kept |= word.value == "2";
                        return Ok(());
                    }
                    ast::IoFileRedirectTarget::Fd(_) => return Ok(()),
                }
            }
            ast::IoRedirect::OutputAndError(word, append) => {
                (if *append { RedirectKind::Append } else { RedirectKind::Write }, word)
            }
            ast::IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                command.input =
                    Some(if document.requires_expansion { self.document(text)? } else { Word::marked(text.clone()) });
                return Ok(());
            }
            ast::IoRedirect::HereString(_, word) => {
                command.input = Some(self.word(&word.value, None)?);
                return Ok(());
            }
        };
        let span = self.span(word.loc.as_ref());
        let target = self.word(&word.value, span)?;
        command.redirects.push(Redirect { kind, target });
        Ok(())
    }

    /// Reads the commands of `>(…)`. Their input is unknown.
    fn written_to(&mut self, list: &ast::CompoundList) -> Result<(), Unreadable> {
        let before = self.surroundings.input.replace(Word::unknown());
        let result = self.subshell(&mut |reader| reader.list(list));
        self.surroundings.input = before;
        result
    }

    fn assignment(&mut self, assignment: &ast::Assignment) -> Result<(String, Option<Word>), Unreadable> {
        let value = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => {
                let begin = self.script.commands.len();
                let value = self.value(&word.value)?;
                let (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _)) =
                    &assignment.name;
                self.remember_fetched(name, begin);
                self.remember_written(name, &word.value);
                Some(value)
            }
            ast::AssignmentValue::Array(elements) => {
                let name = match &assignment.name {
                    ast::AssignmentName::VariableName(name) => name.as_str(),
                    ast::AssignmentName::ArrayElementName(..) => "",
                };
                let before = if assignment.append { self.elements(name) } else { None };
                let is_whole = !assignment.append || before.is_some();
                let mut all = before.unwrap_or_default();
                for (key, element) in elements {
                    if let Some(key) = key {
                        self.within_word(&key.value)?;
                        self.evaluates(&key.value)?;
                    }
                    self.words(&element.value, None, &mut all)?;
                    self.remember_written(name, &element.value);
                }
                let value = Word::of_all(&all);
                if is_whole {
                    self.set_elements(name, &all)?;
                    return Ok((name.to_owned(), Some(value)));
                }
                Some(value)
            }
        };
        Ok(match &assignment.name {
            ast::AssignmentName::VariableName(name) if !assignment.append => (name.clone(), value),
            ast::AssignmentName::VariableName(name) => {
                // For an integer variable, `+=` adds numbers instead of joining texts.
                if let Some(value) = &value {
                    self.remember(name, &value.text);
                }
                let before = self.variable(name);
                let both = before.zip(value).map(|(mut before, value)| {
                    before.append(&value);
                    before
                });
                (name.clone(), both)
            }
            ast::AssignmentName::ArrayElementName(name, index) => {
                self.within_word(index)?;
                self.evaluates(index)?;
                if let Some(value) = value {
                    self.remember(name, &value.text);
                }
                (name.clone(), None)
            }
        })
    }
}

/// Returns true if a redirection names a file that holds secrets.
fn is_named(target: &ast::IoFileRedirectTarget) -> bool {
    matches!(target, ast::IoFileRedirectTarget::Filename(word) if is_secret_file(&word.value))
}

/// Returns true if the words begin with a program that takes assignments as arguments. The shell does not split the values of such
/// assignments.
fn declares(words: &[Word]) -> bool {
    let program = words.first().map_or("", |word| &word.text);
    matches!(program, "export" | "declare" | "local" | "readonly" | "typeset" | "integer" | "float")
}

/// `raw` is the word after `words`. Returns true if the output of a command in `raw` goes into a variable or into a header that carries
/// credentials.
fn is_kept(words: &[Word], raw: &str) -> bool {
    let Some(Word { text: program, .. }) = words.first() else { return false };
    let option = words.last().map_or("", |word| &word.text);
    let prints = matches!(program.as_str(), "echo" | "printf" | "cat");
    declares(words) || program == "env" || (!prints && is_for_access(option, raw))
}

/// Returns the output of `echo` or `printf`.
pub(super) fn printed_by(program: &str, args: &[Word]) -> Option<Word> {
    if args.iter().any(|word| !word.is_known()) {
        return None;
    }
    let text = if program == "echo" {
        let options = args.iter().take_while(|word| matches!(word.text.as_str(), "-e" | "-n" | "-en" | "-ne" | "-E"));
        joined(&args[options.count()..])
    } else {
        let (format, values) = args.split_first()?;
        let glob = values.iter().any(|word| word.glob);
        return formatted(&format.with_mark(), values).map(|text| Word { glob, ..Word::marked(text) });
    };
    Some(Word { glob: args.iter().any(|word| word.glob), ..Word::marked(escapes(&text, true)) })
}

/// Applies a `printf` format to its values. `printf` reuses the format for remaining values.
fn formatted(format: &str, values: &[Word]) -> Option<String> {
    let mut values = values.iter();
    let mut text = String::new();
    loop {
        let before = values.len();
        let mut rest = format;
        while let Some((literal, conversion)) = rest.halves(b'%') {
            text.push_str(&escapes(literal, false));
            let width = conversion.find(|c: char| !matches!(c, '-' | '+' | ' ' | '#' | '.' | '\'' | '0'..='9'))?;
            let letter = conversion[width..].chars().next()?;
            rest = &conversion[width + letter.len_utf8()..];
            if letter == '%' {
                text.push('%');
                continue;
            }
            let value = values.next().map(Word::with_mark).unwrap_or_default();
            match letter {
                'b' => text.push_str(&escapes(&value, true)),
                'c' => text.extend(value.chars().next()),
                'x' | 'X' | 'o' | 'd' | 'i' | 'u' => text.push_str(&number(&value, letter)),
                _ => text.push_str(&value),
            }
            if text.len() > MAX_VALUE {
                return None;
            }
        }
        text.push_str(&escapes(rest, false));
        if values.len() == 0 {
            return Some(text);
        }
        // The format has no conversion, so `printf` does not print the values. They are added here as a precaution.
        if values.len() == before {
            return Some(format!("{text} {}", joined(values)));
        }
    }
}

/// Formats a number as `printf` does. `'r` is the code of a letter.
fn number(value: &str, letter: char) -> String {
    let quoted = value.strip_prefix(['\'', '"']).and_then(|text| text.chars().next()).map(u32::from);
    let Some(number) = quoted.or_else(|| value.parse().ok()) else { return value.to_owned() };
    match letter {
        'x' => format!("{number:x}"),
        'X' => format!("{number:X}"),
        'o' => format!("{number:o}"),
        _ => number.to_string(),
    }
}

/// Decodes the escapes of a text. With `has_zero`, a zero may precede the three digits of an octal number.
fn escapes(text: &str, has_zero: bool) -> String {
    if !text.has(b'\\') {
        return text.to_owned();
    }
    if !has_zero || !text.contains("\\0") {
        return super::expansion::ansi(text);
    }
    let mut without = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        without.push(c);
        if c == '\\'
            && let Some(next) = chars.next()
        {
            let is_number = next == '0' && chars.peek().is_some_and(|c| c.is_digit(8));
            if !is_number {
                without.push(next);
            }
        }
    }
    super::expansion::ansi(&without)
}

fn is_descriptor(word: &str) -> bool {
    word == "-" || word.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit())
}
