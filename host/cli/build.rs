//! Packs the example plugins into the program, so that a user needs neither a compiler nor the network for them.
//!
//! The components are in the directory that the environment variable `HOOKHOST_BUNDLED` names, or in `bundled-plugins` in the target
//! directory, where `cargo xtask plugins` puts them. Without components, the program says how to get them.

use lzma_rust2::{LzipOptions, LzipWriter};
use sha2::{Digest as _, Sha256};
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const VARIABLE: &str = "HOOKHOST_BUNDLED";

/// Maximum size of all components together, packed, in bytes. Every installation contains them.
const MAX_PACKED: usize = 3_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let directory = match env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        Some(named) => Some(PathBuf::from(named)),
        None => of_target(&out),
    };
    let mut components = Vec::new();
    if let Some(directory) = &directory {
        println!("cargo::rerun-if-changed={}", directory.display());
        for entry in fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))? {
            let file = entry?.path();
            if file.extension().is_some_and(|extension| extension == "wasm") {
                components.push(file);
            }
        }
    }
    components.sort();
    let (mut index, mut all) = ("[\n".to_owned(), Vec::new());
    for file in &components {
        let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().replace('_', "-");
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(
            index,
            "    BundledPlugin {{ name: {name:?}, digest: {digest:?}, place: {}..{} }},",
            all.len(),
            all.len() + bytes.len()
        )?;
        all.extend(bytes);
    }
    index.push(']');
    let packed = packed(&all)?;
    if packed.len() > MAX_PACKED {
        return Err(format!("the packed plugins have {} bytes, more than {MAX_PACKED}", packed.len()).into());
    }
    fs::write(out.join("bundled.rs"), index)?;
    fs::write(out.join("bundled.lz"), packed)?;
    Ok(())
}

/// Packs the components as one stream, because the parts that they share then count once.
fn packed(components: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut options = LzipOptions::with_preset(9);
    // The whole input: a larger dictionary would only cost memory.
    options.lzma_options.dict_size = u32::try_from(components.len())?.next_power_of_two().max(1 << 16);
    let mut writer = LzipWriter::new(Vec::new(), options);
    writer.write_all(components)?;
    Ok(writer.finish()?)
}

/// Returns the directory of the components in the target directory. Creates the directory if it is missing, because cargo runs this script
/// again only if a directory changes that existed before.
fn of_target(out: &Path) -> Option<PathBuf> {
    let profile = out.ancestors().find(|directory| directory.ends_with("build"))?.parent()?;
    let mut target = profile.parent()?;
    if env::var_os("TARGET").is_some_and(|triple| target.ends_with(Path::new(&triple))) {
        target = target.parent()?;
    }
    let directory = target.join("bundled-plugins");
    fs::create_dir_all(&directory).ok()?;
    Some(directory)
}
