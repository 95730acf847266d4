//! The list of files that are known to contain secrets. The rules about printing, sending and copying all use this list.

use super::ascii::Ascii as _;

/// The last components of each path in reverse order, with `*` as in a shell. The list is sorted, so that entries with the same first byte
/// are found fast.
static FILES: [&str; 129] = [
    "*.conf<wireguard",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.keytab",
    "*.kubeconfig",
    "*.ovpn",
    "*.p12",
    "*.pem",
    "*.pfx",
    "*.ppk",
    "*.tfstate",
    "*.tfstate.backup",
    "*_ed25519<.ssh",
    "*_rsa<.ssh",
    "*credentials.json",
    "*oken*<.azure",
    ".aws",
    ".azure",
    ".bash_history",
    ".boto",
    ".credentials",
    ".databrickscfg",
    ".dockercfg",
    ".env",
    ".env.*.local",
    ".env.development",
    ".env.local",
    ".env.prod",
    ".env.production",
    ".env.staging",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".kube",
    ".mozilla",
    ".my.cnf",
    ".mylogin.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".passwd-s3fs",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".rediscli_history",
    ".s3cfg",
    ".sh_history",
    ".ssh",
    ".thunderbird",
    ".vault-token",
    ".vault_pass*",
    ".zsh_history",
    "Login Data",
    "_netrc",
    "access_tokens.db<gcloud",
    "admin.conf<kubernetes",
    "apps.json<github-copilot",
    "auth.json<.codex",
    "auth.json<composer",
    "auth.json<containers",
    "auth.json<opencode",
    "chromium<.config",
    "client_secret*.json",
    "config.json<.docker",
    "config.json<.mc",
    "config.json<.netlify",
    "config.json<.railway",
    "config.toml<stripe<.config",
    "config.yaml<doctl",
    "config.yml<.fly",
    "config.yml<glab-cli",
    "config<.kube",
    "cookies.sqlite",
    "credentials*<.terraform.d",
    "credentials.db<gcloud",
    "credentials.toml",
    "credentials<.aws",
    "credentials<.cargo",
    "credentials<.gem",
    "credentials<environment",
    "credentials<git",
    "fish_history",
    "gcloud<.config",
    "gh<.config",
    "google-chrome<.config",
    "gshadow*<etc",
    "hosts.json<github-copilot",
    "hosts.yml<gh",
    "id.json<solana",
    "id_*<.ssh",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "id_rsa<.ssh",
    "ipsec.secrets",
    "k3s.yaml<k3s",
    "kaggle.json<.kaggle",
    "key4.db",
    "logins.json",
    "ngrok.yml<.ngrok2",
    "oauth_creds.json",
    "prod.env",
    "production.env",
    "rclone.conf<rclone",
    "rclone<.config",
    "secret*.tfvars",
    "secret.env",
    "secrets.env",
    "secrets.json",
    "secrets.toml<.streamlit",
    "secrets.yaml",
    "secrets.yml",
    "service-account*.json",
    "serviceAccountKey.json",
    "service_account*.json",
    "shadow-<etc",
    "shadow<etc",
    "ssh_host_*_key",
    "staging.env",
    "super-admin.conf<kubernetes",
    "token<.huggingface",
    "token<huggingface",
    "token<serviceaccount",
    "wallet.dat",
];

/// Like [`FILES`], for directories that contain only secrets.
const DIRECTORIES: [&str; 9] = [
    ".gnupg",
    "secrets<run",
    "legacy_credentials<gcloud",
    "op<.config",
    ".password-store",
    "keyrings<share<.local",
    "Keychains<Library",
    "private<ssl",
    "system-connections",
];

/// Parts of a file name that show that the content is public.
const PUBLIC: &str =
    "ca|cacert|cert|certs|certificate|chain|fullchain|bundle|pub|public|dhparam|csr|example|sample|template";
/// Minimum number of known letters in a pattern that matches a file of the list.
const MIN_KNOWN: usize = 2;

/// Returns true if a path ends like a path in the list.
#[must_use]
pub fn is_secret_file(text: &str) -> bool {
    let path = text.trim_end_matches(['/', '\\']);
    let is_web = path.contains("://") && !path.starts_with("file");
    // Fast check, because each entry contains one of these bytes.
    if is_web || path.len() < MIN_KNOWN || !path.has_one_of(b"._/\\ ") {
        return false;
    }
    let path = super::path::slashed(path);
    let is_clean = !["//", "/./", "/../"].iter().any(|part| path.contains(part));
    let path = if is_clean { path } else { super::path::clean(&path).into() };
    let name = path.rsplit('/').next().unwrap_or_default();
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let first = name.bytes().next();
    let alike = |byte: Option<u8>| {
        let begin = FILES.partition_point(|file| file.bytes().next() < byte);
        FILES[begin..].iter().take_while(move |file| file.bytes().next() == byte)
    };
    let is_listed = || alike(Some(b'*')).chain(alike(first)).any(|file| ends_as(&path, name, file));
    let is_within = |end: usize| {
        let directory = path[..end].rsplit('/').next().unwrap_or_default();
        DIRECTORIES.iter().any(|file| ends_as(&path[..end], directory, file))
    };
    (is_listed() || ends.into_iter().any(is_within)) && !name.ends_with(".pub") && !is_public(&path, name)
}

