//! The Homebrew formula, with the archives of all targets that were built.

use crate::{
    Outcome, archive,
    image::digest,
    release::{DESCRIPTION, HOMEPAGE, Release},
};

/// The targets of the archives, with the words of a formula.
const TARGETS: [(&str, &str, &str); 4] = [
    ("on_macos", "on_arm", "aarch64-apple-darwin"),
    ("on_macos", "on_intel", "x86_64-apple-darwin"),
    ("on_linux", "on_arm", "aarch64-unknown-linux-musl"),
    ("on_linux", "on_intel", "x86_64-unknown-linux-musl"),
];

pub(crate) fn formula(release: &Release) -> Outcome {
    let names = release.names()?;
    let mut blocks = String::new();
    for (system, processor, triple) in TARGETS {
        let name = format!("{}.tar.xz", archive::name(release, triple));
        if !names.contains(&name) {
            continue;
        }
        let (version, sha256) = (&release.version, digest(&release.read(&name)?));
        blocks += &format!(
            "\n  {system} do\n    {processor} do\n      url \"{HOMEPAGE}/releases/download/v{version}/{name}\"\n      sha256 \
             \"{sha256}\"\n    end\n  end\n"
        );
    }
    let formula = format!(
        r##"class Hookhost < Formula
  desc "{DESCRIPTION}"
  homepage "{HOMEPAGE}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]
{blocks}
  def install
    bin.install Dir["bin/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/hookhost"
    zsh_completion.install "share/zsh/site-functions/_hookhost"
    fish_completion.install "share/fish/vendor_completions.d/hookhost.fish"
    doc.install Dir["share/doc/hookhost/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/hookhost --version")
  end
end
"##,
        version = release.version,
    );
    release.write("hookhost.rb", formula.as_bytes())
}
