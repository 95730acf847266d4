//! The kinds of packages, and how a user installs each of them.

use crate::{release::Release, tree::Target};

/// A kind of package.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The end of the file's name, in which `ARCH` is Debian's word for the processor and `MACHINE` that of the kernel.
    ending: &'static str,
    pub(super) needs_network: bool,
    pub(super) place: Place,
    /// The commands that install below the directory `$DIR` of this machine and add the programs to the PATH.
    pub(super) here: Option<&'static str>,
    /// How many commands the user types until a call is rejected, `hookhost on` included.
    pub(super) commands: u8,
    pub(super) how: &'static str,
}

/// Where a package is installed, and how. `$PACKAGE` is the package.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// A bare system.
    System {
        /// Debian packages that the system needs, separated by commas.
        needs: &'static str,
        /// What runs outside the system before, if only this machine has the program for this kind of package.
        before: &'static str,
        /// What the user types.
        install: &'static str,
    },
    /// Nothing but the package itself.
    Image,
}

impl Kind {
    pub(super) fn is_for(&self, name: &str, release: &Release, target: &Target) -> bool {
        let machine = if target.goarch() == "amd64" { "x86_64" } else { "aarch64" };
        let words = [("ARCH", target.goarch()), ("MACHINE", machine), ("VERSION", &release.version)];
        let ending = words.iter().fold(self.ending.to_owned(), |ending, (word, value)| ending.replace(word, value));
        name.starts_with("hookhost") && name.ends_with(&ending)
    }
}

const NPM: &str =
    r#"npm install -g --prefix "$DIR" --registry "$REGISTRY" --ignore-scripts --no-audit --no-fund hookhost"#;

pub(super) const KINDS: [Kind; 8] = [
    Kind {
        name: "archive",
        ending: "-MACHINE-unknown-linux-musl.tar.xz",
        needs_network: false,
        place: Place::System {
            needs: "xz-utils",
            before: "",
            install: r#"tar xf "$PACKAGE" --strip-components=1 -C /usr/local"#,
        },
        here: Some(r#"tar xf "$PACKAGE" --strip-components=1 -C "$DIR"; PATH="$DIR/bin:$PATH""#),
        commands: 2,
        how: "tar xf hookhost-….tar.xz --strip-components=1 -C /usr/local",
    },
    Kind {
        name: "deb",
        ending: "_ARCH.deb",
        needs_network: false,
        place: Place::System { needs: "", before: "", install: r#"apt-get install -qq "$PACKAGE""# },
        here: Some(r#"dpkg-deb -x "$PACKAGE" "$DIR"; PATH="$DIR/usr/bin:$PATH""#),
        commands: 2,
        how: "apt install ./hookhost_….deb",
    },
    Kind {
        name: "wheel",
        ending: "_MACHINE.whl",
        needs_network: false,
        place: Place::System {
            needs: "python3-venv",
            before: "",
            install: "python3 -m venv ~/hookhost\n~/hookhost/bin/pip install -q --no-index \"$PACKAGE\"\nPATH=$PATH:~/hookhost/bin",
        },
        here: Some(r#"python3 -m venv "$DIR"; "$DIR/bin/pip" install -q --no-index "$PACKAGE"; PATH="$DIR/bin:$PATH""#),
        commands: 3,
        how: "python3 -m venv hookhost; hookhost/bin/pip install hookhost-….whl",
    },
    Kind {
        name: "npm",
        ending: "-npm-VERSION.tgz",
        needs_network: true,
        place: Place::System { needs: "nodejs,npm", before: "", install: NPM },
        here: Some(NPM_HERE),
        commands: 2,
        how: "npm install -g hookhost, from a registry on this machine",
    },
    Kind {
        name: "rpm",
        ending: ".MACHINE.rpm",
        needs_network: false,
        place: Place::System {
            needs: "",
            before: r#"rpm --root "$root" --initdb; rpm --root "$root" -i "$PACKAGE""#,
            install: "",
        },
        here: None,
        commands: 2,
        how: "rpm -i hookhost-….rpm, by the rpm of this machine",
    },
    Kind {
        name: "apk",
        ending: "_MACHINE.apk",
        needs_network: false,
        place: Place::System { needs: "", before: r#"tar xzf "$PACKAGE" -C "$root" usr"#, install: "" },
        here: None,
        commands: 2,
        how: "unpacked only: this machine has no apk",
    },
    Kind {
        name: "Arch",
        ending: "-MACHINE.pkg.tar.zst",
        needs_network: false,
        place: Place::System { needs: "", before: r#"tar --zstd -xf "$PACKAGE" -C "$root" usr"#, install: "" },
        here: None,
        commands: 2,
        how: "unpacked only: this machine has no pacman",
    },
    Kind {
        name: "image",
        ending: "-linux-ARCH.oci.tar",
        needs_network: false,
        place: Place::Image,
        here: None,
        commands: 1,
        how: "docker run -i hookhost, unpacked by umoci",
    },
];

/// Also checks what the launcher says where the package with the program is missing, and on a platform without a package.
const NPM_HERE: &str = r#"
npm install -g --prefix "$DIR" --registry "$REGISTRY" --ignore-scripts --no-audit --no-fund hookhost
launcher="$DIR/lib/node_modules/hookhost/launcher.js"
said=$(node -e 'Object.defineProperty(process, "arch", { value: "ppc64" }); require(process.argv[1])' "$launcher" 2>&1) && exit 1
case $said in "hookhost: there is no package for linux-ppc64, only for linux-x64"*) ;; *) echo "$said" >&2; exit 1 ;; esac
cp -r "$DIR/lib/node_modules/hookhost" "$WORK/lonely"
rm -r "$WORK/lonely/node_modules"
said=$(node "$WORK/lonely/launcher.js" 2>&1) && exit 1
case $said in "hookhost: npm did not install the package with the program for linux-"*) ;; *) echo "$said" >&2; exit 1 ;; esac
PATH="$DIR/bin:$PATH"
"#;
