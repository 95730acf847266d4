//! The programs that use the network, and the words of their command lines that name a host.

/// How the command line of a program names the hosts to which it connects. Names are separated by spaces, and options have no dashes.
pub(super) struct Client {
    pub(super) programs: &'static str,
    /// The letters of its options that take a value.
    pub(super) letters: &'static str,
    /// Options whose value is an address.
    pub(super) hosts: &'static str,
    /// Options whose value is a setting, such as `https_proxy=a.com`.
    pub(super) settings: &'static str,
    /// Options that name a file with further addresses or settings.
    pub(super) files: &'static str,
    pub(super) operands: Operands,
}

/// What the operands of a program are.
#[derive(Clone, Copy)]
pub(super) enum Operands {
    /// Nothing that names a host. Without a host, the program uses no network.
    Local,
    /// As [`Operands::Local`], but one may have settings: `host=a.com user=b`.
    Settings,
    Urls,
    /// The first one is a host.
    First,
    /// Each one is a host. These options of several letters take a value.
    Hosts(&'static str),
    /// The first one is a host if it has a dot or a colon.
    Perhaps,
    /// Some may be places on another machine, such as `host:path`.
    Places,
    /// Those with a dot are names that a server is asked for.
    Names,
    /// Some have a colon and name a remote of the program's configuration.
    Remotes,
    /// Recipients of a mail.
    Mail,
    /// Images of a registry, after one of these subcommands. The second value is the registry of images that name none.
    Images(&'static [&'static str], &'static str),
    /// A subcommand of Git and its operands.
    Git,
    /// The command of a service with this host. The subcommands use no network.
    Service(&'static str, &'static [&'static str]),
}

const CLIENT: Client =
    Client { programs: "", letters: "", hosts: "", settings: "", files: "", operands: Operands::First };

const SSH_LETTERS: &str = "BbcDEeFIiJLlmOopQRSWw";
const LOCAL_COMMANDS: &[&str] = &["auth status", "alias", "completion", "config", "help", "version"];

pub(super) const CLIENTS: [Client; 30] = [
    Client {
        programs: "curl curlie",
        letters: "AbcCdDeEFHhKmoPQrtTuUwxXYyz",
        hosts: "url x proxy preproxy proxy1.0 socks4 socks4a socks5 socks5-hostname doh-url dns-servers",
        settings: "connect-to resolve",
        files: "K config",
        operands: Operands::Urls,
    },
    Client {
        programs: "wget wget2",
        letters: "aADeBIilOoPQRtTUwX",
        hosts: "B base",
        settings: "e execute",
        files: "i input-file config",
        operands: Operands::Urls,
    },
    Client {
        programs: "aria2c",
        letters: "iodlsxjkMTut",
        hosts: "all-proxy http-proxy https-proxy ftp-proxy",
        files: "i input-file conf-path",
        operands: Operands::Urls,
        ..CLIENT
    },
    Client { programs: "ssh mosh", letters: SSH_LETTERS, hosts: "J W", settings: "o", files: "F", ..CLIENT },
    Client {
        programs: "autossh",
        letters: "BbcDEeFIiJLlMmOopQRSWw",
        hosts: "J W",
        settings: "o",
        files: "F",
        ..CLIENT
    },
    Client { programs: "sftp", letters: "BbcDFiJloPRSsX", hosts: "J", settings: "o", files: "F", ..CLIENT },
    Client {
        programs: "scp",
        letters: "cDFiJloPSX",
        hosts: "J",
        settings: "o",
        files: "F",
        operands: Operands::Places,
    },
    Client { programs: "rsync sshfs", operands: Operands::Places, ..CLIENT },
    Client { programs: "nc ncat netcat", letters: "IiMmOPpqsTVWwXxecgG", hosts: "x proxy", ..CLIENT },
    Client { programs: "telnet", letters: "beklnSX", ..CLIENT },
    Client { programs: "ftp lftp tftp", letters: "uep", ..CLIENT },
    Client { programs: "traceroute gnutls-cli ssh-copy-id siege", letters: "cFiIlmMpQsSTtwW", ..CLIENT },
    Client { programs: "ping", letters: "cFiIlmMpQsSTtwW", operands: Operands::Hosts(""), ..CLIENT },
    Client {
        programs: "mtr",
        letters: "aBcFfGIiLMmoPQsUyZ",
        files: "F filename",
        operands: Operands::Hosts(""),
        ..CLIENT
    },
    Client { programs: "ssh-keyscan", letters: "fOpTt", files: "f", operands: Operands::Hosts(""), ..CLIENT },
    Client {
        programs: "nmap",
        letters: "begimMoPpSsT",
        hosts: "b dns-servers proxies",
        files: "iL iR resume",
        operands: Operands::Hosts(
            "oN oX oG oA oS oM iL iR script script-args top-ports exclude excludefile dns-servers proxies min-rate max-rate max-retries \
             host-timeout source-port",
        ),
        ..CLIENT
    },
    Client { programs: "dig nslookup host drill getent", operands: Operands::Names, ..CLIENT },
    Client {
        programs: "psql pg_dump pg_dumpall pg_restore",
        letters: "cdfFhLnoPpRTtUv",
        hosts: "h host",
        operands: Operands::Settings,
        ..CLIENT
    },
    Client {
        programs: "mysql mysqldump mariadb",
        letters: "hPpuDeS",
        hosts: "h host",
        operands: Operands::Local,
        ..CLIENT
    },
    Client { programs: "redis-cli", letters: "hpanusir", hosts: "h u", operands: Operands::Local, ..CLIENT },
    Client { programs: "mongosh mongo", letters: "pu", hosts: "host", operands: Operands::Perhaps, ..CLIENT },
    Client { programs: "kubectl oc", letters: "nslf", hosts: "s server", operands: Operands::Local, ..CLIENT },
    Client {
        programs: "mail mailx sendmail msmtp mutt neomutt swaks",
        hosts: "host server",
        operands: Operands::Mail,
        ..CLIENT
    },
    Client { programs: "rclone", operands: Operands::Remotes, ..CLIENT },
    Client {
        programs: "docker podman",
        letters: "cHl",
        hosts: "H host url",
        operands: Operands::Images(&["push", "pull", "login", "image push", "image pull"], "docker.io"),
        ..CLIENT
    },
    Client { programs: "skopeo crane oras", operands: Operands::Images(&[], ""), ..CLIENT },
    Client { programs: "git", letters: "cC", settings: "c config config-env", operands: Operands::Git, ..CLIENT },
    Client { programs: "gh", hosts: "hostname", operands: Operands::Service("github.com", LOCAL_COMMANDS), ..CLIENT },
    Client { programs: "glab", hosts: "hostname", operands: Operands::Service("gitlab.com", LOCAL_COMMANDS), ..CLIENT },
    Client {
        programs: "aws",
        hosts: "endpoint-url",
        operands: Operands::Service("amazonaws.com", &["configure", "help"]),
        ..CLIENT
    },
];
/// Variables that contain an address, in lower case, beside those for proxies.
pub(super) const VARIABLES: [&str; 10] = [
    "gh_host",
    "gitlab_host",
    "docker_host",
    "pghost",
    "pghostaddr",
    "mysql_host",
    "pip_index_url",
    "npm_config_registry",
    "aws_endpoint_url",
    "vault_addr",
];
/// Settings of SSH that contain an address, in lower case, and settings and variables of SSH and Git that contain a command.
pub(super) const HOST_SETTINGS: [&str; 2] = ["hostname", "proxyjump"];
pub(super) const COMMAND_SETTINGS: [&str; 6] =
    ["proxycommand", "core.sshcommand", "core.gitproxy", "git_ssh_command", "git_ssh", "git_proxy_command"];
/// Parts of settings of Git that lead an address elsewhere, in lower case.
pub(super) const REDIRECTIONS: [&str; 3] = ["insteadof=", ".url=", ".pushurl="];
/// Schemes of addresses that are looked for in words.
pub(super) const SCHEMES: &str = "http https ftp ftps ws wss ssh git rsync sftp scp svn gopher gophers dict tftp telnet smtp smtps imap imaps pop3 \
                       pop3s ldap ldaps smb mqtt rtsp tcp socks4 socks4a socks5 socks5h docker oci postgres postgresql mysql redis rediss \
                       mongodb srv amqp amqps";
/// Ends of the names of arguments that are addresses, in lower case and without `_` and `-`.
pub(super) const ADDRESS_ARGUMENTS: [&str; 10] =
    ["url", "urls", "uri", "uris", "host", "hosts", "hostname", "domain", "domains", "endpoint"];
/// A subcommand of Git that uses the network.
#[derive(Clone, Copy)]
pub(super) struct GitCommand {
    pub(super) words: &'static str,
    /// The letters of its options that take a value. Those of `push` are in [`CLIENTS`].
    pub(super) letters: &'static str,
    /// All its options that take a value. Those of `archive` are the options that name the repository.
    pub(super) options: &'static str,
}

const GIT_COMMAND: GitCommand = GitCommand { words: "", letters: "", options: "" };

pub(super) const GIT: [GitCommand; 18] = [
    GitCommand { words: "push", ..GIT_COMMAND },
    GitCommand {
        words: "pull",
        letters: "josX",
        options: "j o s X cleanup deepen depth filter jobs negotiation-tip refmap server-option shallow-exclude shallow-since strategy \
         strategy-option upload-pack",
    },
    GitCommand {
        words: "fetch",
        letters: "jo",
        options: "j o deepen depth filter jobs negotiation-tip refmap server-option shallow-exclude shallow-since upload-pack",
    },
    GitCommand {
        words: "clone",
        letters: "bcjou",
        options: "b c j o u branch config depth filter jobs origin reference separate-git-dir server-option shallow-exclude shallow-since \
         template upload-pack",
    },
    GitCommand { words: "ls-remote", letters: "o", options: "o exec server-option sort upload-pack" },
    GitCommand { words: "archive", letters: "o", options: "remote" },
    GitCommand { words: "remote update", ..GIT_COMMAND },
    GitCommand { words: "send-pack", ..GIT_COMMAND },
    GitCommand { words: "fetch-pack", ..GIT_COMMAND },
    GitCommand { words: "http-push", ..GIT_COMMAND },
    GitCommand { words: "http-fetch", ..GIT_COMMAND },
    GitCommand { words: "send-email", ..GIT_COMMAND },
    GitCommand { words: "imap-send", ..GIT_COMMAND },
    GitCommand { words: "subtree push", letters: "bmP", options: "b m P annotate branch message onto prefix" },
    GitCommand { words: "subtree pull", letters: "bmP", options: "b m P annotate branch message onto prefix" },
    GitCommand { words: "lfs push", ..GIT_COMMAND },
    GitCommand { words: "lfs pull", ..GIT_COMMAND },
    GitCommand { words: "lfs fetch", ..GIT_COMMAND },
];
/// Commands that send something to a server that the text does not name.
pub(super) const SENDING: [(&str, &str); 10] = [
    ("npm", "publish"),
    ("pnpm", "publish"),
    ("yarn", "publish"),
    ("yarn", "npm publish"),
    ("cargo", "publish"),
    ("poetry", "publish"),
    ("uv", "publish"),
    ("twine", "upload"),
    ("gem", "push"),
    ("helm", "push"),
];
/// Begins a file of bash that is a connection.
pub(super) const SOCKETS: [&str; 2] = ["/dev/tcp/", "/dev/udp/"];
