//! Files that a text fetches and then runs, so that nobody reads them in between.

use super::places::Class;
use super::read::{Reader, Unreadable};
use super::secrets::{copies_files, hands_on, made_by};
use super::word::Word;
use super::{Command, RedirectKind, lower};

/// Bytes of addresses per unit of work: they are only searched.
const ADDRESS_BYTES_PER_UNIT: usize = 16;

/// Length of a word, in bytes, from which on what is known of it tells it from others.
const MIN_UNKNOWN: usize = 5;

impl Reader<'_> {
    /// Notes which file a command fetches or moves, and whether it runs one that was fetched before.
    pub(super) fn fetches(&mut self, command: &Command) -> Result<(), Unreadable> {
        let mut written: Vec<Word> = Vec::new();
        let mut unpacks = false;
        let mut is_copy = command.upstream.iter().any(|program| fetches(program));
        if !self.fetched.is_empty() || !self.unpacked.is_empty() {
            let known = self.fetched.len() + self.unpacked.len() * (1 + self.addresses.len() / ADDRESS_BYTES_PER_UNIT);
            self.spend(known * (1 + command.args.len() + command.redirects.len()))?;
            let is_fetched = |word: &Word, is_script: bool| {
                let path = self.path_of(word, command);
                path.is_some_and(|path| self.fetched.contains(&path) || (is_script && self.holds(&path)))
            };
            let program = &command.program_word;
            let is_file = command.windows || program.text.contains(['/', '\\']) || program.text.ends_with(".exe");
            let mut runs = is_file && is_fetched(program, is_script(&command.program));
            if runs_files(&command.program) {
                let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
                runs |= scripts(&command.args)
                    .chain(read.map(|redirect| &redirect.target))
                    .any(|word| is_fetched(word, true));
            }
            unpacks = is_unpacker(command) && command.args.iter().any(|word| is_fetched(word, false));
            if matches!(command.program.as_str(), "gunzip" | "bunzip2" | "unxz" | "gzip" | "xz" | "zstd" | "unzstd") {
                for word in command.args.iter().filter(|word| is_fetched(word, false)) {
                    let (name, _) = word.text.rsplit_once('.').unwrap_or_default();
                    written.push(Word { text: name.to_owned(), ..word.clone() });
                }
            }
            let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
            let mut sources = command.args.iter().chain(read.map(|redirect| &redirect.target));
            let source =
                |word: &Word| is_fetched(&word.text.strip_prefix("if=").map_or(word.clone(), Word::marked), false);
            if (copies_files(&command.program) || hands_on(&command.program)) && sources.any(source) {
                written.extend(made_by(command));
                is_copy = true;
            }
            // Found where programs are looked for.
            runs |= !program.text.is_empty()
                && !program.text.contains('/')
                && self.fetched.iter().any(|path| {
                    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
                    name == program.text && directory.rsplit('/').next().is_some_and(|last| last.ends_with("bin"))
                });
            self.script.runs_fetched |= runs;
        }
        if unpacks {
            self.unpack(command)?;
        }
        if fetches(&command.program) {
            for word in command.args.iter().filter(|word| word.text.contains('/')) {
                self.spend(word.text.len())?;
                self.addresses += "/";
                self.addresses += &word.text.to_ascii_lowercase();
            }
        }
        // `$client.DownloadFile('https://…', 'x.exe')`
        if let Some((address, file)) = command.program_word.text.split_once(',').filter(|_| command.windows)
            && address.contains("://")
        {
            written.push(Word::literal(file.trim()));
            is_copy = true;
        }
        written.extend(match command.program.as_str() {
            "curl" => outputs(&command.args, 'o', "--output", Some(('O', "--remote-name"))),
            "wget" => outputs(&command.args, 'O', "--output-document", None),
            "aria2c" | "axel" | "fetch" => outputs(&command.args, 'o', "--out", None),
            "iwr" | "irm" | "invoke-webrequest" | "invoke-restmethod" => value_of(&command.args, "-outfile"),
            "start-bitstransfer" => value_of(&command.args, "-destination"),
            _ if written.is_empty() && !is_copy => return Ok(()),
            _ => Vec::new(),
        });
        self.keep(&written, command)
    }

    /// Notes the files into which commands put what others fetch, those from `begin` on: `curl … | tee x`.
    pub(super) fn keeps(&mut self, begin: usize, upstream: &[String]) -> Result<(), Unreadable> {
        if !upstream.iter().any(|program| fetches(program)) {
            return Ok(());
        }
        for at in begin..self.script.commands.len() {
            let command = self.script.commands[at].clone();
            self.spend(command.args.len())?;
            let operands = command.args.iter().filter(|word| command.program == "tee" && !word.text.starts_with('-'));
            self.keep(&operands.cloned().collect::<Vec<_>>(), &command)?;
            if is_unpacker(&command) {
                self.unpack(&command)?;
            }
        }
        Ok(())
    }

    /// Notes the directory into which a command unpacks what was fetched. All in it was, where nothing else is likely there.
    fn unpack(&mut self, command: &Command) -> Result<(), Unreadable> {
        let named = directory_of(&command.args);
        let directory = named.clone().unwrap_or_else(|| Word::literal("."));
        let class = self.places.class(&directory, command.cwd.as_deref());
        let is_own = match named {
            Some(_) => !matches!(class, Class::Workspace | Class::Above | Class::Root | Class::Unknown),
            None => class == Class::Temporary,
        };
        let path = self.path_of(&directory, command);
        self.spend(path.as_ref().map_or(0, String::len))?;
        self.unpacked.extend(path.map(|path| (path, is_own)));
        Ok(())
    }

    /// Whether a file was unpacked from what was fetched: from `y-1.0.tgz` comes the directory `y-1.0`, or one of like name.
    fn holds(&self, path: &str) -> bool {
        self.unpacked.iter().any(|(directory, is_own)| {
            let inner = path.strip_prefix(directory.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
            let Some(inner) = inner else { return false };
            let Some((first, _)) = inner.split_once('/').filter(|_| !is_own) else { return *is_own };
            let end = first.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(first.len());
            let name = first[..end].to_ascii_lowercase();
            let is_short = name.len() < 3;
            let mut parts = self.addresses.split(|c: char| !c.is_ascii_alphanumeric());
            !name.is_empty() && parts.any(|part| part == name || (!is_short && part.starts_with(&name)))
        })
    }

    /// Notes these files and those that the output of the command leads to.
    fn keep(&mut self, written: &[Word], command: &Command) -> Result<(), Unreadable> {
        let redirected = command.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read);
        for word in written.iter().chain(redirected.map(|redirect| &redirect.target)) {
            let path = self.path_of(word, command);
            self.spend(path.as_ref().map_or(0, String::len))?;
            self.fetched.extend(path);
        }
        Ok(())
    }

    /// The path of a file. One that is not known whole is told by its words: `$T/x.sh` is `$T/x.sh`, as long as nobody sets it.
    fn path_of(&self, word: &Word, command: &Command) -> Option<String> {
        let path = self.places.path(word, command.cwd.as_deref());
        path.or_else(|| (word.text.len() > MIN_UNKNOWN && !word.is_known()).then(|| word.text.clone()))
    }
}

