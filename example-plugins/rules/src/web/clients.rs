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
    /// Options whose value is the command that connects: `ssh -p 22`.
    pub(super) commands: &'static str,
    /// Options that name a file with further addresses or settings, or whose value is such a text.
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
    Client { programs: "", letters: "", hosts: "", settings: "", commands: "", files: "", operands: Operands::First };

/// Options of `ncat` that take a value.
pub(super) const LONG_WITH_VALUE: &str = " --sh-exec --exec --lua-exec --source --source-port --wait --idle-timeout --delay --proxy --proxy-type --proxy-auth ";

const SSH_LETTERS: &str = "BbcDEeFIiJLlmOopQRSWw";
const LOCAL_COMMANDS: &[&str] = &["auth status", "alias", "completion", "config", "help", "version"];

pub(super) const CLIENTS: [Client; 34] = [
    Client {
        programs: "curl curlie",
        letters: "AbcCdDeEFHhKmoPQrtTuUwxXYyz",
        hosts: "url x proxy preproxy proxy1.0 socks4 socks4a socks5 socks5-hostname doh-url dns-servers",
        settings: "connect-to resolve",
        files: "K config",
        operands: Operands::Urls,
        ..CLIENT
    },
    Client {
        programs: "wget wget2",
        letters: "aADeBIilOoPQRtTUwX",
        hosts: "B base",
        settings: "e execute",
        files: "i input-file config",
        operands: Operands::Urls,
        ..CLIENT
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
    Client {
        programs: "sftp",
        letters: "BbcDFiJloPRSsX",
        hosts: "J",
        settings: "o",
        commands: "S",
        files: "F",
        ..CLIENT
    },
    Client {
        programs: "scp sshfs",
        letters: "cDFiJloPSX",
        hosts: "J",
        settings: "o",
        commands: "S",
        files: "F",
        operands: Operands::Places,
    },
    Client { programs: "rsync", letters: "eTfBM", commands: "e rsh", operands: Operands::Places, ..CLIENT },
    Client { programs: "borg mount unison rdiff-backup", operands: Operands::Places, ..CLIENT },
    Client {
        programs: "nc ncat netcat nc.openbsd nc.traditional",
        letters: "IiMmOPpqsTVWwXxecgGd",
        hosts: "x proxy",
        ..CLIENT
    },
    Client { programs: "telnet ztcp grpcurl smbclient", letters: "beklnSXdHU", ..CLIENT },
    Client { programs: "ftp tnftp lftp tftp ncftp ncftpput ncftpget", letters: "uepcf", files: "c e f", ..CLIENT },
    Client { programs: "traceroute tracepath gnutls-cli ssh-copy-id siege", letters: "cFiIlmMpQsSTtwW", ..CLIENT },
    Client { programs: "ping ping6 fping hping3", letters: "cFiIlmMpQsSTtwW", operands: Operands::Hosts(""), ..CLIENT },
    Client {
        programs: "iperf iperf3 wscat",
        letters: "cp",
        hosts: "c client connect",
        operands: Operands::Local,
        ..CLIENT
    },
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
    Client {
        programs: "dig kdig delv nslookup host drill whois resolvectl getent",
        operands: Operands::Names,
        ..CLIENT
    },
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
        programs: "docker podman nerdctl buildah",
        letters: "cHl",
        hosts: "H host url",
        operands: Operands::Images(
            &["push", "pull", "login", "image push", "image pull", "compose push", "compose pull"],
            "docker.io",
        ),
        ..CLIENT
    },
    Client { programs: "skopeo crane oras", operands: Operands::Images(&[], ""), ..CLIENT },
    Client {
        programs: "git",
        letters: "cC",
        hosts: "smtp-server",
        settings: "c config config-env",
        operands: Operands::Git,
        ..CLIENT
    },
    Client {
        programs: "gh",
        letters: "h",
        hosts: "h hostname",
        operands: Operands::Service("github.com", LOCAL_COMMANDS),
        ..CLIENT
    },
    Client { programs: "glab", hosts: "hostname", operands: Operands::Service("gitlab.com", LOCAL_COMMANDS), ..CLIENT },
    Client {
        programs: "aws",
        hosts: "endpoint-url",
        operands: Operands::Service("amazonaws.com", &["configure", "help"]),
        ..CLIENT
    },
    Client {
        programs: "gsutil gcloud bq",
        operands: Operands::Service(
            "googleapis.com",
            &["config", "info", "version", "help", "auth list", "components"],
        ),
        ..CLIENT
    },
    Client {
        programs: "az",
        operands: Operands::Service("azure.com", &["config", "account show", "account list", "version", "help"]),
        ..CLIENT
    },
];
/// Variables that contain an address, in lower case, beside those for proxies.
pub(super) const VARIABLES: [&str; 14] = [
    "gh_host",
    "gitlab_host",
    "gitlab_uri",
    "gl_host",
    "docker_host",
    "pghost",
    "pghostaddr",
    "mysql_host",
    "pip_index_url",
    "npm_config_registry",
    "aws_endpoint_url",
    "aws_endpoint_url_s3",
    "container_host",
    "vault_addr",
];
/// Settings of SSH that contain an address, in lower case, and those that name the target of a tunnel: `80 a.com:80`.
pub(super) const HOST_SETTINGS: [&str; 2] = ["hostname", "proxyjump"];
pub(super) const FORWARDS: [&str; 2] = ["localforward", "remoteforward"];
/// Settings and variables, in lower case, that contain the command that connects.
pub(super) const COMMAND_SETTINGS: [&str; 9] = [
    "proxycommand",
    "core.sshcommand",
    "core.gitproxy",
    "git_ssh_command",
    "git_ssh",
    "git_proxy_command",
    "ssh_command",
    "rsync_rsh",
    "rsync_connect_prog",
];
/// Settings and variables, in lower case, that name a file with settings, or complete the names of hosts.
pub(super) const FILE_SETTINGS: [&str; 5] = ["include.path", "input", "canonicaldomains", "curl_home", "wgetrc"];
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

