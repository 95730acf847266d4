//! Finds the requests of a call, and compares them with `url` and `host`.

mod clients;

use self::clients::{
    ADDRESS_ARGUMENTS, CLIENTS, COMMAND_SETTINGS, Client, FILE_SETTINGS, FORWARDS, GIT, GitCommand, HOST_SETTINGS,
    INTERPRETERS, LONG_WITH_VALUE, NETWORK_CODE, Operands, REDIRECTIONS, SCHEMES, SENDING, SOCKETS, VARIABLES,
};
use crate::names::Names;
use call_paths::{FETCHERS, ReadCall, file_words, patch};
use hookhost_conditions::url::Address;
use hookhost_guest::prelude::*;
use shell_guard_rules::arguments::{Arguments, Programs};
use shell_reader::{Command, UNKNOWN, Word, lower};

/// Returns the requests of a call.
pub(crate) fn requests(read: &ReadCall<'_>, call: &ToolCall, programs: &Programs) -> Vec<Address> {
    let mut found = Vec::new();
    match &call.action {
        Action::Fetch(url) => found.push(Address::of_url(url)),
        Action::Mcp(_) | Action::Other(_) => {
            let is_fetch = matches!(&call.action, Action::Other(kind) if kind == "fetch");
            patch::visit(&read.arguments, "", &mut |name, text| {
                let text = text.trim_start();
                let most = if is_fetch { usize::MAX } else { 1 };
                let in_text = addresses(text).take(most).filter(|address| is_fetch || text.starts_with(address));
                let before = found.len();
                found.extend(in_text.map(Address::of_url));
                if found.len() == before && is_address_argument(name, text) {
                    found.extend(Some(Address::of_url(text)).filter(leads_somewhere));
                }
            });
            if is_fetch || folded(&call.name).contains("websearch") {
                found.push(Address::default());
            }
        }
        _ => {}
    }
    for line in read.lines.iter().filter(|line| line.is_certain) {
        line.commands().for_each(|command| add(command, programs, &mut found));
    }
    found
}

/// Returns true if an argument with this name is an address without a scheme, and not a path.
fn is_address_argument(name: &str, text: &str) -> bool {
    let name = folded(name);
    let is_path = (text.starts_with(['/', '.', '~']) && !text.starts_with("//")) || text.starts_with("file:");
    ADDRESS_ARGUMENTS.iter().any(|end| name.ends_with(end)) && !is_path
}

/// Returns a name in lower case, without `_` and `-`.
fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns false for an address without a host, such as that of a local socket.
fn leads_somewhere(address: &Address) -> bool {
    address.has_unknown || !address.hosts.is_empty()
}

