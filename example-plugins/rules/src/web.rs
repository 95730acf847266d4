//! Finds the requests of a call, and compares them with `url` and `host`.

use crate::names::Names;
use call_paths::{FETCHERS, ReadCall, file_words, patch};
use hookhost_conditions::url::Address;
use hookhost_guest::prelude::*;
use shell_guard_rules::arguments::Programs;
use shell_reader::{Command, UNKNOWN, Word, lower};

/// Programs whose first operand is a host, each with the letters of its options that take a value.
const CONNECTING: [(&[&str], &str); 5] = [
    (&["ssh", "autossh", "sftp", "mosh"], "BbcDEeFIiJLlmOopQRSWw"),
    (&["nc", "ncat", "netcat"], "IiMmOPpqsTVWwXxecgG"),
    (&["telnet"], "beklnSX"),
    (&["ftp", "lftp"], "uep"),
    (&["ping"], "cFiIlmMpQsSTtwW"),
];
/// Programs whose operands may be places on another machine.
const COPYING: [&str; 2] = ["scp", "rsync"];
/// Subcommands of Git that use the network.
const GIT: [&str; 5] = ["push", "pull", "fetch", "clone", "ls-remote"];
/// Programs that ask a server for the names among their operands.
const RESOLVING: [&str; 3] = ["dig", "nslookup", "host"];
/// Programs of a service, each with its host and the subcommands that use no network.
const SERVICES: [(&str, &str, &[&str]); 3] = [
    ("gh", "github.com", &["auth status", "alias", "completion", "config", "help", "version"]),
    ("glab", "gitlab.com", &["auth status", "alias", "completion", "config", "help", "version"]),
    ("aws", "amazonaws.com", &["configure", "help"]),
];
/// Commands that send something to a server that the text does not name.
const SENDING: [(&str, &str); 12] = [
    ("git", "remote update"),
    ("npm", "publish"),
    ("pnpm", "publish"),
    ("yarn", "publish"),
    ("yarn", "npm publish"),
    ("cargo", "publish"),
    ("poetry", "publish"),
    ("uv", "publish"),
    ("twine", "upload"),
    ("gem", "push"),
    ("docker", "login"),
    ("podman", "login"),
];
/// Begins a file of bash that is a connection.
const SOCKETS: [&str; 2] = ["/dev/tcp/", "/dev/udp/"];

/// Returns the requests of a call.
pub(crate) fn requests(read: &ReadCall<'_>, call: &ToolCall, programs: &Programs) -> Vec<Address> {
    let mut found = Vec::new();
    match &call.action {
        Action::Fetch(url) => found.push(Address::of_url(url)),
        Action::Other(kind) if kind == "fetch" => found.push(Address::default()),
        Action::Mcp(_) | Action::Other(_) => patch::visit(&read.arguments, "", &mut |_, text| {
            let text = text.trim_start();
            let begins =
                |scheme: &str| text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme));
            found.extend(["http://", "https://"].into_iter().any(begins).then(|| Address::of_url(text)));
        }),
        _ => {}
    }
    for line in read.lines.iter().filter(|line| line.is_certain) {
        line.commands().for_each(|command| add(command, programs, &mut found));
    }
    found
}

