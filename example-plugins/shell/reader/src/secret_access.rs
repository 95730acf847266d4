//! Finds out how commands get the content of files that contain secrets. If a text copies, packs or encodes such a file, later commands may
//! read the copy. Each command that reads a copy is recorded a second time, with the name of the secret file in place of the copy. The same
//! is done for a command that names a secret file by a pattern.

use super::ascii::Ascii as _;
use super::path::{clean, home_of};
use super::read::{Reader, Unreadable};
use super::secret_files::{is_secret_file, meant};
use super::word::{UNKNOWN, Word};
use super::{Command, PathContext, RedirectKind};

/// Maximum number of words of a command that are replaced with the name of a secret file.
const MAX_VARIANTS: usize = 8;

/// A way in which a command gets the content of a secret file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretAccess {
    /// A word names the file.
    File,
    /// The command reads the file as its input.
    Input,
    /// A word contains the content: `"$(cat .env)"`. Headers and options for credentials are excluded.
    Value,
    /// A word contains the content, and the command prints this word where people can see it.
    Shown,
    /// The command runs in a directory of secret files or in a home directory.
    Place,
}

impl SecretAccess {
    /// Parses the name that rules use.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "file" => Self::File,
            "input" => Self::Input,
            "value" => Self::Value,
            "shown" => Self::Shown,
            "place" => Self::Place,
            _ => return None,
        })
    }
}

impl Command {
    /// Returns true if the command gets the content of a secret file in this way.
    pub fn is_given(&self, how: SecretAccess, context: &PathContext) -> bool {
        match how {
            SecretAccess::File => self.names_secret(context),
            SecretAccess::Input => {
                let mut sources = self.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
                self.input.as_ref().is_some_and(|input| input.secret)
                    || self.args.iter().any(|word| word.text.starts_with("file:") && is_secret_file(&word.text))
                    || sources.any(|redirect| is_at(&redirect.target, self.cwd.as_deref(), context))
            }
            SecretAccess::Value => {
                let mut before = "";
                self.args.iter().any(|word| {
                    let option = std::mem::replace(&mut before, &word.text);
                    word.secret && !is_for_access(option, &word.text)
                })
            }
            SecretAccess::Place => {
                let is_open = |cwd: &str| is_secret_file(cwd) || is_home(cwd) || matches!(cwd, "/" | "/home" | "/etc");
                self.cwd.as_deref().is_some_and(is_open)
            }
            SecretAccess::Shown => {
                self.downstream.is_empty()
                    && self.outputs().all(|target| target.text.starts_with("/dev/"))
                    && self.args.iter().any(|word| word.secret)
            }
        }
    }

    fn names_secret(&self, context: &PathContext) -> bool {
        // The first operand of these programs is a pattern or a script, and not a file.
        let mut looks_for = usize::from(matches!(
            self.program.as_str(),
            "grep" | "egrep" | "rg" | "ag" | "jq" | "yq" | "sed" | "awk" | "gawk" | "perl" | "ruby"
        ));
        if self.program == "git" && self.args.first().is_some_and(|word| word.text == "grep") {
            looks_for = 2;
        }
        let code = self.code();
        let mut before = "";
        let mut operands = 0;
        let is_read = |word: &Word| word.text.contains("put ") && self.has_name_of_secret(word, "", context);
        self.input.as_ref().is_some_and(is_read)
            || self.args.iter().enumerate().any(|(at, word)| {
                let option = std::mem::replace(&mut before, &word.text);
                let is_option = word.text.starts_with('-');
                operands += usize::from(!is_option);
                let is_skipped = (!is_option && (operands <= looks_for || self.is_target(at)))
                    || is_no_source(&self.program, option)
                    || (self.program == "curl" && option == "-E" && is_certificate(&word.text))
                    || (is_option && is_no_source(&self.program, attached(&word.text).0))
                    || code.is_some_and(|code| std::ptr::eq(code, word));
                !is_skipped && self.has_name_of_secret(word, option, context)
            })
    }

    /// Returns true if the word at `at` is the target of a copy. The last word is the target for programs such as `cp`, or if an earlier
    /// word names another machine.
    fn is_target(&self, at: usize) -> bool {
        let is_store = matches!(
            self.program.as_str(),
            "aws" | "gsutil" | "mc" | "s3cmd" | "s5cmd" | "rclone" | "gcloud" | "docker" | "podman" | "kubectl" | "oc"
        );
        at > 0
            && at + 1 == self.args.len()
            && (copies_files(&self.program)
                || (is_store
                    && !self.args[at - 1].text.starts_with("--")
                    && self.args[..at].iter().any(|word| word.text.has(b':'))))
    }

