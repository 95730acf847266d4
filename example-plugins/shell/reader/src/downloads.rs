//! Finds files that a command downloads and then runs. No person can read such a file before it runs.

use super::ascii::Ascii as _;
use super::path_class::Class;
use super::read::{Reader, Unreadable};
use super::secret_access::{copies_files, hands_on, made_by};
use super::secret_files::fits;
use super::word::Word;
use super::{Command, RedirectKind, lower, wrappers};

/// Number of bytes of addresses that count as one unit of work. Addresses are only searched, so they cost less than parsed text.
const ADDRESS_BYTES_PER_UNIT: usize = 16;

/// Minimum length of the known part of a word, in bytes. A partly unknown word identifies a file only if its known part is at least this
/// long.
const MIN_UNKNOWN: usize = 5;

/// The files that a text downloads.
#[derive(Default)]
pub(crate) struct Downloads {
    /// The paths of the files.
    pub(crate) files: Vec<String>,
    /// The addresses of the files, in lower case.
    addresses: String,
    /// The directories into which the files are unpacked. The flag is true if the text names the directory.
    directories: Vec<(String, bool)>,
}

impl Reader<'_> {
    /// Records the file that a command downloads or moves. Also records whether the command runs a file that was downloaded before.
    pub(super) fn note_downloads(&mut self, command: &Command) -> Result<(), Unreadable> {
        let mut written: Vec<Word> = Vec::new();
        let mut unpacks = false;
        let is_fetcher = wrappers::is_fetcher(&command.program, &command.args);
        let is_fed = command.upstream.iter().any(|program| wrappers::is_fetcher(program, &[]));
        let mut is_copy = is_fetcher || is_fed;
        self.script.runs_fetched |= is_fed && obeys_input(command);
        if !self.downloads.files.is_empty() || !self.downloads.directories.is_empty() {
            let known = self.downloads.files.len()
                + self.downloads.directories.len() * (1 + self.downloads.addresses.len() / ADDRESS_BYTES_PER_UNIT);
            self.spend(known * (1 + command.args.len() + command.redirects.len()))?;
            let is_fetched = |word: &Word, is_script: bool| self.is_fetched(word, is_script, command);
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
            let makes = matches!(
                command.program.as_str(),
                "gcc" | "cc" | "g++" | "clang" | "clang++" | "rustc" | "javac" | "go"
            );
            if (makes || copies_files(&command.program) || hands_on(&command.program)) && sources.any(source) {
                written.extend(made_by(command));
                is_copy = true;
            }
            self.script.runs_fetched |= self.runs_one(command);
        }
        if unpacks {
            self.unpack(command)?;
        }
        if is_fetcher {
            for word in command.args.iter().filter(|word| word.text.has(b'/')) {
                self.spend(word.text.len())?;
                self.downloads.addresses += "/";
                self.downloads.addresses += &word.text.to_ascii_lowercase();
            }
        }
        // `$client.DownloadFile('https://…', 'x.exe')`
        if let Some((address, file)) = command.program_word.text.halves(b',').filter(|_| command.windows)
            && address.contains("://")
        {
            written.push(Word::literal(file.trim()));
            is_copy = true;
        }
        if written.is_empty() && !is_copy {
            return Ok(());
        }
        written.extend(match command.program.as_str() {
            "curl" => outputs(&command.args, 'o', "--output", Some(('O', "--remote-name")), "--output-dir"),
            "wget" => outputs(&command.args, 'O', "--output-document", None, "-P"),
            "aria2c" | "axel" | "fetch" => outputs(&command.args, 'o', "--out", None, "-d"),
            "iwr" | "irm" | "invoke-webrequest" | "invoke-restmethod" => value_of(&command.args, "-outfile"),
            "start-bitstransfer" => value_of(&command.args, "-destination"),
            _ if is_fetcher => self.copied_here(command)?,
            _ => Vec::new(),
        });
        self.note_downloaded_files(&written, command)
    }

    /// Returns true if a command runs, installs or takes instructions from a downloaded file.
    fn runs_one(&self, command: &Command) -> bool {
        let is_fetched = |word: &Word, is_script: bool| self.is_fetched(word, is_script, command);
        let program = &command.program_word;
        let is_file = command.windows || program.text.has_one_of(b"/\\") || program.text.ends_with(".exe");
        if is_file && is_fetched(program, is_script(&command.program)) {
            return true;
        }
        // The file lies in a directory of the search path.
        let is_installed = |path: &String| {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            name == program.text && directory.rsplit('/').next().is_some_and(|last| last.ends_with("bin"))
        };
        if !program.text.is_empty() && !program.text.has(b'/') && self.downloads.files.iter().any(is_installed) {
            return true;
        }
        let name = command.program.as_str();
        let name = if name == "." { name } else { name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') };
        let is_script_runner = wrappers::RUNNERS.contains(name) && !only_checks(name, &command.args);
        let led: Vec<&str> = wrappers::LED.of_first_word(&command.program).collect();
        let reads = || command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        if (is_script_runner || !led.is_empty()) && reads().any(|redirect| is_fetched(&redirect.target, true)) {
            return true;
        }
        // The first operand of these programs may be a subcommand.
        let has_subcommands = matches!(name, "go" | "dotnet" | "swift" | "deno" | "bun");
        let may_be_inner = |word: &Word| !has_subcommands || word.text.has_one_of(b"/.");
        if is_script_runner && scripts(name, &command.args).any(|word| is_fetched(word, may_be_inner(word))) {
            return true;
        }
        if led.iter().any(|option| self.is_led_by(option, command)) {
            return true;
        }
        let words = || command.args.iter().map(|word| word.text.as_str());
        if matches!(name, "make" | "ninja" | "just") && words().any(|word| word == "install") {
            return self.is_fetched_directory(&Word::literal("."), command);
        }
        let is_module = name == "python" && words().zip(words().skip(1)).any(|pair| pair == ("-m", "pip"));
        if !(is_module || wrappers::INSTALLERS.contains(name)) || only_looks(name, words().next().unwrap_or_default()) {
            return false;
        }
        // An editable installation is meant for the developer's own source, so it is left out.
        let is_edited = words().any(|word| matches!(word, "-e" | "--editable"));
        let is_source = |word: &Word| !is_edited && self.is_fetched_directory(word, command);
        command.args.iter().any(|word| is_fetched(word, false) || is_source(word))
    }

    /// Returns true if an option of a command names a downloaded file. An `option` without a dash is the name of a file in the command's
    /// directory.
    fn is_led_by(&self, option: &str, command: &Command) -> bool {
        if !option.starts_with('-') {
            return self.is_fetched(&Word::literal(option), false, command);
        }
        command.args.iter().enumerate().any(|(at, word)| match wrappers::attached(&word.text, option) {
            Some("") => command.args.get(at + 1).is_some_and(|word| self.is_fetched(word, true, command)),
            Some(value) => self.is_fetched(&Word::marked(value), true, command),
            None => false,
        })
    }

    fn is_fetched(&self, word: &Word, is_script: bool, command: &Command) -> bool {
        let Some(path) = self.path_of(word, command) else { return false };
        // Only patterns with one wildcard, such as `*.deb`, are compared, because more wildcards would take long.
        let is_pattern = word.glob && path.bytes().filter(|byte| matches!(byte, b'*' | b'[')).count() == 1;
        let has = |path: &String| self.downloads.files.contains(path) || (is_script && self.holds(path));
        has(&path) || (is_pattern && self.downloads.files.iter().any(|other| fits(path.as_bytes(), other.as_bytes())))
    }

    /// Returns true if a word names a downloaded directory: `pip install ./x`.
    fn is_fetched_directory(&self, word: &Word, command: &Command) -> bool {
        let is_path = word.text.has(b'/') || word.text == ".";
        let path = if is_path { self.path_of(word, command) } else { None };
        path.is_some_and(|path| self.holds(&format!("{}/x", path.trim_end_matches('/'))))
    }

    /// Records whether a variable makes programs load a downloaded file: `LD_PRELOAD=./x.so`.
    pub(super) fn preloads(&mut self, variable: &str, value: &Word) {
        let is_one =
            matches!(variable, "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES" | "BASH_ENV" | "PYTHONSTARTUP");
        if is_one && !self.downloads.files.is_empty() {
            let command = Command { cwd: self.scope.cwd.clone(), ..Command::default() };
            self.script.runs_fetched |= self.is_fetched(value, true, &command);
        }
    }

    /// Returns the files that a program copies from another machine: `scp h:x y`, `aws s3 cp s3://b/x y`. A recursive copy counts as an
    /// unpacked directory.
    fn copied_here(&mut self, command: &Command) -> Result<Vec<Word>, Unreadable> {
        let mut found = made_by(command);
        self.spend(command.args.len())?;
        let is_remote = |word: &&Word| is_elsewhere(&word.text);
        let operands: Vec<&Word> = command.args.iter().filter(|word| !word.text.starts_with('-')).collect();
        let program = command.program.as_str();
        let is_hub = matches!(program, "gh" | "glab");
        if is_hub {
            for option in ["-o", "--output", "-p", "--pattern"] {
                found.extend(value_of(&command.args, option));
            }
        }
        // These programs accept a repository in the form OWNER/NAME.
        let is_short =
            matches!(program, "degit" | "giget") || (is_hub && operands.iter().any(|word| word.text == "clone"));
        let is_clone = is_short || matches!(program, "git" | "hg" | "svn");
        let is_cloned = |word: &&&Word| is_remote(word) || (is_short && word.text.has(b'/'));
        let Some(from) = operands.iter().find(is_cloned) else { return Ok(found) };
        // The last operand is the target.
        if is_cloned(&operands.last().unwrap_or(from)) && !is_clone && !matches!(program, "sftp" | "s3cmd") {
            return Ok(found);
        }
        let address = from.text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let name = address.rsplit(['/', ':']).next().unwrap_or_default();
        let to = operands.last().filter(|word| !is_cloned(word));
        let name = Word::literal(name.strip_suffix(".git").unwrap_or(name));
        let to_name = to.map(|to| Word { text: format!("{}/{}", to.text, name.text), ..(**to).clone() });
        let is_tree = is_clone
            || command.args.iter().any(|word| {
                matches!(word.text.as_str(), "-r" | "-R" | "--recursive" | "--recurse" | "sync" | "mirror")
                    || (program == "rsync" && word.text.starts_with('-') && word.text.has_one_of(b"ar"))
            });
        if is_tree {
            let inner = [to_name.clone(), Some(name.clone())].into_iter().flatten().map(|name| (name, true));
            let outer = to.map(|to| ((*to).clone(), is_clone || to.text != "."));
            for (directory, is_own) in inner.chain(outer) {
                let path = self.path_of(&directory, command);
                self.spend(path.as_ref().map_or(0, String::len))?;
                self.downloads.directories.extend(path.map(|path| (path, is_own)));
            }
        }
        if !is_clone {
            found.extend(to.map_or_else(|| vec![name], |to| vec![(*to).clone()]));
            found.extend(to_name);
        }
        Ok(found)
    }

    /// Returns true if a command reads a downloaded file.
    pub(super) fn reads_fetched(&self, command: &Command) -> bool {
        let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        let mut words = read.map(|redirect| &redirect.target).chain(&command.args);
        !self.downloads.files.is_empty() && words.any(|word| self.is_fetched(word, false, command))
    }

    /// Returns true if one of the commands from `begin` on downloads something.
    pub(super) fn has_fetcher(&self, begin: usize) -> bool {
        self.script.commands[begin..].iter().any(|command| wrappers::is_fetcher(&command.program, &command.args))
    }

    /// Records downloaded files in a pipeline such as `curl … | tee x`. The commands from `begin` to `stage` download data, and the
    /// commands from `stage` on write this data to files.
    pub(super) fn note_piped_downloads(&mut self, begin: usize, stage: usize) -> Result<(), Unreadable> {
        let before = &self.script.commands[begin..stage];
        if !before.iter().any(|command| wrappers::is_fetcher(&command.program, &command.args)) {
            return Ok(());
        }
        self.script.runs_fetched |= self.script.commands[stage..].iter().any(obeys_input);
        for at in stage..self.script.commands.len() {
            let command = self.script.commands[at].clone();
            self.spend(command.args.len())?;
            self.note_downloaded_files(&made_by(&command), &command)?;
            if is_unpacker(&command) {
                self.unpack(&command)?;
            }
        }
        Ok(())
    }

    /// Records the directory into which a command unpacks a downloaded archive. Every file in this directory is then treated as downloaded,
    /// unless the directory probably contains other files, too.
    fn unpack(&mut self, command: &Command) -> Result<(), Unreadable> {
        let named = directory_of(&command.args);
        let directory = named.clone().unwrap_or_else(|| Word::literal("."));
        let class = self.context.class(&directory, command.cwd.as_deref());
        let is_own = match named {
            Some(_) => !matches!(class, Class::Workspace | Class::Above | Class::Root | Class::Unknown),
            None => class == Class::Temporary,
        };
        let path = self.path_of(&directory, command);
        self.spend(path.as_ref().map_or(0, String::len))?;
        self.downloads.directories.extend(path.map(|path| (path, is_own)));
        Ok(())
    }

    /// Returns true if a file comes from a downloaded archive. `y-1.0.tgz` unpacks to the directory `y-1.0` or to a directory with a
    /// similar name.
    fn holds(&self, path: &str) -> bool {
        self.downloads.directories.iter().any(|(directory, is_own)| {
            let inner = path.strip_prefix(directory.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
            // The activation script of a Python environment is generated locally.
            let Some(inner) = inner.filter(|inner| !inner.ends_with("bin/activate")) else { return false };
            let Some((first, _)) = inner.halves(b'/').filter(|_| !is_own) else { return *is_own };
            let end = first.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(first.len());
            let name = first[..end].to_ascii_lowercase();
            let is_short = name.len() < 3;
            let mut parts = self.downloads.addresses.split(|c: char| !c.is_ascii_alphanumeric());
            !name.is_empty() && parts.any(|part| part == name || (!is_short && part.starts_with(&name)))
        })
    }

    /// Records the given files, and the files to which the command's output is redirected.
    pub(super) fn note_downloaded_files(&mut self, written: &[Word], command: &Command) -> Result<(), Unreadable> {
        let redirected = command.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read);
        for word in written.iter().chain(redirected.map(|redirect| &redirect.target)) {
            let path = self.path_of(word, command);
            self.spend(path.as_ref().map_or(0, String::len))?;
            self.script.runs_fetched |= path.as_ref().is_some_and(|path| self.runs_by_itself(word, path, command));
            self.downloads.files.extend(path);
        }
        Ok(())
    }

    /// Returns true if a file is run automatically: when a shell starts, at a commit, or at a set time.
    fn runs_by_itself(&self, word: &Word, path: &str, command: &Command) -> bool {
        wrappers::is_startup_file(path, || self.context.class(word, command.cwd.as_deref()) == Class::Home)
    }

    /// Returns the path of a file. A partly unknown path is identified by its spelling: two words `$T/x.sh` name the same file as long as
    /// `T` is not set again.
    fn path_of(&self, word: &Word, command: &Command) -> Option<String> {
        let path = self.context.path(word, command.cwd.as_deref());
        path.or_else(|| (word.text.len() > MIN_UNKNOWN && !word.is_known()).then(|| word.text.clone()))
    }
}