/// Adds the requests of a simple command.
fn add(command: &Command, programs: &Programs, found: &mut Vec<Address>) {
    let before = found.len();
    for word in file_words(command) {
        found.extend(addresses(&word.text).map(Address::of_url));
    }
    let targets = command.redirects.iter().map(|redirect| &redirect.target).chain(&command.args);
    let socket = |word: &Word| SOCKETS.iter().find_map(|begin| word.text.strip_prefix(begin)).map(Address::of_place);
    found.extend(targets.filter_map(socket));
    let program = lower(&command.program);
    let program = &*program;
    let arguments = programs.arguments(command);
    let is_bare = |word: &&&Word| !word.text.contains("://");
    let operands = arguments.operands.iter().filter(is_bare);
    if FETCHERS.contains(&program) {
        // `http POST example.com a=b`
        let is_part = |word: &Word| word.text.contains('=') || word.text.bytes().all(|byte| byte.is_ascii_uppercase());
        let is_for_people = matches!(program, "http" | "https" | "xh");
        let urls = operands.filter(|word| !(is_for_people && is_part(word))).map(|word| &*word.text);
        found.extend(urls.chain(value(&command.args, "--url")).map(Address::of_url));
    } else if let Some((_, letters)) = CONNECTING.iter().find(|(names, _)| names.contains(&program)) {
        found.extend(first_operand(&command.args, letters).map(|word| Address::of_place(&word.text)));
    } else if COPYING.contains(&program) {
        found.extend(operands.filter(|word| is_place(&word.text)).map(|word| Address::of_place(&word.text)));
        return;
    } else if program == "git" && arguments.operands.first().is_some_and(|word| GIT.contains(&word.text.as_str())) {
        let is_clone = arguments.operands[0].text == "clone";
        let places: Vec<&&Word> = operands.skip(1).filter(|word| is_place(&word.text) || !word.is_known()).collect();
        found.extend(places.into_iter().take(1).map(|word| Address::of_place(&word.text)));
        // `git clone ../x` uses no network.
        if is_clone {
            return;
        }
    } else if RESOLVING.contains(&program) {
        let names = command.args.iter().map(|word| word.text.trim_start_matches('@')).filter(|name| name.contains('.'));
        found.extend(names.map(Address::of_place));
    } else if let Some((_, host, local)) = SERVICES.iter().find(|(name, ..)| *name == program) {
        if arguments.operands.is_empty() || local.iter().any(|words| arguments.first_after(words).is_some()) {
            return;
        }
        found.push(Address::of_place(host));
    } else if matches!(program, "docker" | "podman") && arguments.first_after("push").is_some() {
        // `docker push registry.example.com/a/b`. Without a host, the image is one of Docker Hub.
        let image = arguments.first_after("push").and_then(|at| arguments.operands.get(at));
        found.extend(image.map(|image| match image.text.split_once('/') {
            Some((host, _)) if !image.is_known() || host.contains(['.', ':']) => Address::of_place(host),
            _ => Address::of_place("docker.io"),
        }));
    } else if program == "openssl" && arguments.first_after("s_client").is_some() {
        found.extend(value(&command.args, "-connect").map(Address::of_place));
    } else if program == "socat" {
        let place = |word: &Word| {
            let (kind, rest) = word.text.split_once(':')?;
            let kind = kind.to_ascii_uppercase();
            let is_remote =
                ["TCP", "UDP", "OPENSSL", "SSL", "SCTP", "SOCKS", "PROXY"].iter().any(|begin| kind.starts_with(begin));
            (is_remote && !kind.contains("LISTEN") && !kind.ends_with("-L")).then(|| Address::of_place(rest))
        };
        found.extend(command.args.iter().filter_map(place));
        return;
    } else if !SENDING.iter().any(|(name, words)| *name == program && arguments.first_after(words).is_some()) {
        return;
    }
    // The address is in a file, a setting or a variable.
    if found.len() == before {
        found.push(Address::default());
    }
}

/// Returns the value of a long option.
fn value<'a>(args: &'a [Word], option: &str) -> Option<&'a str> {
    args.iter().enumerate().find_map(|(at, word)| match word.text.strip_prefix(option)? {
        "" => args.get(at + 1).map(|next| next.text.as_str()),
        rest => rest.strip_prefix('='),
    })
}

/// Returns the first operand of a program whose options with these letters take a value.
fn first_operand<'a>(args: &'a [Word], letters: &str) -> Option<&'a Word> {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let Some(cluster) = word.text.strip_prefix('-') else { return Some(word) };
        if cluster.ends_with(|letter| letters.contains(letter)) && !cluster.starts_with('-') {
            // In `-p22`, the value is in the same word.
            let first = cluster.find(|letter| letters.contains(letter));
            if first == Some(cluster.len() - 1) {
                words.next();
            }
        }
    }
    None
}

/// Returns true for a place on another machine: `host:path`, `user@host:path`. A path and the name of a remote are none.
fn is_place(text: &str) -> bool {
    text.find(':').is_some_and(|at| at > 1 && !text[..at].contains('/')) || text.starts_with(UNKNOWN)
}

/// Returns the URLs in a word.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(at, _)| {
        let begin = text[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
        let is_web = ["http", "https", "ftp", "ws", "wss", "ssh", "git", "rsync", "sftp"]
            .iter()
            .any(|scheme| text[begin..at].eq_ignore_ascii_case(scheme));
        let rest = &text[begin..];
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')).unwrap_or(rest.len());
        is_web.then(|| &rest[..end])
    })
}

/// Returns the requests that a row matches. An address that may lead to an unknown host is no exception.
pub(crate) fn matching<'a>(url: &Names, host: &Names, requests: &'a [Address]) -> impl Iterator<Item = &'a Address> {
    requests.iter().filter(|request| {
        let is_excepted = !request.has_unknown && host.except_all(&request.hosts);
        url.want_any(&request.urls) && host.want_any(&request.hosts) && !is_excepted
    })
}
