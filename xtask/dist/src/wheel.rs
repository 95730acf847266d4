//! The wheel, for `uv tool install` and pip. Its programs go beside the Python program of the environment, without a launcher.

use crate::{
    Outcome,
    release::{DESCRIPTION, HOMEPAGE, LICENCE, Release},
    tree::{Target, Tree},
};
use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest as _, Sha256};
use std::{fmt::Write as _, io::Cursor, io::Write as _};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

pub(crate) fn write(release: &Release, target: &Target, tree: &Tree) -> Outcome {
    let version = &python_version(&release.version);
    let tags = target.wheel_tags();
    let (info, data) = (format!("hookhost-{version}.dist-info"), format!("hookhost-{version}.data"));
    let mut zip = Zip {
        writer: ZipWriter::new(Cursor::new(Vec::new())),
        record: String::new(),
        level: if release.quick { 1 } else { 9 },
    };
    for file in &tree.0 {
        let path = match file.path.strip_prefix("bin/") {
            Some(name) => format!("{data}/scripts/{name}"),
            None => format!("{data}/data/{}", file.path),
        };
        zip.file(&path, file.mode(), &file.bytes)?;
    }
    let metadata = format!(
        "Metadata-Version: 2.4\nName: hookhost\nVersion: {version}\nSummary: {DESCRIPTION}\nLicense-Expression: {LICENCE}\n\
         Project-URL: Homepage, {HOMEPAGE}\nRequires-Python: >=3.7\n"
    );
    zip.file(&format!("{info}/METADATA"), 0o644, metadata.as_bytes())?;
    let tag_lines: String = tags.iter().map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
    let wheel = format!("Wheel-Version: 1.0\nGenerator: hookhost\nRoot-Is-Purelib: false\n{tag_lines}");
    zip.file(&format!("{info}/WHEEL"), 0o644, wheel.as_bytes())?;
    release.write(&format!("hookhost-{version}-py3-none-{}.whl", tags.join(".")), &zip.finish(&info)?)
}

/// Returns a version in Python's form, such as `0.2.0rc1` for 0.2.0-rc.1.
fn python_version(version: &str) -> String {
    let Some((version, prerelease)) = version.split_once('-') else { return version.to_owned() };
    let prerelease = prerelease.replace("alpha", "a").replace("beta", "b").replace('.', "");
    format!("{version}{prerelease}")
}

/// A zip file that is the same each time: without the time of its files, which would be a local time.
struct Zip {
    writer: ZipWriter<Cursor<Vec<u8>>>,
    /// The lines of `RECORD`, a digest for each file.
    record: String,
    level: i64,
}

impl Zip {
    fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> Outcome {
        let digest = BASE64URL_NOPAD.encode(&Sha256::digest(bytes));
        let _ = writeln!(self.record, "{path},sha256={digest},{}", bytes.len());
        self.add(path, mode, bytes)
    }

    fn add(&mut self, path: &str, mode: u32, bytes: &[u8]) -> Outcome {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(self.level))
            .last_modified_time(DateTime::default())
            .unix_permissions(mode);
        let written = self.writer.start_file(path, options).map_err(|error| format!("{path}: {error}"));
        written.and_then(|()| self.writer.write_all(bytes).map_err(|error| format!("{path}: {error}")))
    }

    fn finish(mut self, info: &str) -> Outcome<Vec<u8>> {
        let path = format!("{info}/RECORD");
        let record = format!("{}{path},,\n", self.record);
        self.add(&path, 0o644, record.as_bytes())?;
        self.writer.finish().map(Cursor::into_inner).map_err(|error| format!("the wheel: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::python_version;

    #[test]
    fn a_prerelease_has_the_version_that_pypi_accepts() {
        let versions = ["0.2.0", "0.2.0-rc.1", "0.2.0-alpha.2", "0.2.0-beta.3"].map(python_version);
        assert_eq!(versions, ["0.2.0", "0.2.0rc1", "0.2.0a2", "0.2.0b3"]);
    }
}
