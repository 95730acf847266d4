//! `SHA256SUMS`, and its signature if there is a key.

use crate::{
    Outcome,
    image::digest,
    release::{Release, output},
};
use std::process::Command;

/// The environment variable that names the file with minisign's secret key.
const KEY: &str = "HOOKHOST_MINISIGN_KEY";

const SUMS: &str = "SHA256SUMS";
const SIGNATURE: &str = "SHA256SUMS.minisig";

/// Writes a line for each package, and signs the file.
pub(crate) fn write(release: &Release) -> Outcome {
    let names = release.names()?.into_iter().filter(|name| ![SUMS, SIGNATURE].contains(&name.as_str()));
    let lines = names.map(|name| Ok(format!("{}  {name}\n", digest(&release.read(&name)?))));
    release.write(SUMS, lines.collect::<Outcome<String>>()?.as_bytes())?;
    let Some(key) = std::env::var_os(KEY) else {
        println!("    {SUMS} is not signed: {KEY} names no key of minisign");
        return Ok(());
    };
    let mut minisign = Command::new("minisign");
    minisign.arg("-S").arg("-s").arg(key).arg("-m").arg(release.out.join(SUMS));
    minisign.args(["-t", &format!("hookhost {}", release.version)]);
    output(&mut minisign).map(drop)
}