/// Adds the requests of a simple command.
fn add(command: &Command, programs: &Programs, found: &mut Vec<Address>) {
    let targets = command.redirects.iter().map(|redirect| &redirect.target).chain(&command.args);
    let socket = |word: &Word| SOCKETS.iter().find_map(|begin| word.text.strip_prefix(begin)).map(Address::of_place);
    found.extend(targets.filter_map(socket));
    let program = lower(&command.program);
    let program = &*program;
    let client = CLIENTS.iter().find(|client| client.programs.split(' ').any(|name| name == program));
    let operands = match client {
        Some(client) => Some(client.operands),
        None => FETCHERS.contains(&program).then_some(Operands::Urls),
    };
    if operands.is_some() && is_about_itself(&command.args) {
        return;
    }
    if INTERPRETERS.contains(&program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')) {
        add_code(command, found);
    }
    let start = found.len();
    add_variables(command, found);
    if let Some(client) = client {
        client.add_options(command, found);
    }
    let before = found.len();
    let is_named = before > start;
    for word in file_words(command) {
        found.extend(addresses(&word.text).map(Address::of_url));
    }
    let arguments = programs.arguments(command);
    let bare = arguments.operands.iter().filter(|word| !word.text.contains("://"));
    let after = |words: &&str| arguments.first_after(words);
    let letters = client.map_or("", |client| client.letters);
    match operands {
        Some(Operands::Local) => return,
        Some(Operands::Settings) => {
            let is_text = |word: &&Word| is_value(command, word, "cdFfhLoPpRTUv", "c f v command file set variable");
            let words = command.args.iter().filter(|word| !is_text(word)).map(|word| &*word.text);
            for text in words.chain(values(&command.args, letters, "d")) {
                let mut parts =
                    text.split([' ', '\t', '\n', '=', '\'', '\\', '?', '&']).filter(|part| !part.is_empty());
                while let Some(name) = parts.next() {
                    if matches!(name, "host" | "hostaddr") {
                        add_places(parts.next().unwrap_or_default(), found);
                    }
                }
            }
            if arguments.operands.iter().any(|word| word.text.starts_with(UNKNOWN)) {
                found.push(Address::default());
            }
            return;
        }
        Some(Operands::Urls) => {
            // `http POST example.com a=b`
            let is_part =
                |word: &Word| word.text.contains('=') || word.text.bytes().all(|byte| byte.is_ascii_uppercase());
            let is_for_people = matches!(program, "http" | "https" | "xh");
            let urls = arguments.operands.iter().filter(|word| !(is_for_people && is_part(word)));
            found.extend(urls.map(|word| Address::of_url(&word.text)).filter(leads_somewhere));
        }
        Some(Operands::First | Operands::Perhaps) => {
            let first = positions(&command.args, letters).next().and_then(|at| command.args.get(at));
            // Without a host, such a program connects to none: `rsync -e "ssh -p 22"`.
            if first.is_none() && command.args.iter().all(Word::is_known) {
                return;
            }
            let is_perhaps = matches!(operands, Some(Operands::Perhaps));
            let is_host = |word: &&Word| !is_perhaps || !word.is_known() || word.text.contains(['.', ':']);
            // `//a.com/share`
            found.extend(first.filter(is_host).map(|word| Address::of_place(word.text.trim_start_matches("//"))));
            if is_perhaps {
                return;
            }
        }
        Some(Operands::Hosts(options)) => {
            let words = positions(&command.args, letters).map(|at| &command.args[at]);
            words
                .filter(|word| !is_value(command, word, letters, options))
                .for_each(|word| found.extend(word.text.split(',').map(Address::of_place)));
        }
        Some(Operands::Places) => {
            found.extend(bare.filter(|word| is_place(command, &word.text)).map(|word| Address::of_place(&word.text)));
            return;
        }
        Some(Operands::Names) => {
            // `getent passwd`
            if program == "getent" && arguments.operands.first().is_none_or(|word| !word.text.contains("hosts")) {
                return;
            }
            let names = command.args.iter().map(|word| word.text.trim_start_matches('@'));
            found.extend(names.filter(|name| name.contains('.')).map(Address::of_place));
        }
        Some(Operands::Remotes) => {
            if arguments.operands.iter().any(|word| !word.is_known() || word.text.contains(':')) {
                found.push(Address::default());
            }
            return;
        }
        Some(Operands::Mail) => {
            found.extend(bare.filter(|word| word.text.contains('@')).map(|word| Address::of_place(&word.text)));
            // Another server may pass the mail on.
            found.push(Address::default());
        }
        Some(Operands::Images(subcommands, registry)) => {
            let Some(first) = (if subcommands.is_empty() { Some(1) } else { subcommands.iter().find_map(after) })
            else {
                // An image that is here already needs no registry. In `-v a.b/c:/d`, there is none.
                let first = ["run", "create", "container run"].iter().find_map(after);
                let images = first.into_iter().flat_map(|first| bare.clone().skip(first));
                let hosts =
                    images.filter_map(|image| image.text.split_once('/').filter(|(_, rest)| !rest.contains(":/")));
                let is_host = |host: &&str| host.contains('.') && host.starts_with(|c: char| c.is_ascii_alphanumeric());
                found.extend(hosts.map(|(host, _)| host).filter(is_host).map(Address::of_place));
                return;
            };
            let is_login = arguments.first_after("login").is_some();
            let registries = bare.skip(first).filter_map(|image| match image.text.split_once('/') {
                Some((host, _)) => (!image.is_known() || host.contains(['.', ':'])).then_some(host),
                None => is_login.then_some(&*image.text),
            });
            found.extend(registries.map(Address::of_place));
            if found.len() == before && !registry.is_empty() {
                found.push(Address::of_place(registry));
            }
        }
        Some(Operands::Service(host, local)) => {
            if arguments.operands.is_empty() || local.iter().any(|words| after(words).is_some()) {
                return;
            }
            let set = command.environment.iter().filter(|(name, _)| name == "GH_REPO").map(|(_, word)| &*word.text);
            let is_repository = |text: &&str| text.contains(UNKNOWN) || text.split('/').count() == 3;
            let named = ["repo", "extension"].iter().find_map(after).into_iter();
            let named = named.flat_map(|first| &arguments.operands[first..]).map(|word| &*word.text);
            let named = named.filter(|text| !text.contains("://") && is_repository(text));
            for repository in values(&command.args, "R", "R repo").chain(set).chain(named) {
                // `a.com/owner/name`. For GitLab, `a` in `a/b/c` is a group.
                let (first, rest) = repository.split_once('/').unwrap_or_default();
                let has_host = rest.contains('/') && (program == "gh" || first.contains('.'));
                if has_host || is_place(command, repository) || repository.contains(UNKNOWN) {
                    found.push(Address::of_place(repository));
                }
            }
            if !is_named {
                found.push(Address::of_place(host));
            }
            return;
        }
        Some(Operands::Git) => return add_git(command, &arguments, found),
        None if program == "openssl" && after(&"s_client").is_some() => {
            found.extend(values(&command.args, "", "connect host proxy").map(Address::of_place));
            let places = arguments.operands.iter().filter(|word| word.text.contains(':'));
            found.extend(places.map(|word| Address::of_place(&word.text)));
        }
        None if program == "socat" => {
            let place = |word: &Word| {
                let (kind, rest) = word.text.split_once(':').unwrap_or((&word.text, ""));
                if kind.contains(UNKNOWN) {
                    return Some(Address::default());
                }
                let kind = kind.to_ascii_uppercase();
                let is_remote = ["TCP", "UDP", "OPENSSL", "SSL", "SCTP", "SOCKS", "PROXY"]
                    .iter()
                    .any(|begin| kind.starts_with(begin));
                (is_remote && !kind.contains("LISTEN") && !kind.ends_with("-L")).then(|| Address::of_place(rest))
            };
            found.extend(command.args.iter().filter_map(place));
            return;
        }
        None if SENDING.iter().any(|(name, words)| *name == program && after(words).is_some()) => {}
        None => return,
    }
    // The address is in a file, a setting or a variable.
    if found.len() == before {
        found.push(Address::default());
    }
}