/// Returns true if a program runs its input as instructions: `… | psql`, `… | make -f -`.
fn obeys_input(command: &Command) -> bool {
    let has = |words: &[&str]| command.args.iter().any(|word| words.contains(&word.text.as_str()));
    let operands = command.args.iter().filter(|word| !word.text.starts_with('-')).count();
    match command.program.as_str() {
        "make" | "kubectl" => has(&["-"]),
        "sqlite3" if operands > 1 => false,
        program => {
            wrappers::LED.of_first_word(program).any(|option| option == "<")
                && !has(&["-c", "--command", "-e", "--execute", "-q", "--query", "-Q"])
        }
    }
}

/// Returns true if a program only checks the syntax of a script.
fn only_checks(program: &str, args: &[Word]) -> bool {
    let mut options = args.iter().map(|word| word.text.as_str()).take_while(|text| text.starts_with('-'));
    match program {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "mksh" | "ash" | "fish" => {
            options.any(|text| !text.starts_with("--") && text.has(b'n') && !text.has_one_of(b"oOi"))
        }
        "node" => options.any(|text| matches!(text, "-c" | "--check")),
        "perl" | "ruby" => options.any(|text| matches!(text, "-c" | "-wc")),
        "php" => options.any(|text| text == "-l"),
        _ => false,
    }
}