/// Whether a program fetches what a server sends.
fn fetches(program: &str) -> bool {
    matches!(
        program,
        "curl"
            | "wget"
            | "aria2c"
            | "axel"
            | "fetch"
            | "iwr"
            | "irm"
            | "invoke-webrequest"
            | "invoke-restmethod"
            | "start-bitstransfer"
    )
}

/// The value of a cmdlet's parameter, whose name may be cut short.
fn value_of(args: &[Word], parameter: &str) -> Vec<Word> {
    let is_named = |word: &Word| word.text.len() > 1 && parameter.starts_with(&*lower(&word.text));
    let at = args.iter().position(is_named);
    at.and_then(|at| args.get(at + 1)).cloned().into_iter().collect()
}

/// Whether a command takes files out of an archive.
fn is_unpacker(command: &Command) -> bool {
    let extracts = |(at, word): (usize, &Word)| {
        let text = word.text.as_str();
        text == "--extract" || (!text.starts_with("--") && (at == 0 || text.starts_with('-')) && text.contains('x'))
    };
    match command.program.as_str() {
        "tar" | "gtar" | "bsdtar" => command.args.iter().enumerate().any(extracts),
        program => program == "unzip",
    }
}

/// The directory that an archive is unpacked into, where one is named.
fn directory_of(args: &[Word]) -> Option<Word> {
    let is_option = |word: &Word| matches!(word.text.as_str(), "-C" | "--directory" | "-d");
    let attached = |word: &Word| {
        let directory = word.text.strip_prefix("--directory=").or_else(|| word.text.strip_prefix("-C"))?;
        (!directory.is_empty()).then(|| Word::literal(directory))
    };
    match args.iter().position(is_option) {
        Some(at) => args.get(at + 1).cloned(),
        None => args.iter().find_map(attached),
    }
}

