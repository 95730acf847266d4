//! The list of the crates in the programs, as a bill of materials in CycloneDX's JSON. It is what `cargo tree` says, so a scanner and cargo
//! cannot disagree.

use crate::{
    Outcome,
    release::{HOMEPAGE, LICENCE, Release, output},
    tree::Target,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

/// A crate, with its version. The crates of this workspace have no checksum.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) version: String,
    licence: String,
}

impl Crate {
    fn purl(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// The crates of the programs, and which of them each crate uses.
pub(crate) struct Packages {
    pub(crate) crates: BTreeSet<Crate>,
    uses: BTreeMap<String, BTreeSet<String>>,
    checksums: BTreeMap<(String, String), String>,
}

/// Asks cargo for the crates that are compiled into the programs.
pub(crate) fn packages(release: &Release, target: &Target) -> Outcome<Packages> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&release.root).args(["tree", "--locked", "--edges", "normal", "--prefix", "depth"]);
    cargo.args(["--package", "hookhost-cli", "--package", "hookhost-client", "--target", &target.triple]);
    let tree = output(cargo.args(["--format", " {p} {l}"]))?;
    let lock = String::from_utf8_lossy(&crate::release::read(&release.root.join("Cargo.lock"))?).into_owned();
    Ok(parse(&tree, checksums(&lock)))
}

fn parse(tree: &str, checksums: BTreeMap<(String, String), String>) -> Packages {
    let (mut crates, mut uses) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<String>>::new());
    // The crates from the root to the last line.
    let mut path: Vec<String> = Vec::new();
    for line in tree.lines() {
        // Such as `2 ring v0.17.14 Apache-2.0 AND ISC (*)`.
        let mut words = line.trim_end_matches(" (*)").splitn(4, ' ');
        let (Some(depth), Some(name), Some(version)) = (words.next(), words.next(), words.next()) else { continue };
        let Ok(depth) = depth.parse::<usize>() else { continue };
        let mut licence = words.next().unwrap_or_default();
        // A procedural macro, or the directory of a crate of the workspace, comes before the licence.
        while let Some((_, rest)) = licence.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            licence = rest.trim_start();
        }
        let found = Crate {
            name: name.to_owned(),
            version: version.trim_start_matches('v').to_owned(),
            licence: licence.replace('/', " OR "),
        };
        path.truncate(depth);
        if let Some(parent) = path.last() {
            uses.entry(parent.clone()).or_default().insert(found.purl());
        }
        path.push(found.purl());
        crates.insert(found);
    }
    Packages { crates, uses, checksums }
}

/// Reads the checksums of `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let lines = block.lines().filter_map(|line| line.split_once(" = "));
        lines.filter(|(found, _)| *found == key).map(|(_, value)| value.trim_matches('"').to_owned()).next()
    };
    let blocks = lock.split("[[package]]");
    blocks
        .filter_map(|block| Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?)))
        .collect()
}

/// Returns the bill of materials.
pub(crate) fn cyclonedx(release: &Release, target: &Target, packages: &Packages) -> String {
    let components = packages.crates.iter().map(|found| {
        let mut component = json!({
            "type": "library",
            "bom-ref": found.purl(),
            "name": found.name,
            "version": found.version,
            "purl": found.purl(),
            "licenses": [{ "expression": found.licence }],
        });
        if let Some(checksum) = packages.checksums.get(&(found.name.clone(), found.version.clone())) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        component
    });
    let dependencies = packages.uses.iter().map(|(user, used)| json!({ "ref": user, "dependsOn": used }));
    let bom: Value = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": crate::image::timestamp(release.epoch),
            "component": {
                "type": "application",
                "bom-ref": "hookhost",
                "name": "hookhost",
                "version": release.version,
                "licenses": [{ "expression": LICENCE }],
                "externalReferences": [{ "type": "vcs", "url": HOMEPAGE }],
                "properties": [{ "name": "rustc:target", "value": target.triple }],
            },
        },
        "components": components.collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&bom).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crate_is_listed_once_with_its_licence_and_what_it_uses() {
        let tree = "0 hookhost-cli v0.1.0 (/src/host/cli) MIT OR Apache-2.0\n\
                    1 serde v1.0.2 MIT/Apache-2.0\n\
                    2 serde_derive v1.0.2 (proc-macro) MIT OR Apache-2.0\n\
                    1 ring v0.17.14 Apache-2.0 AND ISC\n\
                    0 hookhost-client v0.1.0 (/src/host/client) MIT OR Apache-2.0\n\
                    1 serde v1.0.2 MIT/Apache-2.0 (*)\n";
        let lock = "[[package]]\nname = \"ring\"\nversion = \"0.17.14\"\nsource = \"x\"\nchecksum = \"ab\"\n";
        let packages = parse(tree, checksums(lock));
        let listed = packages.crates.iter().map(|found| (found.name.as_str(), found.licence.as_str()));
        assert_eq!(
            listed.collect::<Vec<_>>(),
            [
                ("hookhost-cli", "MIT OR Apache-2.0"),
                ("hookhost-client", "MIT OR Apache-2.0"),
                ("ring", "Apache-2.0 AND ISC"),
                ("serde", "MIT OR Apache-2.0"),
                ("serde_derive", "MIT OR Apache-2.0"),
            ]
        );
        assert_eq!(packages.uses["pkg:cargo/serde@1.0.2"], BTreeSet::from(["pkg:cargo/serde_derive@1.0.2".to_owned()]));
        assert_eq!(packages.checksums[&("ring".to_owned(), "0.17.14".to_owned())], "ab");
    }
}
