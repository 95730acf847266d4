//! The commands that are known to write, by what of their words they write.

/// How a command uses its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every word that is no option is written.
    All,
    /// Every word that is no option is removed, with all below.
    Remove,
    /// The same; each gets another name.
    Rename,
    /// Every word after the first is written, with all below where the first takes a right away: `000`, `a-x`.
    Mode,
    /// The last word is written; the words before it are the sources.
    Copy,
    /// The same; of a source with a slash at its end, what is in it is copied.
    Sync,
    /// The same as `Copy`; what is made is a link.
    Link,
    /// The same as `Copy`, and the sources are removed.
    Move,
    /// The second word that is no option is written.
    Second,
    /// Every word, but only with an option that says so.
    InPlace(&'static [&'static str]),
    /// The same; the option is the letter `i` in any cluster, as in `-Ei.bak` and `-0pi`.
    InPlaceLetter,
    /// The value of such an option is written.
    Option(&'static [&'static str]),
    /// The value of such an option is written, and what an address is called in the directory of such another one, or right here where
    /// one of these letters says so.
    Fetch(&'static [&'static str], &'static [&'static str], &'static str),
    /// The value of such a `key=value` word is written.
    Assignment(&'static str),
    /// Every word that is no option is written, and what a patch names in the directory of `-d`.
    Patch,
    /// The directory of such an option is filled, where one of these letters of an option says so, or none of those says otherwise.
    Unpack(&'static [&'static str], &'static [u8], &'static [u8]),
    /// The directories before the first option are written, where something is done to what is found.
    Find,
    /// By its subcommand.
    Git,
}

/// What is known of a program, called by its file name in lower case.
pub fn kind(program: &str) -> Option<Kind> {
    Some(match program {
        "touch" | "mkdir" | "truncate" | "tee" | "chown" | "chgrp" | "chattr" | "setfacl" | "mkfifo" | "mknod"
        | "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "emacs" | "pico" | "joe" | "micro" | "hx" | "kak"
        | "tee-object" | "set-content" | "add-content" | "out-file" | "new-item" | "ni" | "md" | "sponge" | "gzip"
        | "gunzip" | "bzip2" | "xz" | "gtouch" | "gtruncate" | "gtee" | "gchown" => Kind::All,
        "chmod" | "gchmod" => Kind::Mode,
        // What is mounted hides what was there.
        "rm" | "grm" | "rmdir" | "unlink" | "shred" | "trash" | "srm" | "del" | "erase" | "rd" | "ri"
        | "remove-item" | "clear-content" | "mount" => Kind::Remove,
        "rename-item" | "ren" | "rename" => Kind::Rename,
        "cp" | "gcp" | "install" | "ginstall" | "ditto" | "scp" | "copy" | "xcopy" | "robocopy" | "copy-item"
        | "cpi" => Kind::Copy,
        "ln" | "gln" | "link" => Kind::Link,
        "rsync" => Kind::Sync,
        "mv" | "gmv" | "move" | "move-item" | "mi" => Kind::Move,
        "sed" | "gsed" | "perl" | "ruby" => Kind::InPlaceLetter,
        "yq" => Kind::InPlace(&["-i", "--inplace", "--in-place"]),
        "gawk" | "awk" => Kind::InPlace(&["inplace"]),
        "prettier" | "rustfmt" | "black" => Kind::InPlace(&["--write", "-w"]),
        "eslint" | "biome" | "stylelint" | "markdownlint" | "ruff" => Kind::InPlace(&["--fix", "--write"]),
        "zip" => Kind::InPlace(&["-m", "--move"]),
        "uniq" | "guniq" | "xxd" => Kind::Second,
        "curl" => Kind::Fetch(&["-o", "--output"], &["--output-dir"], "O"),
        "wget" => Kind::Fetch(&["-O", "--output-document"], &["-P", "--directory-prefix"], ""),
        "aria2c" => Kind::Fetch(&["-o", "--out"], &["-d", "--dir"], ""),
        "sort" | "gsort" | "shuf" | "gshuf" | "iconv" | "base64" | "tree" | "xmllint" | "gcc" | "cc" | "clang"
        | "pandoc" | "strace" | "ltrace" | "time" | "gtime" => Kind::Option(&["-o", "--output"]),
        "less" => Kind::Option(&["-o", "-O", "--log-file", "--LOG-FILE"]),
        "openssl" => Kind::Option(&["-out", "-keyout"]),
        "patch" | "gpatch" => Kind::Patch,
        "tar" | "gtar" | "bsdtar" => Kind::Unpack(&["-C", "--directory", "--cd"], b"x", b""),
        "unzip" => Kind::Unpack(&["-d"], b"", b"ltpvZ"),
        "cpio" => Kind::Unpack(&["-D", "--directory"], b"ip", b""),
        "7z" | "7za" | "7zz" => Kind::Unpack(&["-o"], b"xe", b""),
        "dd" | "gdd" => Kind::Assignment("of"),
        "find" | "fd" => Kind::Find,
        "git" => Kind::Git,
        _ => return None,
    })
}

/// The subcommands of git that write the files named to them.
pub const GIT: [&str; 7] = ["rm", "mv", "checkout", "restore", "clean", "apply", "am"];