/// Returns true if an installer only shows the content or the checksum of a file.
fn only_looks(program: &str, first: &str) -> bool {
    match program {
        "dpkg" => matches!(first, "-I" | "-c" | "--info" | "--contents" | "-f" | "--field"),
        "rpm" => first.starts_with("-q") || matches!(first, "-K" | "--checksig" | "--query"),
        "pip" => matches!(first, "hash" | "inspect" | "download"),
        "pacman" => first.starts_with("-Q"),
        "gem" => matches!(first, "spec" | "unpack" | "contents"),
        _ => first == "info" || first == "show",
    }
}

/// Returns true if a word names something on another machine: `s3://b/x`, `host:x`.
fn is_elsewhere(text: &str) -> bool {
    match text.halves(b':') {
        Some((scheme, rest)) if rest.starts_with("//") => scheme != "file" && !scheme.is_empty(),
        Some((host, path)) => {
            let is_drive = host.len() == 1 && path.starts_with(['/', '\\']);
            !host.is_empty() && !host.has(b'/') && !is_drive
        }
        None => false,
    }
}

/// Returns the value of a cmdlet's parameter, whose name may be abbreviated.
fn value_of(args: &[Word], parameter: &str) -> Vec<Word> {
    let is_named = |word: &Word| word.text.len() > 1 && parameter.starts_with(&*lower(&word.text));
    let at = args.iter().position(is_named);
    at.and_then(|at| args.get(at + 1)).cloned().into_iter().collect()
}

