//! The file `release` of the action `hookhost/check`, which names the archive that the action downloads on each system.

use crate::{
    Outcome,
    archive::{Download, downloads},
    release::Release,
    tree::uname,
};

/// Writes the file, with a line for each archive that was built: what `uname` prints, the digest and the address.
pub(crate) fn write(release: &Release) -> Outcome {
    let mut text = "# SYSTEM DIGEST URL\n".to_owned();
    for Download { target, url, digest } in downloads(release)? {
        text += &format!("{} {digest} {url}\n", uname(target.node()));
    }
    release.write(&format!("hookhost-check-{}.txt", release.version), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_archive_has_a_line_and_other_files_have_none() {
        let release = Release::empty("action");
        let linux = "hookhost-0.2.0-x86_64-unknown-linux-musl.tar.xz";
        let macos = "hookhost-0.2.0-aarch64-apple-darwin.tar.xz";
        for name in [linux, macos, "hookhost-0.1.0-aarch64-unknown-linux-musl.tar.xz", "hookhost.rb"] {
            release.write(name, b"abc").unwrap();
        }
        write(&release).unwrap();
        let written = String::from_utf8(release.read("hookhost-check-0.2.0.txt").unwrap()).unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let from = "https://github.com/hookhost/hookhost/releases/download/v0.2.0";
        let expected = [
            "# SYSTEM DIGEST URL".to_owned(),
            format!("Darwin-arm64 {abc} {from}/{macos}"),
            format!("Linux-x86_64 {abc} {from}/{linux}"),
        ];
        assert_eq!(written.lines().collect::<Vec<_>>(), expected);
    }
}