/// Adds the repository that a command of Git reads or writes. If no operand names it, its address is unknown.
fn add_git(command: &Command, arguments: &Arguments<'_>, found: &mut Vec<Address>) {
    let is_place = |text: &&str| is_place(command, text);
    if let Some(first) = arguments.first_after("config") {
        let operands = &arguments.operands[first..];
        operands.windows(2).for_each(|pair| add_setting(&format!("{}={}", pair[0].text, pair[1].text), found));
    }
    let found_in = |git: GitCommand| Some((git, arguments.first_after(git.words)?));
    let Some((GitCommand { words, letters, options }, first)) = GIT.into_iter().find_map(found_in) else { return };
    let operands = arguments.operands[first..].iter().filter(|word| !is_value(command, word, letters, options));
    let mut operands = operands.map(|word| &*word.text);
    let repository = match words {
        "clone" | "remote add" | "remote set-url" => operands.find(is_place),
        "push" => operands.next().or_else(|| values(&command.args, "", "repo").next()),
        "archive" => values(&command.args, letters, options).next(),
        _ => operands.next(),
    };
    let address = repository.filter(is_place).map(Address::of_place).filter(leads_somewhere);
    // The repository names the addresses of its submodules, and a file of settings may lead an address elsewhere.
    let recurses = |word: &Word| {
        word.text == "--recursive"
            || (word.text.starts_with("--recurs") && !["=no", "=check"].iter().any(|end| word.text.ends_with(end)))
    };
    let is_file = |(name, word): &(String, Word)| {
        matches!(&**name, "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM") && word.text != "/dev/null"
    };
    if command.args.iter().any(recurses)
        || command.environment.iter().any(is_file)
        || arguments.has_one_of(["--multiple"].into_iter())
    {
        found.push(Address::default());
    }
    // `git clone ../x` and `git archive HEAD` use no network.
    let is_local = matches!(words, "clone" | "remote add" | "remote set-url") && address.is_none();
    if is_local || (words == "archive" && repository.is_none()) {
        return;
    }
    let address = address.unwrap_or_default();
    if !found.contains(&address) {
        found.push(address);
    }
}

/// Returns true if a program only prints its version or its help.
fn is_about_itself(args: &[Word]) -> bool {
    matches!(args, [word] if matches!(&*word.text, "--version" | "--help" | "-V" | "-h"))
}