    /// Returns true if a word is the name of a secret file or contains such a name: `-T.env`, `if=.env`, `f=@.env;type=x`, `HEAD:.env`.
    fn has_name_of_secret(&self, word: &Word, option: &str, context: &PathContext) -> bool {
        let text = word.text.as_str();
        let (is_web, has_colons, may_be_remote) = match self.program.as_str() {
            "curl" | "wget" | "http" | "https" | "xh" => (true, false, false),
            "git" | "socat" => (false, true, false),
            "scp" | "rsync" | "sftp" | "rclone" | "docker" | "podman" | "kubectl" | "oc" => (false, false, true),
            _ => (false, false, false),
        };
        // `sftp x <<< 'put .env'`
        if text.contains("put ") && matches!(self.program.as_str(), "sftp" | "ftp" | "lftp") {
            return text.split([' ', ';', '\n']).any(is_secret_file);
        }
        if may_be_remote && text.find(':').is_some_and(|at| at > 1 && !text[..at].has_one_of(b"/=")) {
            return false;
        }
        let (name, value) = attached(text);
        // For a web client, a word is an address or a text. It names a file only if it is the value of an upload option or is marked as a
        // file.
        let is_named = !is_web || uploads(option);
        let is_marked = !is_web || text.has_one_of(b"@<") || uploads(name);
        if is_named && is_at(word, self.cwd.as_deref(), context) {
            return true;
        }
        let is_end = |c: char| matches!(c, '@' | '=' | '<' | ',' | ';' | '{' | '}') || (c == ':' && has_colons);
        let has_parts = value.is_some() || text.contains(is_end);
        let is_whole_named = is_named && text.has(b'{');
        has_parts
            && (is_marked || is_whole_named)
            && !text.contains("://")
            && text.split(is_end).chain(value).any(is_secret_file)
    }
}

/// Splits an option from the value in the same word: `-T.env`, `--upload-file=.env`.
fn attached(text: &str) -> (&str, Option<&str>) {
    if let Some((name, value)) = text.halves(b'=').filter(|_| text.starts_with("--")) {
        return (name, Some(value));
    }
    let is_short = text.starts_with('-') && !text.starts_with("--");
    match text.get(..2).filter(|_| is_short) {
        Some(name) => (name, text.get(2..).filter(|value| !value.is_empty())),
        None => (text, None),
    }
}

/// Returns true if the value of the option is a file to upload.
fn uploads(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => {
            ["file", "up", "cookie", "post-f", "body-f"].iter().any(|part| long.contains(part)) && long != "cookie-jar"
        }
        None => option.starts_with('-') && option.ends_with(['T', 'b', 'K', 'E']),
    }
}

/// Returns true if a clean path is a home directory.
fn is_home(path: &str) -> bool {
    path == "~" || home_of(path).is_some_and(|home| home == path)
}

/// Returns true if a word names a secret file, as a path relative to `cwd`.
fn is_at(word: &Word, cwd: Option<&str>, context: &PathContext) -> bool {
    if is_secret_file(&word.text) {
        return true;
    }
    let is_elsewhere = cwd.is_some_and(|cwd| cwd != context.workspace());
    is_elsewhere && word.text.len() <= MAX_NAME && context.path(word, cwd).is_some_and(|path| is_secret_file(&path))
}

/// Returns true if the file name is a usual name of a client certificate.
fn is_certificate(text: &str) -> bool {
    let file = text.split(':').next().unwrap_or_default();
    [".pem", ".p12", ".pfx", ".key"].iter().any(|end| file.ends_with(end))
}

/// Returns true if the value of the option is a credential, an output file, or a file to exclude.
fn is_no_source(program: &str, option: &str) -> bool {
    const LONG: [&str; 10] =
        ["key", "cert", "netrc", "exclude", "output", "ident", "ignore", "env-file", "config", "password-file"];
    match option.strip_prefix("--") {
        Some(long) => {
            let name = long.split('=').next().unwrap_or_default();
            LONG.iter().any(|part| name.contains(part))
        }
        None => match program {
            "curl" => matches!(option, "-o" | "-c" | "-D"),
            "ssh" | "scp" | "sftp" | "rsync" => matches!(option, "-i" | "-F" | "-o" | "-e"),
            "wget" => matches!(option, "-o" | "-O"),
            "tar" | "bsdtar" | "gtar" => option == "-X",
            "zip" => option == "-x",
            _ => false,
        },
    }
}

