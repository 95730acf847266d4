//! Files that hold secrets, under other names: what a text copies, packs or encodes of them, and what a pattern of file names may
//! mean. A command that names such a file is noted a second time, with the name of the secret.

use super::path::clean;
use super::read::{Reader, Unreadable};
use super::word::Word;
use super::{Command, RedirectKind};

/// Maximum number of words of a command that are taken for others.
const MAX_VARIANTS: usize = 8;
/// What a pattern may mean: the last names of a path.
const NAMES: [&str; 8] =
    [".env", ".env.local", ".ssh/id_rsa", "id_rsa", "id_ed25519", ".aws/credentials", ".netrc", ".pgpass"];
/// Letters of a name that a pattern must have before it means one.
const MIN_KNOWN: usize = 2;

impl Reader<'_> {
    /// Notes the secrets of which a command makes other files, and what it is with their own names.
    pub(super) fn secrets(&mut self, command: &Command) -> Result<(), Unreadable> {
        if !command.args.is_empty() || !command.redirects.is_empty() {
            self.globs(command)?;
            self.renamed(command)?;
        }
        if let Some(secret) = self.secret_of(command) {
            self.spend(command.args.len())?;
            self.made(&secret, &made_by(command), command)?;
        }
        Ok(())
    }

    /// The same of a pipeline: what its commands from `begin` on read is in what any of them writes.
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

    /// The secret that a command copies or hands on.
    fn secret_of(&self, command: &Command) -> Option<Word> {
        let reads = hands_on(&command.program);
        // What is set: under a name that no rule about printing is about.
        if matches!(command.program.as_str(), "env" | "printenv") && command.args.is_empty() {
            return Some(Word::literal("environment/credentials"));
        }
        if command.program.is_empty() || !(reads || copies_files(&command.program)) {
            return None;
        }
        let packs_home = |word: &&Word| word.home && matches!(word.text.as_str(), "~" | "~/");
        if let Some(home) = command.args.iter().find(packs_home).filter(|_| is_packer(&command.program)) {
            return Some(home.with_text("~/.ssh/id_rsa"));
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
            if is_secret(&word.text) { Some(word.clone()) } else { self.made_of(word, command).cloned() }
        });
        // The target of a copy is no source.
        found.filter(|found| reads || command.args.last().is_none_or(|last| last.text != found.text))
    }

    fn made_of(&self, word: &Word, command: &Command) -> Option<&Word> {
        if self.made_of.is_empty() {
            return None;
        }
        self.made_of.get(&self.places.path(word, command.cwd.as_deref())?)?.as_ref()
    }

    fn made(&mut self, secret: &Word, files: &[Word], command: &Command) -> Result<(), Unreadable> {
        let redirected = command.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read);
        for file in files.iter().chain(redirected.map(|redirect| &redirect.target)) {
            if file.text.starts_with("/dev/") || is_secret(&file.text) {
                continue;
            }
            if let Some(path) = self.places.path(file, command.cwd.as_deref()) {
                self.spend(path.len() + secret.text.len())?;
                self.made_of.insert(path, Some(secret.clone()));
            }
        }
        Ok(())
    }

    /// Notes a command with the secrets in the place of the files that were made of them.
    fn renamed(&mut self, command: &Command) -> Result<(), Unreadable> {
        if self.made_of.is_empty() || command.program.is_empty() {
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
        } else if changes > 0 && command.args.last().is_some_and(|last| last.text.contains(':')) {
            // To another machine.
            self.variant(renamed)?;
        }
        Ok(())
    }

    /// Notes a command with the secrets in the place of patterns that fit them.
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

/// Whether a program prints what it reads, or a part of it.
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
            | "xxd"
            | "od"
            | "hexdump"
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
    )
}

/// Whether a program makes an archive.
fn is_packer(program: &str) -> bool {
    matches!(program, "tar" | "gtar" | "bsdtar" | "zip" | "7z")
}

/// Whether a program makes a file of another.
pub(super) fn copies_files(program: &str) -> bool {
    matches!(
        program,
        "cp" | "gcp" | "mv" | "gmv" | "ln" | "gln" | "link" | "install" | "ginstall" | "rsync" | "scp" | "ditto"
    )
}

