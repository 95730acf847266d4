//! The Homebrew formula, with the archives of all targets that were built.

use crate::{
    Outcome, archive,
    release::{DESCRIPTION, HOMEPAGE, Release},
};

pub(crate) fn formula(release: &Release) -> Outcome {
    let mut blocks = String::new();
    for archive::Download { target, url, digest } in archive::downloads(release)? {
        let system = if target.is_linux() { "on_linux" } else { "on_macos" };
        let processor = if target.goarch() == "amd64" { "on_intel" } else { "on_arm" };
        blocks += &format!(
            "\n  {system} do\n    {processor} do\n      url \"{url}\"\n      sha256 \"{digest}\"\n    end\n  end\n"
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
