//! The usual names of programs. Some machines use other names, such as `python3.12` or `nodejs`.

use super::wrappers::VERSIONED;

/// Returns the usual name of a program.
pub(super) fn usual(name: &str) -> &str {
    match name {
        "nodejs" => return "node",
        "pypy" => return "python3",
        "jruby" | "truffleruby" => return "ruby",
        "pwsh-preview" => return "pwsh",
        "nc.openbsd" | "nc.traditional" => return "nc",
        "vim.basic" | "vim.tiny" | "vim.gtk3" | "vim.nox" => return "vim",
        "original-awk" => return "awk",
        "gmake" => return "make",
        // The dynamic linker, which starts programs on Linux.
        name if ["ld-linux", "ld-musl-", "ld.so", "ld64.so"].iter().any(|begin| name.starts_with(begin)) => {
            return "ld.so";
        }
        "Rscript" => return "rscript",
        "R" => return "r",
        _ => {}
    }
    if !name.ends_with(|c: char| c.is_ascii_digit()) {
        return name;
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let version = &name[stem.len()..];
    let stem = stem.strip_suffix(['-', '_']).unwrap_or(stem);
    if version.is_empty() || !VERSIONED.contains(stem) {
        return name;
    }
    match stem {
        // For these programs, the first digit belongs to the usual name.
        "python" | "pip" if stem.len() + version.len() == name.len() => &name[..=stem.len()],
        "pypy" => "python3",
        stem => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::usual;

    #[test]
    fn versions_of_a_name_are_left_out() {
        for (name, expected) in [
            ("python", "python"),
            ("python3", "python3"),
            ("python3.12", "python3"),
            ("python2.7", "python2"),
            ("pypy3.10", "python3"),
            ("pip3.11", "pip3"),
            ("perl5.36.0", "perl"),
            ("bash-5.2", "bash"),
            ("bash5", "bash"),
            ("nodejs", "node"),
            ("nc.openbsd", "nc"),
            ("base64", "base64"),
            ("ld-linux-x86-64.so.2", "ld.so"),
            ("ld-musl-aarch64.so.1", "ld.so"),
            ("ld.so.1", "ld.so"),
            ("ld", "ld"),
            ("md5", "md5"),
            ("7z", "7z"),
            ("bzip2", "bzip2"),
            ("python3-config", "python3-config"),
            ("", ""),
            ("3.12", "3.12"),
        ] {
            assert_eq!(usual(name), expected, "{name}");
        }
    }
}
