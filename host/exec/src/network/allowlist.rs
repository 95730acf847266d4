//! The hosts that a program may reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names and addresses that a program may reach.
#[derive(Clone, Debug)]
pub(super) struct Allowlist {
    names: Vec<String>,
    /// Ends of names, each with a dot at its start.
    domains: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl Allowlist {
    pub(super) fn new(hosts: &[String]) -> Self {
        let (mut names, mut domains, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
        for host in hosts {
            let host = normalized(host);
            match (host.parse(), host.strip_prefix('*')) {
                (Ok(address), _) => addresses.push(address),
                (_, Some(domain)) => domains.push(domain.to_owned()),
                _ => names.push(host),
            }
        }
        Self { names, domains, addresses }
    }

    /// Returns true if the list names a host: itself, or a domain above it.
    pub(super) fn contains(&self, host: &str) -> bool {
        let host = normalized(host);
        if let Ok(address) = host.parse() {
            return self.addresses.contains(&address);
        }
        let is_below = |domain: &String| host.len() > domain.len() && host.ends_with(domain.as_str());
        self.names.contains(&host) || self.domains.iter().any(is_below)
    }

    /// Returns true if a named host may be at this address. The owner of a name decides where it leads, so an address
    /// of this machine or of a private network has to be listed itself.
    pub(super) fn may_be_at(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address) || is_public(address)
    }
}

fn normalized(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// Returns true for an address that belongs to one host of the internet. Source: the IANA registries of special-purpose
/// addresses.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_special = match address.octets() {
        [0 | 10 | 127 | 240..=255, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        [192, 0, 0, _] | [198, 18 | 19, ..] => true,
        _ => false,
    };
    let is_local = address.is_private() || address.is_link_local();
    !(is_special || is_local || address.is_multicast() || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [one, two, three, .., seven, eight] = address.segments();
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match (one, two, three) {
        // An IPv4 address in another form: translated, and 6to4.
        (0x64, 0xff9b, 0) => embedded(seven, eight),
        (0x2002, ..) => embedded(two, three),
        // Documentation, and protocols such as Teredo.
        (0x2001, 0xdb8 | 0..=0x1ff, _) => false,
        // All other addresses of the internet begin with these three bits.
        _ => one & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(hosts: &[&str]) -> Allowlist {
        Allowlist::new(&hosts.iter().map(|&host| host.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_host_is_named_itself_or_by_a_domain_above_it() {
        let list = list(&["github.com", "*.Crates.io", "10.0.0.5"]);
        for host in ["github.com", "GitHub.com.", "static.crates.io", "a.b.crates.io", "10.0.0.5"] {
            assert!(list.contains(host), "{host}");
        }
        for host in
            ["crates.io", "evilcrates.io", "github.com.evil.org", "api.github.com", "10.0.0.6", "", ".crates.io", "*"]
        {
            assert!(!list.contains(host), "{host}");
        }
    }

    #[test]
    fn a_name_leads_to_no_private_address() {
        let list = list(&["localhost", "10.0.0.5"]);
        for address in ["1.1.1.1", "100.63.0.1", "172.15.0.1", "2606:4700::1111", "2001:4860::1", "10.0.0.5"] {
            assert!(list.may_be_at(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.0.0.6",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
        ] {
            assert!(!list.may_be_at(address.parse().unwrap()), "{address}");
        }
    }
}