/// Whether a path is that of a file of which everybody knows that it holds secrets.
pub(super) fn is_secret(text: &str) -> bool {
    let text = text.trim_end_matches('/');
    let name = text.rsplit('/').next().unwrap_or_default();
    let is_public = |name: &str| ["cert", "ca.", "chain", "pub"].iter().any(|part| name.contains(part));
    match name {
        ".env"
        | ".netrc"
        | ".pgpass"
        | ".git-credentials"
        | "credentials"
        | "credentials.json"
        | ".ssh"
        | ".aws"
        | ".gnupg"
        | ".kube"
        | "id_rsa"
        | "id_ed25519"
        | "id_ecdsa"
        | "id_dsa"
        | "shadow"
        | ".password-store"
        | "application_default_credentials.json"
        | "logins.json"
        | "key4.db"
        | "Login Data"
        | ".bash_history"
        | ".zsh_history" => name != "credentials" || text.contains('.'),
        _ if text.starts_with("/run/secrets/") || text.starts_with("/var/run/secrets/") => true,
        name if name.starts_with(".env.") => matches!(&name[5..], "local" | "production" | "development" | "staging"),
        name => {
            let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
            (!stem.is_empty() && matches!(end, "pem" | "key" | "p12" | "pfx") && !is_public(name))
                || text.contains("/.ssh/id_") && !name.ends_with(".pub")
                || text.contains("/.gnupg/")
                || text.ends_with(".docker/config.json")
                || text.ends_with(".kube/config")
        }
    }
}

/// The files that a command makes, by its words.
pub(super) fn made_by(command: &Command) -> Vec<Word> {
    let args = command.args.as_slice();
    let operands = || args.iter().filter(|word| !word.text.starts_with('-'));
    let name = |word: &Word| word.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let ended =
        |end: &str| operands().map(|word| Word { text: format!("{}.{end}", word.text), ..word.clone() }).collect();
    let mut made: Vec<Word> = match command.program.as_str() {
        "tar" | "gtar" | "bsdtar" => {
            let at = args.iter().position(|word| {
                let text = word.text.as_str();
                text == "--file"
                    || (!text.starts_with("--")
                        && text.trim_start_matches('-').ends_with('f')
                        && !text.contains(['/', '.']))
            });
            let attached = args.iter().filter_map(|word| word.text.strip_prefix("--file=").map(Word::marked));
            at.and_then(|at| args.get(at + 1)).cloned().into_iter().chain(attached).collect()
        }
        "zip" => operands().take(1).cloned().collect(),
        "7z" => operands().skip(1).take(1).cloned().collect(),
        "gzip" => ended("gz"),
        "bzip2" => ended("bz2"),
        "xz" => ended("xz"),
        "zstd" => ended("zst"),
        "gpg" => ended("gpg"),
        "tee" => operands().cloned().collect(),
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

/// The path that a pattern of file names may mean, where that holds secrets.
fn meant(pattern: &str) -> Option<String> {
    let (directory, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    NAMES.iter().find_map(|known| {
        let (above, name) = known.rsplit_once('/').unwrap_or(("", known));
        let is_there = above.is_empty() || fits(directory.rsplit('/').next()?.as_bytes(), above.as_bytes());
        let known_letters = last.bytes().take_while(|byte| !matches!(byte, b'*' | b'?' | b'[')).count();
        let is_close = known_letters >= MIN_KNOWN || !above.is_empty();
        let is_hidden = !name.starts_with('.') || last.starts_with('.');
        let path = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
        (is_there && is_close && is_hidden && fits(last.as_bytes(), name.as_bytes())).then_some(path)
    })
}

/// Whether a pattern of a shell fits a name.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        let class = (pattern.get(at) == Some(&b'['))
            .then(|| pattern.get(at + 2..).and_then(|rest| rest.iter().position(|byte| *byte == b']')))
            .flatten();
        match (pattern.get(at), class) {
            (Some(b'*'), _) => {
                star = Some((at, seen));
                at += 1;
            }
            (Some(b'['), Some(length)) => {
                at += length + 3;
                seen += 1;
            }
            (Some(b'?'), _) => (at, seen) = (at + 1, seen + 1),
            (Some(byte), _) if *byte == name[seen] => (at, seen) = (at + 1, seen + 1),
            _ => match &mut star {
                Some((from, taken)) => {
                    *taken += 1;
                    (at, seen) = (*from + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::{is_secret, meant};

    #[test]
    fn a_pattern_means_the_secret_that_it_fits() {
        for (pattern, expected) in [
            (".env*", Some(".env")),
            (".e?v", Some(".env")),
            (".en[v]", Some(".env")),
            ("a/.env.l*", Some("a/.env.local")),
            ("~/.ssh/id_*", Some("~/.ssh/id_rsa")),
            ("~/.ssh/*", Some("~/.ssh/id_rsa")),
            ("/home/*/.s?h/*", Some("/home/*/.s?h/id_rsa")),
            ("~/.aws/c*", Some("~/.aws/credentials")),
            ("*", None),
            (".*", None),
            ("*.env", None),
            ("src/c*", None),
            ("~/.ssh/*.pub", None),
            (".env.ex*", None),
            (".eslint*", None),
        ] {
            assert_eq!(meant(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for text in [".env", "a/.env.local", "~/.ssh/id_work", "~/.ssh", "x/server.key", "~/.aws/credentials"] {
            assert!(is_secret(text), "{text}");
        }
        for text in
            [".env.example", "id_rsa.pub", "~/.ssh/id_rsa.pub", "certs/ca.pem", ".key", "src/credentials", "x.keymap"]
        {
            assert!(!is_secret(text), "{text}");
        }
    }
}
