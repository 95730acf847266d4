//! `public-items FILE.json` prints the public items of a crate, one per line. FILE.json is rustdoc's description of the crate. Derived,
//! automatic and blanket implementations are left out.

use std::{collections::HashSet, fs, process::ExitCode};

use public_api::Builder;
use rustdoc_types::FORMAT_VERSION;
use serde::Deserialize;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: public-items FILE.json");
        return ExitCode::from(2);
    };
    match items(&file) {
        Ok(items) => {
            print!("{items}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{file}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn items(file: &str) -> Result<String, String> {
    readable(&fs::read_to_string(file).map_err(|error| error.to_string())?)?;
    let builder = Builder::from_rustdoc_json(file).omit_blanket_impls(true).omit_auto_trait_impls(true);
    let public = builder.omit_auto_derived_impls(true).build().map_err(|error| error.to_string())?;
    // A type that is exported under two paths has its methods under both, with the same text, so duplicates are removed.
    let mut seen = HashSet::new();
    let lines = public.items().map(|item| format!("{item}\n"));
    Ok(lines.filter(|line| seen.insert(line.clone())).collect())
}

/// The field that tells the format version. Every format has this field.
#[derive(Deserialize)]
struct Described {
    format_version: u32,
}

/// Fails if this program cannot read the format of the JSON. The format changes with the compiler.
fn readable(json: &str) -> Result<(), String> {
    let described: Described =
        serde_json::from_str(json).map_err(|error| format!("it is not what rustdoc writes: {error}"))?;
    match described.format_version {
        FORMAT_VERSION => Ok(()),
        version => Err(format!(
            "rustdoc wrote format {version}, but this program reads format {FORMAT_VERSION}: choose the versions of \
             public-api and rustdoc-types that read {version} in xtask/public-items/Cargo.toml"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_is_not_read_is_named() {
        assert_eq!(readable(&format!(r#"{{"format_version": {FORMAT_VERSION}}}"#)), Ok(()));
        let newer = readable(r#"{"format_version": 9999}"#).unwrap_err();
        assert!(newer.starts_with("rustdoc wrote format 9999, but this program reads format "), "{newer}");
        assert!(readable("{}").unwrap_err().contains("missing field `format_version`"));
        assert!(readable("").unwrap_err().contains("not what rustdoc writes"));
    }
}
