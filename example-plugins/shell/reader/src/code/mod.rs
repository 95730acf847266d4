//! Reads code of other languages, such as the code in `python3 -c`, `node -e`, `awk '…'` or a here-document. Only two kinds of calls are
//! read: calls that run commands, and calls that remove, read or write files. The literal arguments of such a call are read as a command.

mod calls;
mod names;
mod tokens;
mod values;

use super::ascii::Ascii as _;
use super::read::{Reader, Unreadable};
use super::word::{UNKNOWN, Word};
use super::{Command, Redirect, RedirectKind, wrappers};
use calls::CodeEffect;

/// Units of work for each time that a token is read.
const WORK_OF_TOKEN: usize = 1;

/// The language or syntax family of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Perl,
    Ruby,
    Script,
    Php,
    Lua,
    Awk,
    Tcl,
    Lisp,
    M4,
    Other,
}

/// Returns the language of an interpreter, by the interpreter's usual name.
pub(super) fn language(program: &str) -> Option<Language> {
    Some(match program {
        "python" | "python2" | "python3" | "ipython" | "micropython" | "jython" => Language::Python,
        "perl" => Language::Perl,
        "ruby" => Language::Ruby,
        "node" | "bun" | "deno" | "tsx" | "ts-node" | "qjs" => Language::Script,
        "php" => Language::Php,
        "lua" | "luajit" => Language::Lua,
        "awk" | "gawk" | "mawk" | "nawk" => Language::Awk,
        "tclsh" | "expect" | "wish" => Language::Tcl,
        "guile" | "racket" | "emacs" | "emacsclient" | "sbcl" | "clojure" | "clj" | "bb" | "csi" | "gosh" | "ecl" => {
            Language::Lisp
        }
        "m4" => Language::M4,
        "osascript" | "rscript" | "r" | "julia" | "elixir" | "iex" | "erl" | "groovy" | "octave" | "scala" | "ghc"
        | "raku" | "swipl" | "gnuplot" | "crystal" | "ocaml" | "jshell" => Language::Other,
        _ => return None,
    })
}

impl Language {
    /// Returns the options whose value is code.
    pub(super) fn texts(self) -> &'static [&'static str] {
        match self {
            Self::Python | Self::Tcl => &["-c"],
            Self::Perl => &["-e", "-E"],
            Self::Script => &["-e", "-p", "--eval", "--print"],
            Self::Php => &["-r", "-B", "-R", "-E"],
            Self::Awk => &["-e", "--source"],
            Self::Ruby | Self::Lua => &["-e", "--eval"],
            Self::Other => &["--eval", "-eval", "-e", "-E", "-g", "--print", "--rpc-eval"],
            Self::Lisp => &["--eval", "-eval", "--execute", "-execute", "-e", "-c"],
            Self::M4 => &[],
        }
    }

    /// Returns the letters of the options that take a value. Such options may precede the name of a script.
    fn values(self) -> &'static [char] {
        match self {
            Self::Python => &['W', 'X', 'm', 'c'],
            Self::Perl | Self::Ruby => &['I', 'e', 'E'],
            Self::Script => &['r', 'e', 'p'],
            Self::Php => &['d', 'c', 'r'],
            Self::Awk => &['v', 'F', 'f', 'e'],
            Self::Lua | Self::Tcl | Self::Lisp | Self::M4 | Self::Other => &['l', 'e', 'c'],
        }
    }
}

