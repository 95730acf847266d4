//! Finds out how this program was installed, from the path of its file. Nothing is run, and nothing is sent.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The way in which this program was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Installation {
    Deb,
    Rpm,
    Apk,
    Pacman,
    Homebrew,
    Npm,
    Uv,
    Pipx,
    /// A virtual environment of Python at this path.
    Venv(PathBuf),
    /// The marketplace of this agent.
    Marketplace(&'static str),
    /// A build from source, in this clone of the repository if the clone is known.
    Build(Option<PathBuf>),
    /// The directory into which cargo installs programs.
    Cargo,
    Container,
    /// An unpacked archive, or any other copy, in this directory.
    Copy(PathBuf),
}

impl Installation {
    /// Finds the installation of `program`, a path without symbolic links. `root` is the root of the file system, and `home` the user's
    /// home directory.
    pub(crate) fn of(program: &Path, root: &Path, home: Option<&Path>) -> Self {
        let directory = program.parent().unwrap_or(root);
        let contains = |names: &[&str]| {
            let components: Vec<_> = program.components().map(std::path::Component::as_os_str).collect();
            components.windows(names.len()).any(|window| window.iter().zip(names).all(|(found, name)| *found == *name))
        };
        if contains(&["Cellar", "hookhost"]) {
            return Self::Homebrew;
        }
        if contains(&["node_modules"]) {
            return Self::Npm;
        }
        if contains(&["uv", "tools", "hookhost"]) {
            return Self::Uv;
        }
        if contains(&["pipx", "venvs", "hookhost"]) {
            return Self::Pipx;
        }
        for (name, agent) in [(".claude", "Claude Code"), (".codex", "Codex")] {
            if contains(&[name, "plugins"]) {
                return Self::Marketplace(agent);
            }
        }
        if let Some(venv) = directory.parent().filter(|venv| venv.join("pyvenv.cfg").exists()) {
            return Self::Venv(venv.to_owned());
        }
        let clones = program.ancestors().filter(|ancestor| ancestor.file_name().is_some_and(|name| name == "target"));
        let mut clones = clones.filter_map(Path::parent);
        if let Some(clone) = clones.find(|clone| clone.join("host/cli/Cargo.toml").exists()) {
            return Self::Build(Some(clone.to_owned()));
        }
        if directory.join(".fingerprint").exists() {
            return Self::Build(None);
        }
        if let Some(package) = Self::package(program, root) {
            return package;
        }
        if home.is_some_and(|home| directory == home.join(".cargo/bin")) || contains(&[".cargo", "bin"]) {
            return Self::Cargo;
        }
        // The image contains hookhost at this place and nothing else, so a container with a shell is somebody else's.
        let is_container = [".dockerenv", "run/.containerenv"].iter().any(|mark| root.join(mark).exists());
        if is_container && directory == root.join("usr/bin") && !root.join("bin/sh").exists() {
            return Self::Container;
        }
        Self::Copy(directory.to_owned())
    }

    /// Returns the package of the system to which the program belongs.
    fn package(program: &Path, root: &Path) -> Option<Self> {
        let below = program.strip_prefix(root).ok()?;
        if !below.starts_with("usr/bin") {
            return None;
        }
        let lists = |file: &str| {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            text.lines().any(|line| Path::new(line) == Path::new("/").join(below))
        };
        if lists("var/lib/dpkg/info/hookhost.list") {
            return Some(Self::Deb);
        }
        let is_apk = fs::read_to_string(root.join("lib/apk/db/installed")).unwrap_or_default();
        if is_apk.lines().any(|line| line == "P:hookhost") {
            return Some(Self::Apk);
        }
        let packages = fs::read_dir(root.join("var/lib/pacman/local")).into_iter().flatten().flatten();
        if packages.into_iter().any(|package| package.file_name().to_string_lossy().starts_with("hookhost-")) {
            return Some(Self::Pacman);
        }
        // The database of rpm is binary. Only packages put programs into this directory.
        let is_rpm = ["var/lib/rpm", "usr/lib/sysimage/rpm"].iter().any(|database| root.join(database).exists());
        is_rpm.then_some(Self::Rpm)
    }