/// Returns true if a word carries credentials, for example a header with a token, or the value of an option for a user name and password.
pub(super) fn is_for_access(option: &str, text: &str) -> bool {
    let known = text.split(UNKNOWN).next().unwrap_or_default().to_ascii_lowercase();
    let has = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
    (!known.contains("://") && has(&known, &["authorization:", "token:", "key:", "cookie:", "bearer "]))
        || matches!(option, "-u" | "-U" | "-p" | "-a")
        || (option.starts_with("--") && has(option, &["user", "token", "bearer", "pass", "auth", "key"]))
}

/// Units of work for one word. The reader looks up each word in the list of files several times.
const WORK_OF_NAME: usize = 4;
/// Maximum length of a name that is resolved from another directory, in bytes.
const MAX_NAME: usize = 256;

impl Reader<'_> {
    /// Records the files that a command makes from secret files, and adds variants of the command with the names of the secret files.
    pub(super) fn note_secrets(&mut self, command: &Command) -> Result<(), Unreadable> {
        if !command.args.is_empty() || !command.redirects.is_empty() {
            self.globs(command)?;
            self.renamed(command)?;
            self.spend(command.args.len() * WORK_OF_NAME)?;
        }
        if let Some(secret) = self.secret_of(command) {
            self.spend(command.args.len())?;
            self.made(&secret, &made_by(command), command)?;
        }
        Ok(())
    }

    /// Records the files that a pipeline makes from secret files. If one of its commands from `begin` on reads a secret file, each output
    /// file contains the secret.
    pub(super) fn piped_secrets(&mut self, begin: usize) -> Result<(), Unreadable> {
        let stages = begin..self.script.commands.len();
        self.spend(stages.len())?;
        let secret = stages.clone().find_map(|at| self.secret_of(&self.script.commands[at]));
        let Some(secret) = secret else { return Ok(()) };
        for at in stages {
            let command = self.script.commands[at].clone();
            self.spend(command.args.len())?;
            self.made(&secret, &made_by(&command), &command)?;
        }
        Ok(())
    }

    /// Returns the secret that a command copies or passes on.
    fn secret_of(&self, command: &Command) -> Option<Word> {
        let reads = hands_on(&command.program);
        // `env` prints the environment, which contains secrets. No rule about printing matches the name that is returned here.
        if matches!(command.program.as_str(), "env" | "printenv") && command.args.is_empty() {
            return Some(Word::literal("environment/credentials"));
        }
        if command.program.is_empty() || !(reads || copies_files(&command.program)) {
            return None;
        }
        let cwd = command.cwd.as_deref();
        if is_packer(&command.program)
            && let Some(home) = command.args.iter().find(|word| self.is_home(word, cwd))
        {
            return Some(Word { home: true, ..home.with_text("~/.ssh/id_rsa") });
        }
        if command.input.as_ref().is_some_and(|input| input.secret) {
            return Some(Word::literal(".env"));
        }
        let sources = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        let mut words = command.args.iter().chain(sources.map(|redirect| &redirect.target));
        let code = command.code();
        let found = words.find_map(|word| {
            if code.is_some_and(|code| std::ptr::eq(code, word)) {
                return None;
            }
            let value = word.text.strip_prefix("if=").map(Word::marked);
            let word = value.as_ref().unwrap_or(word);
            if is_at(word, cwd, self.context) {
                let path = self.context.path(word, cwd).filter(|_| !is_secret_file(&word.text));
                return Some(path.map_or_else(|| word.clone(), Word::literal));
            }
            self.made_of(word, command).cloned()
        });
        // Skips the target of a copy, because only sources are searched.
        found.filter(|found| reads || command.args.last().is_none_or(|last| last.text != found.text))
    }

    /// Returns true if a word names a home directory itself.
    fn is_home(&self, word: &Word, cwd: Option<&str>) -> bool {
        if word.home || matches!(word.text.as_str(), "." | "./") {
            let path = self.context.path(word, cwd);
            return path.is_some_and(|path| is_home(&path));
        }
        false
    }

    /// Returns a secret word if the command reads the content of a secret file as its input.
    pub(super) fn secret_input(&self, command: &Command) -> Option<Word> {
        let is_given = command.is_given(SecretAccess::Input, self.context)
            || command.redirects.iter().any(|redirect| {
                redirect.kind == RedirectKind::Read && self.made_of(&redirect.target, command).is_some()
            });
        is_given.then(Word::of_secret)
    }

    /// Returns the input of a function call.
    pub(super) fn input_of_function(&self, mut command: Command) -> Option<Word> {
        command.cwd.clone_from(&self.scope.cwd);
        self.secret_input(&command).or(command.input)
    }

    /// Returns a secret word if a command since `begin` prints the whole content of a secret file.
    pub(super) fn secret_since(&self, begin: usize) -> Option<Word> {
        let prints = |command: &&Command| {
            let is_echo = matches!(command.program.as_str(), "echo" | "printf");
            let reads = hands_on(&command.program) && !picks(&command.program);
            let is_given = |how| command.is_given(how, self.context);
            (is_echo && is_given(SecretAccess::Value))
                || (reads
                    && (is_given(SecretAccess::File)
                        || is_given(SecretAccess::Input)
                        || self.secret_of(command).is_some()))
        };
        let is_whole =
            |command: &&Command| command.downstream.iter().all(|program| hands_on(program) && !picks(program));
        self.script.commands[begin..].iter().filter(is_whole).any(|command| prints(&command)).then(Word::of_secret)
    }

    /// Returns true if a word comes from a secret file. For example, `env $(grep -v '^#' .env | xargs) node x` sets the variables in
    /// `.env`.
    pub(super) fn is_from_secrets(&self, word: &Word) -> bool {
        let is_read = |command: &Command| command.kept && command.is_given(SecretAccess::File, self.context);
        word.splits && word.text.chars().eq([UNKNOWN]) && (word.secret || self.script.commands.iter().any(is_read))
    }

    fn made_of(&self, word: &Word, command: &Command) -> Option<&Word> {
        if self.files.secret_copies.is_empty() {
            return None;
        }
        self.files.secret_copies.get(&self.context.path(word, command.cwd.as_deref())?)?.as_ref()
    }

    fn made(&mut self, secret: &Word, files: &[Word], command: &Command) -> Result<(), Unreadable> {
        let redirected = command.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read);
        for file in files.iter().chain(redirected.map(|redirect| &redirect.target)) {
            if file.text.starts_with("/dev/") || is_secret_file(&file.text) {
                continue;
            }
            if let Some(path) = self.context.path(file, command.cwd.as_deref()) {
                self.spend(path.len() + secret.text.len())?;
                self.files.secret_copies.insert(path, Some(secret.clone()));
            }
        }
        Ok(())
    }

    /// Adds the command with secret files in place of the files that were made from them.
    fn renamed(&mut self, command: &Command) -> Result<(), Unreadable> {
        if self.files.secret_copies.is_empty() || command.program.is_empty() {
            return Ok(());
        }
        self.spend(command.args.len() * 8)?;
        let mut renamed = command.clone();
        let mut changes = 0;
        let sources = renamed.redirects.iter_mut().filter(|redirect| redirect.kind == RedirectKind::Read);
        for word in renamed.args.iter_mut().chain(sources.map(|redirect| &mut redirect.target)) {
            let begin = word.text.rfind(['@', '=']).map_or(0, |at| at + 1);
            let name = Word::marked(word.text[begin..].split(';').next().unwrap_or_default());
            let Some(secret) = self.made_of(&name, command).filter(|_| changes < MAX_VARIANTS) else { continue };
            changes += 1;
            *word = if begin == 0 {
                secret.clone()
            } else {
                Word::literal(format!("{}{}", &word.text[..begin], secret.text))
            };
        }
        if changes > 0 && !copies_files(&command.program) {
            self.variant(renamed)?;
        } else if changes > 0 && command.args.last().is_some_and(|last| last.text.has(b':')) {
            // The command sends the copy to another machine.
            self.variant(renamed)?;
        }
        Ok(())
    }

    /// Adds the command with secret files in place of the patterns that match them.
    fn globs(&mut self, command: &Command) -> Result<(), Unreadable> {
        for (at, word) in command.args.iter().enumerate().filter(|(_, word)| word.glob).take(MAX_VARIANTS) {
            self.spend(word.text.len())?;
            if let Some(text) = meant(&word.text) {
                let mut variant = command.clone();
                variant.args[at] = Word { text, glob: false, span: None, ..word.clone() };
                self.variant(variant)?;
            }
        }
        Ok(())
    }

    fn variant(&mut self, command: Command) -> Result<(), Unreadable> {
        self.push(Command { exact: false, ..command })
    }
}