impl Reader<'_> {
    /// Reads the code that an interpreter runs: from an option, from its input, or from a file that the same script wrote.
    pub(super) fn code(
        &mut self,
        name: &str,
        language: Language,
        args: &[Word],
        inner: &Command,
    ) -> Result<(), Unreadable> {
        let mut texts: Vec<String> = Vec::new();
        let (mut at, mut is_file) = (0, false);
        let mut set = String::new();
        while let Some(word) = args.get(at).filter(|word| word.text.len() > 1 && word.text.starts_with('-')) {
            at += 1;
            let option = word.text.as_str();
            // This option of awk sets a variable.
            if language == Language::Awk
                && let Some(value) = wrappers::attached(option, "-v")
            {
                let next = if value.is_empty() { args.get(at).map_or("", |word| &word.text) } else { value };
                at += usize::from(value.is_empty());
                if let Some((variable, value)) = next.halves(b'=') {
                    set.push_str(&format!("{variable} = \"{}\"\n", value.replace('"', "\\\"")));
                }
                continue;
            }
            if let Some(value) = language.texts().iter().find_map(|text| wrappers::attached(option, text)) {
                let next = if value.is_empty() { args.get(at).map(|word| word.text.as_str()) } else { Some(value) };
                at += usize::from(value.is_empty());
                let is_printed = language == Language::Script && option.trim_start_matches('-').starts_with('p');
                texts.extend(next.map(|text| if is_printed { format!("print({text})") } else { text.to_owned() }));
                continue;
            }
            is_file |= (language == Language::Awk && option.starts_with("-f")) || option == "-m";
            at += usize::from(!option.starts_with("--") && option.ends_with(language.values()));
        }
        let operand = args.get(at).filter(|word| word.text != "-");
        if texts.is_empty() && !is_file {
            match operand {
                Some(word) if language == Language::Awk || (name == "osascript" && word.text.has(b' ')) => {
                    texts.push(word.text.clone());
                }
                Some(word) if matches!(name, "deno" | "crystal") && word.text == "eval" => {
                    texts.extend(args[at + 1..].iter().map(|word| word.text.clone()));
                }
                Some(word) if name == "deno" && word.text == "run" && args.iter().any(|word| word.text == "-") => {
                    texts.extend(inner.input.as_ref().map(|input| input.text.clone()));
                }
                Some(word) => {
                    let text = self.code_in(word);
                    let is_open_file =
                        ["/dev/fd/", "/proc/self/fd/", "/dev/tcp/"].iter().any(|begin| word.text.starts_with(begin));
                    self.script.runs_unknown |= is_open_file && text.is_none();
                    texts.extend(text);
                }
                None => texts.extend(inner.input.as_ref().map(|input| input.text.clone())),
            }
        }
        let inner = Command { exact: false, input: None, ..inner.clone() };
        if !set.is_empty() {
            texts.iter_mut().for_each(|text| text.insert_str(0, &set));
        }
        texts.iter().try_for_each(|text| self.read_code(name, language, text, &inner))
    }

    /// Returns the content of a script file that this text wrote, or that a substitution prints.
    fn code_in(&mut self, file: &Word) -> Option<String> {
        match file.text.strip_prefix("/dev/fd/") {
            Some(_) => self.substitution_at(&file.text).map(|text| text.text),
            None => self.text_in(file),
        }
    }

    fn read_code(&mut self, name: &str, language: Language, code: &str, inner: &Command) -> Result<(), Unreadable> {
        self.spend(code.len()).map_err(|_| Unreadable("its code is too long to be read".into()))?;
        if matches!(language, Language::Tcl | Language::M4) {
            let texts = if language == Language::Tcl { tcl(code) } else { m4(code) };
            return texts.into_iter().try_for_each(|text| self.text(name, &text));
        }
        let tokens = tokens::of(code, language);
        let mut work = 0;
        let found = calls::found(&tokens, language, &mut work);
        self.spend(work * WORK_OF_TOKEN).map_err(|_| Unreadable("its code is too long to be read".into()))?;
        for part in found {
            match part {
                CodeEffect::Text(text) => {
                    if !text.text.trim_matches([UNKNOWN, ' ']).is_empty() {
                        self.text(name, &text.with_mark().replace(UNKNOWN, "$_"))?;
                    }
                }
                CodeEffect::Words(words) => {
                    if words.first().is_some_and(|word| !word.text.starts_with(UNKNOWN)) {
                        self.wrapped(name, &words, inner.clone())?;
                    }
                }
                CodeEffect::Code(code) => {
                    self.deeper(|reader| reader.read_code(name, language, &code, inner))?;
                }
                CodeEffect::Write(target) => {
                    let redirects = vec![Redirect { kind: RedirectKind::Write, target }];
                    self.record(Command { redirects, place: inner.place.clone(), ..Command::default() })?;
                }
                CodeEffect::Read(file) => {
                    // Adds a command that has the same effect on the file as the code.
                    if let Some(words) = names::outlet(&tokens) {
                        let words: Vec<Word> = words.iter().map(|word| Word::literal(*word)).chain([file]).collect();
                        self.wrapped(name, &words, inner.clone())?;
                    }
                }
                CodeEffect::Decoded => self.script.runs_unknown = true,
            }
        }
        Ok(())
    }
}

/// Returns the commands that Tcl code runs: the words after `exec`, `spawn` and `system`, and removals.
fn tcl(code: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for line in code.split(['\n', ';', '[', ']', '{', '}']) {
        let line = line.trim();
        let rest = ["exec ", "spawn ", "system "].iter().find_map(|word| line.strip_prefix(word));
        texts.extend(rest.map(|rest| rest.trim_start_matches("-noecho ").trim_start_matches("-- ").to_owned()));
        let removed =
            line.strip_prefix("file delete ").map(|rest| rest.trim_start_matches("-force ").trim_start_matches("-- "));
        texts.extend(removed.map(|rest| format!("rm -rf {rest}")));
    }
    texts
}

/// Returns the commands that macros of m4 run.
fn m4(code: &str) -> Vec<String> {
    let calls = code.split("syscmd(").skip(1);
    calls.map(|rest| rest.split(')').next().unwrap_or_default().trim_matches(['`', '\'', ' ']).to_owned()).collect()
}

#[cfg(test)]
mod tests;
