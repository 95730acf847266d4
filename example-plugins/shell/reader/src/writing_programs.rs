//! The programs that are known to write files, and how each program uses its words.

/// The use of the words of a command as names of files. Options are not counted as words here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WritingKind {
    /// Writes every word.
    All,
    /// Removes every word, with everything below it.
    Remove,
    /// Gives every word another name, with everything below it.
    Rename,
    /// Writes every word after the first word. If the first word is a mode that removes a right, such as `000` or `a-x`, this includes
    /// everything below the words.
    Mode,
    /// Writes the last word. The words before it are the sources.
    Copy,
    /// Like `Copy`, but copies the content of a source that ends with a slash.
    Sync,
    /// Like `Copy`, but makes a link.
    Link,
    /// Like `Copy`, and removes the sources.
    Move,
    /// Writes the second word.
    Second,
    /// Writes every word, but only with one of these options.
    InPlace(&'static [&'static str]),
    /// Writes every word, but only with the option letter `i` in any cluster, as in `-Ei.bak` and `-0pi`.
    InPlaceLetter,
    /// Writes the value of one of these options.
    Option(&'static [&'static str]),
    /// Writes the value of one of the options in the first list. Also writes files that are named after the end of each address. With an
    /// option of the second list, these files go to the directory that the option names. With an option that has one of the letters, they
    /// go to the current directory.
    Fetch(&'static [&'static str], &'static [&'static str], &'static str),
    /// Writes the value of a word `KEY=value` with this key.
    Assignment(&'static str),
    /// Writes every word, and the files that a patch names in the directory of `-d`.
    Patch,
    /// Fills the directory that one of these options names. If the first list of letters is not empty, an option must have one of these
    /// letters. If the first list is empty, no option may have one of the letters in the second list.
    Unpack(&'static [&'static str], &'static [u8], &'static [u8]),
    /// Writes in the directories before the first option, if the command has an action on the files that it finds.
    Find,
    /// Depends on the subcommand.
    Git,
}

/// Returns how a program uses its words. `program` is its file name in lower case.
pub(crate) fn kind(program: &str) -> Option<WritingKind> {
    Some(match program {
        "touch" | "mkdir" | "truncate" | "tee" | "chown" | "chgrp" | "chattr" | "setfacl" | "mkfifo" | "mknod"
        | "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "emacs" | "pico" | "joe" | "micro" | "hx" | "kak"
        | "tee-object" | "set-content" | "add-content" | "out-file" | "new-item" | "ni" | "md" | "sponge" | "gzip"
        | "gunzip" | "bzip2" | "xz" | "gtouch" | "gtruncate" | "gtee" | "gchown" => WritingKind::All,
        "chmod" | "gchmod" => WritingKind::Mode,
        // A mount hides the previous content of its directory, so `mount` is treated like a removal.
        "rm" | "grm" | "rmdir" | "unlink" | "shred" | "trash" | "srm" | "del" | "erase" | "rd" | "ri"
        | "remove-item" | "clear-content" | "mount" => WritingKind::Remove,
        "rename-item" | "ren" | "rename" => WritingKind::Rename,
        "cp" | "gcp" | "install" | "ginstall" | "ditto" | "scp" | "copy" | "xcopy" | "robocopy" | "copy-item"
        | "cpi" => WritingKind::Copy,
        "ln" | "gln" | "link" => WritingKind::Link,
        "rsync" => WritingKind::Sync,
        "mv" | "gmv" | "move" | "move-item" | "mi" => WritingKind::Move,
        "sed" | "gsed" | "perl" | "ruby" => WritingKind::InPlaceLetter,
        "yq" => WritingKind::InPlace(&["-i", "--inplace", "--in-place"]),
        "gawk" | "awk" => WritingKind::InPlace(&["inplace"]),
        "prettier" | "rustfmt" | "black" => WritingKind::InPlace(&["--write", "-w"]),
        "eslint" | "biome" | "stylelint" | "markdownlint" | "ruff" => WritingKind::InPlace(&["--fix", "--write"]),
        "zip" => WritingKind::InPlace(&["-m", "--move"]),
        "uniq" | "guniq" | "xxd" => WritingKind::Second,
        "curl" => WritingKind::Fetch(&["-o", "--output"], &["--output-dir"], "O"),
        "wget" => WritingKind::Fetch(&["-O", "--output-document"], &["-P", "--directory-prefix"], ""),
        "aria2c" => WritingKind::Fetch(&["-o", "--out"], &["-d", "--dir"], ""),
        "sort" | "gsort" | "shuf" | "gshuf" | "iconv" | "base64" | "tree" | "xmllint" | "gcc" | "cc" | "clang"
        | "pandoc" | "strace" | "ltrace" | "time" | "gtime" => WritingKind::Option(&["-o", "--output"]),
        "less" => WritingKind::Option(&["-o", "-O", "--log-file", "--LOG-FILE"]),
        "openssl" => WritingKind::Option(&["-out", "-keyout"]),
        "patch" | "gpatch" => WritingKind::Patch,
        "tar" | "gtar" | "bsdtar" => WritingKind::Unpack(&["-C", "--directory", "--cd"], b"x", b""),
        "unzip" => WritingKind::Unpack(&["-d"], b"", b"ltpvZ"),
        "cpio" => WritingKind::Unpack(&["-D", "--directory"], b"ip", b""),
        "7z" | "7za" | "7zz" => WritingKind::Unpack(&["-o"], b"xe", b""),
        "dd" | "gdd" => WritingKind::Assignment("of"),
        "find" | "fd" => WritingKind::Find,
        "git" => WritingKind::Git,
        _ => return None,
    })
}

/// The subcommands of Git that write the files in their words.
pub(crate) const GIT: [&str; 7] = ["rm", "mv", "checkout", "restore", "clean", "apply", "am"];