/// Returns true if a program prints its input or a part of it.
pub(super) fn hands_on(program: &str) -> bool {
    matches!(
        program,
        "cat"
            | "tac"
            | "head"
            | "tail"
            | "nl"
            | "base64"
            | "base32"
            | "basenc"
            | "xxd"
            | "od"
            | "hexdump"
            | "hd"
            | "strings"
            | "gzip"
            | "bzip2"
            | "xz"
            | "zstd"
            | "lz4"
            | "brotli"
            | "openssl"
            | "gpg"
            | "age"
            | "tar"
            | "gtar"
            | "bsdtar"
            | "zip"
            | "7z"
            | "cpio"
            | "sed"
            | "awk"
            | "gawk"
            | "cut"
            | "sort"
            | "tr"
            | "jq"
            | "yq"
            | "grep"
            | "egrep"
            | "tee"
            | "dd"
            | "rev"
            | "uuencode"
            | "bat"
            | "batcat"
            | "fold"
            | "fmt"
            | "pr"
            | "paste"
            | "join"
            | "comm"
            | "uniq"
            | "expand"
            | "unexpand"
            | "iconv"
            | "pv"
            | "split"
            | "csplit"
            | "compress-archive"
    )
}

/// Returns true if a program prints the part of its input that its words select.
fn picks(program: &str) -> bool {
    matches!(program, "grep" | "egrep" | "sed" | "awk" | "gawk" | "cut" | "jq" | "yq" | "gpg" | "age" | "openssl")
}