/// Adds the addresses in variables that a command gets or sets.
fn add_variables(command: &Command, found: &mut Vec<Address>) {
    let own = command.environment.iter().map(|(name, word)| (&**name, &*word.text));
    let is_setting = matches!(&*command.program, "export" | "declare" | "typeset" | "set" | "setx");
    let set = command.args.iter().filter(|_| is_setting).filter_map(|word| word.text.split_once('='));
    let variables: Vec<(&str, &str)> = own.chain(set).collect();
    for (name, value) in &variables {
        let name = lower(name);
        if let Some(number) = name.strip_prefix("git_config_key_") {
            let of_value = format!("GIT_CONFIG_VALUE_{number}");
            let setting = variables.iter().find(|(name, _)| *name == of_value).map_or("", |(_, value)| value);
            add_setting(&format!("{value}={setting}"), found);
        } else if name == "git_config_parameters" {
            // `'http.proxy'='a.com' 'user.name=x'`
            value.replace('\'', "").split_whitespace().for_each(|setting| add_setting(setting, found));
        } else if COMMAND_SETTINGS.contains(&&*name) || FILE_SETTINGS.contains(&&*name) {
            add_setting(&format!("{name}={value}"), found);
        } else if is_proxy(&name) || VARIABLES.contains(&&*name) {
            add_places(value, found);
        }
    }
}

/// Adds the hosts in the code of an interpreter that uses the network. The code may also compute others.
fn add_code(command: &Command, found: &mut Vec<Address>) {
    let texts = command.args.iter().chain(&command.input).map(|word| &*word.text);
    for text in texts.filter(|text| NETWORK_CODE.iter().any(|part| text.contains(part))) {
        found.push(Address::default());
        let names = text.split(['"', '\'', '`', '/']).filter(|name| name.contains('.'));
        found.extend(names.map(Address::of_place).filter(leads_somewhere));
    }
}

/// Returns true for the name of a variable or a setting that contains the address of a proxy.
fn is_proxy(name: &str) -> bool {
    name.ends_with("proxy") && !matches!(name, "no_proxy" | "noproxy")
}

/// Adds the addresses in the value of an option, a setting or a variable: `a.com,b.com`.
fn add_places(value: &str, found: &mut Vec<Address>) {
    let places = value.split([',', '|']).filter(|place| !matches!(*place, "" | "direct" | "off" | "none"));
    found.extend(places.map(Address::of_place).filter(leads_somewhere));
}

impl Client {
    /// Adds the addresses in the options of a command.
    fn add_options(&self, command: &Command, found: &mut Vec<Address>) {
        // The words of another command may follow.
        let last = match self.operands {
            Operands::First => positions(&command.args, self.letters).nth(1),
            Operands::Images(..) => positions(&command.args, self.letters).next(),
            _ => None,
        };
        let args = last.and_then(|last| command.args.get(..=last)).unwrap_or(&command.args);
        for value in values(args, self.letters, self.hosts) {
            add_places(value, found);
        }
        for value in values(args, self.letters, self.settings) {
            add_setting(value, found);
        }
        for value in values(args, self.letters, self.commands) {
            add_setting(&format!("{}={value}", COMMAND_SETTINGS[0]), found);
        }
        // `ssh -L 80:a.com:80`
        if matches!(self.operands, Operands::First) && self.hosts == "J W" {
            for value in values(args, self.letters, "L R") {
                add_setting(&format!("{}={value}", FORWARDS[0]), found);
            }
        }
        let mut files = values(args, self.letters, self.files).peekable();
        if files.peek().is_some() {
            found.push(Address::default());
            let texts = files.chain(command.input.as_ref().map(|input| &*input.text));
            let parts = texts.flat_map(|text| text.split(|c: char| " \n\t=\"';".contains(c)));
            found.extend(parts.filter(|part| part.contains('.')).map(Address::of_url));
        }
    }
}

/// Returns the place to which an option of curl redirects requests: `b.com:80` of `a.com:80:b.com:80`.
fn last_field(value: &str) -> &str {
    let after = value.find(']').filter(|_| value.starts_with('[')).map_or(value, |end| &value[end + 1..]);
    after.splitn(3, ':').nth(2).unwrap_or_default()
}

