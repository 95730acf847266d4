//! Rules as data: read from catalogues and config, compiled once, asked about each command.

mod matching;
mod programs;
mod registry;
pub(crate) mod schema;

pub(crate) use matching::Subject;
pub(crate) use registry::{Compiled, Hit, Mode, Registry, Settings, lower, stack_name};
pub(crate) use schema::{Catalogue, Rule, Severity};

/// The catalogues that are part of the plugin, as the build made JSON of `catalogues/*.toml`.
pub(crate) const EMBEDDED: [(&str, &str); 16] = [
    ("floor", include_str!(concat!(env!("OUT_DIR"), "/floor.json"))),
    ("universal", include_str!(concat!(env!("OUT_DIR"), "/universal.json"))),
    ("rust", include_str!(concat!(env!("OUT_DIR"), "/rust.json"))),
    ("python", include_str!(concat!(env!("OUT_DIR"), "/python.json"))),
    ("typescript", include_str!(concat!(env!("OUT_DIR"), "/typescript.json"))),
    ("swift", include_str!(concat!(env!("OUT_DIR"), "/swift.json"))),
    ("sql", include_str!(concat!(env!("OUT_DIR"), "/sql.json"))),
    ("harn", include_str!(concat!(env!("OUT_DIR"), "/harn.json"))),
    ("shell", include_str!(concat!(env!("OUT_DIR"), "/shell.json"))),
    ("git", include_str!(concat!(env!("OUT_DIR"), "/git.json"))),
    ("docker", include_str!(concat!(env!("OUT_DIR"), "/docker.json"))),
    ("kubernetes", include_str!(concat!(env!("OUT_DIR"), "/kubernetes.json"))),
    ("cloud", include_str!(concat!(env!("OUT_DIR"), "/cloud.json"))),
    ("databases", include_str!(concat!(env!("OUT_DIR"), "/databases.json"))),
    ("packages", include_str!(concat!(env!("OUT_DIR"), "/packages.json"))),
    ("secrets", include_str!(concat!(env!("OUT_DIR"), "/secrets.json"))),
];

/// The catalogue whose rules hold whatever a mode says.
pub(crate) const FLOOR: &str = "hookhost/floor";

/// Where custom rules come from, in what is reported.
pub(crate) const CUSTOM: &str = "custom";