/// Returns true if a program makes an archive.
fn is_packer(program: &str) -> bool {
    matches!(program, "tar" | "gtar" | "bsdtar" | "zip" | "7z")
}

/// Returns true if a program copies, moves or links files.
pub(super) fn copies_files(program: &str) -> bool {
    matches!(
        program,
        "cp" | "gcp"
            | "mv"
            | "gmv"
            | "ln"
            | "gln"
            | "link"
            | "install"
            | "ginstall"
            | "rsync"
            | "scp"
            | "ditto"
            | "copy-item"
            | "cpi"
            | "copy"
            | "xcopy"
    )
}

/// Returns the files that a command creates, as its words name them.
pub(super) fn made_by(command: &Command) -> Vec<Word> {
    let args = command.args.as_slice();
    let operands = || args.iter().filter(|word| !word.text.starts_with('-'));
    let name = |word: &Word| word.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let ended = |end: &str| {
        operands().map(|word| Word { text: format!("{}.{end}", word.text), ..word.clone() }).collect::<Vec<_>>()
    };
    let mut made: Vec<Word> = match command.program.as_str() {
        "tar" | "gtar" | "bsdtar" => {
            let at = args.iter().position(|word| {
                let text = word.text.as_str();
                text == "--file"
                    || (!text.starts_with("--")
                        && text.trim_start_matches('-').ends_with('f')
                        && !text.has_one_of(b"/."))
            });
            let attached = args.iter().filter_map(|word| word.text.strip_prefix("--file=").map(Word::marked));
            at.and_then(|at| args.get(at + 1)).cloned().into_iter().chain(attached).collect()
        }
        "zip" => operands().take(1).cloned().collect(),
        "7z" | "compress-archive" => operands().skip(1).take(1).cloned().collect(),
        // These are the usual names of the first part, and a pattern for all parts.
        "split" | "csplit" => {
            let given = operands().next_back().map_or("", |word| &word.text);
            let parts = |name| ["aa", "00", "*"].map(|end| Word::literal(format!("{name}{end}")));
            ["x", "xx", given].into_iter().flat_map(parts).collect()
        }
        "lz4" => operands().skip(1).take(1).cloned().chain(ended("lz4")).collect(),
        "gzip" => ended("gz"),
        "bzip2" => ended("bz2"),
        "xz" => ended("xz"),
        "zstd" => ended("zst"),
        "gpg" => ended("gpg"),
        "tee" | "sponge" => operands().cloned().collect(),
        "dd" => args.iter().filter_map(|word| word.text.strip_prefix("of=").map(Word::marked)).collect(),
        program if copies_files(program) => {
            let option = args.iter().position(|word| matches!(word.text.as_str(), "-t" | "--target-directory"));
            let target = option.map_or_else(|| operands().next_back(), |at| args.get(at + 1));
            let within = |target: &Word| {
                operands()
                    .map(|source| Word { text: clean(&format!("{}/{}", target.text, name(source))), ..target.clone() })
                    .collect::<Vec<_>>()
            };
            target.map(|target| [within(target), vec![target.clone()]].concat()).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    for (at, word) in args.iter().enumerate() {
        if matches!(word.text.as_str(), "-o" | "-out" | "--output") {
            made.extend(args.get(at + 1).cloned());
        }
    }
    made
}
