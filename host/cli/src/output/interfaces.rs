//! Describes the exports and imports of a component by package, for people.

/// Groups names by package: `hookhost:hooks@0.1.0 (types, log); wasi:io@0.2.6 (poll, streams)`. Packages are in the order of
/// their first interface.
pub(crate) fn grouped(names: &[String]) -> String {
    let mut packages: Vec<(String, Vec<&str>)> = Vec::new();
    for name in names {
        let (package, interface) = split(name);
        match packages.iter_mut().find(|(known, _)| *known == package) {
            Some((_, interfaces)) => interfaces.push(interface),
            None => packages.push((package, vec![interface])),
        }
    }
    let word = |(package, interfaces): &(String, Vec<&str>)| match package.as_str() {
        "" => interfaces.join(", "),
        package => format!("{package} ({})", interfaces.join(", ")),
    };
    packages.iter().map(word).collect::<Vec<_>>().join("; ")
}

/// Returns the names that are not part of base WASI. Every plugin gets base WASI, in a virtual form that gives no access.
pub(crate) fn beyond_wasi(names: &[String]) -> Vec<String> {
    const BASE: [&str; 5] = ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/"];
    names.iter().filter(|name| !BASE.iter().any(|base| name.starts_with(base))).cloned().collect()
}

/// Splits a name into package and interface: `wasi:io/poll@0.2.6` becomes `wasi:io@0.2.6` and `poll`. A name without a package is not
/// split.
fn split(name: &str) -> (String, &str) {
    let (path, version) = name.split_once('@').map_or((name, ""), |(path, version)| (path, version));
    match path.split_once('/') {
        Some((package, interface)) if version.is_empty() => (package.to_owned(), interface),
        Some((package, interface)) => (format!("{package}@{version}"), interface),
        None => (String::new(), name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_listed_once_under_its_package() {
        let names = ["hookhost:hooks/log@0.1.0", "wasi:io/poll@0.2.6", "hookhost:hooks/state@0.1.0", "run"];
        let names = names.map(str::to_owned);
        assert_eq!(grouped(&names), "hookhost:hooks@0.1.0 (log, state); wasi:io@0.2.6 (poll); run");
        assert_eq!(beyond_wasi(&names).len(), 3);
    }
}