/// Returns true for a certificate, and for an example of a secret file.
fn is_public(path: &str, name: &str) -> bool {
    let has_key = name.ends_with(".key");
    let is_one = |word: &str| PUBLIC.split('|').any(|public| public == word);
    let mut words = name.split(['.', '-', '_', '@']);
    (!has_key && name.has(b'.') && !name.starts_with('.') && words.any(is_one))
        || (has_key && name.len() == ".key".len())
        || (name.ends_with(".conf") && path.contains(".gnupg/"))
        || path.contains("/templates/")
        || path.starts_with("templates/")
}

/// Returns true if the last components of a path match an entry of the list. `name` is the last component.
fn ends_as(path: &str, name: &str, file: &str) -> bool {
    let first = file.as_bytes().first();
    if first != name.as_bytes().first() && first != Some(&b'*') {
        return false;
    }
    let mut names = path.rsplit('/');
    file.split('<').all(|part| names.next().is_some_and(|name| fits(part.as_bytes(), name.as_bytes())))
}

/// Returns the path of a secret file that a pattern probably means.
pub(super) fn meant(pattern: &str) -> Option<String> {
    FILES.iter().filter(|file| !file.has(b'*')).find_map(|file| {
        let mut made: Vec<&str> = Vec::new();
        let mut is_close = false;
        let mut parts = pattern.rsplit('/');
        for name in file.split('<') {
            let part = parts.next()?;
            let is_hidden = !name.starts_with('.') || part.starts_with('.');
            if !is_hidden || !fits(part.as_bytes(), name.as_bytes()) {
                return None;
            }
            is_close |= is_near(part, name) || !made.is_empty() && !part.has_one_of(b"*?[");
            made.push(name);
        }
        made.extend(parts);
        made.reverse();
        is_close.then(|| made.join("/"))
    })
}

/// Returns true if a pattern probably means this name, because it contains the first half of the name or most of its letters.
fn is_near(pattern: &str, name: &str) -> bool {
    let begin = pattern.bytes().take_while(|byte| !matches!(byte, b'*' | b'?' | b'[')).count();
    let letters = pattern.bytes().filter(u8::is_ascii_alphanumeric).count();
    let is_half = begin >= MIN_KNOWN && begin * 2 >= name.len();
    is_half || letters * 2 > name.len() || (!pattern.has(b'*') && letters >= MIN_KNOWN)
}

/// Returns true if a shell pattern matches a name.
pub(super) fn fits(pattern: &[u8], name: &[u8]) -> bool {
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
    use super::{FILES, is_secret_file, meant};

    #[test]
    fn a_pattern_means_the_secret_that_it_fits() {
        for (pattern, expected) in [
            (".env*", Some(".env")),
            (".e?v", Some(".env")),
            (".en[v]", Some(".env")),
            (".[e]nv", Some(".env")),
            (".[!a]nv", Some(".env")),
            (".?nv", Some(".env")),
            ("a/.env.l*", Some("a/.env.local")),
            ("~/.ssh/id_*", Some("~/.ssh/id_dsa")),
            ("~/.ssh/*", Some("~/.ssh/id_rsa")),
            ("/home/*/.s?h/id_*", Some("/home/*/.s?h/id_dsa")),
            ("~/.aws/c*", Some("~/.aws/credentials")),
            ("~/.aws/*", Some("~/.aws/credentials")),
            ("~/.a[w]s/cred*", Some("~/.aws/credentials")),
            ("~/.kube/conf*", Some("~/.kube/config")),
            ("~/.k*e/config", Some("~/.kube/config")),
            ("~/.net?c", Some("~/.netrc")),
            ("*", None),
            (".*", None),
            (".???", None),
            ("*.env", None),
            ("*/*", None),
            ("src/c*", None),
            ("~/.ssh/*.pub", None),
            (".env.ex*", None),
            (".eslint*", None),
            ("src/*.json", None),
            ("conf*", None),
            (".git*", None),
            ("*.yml", None),
        ] {
            assert_eq!(meant(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(FILES.is_sorted());
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for text in [
            ".env",
            "a/.env.local",
            ".env.production.local",
            "~/.ssh/id_work",
            "~/.ssh",
            "~/.ssh/",
            "x/server.key",
            "~/.aws/credentials",
            "C:\\Users\\me\\.aws\\credentials",
            "~/.gnupg/private-keys-v1.d/a.key",
            "~/.gnupg",
            "/etc/shadow",
            "~/.config/gh/hosts.yml",
            "terraform.tfstate",
            "key.pem",
            "file:///home/me/.env",
            "deploy_key.pem",
            "~/.kube/./config",
            "~/.kube/x/..//config",
        ] {
            assert!(is_secret_file(text), "{text}");
        }
        for text in [
            ".env.example",
            "id_rsa.pub",
            "~/.ssh/id_rsa.pub",
            "~/.ssh/config",
            "~/.ssh/known_hosts",
            "~/.gnupg/gpg.conf",
            "certs/ca.pem",
            "client-cert.pem",
            ".key",
            "src/credentials",
            "x.keymap",
            "https://x.example/.env",
            "s3://b/.env",
            "src/shadow",
            "charts/app/templates/secrets.yaml",
            "secrets.example.yaml",
            "pipenv",
            "src/env",
            "/etc/apt/keyrings/docker.gpg",
            "",
            "/",
            "~",
        ] {
            assert!(!is_secret_file(text), "{text}");
        }
    }
}
