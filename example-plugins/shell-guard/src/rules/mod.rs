//! Rules as data: read from catalogues and config, compiled once, asked about each command.

mod matching;
mod programs;
mod registry;
pub(crate) mod schema;

pub(crate) use matching::Subject;
pub(crate) use registry::{Compiled, Hit, Mode, Registry, Settings, stack_name};
pub(crate) use schema::{Catalogue, Rule, Severity};

/// The catalogues that are part of the plugin.
pub(crate) const EMBEDDED: [(&str, &str); 16] = [
    ("floor.toml", include_str!("../../catalogues/floor.toml")),
    ("universal.toml", include_str!("../../catalogues/universal.toml")),
    ("rust.toml", include_str!("../../catalogues/rust.toml")),
    ("python.toml", include_str!("../../catalogues/python.toml")),
    ("typescript.toml", include_str!("../../catalogues/typescript.toml")),
    ("swift.toml", include_str!("../../catalogues/swift.toml")),
    ("sql.toml", include_str!("../../catalogues/sql.toml")),
    ("harn.toml", include_str!("../../catalogues/harn.toml")),
    ("shell.toml", include_str!("../../catalogues/shell.toml")),
    ("git.toml", include_str!("../../catalogues/git.toml")),
    ("docker.toml", include_str!("../../catalogues/docker.toml")),
    ("kubernetes.toml", include_str!("../../catalogues/kubernetes.toml")),
    ("cloud.toml", include_str!("../../catalogues/cloud.toml")),
    ("databases.toml", include_str!("../../catalogues/databases.toml")),
    ("packages.toml", include_str!("../../catalogues/packages.toml")),
    ("secrets.toml", include_str!("../../catalogues/secrets.toml")),
];

/// The catalogue whose rules hold whatever a mode says.
pub(crate) const FLOOR: &str = "hookhost/floor";

/// Where custom rules come from, in what is reported.
pub(crate) const CUSTOM: &str = "custom";