    /// Returns the command or the step that installs a newer version.
    pub(crate) fn update(&self) -> String {
        match self {
            Self::Deb => {
                "sudo apt install ./hookhost_VERSION_amd64.deb, after you have downloaded that file".to_owned()
            }
            Self::Rpm => {
                "sudo dnf install ./hookhost-VERSION-1.x86_64.rpm, after you have downloaded that file".to_owned()
            }
            Self::Apk => "apk add --allow-untrusted ./hookhost_VERSION_x86_64.apk, after you have downloaded that file"
                .to_owned(),
            Self::Pacman => {
                "sudo pacman -U hookhost-VERSION-1-x86_64.pkg.tar.zst, after you have downloaded that file".to_owned()
            }
            Self::Homebrew => "brew upgrade hookhost".to_owned(),
            Self::Npm => "npm install -g hookhost@latest".to_owned(),
            Self::Uv => "uv tool upgrade hookhost".to_owned(),
            Self::Pipx => "pipx upgrade hookhost".to_owned(),
            Self::Venv(venv) => format!("{}/bin/pip install --upgrade hookhost", venv.display()),
            Self::Marketplace(agent) => format!("/plugin update hookhost, in {agent}"),
            Self::Build(Some(clone)) => format!("cd {} && git pull && cargo xtask install", clone.display()),
            Self::Build(None) => "git pull && cargo xtask install, in your clone".to_owned(),
            Self::Cargo => {
                "cargo binstall --git https://github.com/hookhost/hookhost hookhost-cli@VERSION, then the same with \
                 hookhost-client@VERSION; or in a clone: git pull && cargo xtask install"
                    .to_owned()
            }
            Self::Container => "docker pull, with the name of the image".to_owned(),
            Self::Copy(directory) => {
                format!("unpack the newer archive, and move its programs to {}", directory.display())
            }
        }
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deb => "the Debian package",
            Self::Rpm => "the RPM package",
            Self::Apk => "the Alpine package",
            Self::Pacman => "the Arch package",
            Self::Homebrew => "Homebrew",
            Self::Npm => "npm",
            Self::Uv => "uv",
            Self::Pipx => "pipx",
            Self::Venv(_) => "pip",
            Self::Marketplace(agent) => return write!(f, "the marketplace of {agent}"),
            Self::Build(_) => "a build from source",
            Self::Cargo => "cargo",
            Self::Container => "a container image",
            Self::Copy(_) => "an archive",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Installation;
    use std::fs;
    use std::path::Path;

    fn of(program: &str) -> Installation {
        let root = tempfile::tempdir().unwrap();
        Installation::of(Path::new(program), root.path(), Some(Path::new("/home/ada")))
    }

    #[test]
    fn the_path_of_the_program_shows_who_installed_it() {
        for (program, installation, update) in [
            ("/opt/homebrew/Cellar/hookhost/0.2.0/bin/hookhost", Installation::Homebrew, "brew upgrade hookhost"),
            (
                "/usr/lib/node_modules/hookhost/node_modules/hookhost-linux-x64/bin/hookhost",
                Installation::Npm,
                "npm install -g hookhost@latest",
            ),
            ("/home/ada/.local/share/uv/tools/hookhost/bin/hookhost", Installation::Uv, "uv tool upgrade hookhost"),
            ("/home/ada/.local/share/pipx/venvs/hookhost/bin/hookhost", Installation::Pipx, "pipx upgrade hookhost"),
            (
                "/home/ada/.claude/plugins/cache/hookhost/bin/hookhost",
                Installation::Marketplace("Claude Code"),
                "/plugin update hookhost, in Claude Code",
            ),
        ] {
            let found = of(program);
            assert_eq!((&found, found.update().as_str()), (&installation, update));
        }
        assert_eq!(of("/home/ada/.cargo/bin/hookhost"), Installation::Cargo);
        assert_eq!(of("/home/ada/bin/hookhost"), Installation::Copy("/home/ada/bin".into()));
    }

    #[test]
    fn a_package_is_recognised_by_the_list_of_its_files() {
        let place = |file: &str, text: &str| {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            Installation::of(&root.path().join("usr/bin/hookhost"), root.path(), None)
        };
        assert_eq!(place("var/lib/dpkg/info/hookhost.list", "/.\n/usr/bin/hookhost\n"), Installation::Deb);
        assert_eq!(place("lib/apk/db/installed", "P:musl\nP:hookhost\n"), Installation::Apk);
        assert_eq!(place("var/lib/pacman/local/hookhost-0.2.0-1/desc", ""), Installation::Pacman);
        assert_eq!(place("usr/lib/sysimage/rpm/rpmdb.sqlite", ""), Installation::Rpm);
        assert!(matches!(place("var/lib/dpkg/info/other.list", "/usr/bin/other\n"), Installation::Copy(_)));
        assert_eq!(place(".dockerenv", ""), Installation::Container);
    }

    #[test]
    fn in_a_container_the_place_of_the_program_shows_whether_the_image_is_hookhosts() {
        let in_container = |files: &[(&str, &str)], program: &str| {
            let root = tempfile::tempdir().unwrap();
            for (file, text) in [(".dockerenv", "")].iter().chain(files) {
                let path = root.path().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Installation::of(&root.path().join(program), root.path(), Some(Path::new("/root"))).to_string()
        };
        let (shell, package) = (("bin/sh", ""), ("var/lib/dpkg/info/hookhost.list", "/usr/bin/hookhost\n"));
        for (files, program, expected) in [
            (&[][..], "usr/bin/hookhost", "a container image"),
            (&[shell, package], "usr/bin/hookhost", "the Debian package"),
            (&[package], "usr/bin/hookhost", "the Debian package"),
            (&[shell], "usr/bin/hookhost", "an archive"),
            (&[shell], "root/.cargo/bin/hookhost", "cargo"),
            (&[shell], "usr/local/lib/node_modules/hookhost/bin/hookhost", "npm"),
            (&[], "opt/hookhost/hookhost", "an archive"),
        ] {
            assert_eq!(in_container(files, program), expected, "{files:?} {program}");
        }
    }

    #[test]
    fn a_build_is_recognised_by_its_clone_and_a_virtual_environment_by_its_settings() {
        let root = tempfile::tempdir().unwrap();
        let make = |file: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        make("src/hookhost/host/cli/Cargo.toml");
        make("venv/pyvenv.cfg");
        let of = |program: &str| Installation::of(&root.path().join(program), root.path(), None);
        make("elsewhere/debug/.fingerprint/x");
        assert_eq!(
            of("src/hookhost/target/debug/hookhost"),
            Installation::Build(Some(root.path().join("src/hookhost")))
        );
        assert_eq!(of("elsewhere/debug/hookhost"), Installation::Build(None));
        assert_eq!(of("venv/bin/hookhost"), Installation::Venv(root.path().join("venv")));
    }
}