/// Adds the address in a setting: `https_proxy=a.com`, `HostName a.com`, `b.com:80` of `a.com:80:b.com:80`.
fn add_setting(setting: &str, found: &mut Vec<Address>) {
    let setting = lower(setting);
    let (name, value) = setting.split_once(['=', ' ', '\t']).unwrap_or((&setting, ""));
    // `HostName = "a.com"`
    let (name, value) = (name.trim(), value.trim_matches(['=', ' ', '\t', '"']));
    let is_command = COMMAND_SETTINGS.contains(&name);
    if REDIRECTIONS.iter().any(|part| setting.contains(part)) {
        found.push(Address::default());
        let base = [".insteadof", ".pushinsteadof"].iter().find_map(|end| name.strip_suffix(end));
        add_places(base.and_then(|base| base.strip_prefix("url.")).unwrap_or(value), found);
    } else if is_command {
        // The words of `ssh -J a.com` are a command of the line.
        if !matches!(value.split_whitespace().next(), Some("ssh" | "/usr/bin/ssh")) {
            found.push(Address::default());
        }
    } else if name.contains(UNKNOWN) || FILE_SETTINGS.contains(&name) || name.starts_with("includeif.") {
        found.push(Address::default());
    } else if is_proxy(name) || HOST_SETTINGS.contains(&name) {
        add_places(value, found);
    } else if FORWARDS.contains(&name) {
        let host = value.rsplit(':').nth(1).and_then(|host| host.rsplit(' ').next()).unwrap_or_default();
        if !matches!(host, "localhost" | "127.0.0.1") {
            add_places(host, found);
        }
    } else {
        add_places(last_field(name), found);
    }
}

/// Returns the values of options: `--proxy a`, `--proxy=a`, `-x a`, `-xa`, `-sx a`. Long options may be abbreviated.
fn values<'a>(args: &'a [Word], letters: &'a str, options: &'a str) -> impl Iterator<Item = &'a str> {
    let is_one = move |is: &dyn Fn(&str) -> bool| !options.is_empty() && options.split(' ').any(is);
    args.iter().enumerate().filter_map(move |(at, word)| {
        let cluster = word.text.strip_prefix('-')?;
        let next = || args.get(at + 1).map(|next| &*next.text);
        let (name, value) = cluster.split_once('=').map_or((cluster, None), |(name, value)| (name, Some(value)));
        let long = name.strip_prefix('-');
        let is_abbreviated = |option: &str| long.is_some_and(|name| name.len() > 2 && option.starts_with(name));
        if is_one(&|option| option.len() > 1 && (option == long.unwrap_or(name) || is_abbreviated(option))) {
            return value.or_else(next);
        }
        let first = cluster.find(|letter| letters.contains(letter)).filter(|_| long.is_none())?;
        let (letter, rest) = cluster.split_at(first + 1);
        match rest.trim_start_matches('=') {
            _ if !is_one(&|option| letter.ends_with(option)) => None,
            "" => next(),
            value => Some(value),
        }
    })
}

/// Returns the positions of the operands of a program whose options with these letters take a value.
fn positions<'a>(args: &'a [Word], letters: &'a str) -> impl Iterator<Item = usize> {
    let mut is_value = false;
    args.iter().enumerate().filter_map(move |(at, word)| {
        if std::mem::take(&mut is_value) {
            return None;
        }
        let Some(cluster) = word.text.strip_prefix('-') else { return Some(at) };
        // In `-p22`, the value is in the same word.
        let first = cluster.find(|letter| letters.contains(letter)).filter(|_| !cluster.starts_with('-'));
        is_value = first
            .map_or_else(|| LONG_WITH_VALUE.contains(&format!(" {} ", word.text)), |first| first + 1 == cluster.len());
        None
    })
}

/// Returns true if a word is the value of one of these options.
fn is_value(command: &Command, word: &Word, letters: &str, options: &str) -> bool {
    values(&command.args, letters, options).any(|value| std::ptr::eq(value, &*word.text))
}

/// Returns true for a place on another machine: `host:path`, `user@host:path`. A path and the name of a remote are none. On Windows, `c:` is a
/// drive.
fn is_place(command: &Command, text: &str) -> bool {
    let least = if command.windows { 2 } else { 1 };
    text.find(':').is_some_and(|at| at >= least && !text[..at].contains('/')) || text.starts_with(UNKNOWN)
}

/// Returns the URLs in a word.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(at, _)| {
        let begin = text[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
        let is_web = SCHEMES.split_whitespace().any(|scheme| text[begin..at].eq_ignore_ascii_case(scheme));
        let rest = &text[begin..];
        let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>');
        is_web.then(|| rest.split(is_end).next().unwrap_or_default())
    })
}

/// Returns the requests that a row matches. An address that may lead to an unknown host is no exception.
pub(crate) fn matching<'a>(url: &Names, host: &Names, requests: &'a [Address]) -> impl Iterator<Item = &'a Address> {
    requests.iter().filter(|request| {
        let is_excepted = !request.has_unknown && host.except_all(&request.hosts);
        url.want_any(&request.urls) && host.want_any(&request.hosts) && !is_excepted
    })
}