/// Whether a program is called as scripts are that somebody might read.
fn is_script(program: &str) -> bool {
    let (name, end) = program.rsplit_once('.').unwrap_or((program, ""));
    matches!(end, "sh" | "bash" | "py" | "pl" | "rb" | "js" | "command")
        || matches!(name, "install" | "setup" | "bootstrap" | "installer")
}

/// The words that may name the script: the first operand, and the value of each option before it.
fn scripts(args: &[Word]) -> impl Iterator<Item = &Word> {
    let mut is_value = false;
    let mut is_done = false;
    args.iter().filter(move |word| {
        if is_done {
            return false;
        }
        let text = word.text.as_str();
        // `msiexec /i x.msi`
        if text.starts_with('/') && text.len() <= 3 {
            return false;
        }
        if text.starts_with(['-', '+']) && text.len() > 1 {
            let long = ["--rcfile", "--init-file", "--require", "--import"];
            is_value = if text.starts_with("--") {
                long.contains(&text)
            } else {
                text.ends_with(['o', 'O', 'r', 'W', 'X', 'I'])
            };
            return false;
        }
        is_done = !std::mem::take(&mut is_value);
        true
    })
}

/// Whether a program runs a file that its words name, or that it reads.
fn runs_files(program: &str) -> bool {
    if program == "." {
        return true;
    }
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        program,
        "sh" | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "fish"
            | "source"
            | "python"
            | "node"
            | "perl"
            | "ruby"
            | "php"
            | "powershell"
            | "pwsh"
            | "msiexec"
            | "wscript"
            | "cscript"
            | "mshta"
    )
}

/// The files that are written: by an option, or by the name in each address. `remote` is the option that asks for the latter,
/// where it is not done anyway.
fn outputs(args: &[Word], short: char, long: &str, remote: Option<(char, &str)>) -> Vec<Word> {
    let mut named = Vec::new();
    let mut addresses = Vec::new();
    let mut is_remote = remote.is_none();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if let Some(value) = text.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            named.push(Word::marked(value));
        } else if text == long {
            named.extend(words.next().cloned());
        } else if let Some(cluster) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            is_remote |= remote.is_some_and(|(letter, _)| cluster.contains(letter));
            match cluster.split_once(short) {
                Some((_, "")) => named.extend(words.next().cloned()),
                Some((before, file)) if before.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                    named.push(Word::marked(file));
                }
                _ => {}
            }
        } else if remote.is_some_and(|(_, name)| name == text) {
            is_remote = true;
        } else if !text.starts_with('-') {
            addresses.push(text);
        }
    }
    if named.is_empty() && is_remote {
        let name =
            |address: &&str| address.split(['?', '#']).next()?.rsplit_once('/').map(|(_, name)| Word::literal(name));
        named.extend(addresses.iter().filter_map(name).filter(|word| !word.text.is_empty()));
    }
    named
}
