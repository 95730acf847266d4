//! The files of a package, in the tree that all packages share: `bin`, and `share` with manual pages, completions and licences. Each package
//! puts this tree below its prefix, so a file is at the same place however hookhost was installed.

use crate::{
    Outcome, licences,
    release::{Release, failed, read},
    sbom,
};
use std::{fs, path::Path};

/// A target of rustc, with its names in the kinds of packages.
pub(crate) struct Target {
    pub(crate) triple: String,
    arch: &'static str,
    system: &'static str,
}

impl Target {
    pub(crate) fn parse(triple: &str) -> Outcome<Self> {
        let arch = ["x86_64", "aarch64"].into_iter().find(|arch| triple.starts_with(arch));
        let system = ["linux", "darwin"].into_iter().find(|system| triple.contains(system));
        let (Some(arch), Some(system)) = (arch, system) else {
            return Err(format!("no package is defined for {triple}: hookhost runs on Linux and macOS"));
        };
        Ok(Self { triple: triple.to_owned(), arch, system })
    }

    pub(crate) fn is_linux(&self) -> bool {
        self.system == "linux"
    }

    /// Returns the processor in the words of Go, Debian and OCI.
    pub(crate) fn goarch(&self) -> &'static str {
        if self.arch == "x86_64" { "amd64" } else { "arm64" }
    }

    /// Returns the platform in the words of Node.js, as (`process.platform`, `process.arch`).
    pub(crate) fn node(&self) -> (&'static str, &'static str) {
        (self.system, if self.arch == "x86_64" { "x64" } else { "arm64" })
    }

    /// Returns the platform tags of a wheel. A static program runs with each C library.
    pub(crate) fn wheel_tags(&self) -> Vec<String> {
        let arch = self.arch;
        match (self.system, arch) {
            ("linux", _) if self.triple.ends_with("-musl") => {
                [format!("manylinux_2_17_{arch}"), format!("manylinux2014_{arch}"), format!("musllinux_1_1_{arch}")]
                    .into()
            }
            ("linux", _) => vec![format!("linux_{arch}")],
            (_, "aarch64") => vec!["macosx_11_0_arm64".to_owned()],
            _ => vec!["macosx_10_12_x86_64".to_owned()],
        }
    }
}

/// Returns what `uname -s` and `uname -m` print on a platform of Node.js.
pub(crate) fn uname((os, cpu): (&str, &str)) -> &'static str {
    match (os, cpu) {
        ("linux", "x64") => "Linux-x86_64",
        ("linux", _) => "Linux-aarch64",
        (_, "x64") => "Darwin-x86_64",
        _ => "Darwin-arm64",
    }
}

/// A file of a package.
pub(crate) struct File {
    /// Relative to the prefix, such as `bin/hookhost`.
    pub(crate) path: String,
    pub(crate) is_program: bool,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    pub(crate) fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

/// All files of a package, sorted by path.
pub(crate) struct Tree(pub(crate) Vec<File>);

const DOCUMENTS: &str = "share/doc/hookhost";

impl Tree {
    /// Collects the files for a target. `programs` is the directory of the two programs, and `generated` contains what `hookhost
    /// completions` and `hookhost man` write.
    pub(crate) fn collect(release: &Release, target: &Target, programs: &Path, generated: &Path) -> Outcome<Self> {
        let mut files = Vec::new();
        for name in ["hookhost", "hookhost-hook"] {
            files.push(File { path: format!("bin/{name}"), is_program: true, bytes: read(&programs.join(name))? });
        }
        let mut add = |path: String, bytes| files.push(File { path, is_program: false, bytes });
        for (name, path) in [
            ("hookhost.bash", "share/bash-completion/completions/hookhost"),
            ("_hookhost", "share/zsh/site-functions/_hookhost"),
            ("hookhost.fish", "share/fish/vendor_completions.d/hookhost.fish"),
        ] {
            add(path.to_owned(), read(&generated.join(name))?);
        }
        for (pages, path) in [("man1", "share/man/man1"), ("rules", "share/doc/hookhost/rules")] {
            let pages = generated.join(pages);
            for entry in fs::read_dir(&pages).map_err(|error| failed(&pages, &error))? {
                let entry = entry.map_err(|error| failed(&pages, &error))?;
                add(format!("{path}/{}", entry.file_name().to_string_lossy()), read(&entry.path())?);
            }
        }
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            add(format!("{DOCUMENTS}/{licence}"), read(&release.root.join(licence))?);
        }
        let packages = sbom::packages(release, target)?;
        add(
            format!("{DOCUMENTS}/LICENSES-OF-LIBRARIES.txt"),
            licences::texts(release, target, &packages)?.into_bytes(),
        );
        let sbom = sbom::cyclonedx(release, target, &packages);
        release.write(&format!("hookhost-{}-{}.cdx.json", release.version, target.triple), sbom.as_bytes())?;
        add(format!("{DOCUMENTS}/hookhost.cdx.json"), sbom.into_bytes());
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self(files))
    }

    /// Writes the tree into a directory.
    pub(crate) fn write_to(&self, directory: &Path) -> Outcome {
        use std::os::unix::fs::PermissionsExt as _;
        if directory.exists() {
            fs::remove_dir_all(directory).map_err(|error| failed(directory, &error))?;
        }
        for file in &self.0 {
            let path = directory.join(&file.path);
            let parent = path.parent().unwrap_or(directory);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, &file.bytes))
                .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(file.mode())))
                .map_err(|error| failed(&path, &error))?;
        }
        Ok(())
    }

    pub(crate) fn programs(&self) -> impl Iterator<Item = &File> {
        self.0.iter().filter(|file| file.is_program)
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = &File> {
        self.0.iter().filter(|file| file.path.starts_with(DOCUMENTS))
    }
}