/// Returns true if a command unpacks an archive.
fn is_unpacker(command: &Command) -> bool {
    let extracts = |(at, word): (usize, &Word)| {
        let text = word.text.as_str();
        text == "--extract" || (!text.starts_with("--") && (at == 0 || text.starts_with('-')) && text.has(b'x'))
    };
    match command.program.as_str() {
        "tar" | "gtar" | "bsdtar" => command.args.iter().enumerate().any(extracts),
        program => program == "unzip",
    }
}

/// Returns the directory into which an archive is unpacked, if one is named.
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

/// Returns true if the name is the name of a script or of an installer.
fn is_script(program: &str) -> bool {
    let (name, end) = program.rsplit_once('.').unwrap_or((program, ""));
    matches!(end, "sh" | "bash" | "py" | "pl" | "rb" | "js" | "command")
        || matches!(name, "install" | "setup" | "bootstrap" | "installer")
}

/// Returns the words that may name the script: the first operand, and the value of each option before it.
fn scripts<'a>(program: &str, args: &'a [Word]) -> impl Iterator<Item = &'a Word> + use<'a> {
    let has_modules = program == "python";
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
        // A module is searched for in other directories, so no word after this names a script.
        is_done = has_modules && text == "-m";
        if text.starts_with(['-', '+']) && text.len() > 1 {
            let long = ["--rcfile", "--init-file", "--require", "--import"];
            is_value = if text.starts_with("--") {
                long.contains(&text)
            } else {
                text != "-jar" && text.ends_with(['o', 'O', 'r', 'W', 'X', 'I'])
            };
            return false;
        }
        // `deno run x.ts`
        is_done = !std::mem::take(&mut is_value) && text != "run";
        true
    })
}

/// Returns the files that a download writes. Their names come from an option, or from the last part of each address. If the program uses
/// the last part of an address only with a certain option, `remote` is that option.
fn outputs(args: &[Word], short: char, long: &str, remote: Option<(char, &str)>, within: &str) -> Vec<Word> {
    let mut directory: Option<Word> = None;
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
        } else if let Some(value) = wrappers::attached(text, within).filter(|_| text.starts_with(within)) {
            directory = if value.is_empty() { words.next().cloned() } else { Some(Word::marked(value)) };
        } else if let Some(cluster) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            is_remote |= remote.is_some_and(|(letter, _)| cluster.contains(letter));
            match cluster.split_once(short) {
                Some((_, "")) => named.extend(words.next().cloned()),
                Some((before, file)) if before.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                    named.push(Word::marked(file));
                }
                _ => {}
            }
        } else if remote.is_some_and(|(_, name)| text.starts_with(name)) {
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
    let Some(directory) = directory else { return named };
    let within = |word: Word| Word { text: format!("{}/{}", directory.text, word.text), ..directory.clone() };
    named.into_iter().map(within).collect()
}