/// Options of `git submodule add` and `git remote add` that take a value.
const ADDED: GitCommand =
    GitCommand { letters: "btm", options: "b t m branch name reference depth track mirror", ..GIT_COMMAND };

pub(super) const GIT: [GitCommand; 27] = [
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
    GitCommand { words: "remote show", ..GIT_COMMAND },
    GitCommand { words: "remote prune", ..GIT_COMMAND },
    GitCommand { words: "remote add", ..ADDED },
    GitCommand { words: "remote set-url", ..ADDED },
    GitCommand { words: "submodule add", ..ADDED },
    GitCommand { words: "submodule update", ..GIT_COMMAND },
    GitCommand { words: "svn", ..GIT_COMMAND },
    GitCommand { words: "p4", ..GIT_COMMAND },
    GitCommand { words: "send-pack", ..GIT_COMMAND },
    GitCommand { words: "fetch-pack", ..GIT_COMMAND },
    GitCommand { words: "http-push", ..GIT_COMMAND },
    GitCommand { words: "http-fetch", ..GIT_COMMAND },
    GitCommand { words: "send-email", ..GIT_COMMAND },
    GitCommand { words: "imap-send", ..GIT_COMMAND },
    GitCommand { words: "subtree push", letters: "bmP", options: "b m P annotate branch message onto prefix" },
    GitCommand { words: "subtree pull", letters: "bmP", options: "b m P annotate branch message onto prefix" },
    GitCommand { words: "lfs push", ..GIT_COMMAND },
    GitCommand { words: "lfs clone", ..GIT_COMMAND },
    GitCommand { words: "lfs pull", ..GIT_COMMAND },
    GitCommand { words: "lfs fetch", ..GIT_COMMAND },
];
/// Commands that send something to a server that the text does not name.
pub(super) const SENDING: [(&str, &str); 24] = [
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
    ("croc", "send"),
    ("wormhole", "send"),
    ("jj", "git push"),
    ("hg", "push"),
    ("bzr", "push"),
    ("svn", "commit"),
    ("svn", "ci"),
    ("mc", "cp"),
    ("mc", "mirror"),
    ("mc", "pipe"),
    ("s3cmd", "put"),
    ("s3cmd", "sync"),
    ("s5cmd", "cp"),
    ("s5cmd", "sync"),
];
/// Interpreters whose code may be in a word or in the input, and parts of code that use the network.
pub(super) const INTERPRETERS: [&str; 10] =
    ["python", "node", "deno", "bun", "perl", "ruby", "php", "awk", "gawk", "zsh"];
pub(super) const NETWORK_CODE: [&str; 25] = [
    "socket",
    "Socket",
    "SOCK_STREAM",
    "urllib",
    "urlopen",
    "http.client",
    "requests.",
    "httpx",
    "aiohttp",
    "smtplib",
    "ftplib",
    "paramiko",
    "open_connection",
    "fetch(",
    "('net')",
    "(\"net\")",
    "('tls')",
    "(\"tls\")",
    "('https')",
    "(\"https\")",
    "dgram",
    "net/http",
    "Net::",
    "HTTP::Tiny",
    "/inet/",
];
/// Begins a file of bash that is a connection.
pub(super) const SOCKETS: [&str; 2] = ["/dev/tcp/", "/dev/udp/"];
