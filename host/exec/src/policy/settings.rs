//! The section `[sandbox]` of the user's configuration.

use hookhost_agents::guarded;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// The section `[sandbox]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SandboxSettings {
    /// True if the sockets of Docker, containerd and Podman stay reachable. A program that reaches one can start a container with any
    /// directory, so the second line then protects nothing. Default: false.
    pub docker: bool,
    /// The network that the program reaches. Default: all of it.
    pub network: NetworkAccess,
    /// Paths that stay writable although they are guarded by default, such as `~/.local/bin` for `cargo install`. A path begins with `/` or
    /// `~/`, or is relative to the project.
    pub write: Vec<String>,
    /// Agents that may write their settings file, of which the keys that name hooks and servers are restored. Otherwise the file is
    /// read-only.
    pub restore: Vec<String>,
}

/// The network that a program reaches: `"all"`, `"none"`, or a list of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    /// The network of the machine.
    #[default]
    All,
    /// No network.
    None,
    /// These hosts, through a proxy. `*.example.com` stands for all hosts below a domain. A name that leads to an address of this machine or
    /// of a private network is refused, unless the list has the address too.
    Hosts(Vec<String>),
}

impl Serialize for NetworkAccess {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::None => serializer.serialize_str("none"),
            Self::Hosts(hosts) => hosts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for NetworkAccess {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = NetworkAccess;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"all\", \"none\" or a list of hosts such as [\"*.crates.io\"]")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<NetworkAccess, E> {
                match text {
                    "all" => Ok(NetworkAccess::All),
                    "none" => Ok(NetworkAccess::None),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<NetworkAccess, A::Error> {
                let mut hosts = Vec::new();
                while let Some(host) = list.next_element()? {
                    hosts.push(host);
                }
                Ok(NetworkAccess::Hosts(hosts))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl SandboxSettings {
    /// Returns one sentence for each value that cannot be meant. The configuration is refused if there is one.
    pub fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        for path in &self.write {
            if path.is_empty() || path.split('/').any(|name| name == "..") {
                mistakes.push(format!(
                    "`write` of [sandbox] has {path:?}, which names no place: write the path without `..`"
                ));
            } else if path.contains(['*', '?', '[']) {
                mistakes.push(format!(
                    "`write` of [sandbox] has {path:?}, and patterns are not understood there: name a directory"
                ));
            } else if matches!(path.trim_end_matches('/'), "" | "~" | ".") {
                mistakes.push(format!("`write` of [sandbox] has {path:?}, which opens everything below it: name the files that a program has to write"));
            }
        }
        for agent in &self.restore {
            let has_keys = |owner: &guarded::Owner| owner.written.iter().any(|written| !written.keys.is_empty());
            if !guarded::owner(agent).is_some_and(has_keys) {
                let known: Vec<&str> =
                    guarded::OWNERS.iter().filter(|owner| has_keys(owner)).map(|owner| owner.name).collect();
                mistakes.push(format!(
                    "`restore` of [sandbox] has {agent:?}, whose settings have no keys that can be restored: write one of {}",
                    known.join(", ")
                ));
            }
        }
        if let NetworkAccess::Hosts(hosts) = &self.network {
            let is_host = |host: &str| {
                let name = host.strip_prefix("*.").unwrap_or(host);
                let is_label = |label: &str| {
                    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
                };
                host.parse::<IpAddr>().is_ok() || name.len() <= 253 && name.split('.').all(is_label)
            };
            mistakes.extend(hosts.iter().filter(|host| !is_host(host)).map(|host| {
                format!("`network` of [sandbox] has {host:?}, which is no name of a host: write a name such as \"github.com\" or \"*.crates.io\", without scheme, port and path")
            }));
        }
        mistakes
    }
}

#[cfg(test)]
mod tests {
    use super::{NetworkAccess, SandboxSettings};

    #[test]
    fn the_section_says_what_is_open() {
        let text = "docker = true\nnetwork = ['github.com', '*.crates.io', '::1']\nwrite = ['~/.local/bin']\nrestore = ['codex']";
        let settings: SandboxSettings = toml::from_str(text).unwrap();
        assert_eq!(
            settings.network,
            NetworkAccess::Hosts(vec!["github.com".into(), "*.crates.io".into(), "::1".into()])
        );
        assert!(settings.docker && settings.mistakes().is_empty(), "{:?}", settings.mistakes());
        assert_eq!(toml::from_str::<SandboxSettings>(&toml::to_string(&settings).unwrap()).unwrap(), settings);
        assert_eq!(toml::from_str::<SandboxSettings>("").unwrap(), SandboxSettings::default());
        assert_eq!(toml::from_str::<SandboxSettings>("network = 'none'").unwrap().network, NetworkAccess::None);
    }

    #[test]
    fn a_value_that_cannot_be_meant_is_named_with_the_next_step() {
        for (text, says) in [
            ("network = 'some'", "expected \"all\", \"none\" or a list of hosts"),
            ("network = 3", "expected \"all\", \"none\" or a list of hosts"),
            ("dockr = true", "unknown field `dockr`"),
        ] {
            let error = toml::from_str::<SandboxSettings>(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        for (text, says) in [
            ("write = ['../x']", "names no place"),
            ("write = ['']", "names no place"),
            ("write = ['~/.config/*']", "patterns are not understood"),
            ("write = ['~/']", "opens everything"),
            ("restore = ['cursor']", "write one of claude-code, codex"),
            ("network = ['https://github.com']", "is no name of a host"),
            ("network = ['github.com:443']", "is no name of a host"),
            ("network = ['']", "is no name of a host"),
        ] {
            let mistakes = toml::from_str::<SandboxSettings>(text).unwrap().mistakes();
            assert!(mistakes.len() == 1 && mistakes[0].contains(says), "{text}: {mistakes:?}");
        }
    }
}
