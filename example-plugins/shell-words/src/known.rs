//! The commands that are known to write, by what of their words they write.

/// How a command uses its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every word that is no option is written.
    All,
    /// Every word that is no option is removed, with all below.
    Remove,
    /// The last word is written; the words before it are the sources.
    Copy,
    /// The same; of a source with a slash at its end, what is in it is copied.
    Sync,
    /// The same as `Copy`, and the sources are removed.
    Move,
    /// Every word, but only with an option that says so.
    InPlace(&'static [&'static str]),
    /// The same; the option is the letter `i` in any cluster, as in `-Ei.bak` and `-0pi`.
    InPlaceLetter,
    /// The value of such an option is written.
    Option(&'static [&'static str]),
    /// The value of such a `key=value` word is written.
    Assignment(&'static str),
    /// The directories before the first option are written, where something is done to what is found.
    Find,
    /// By its subcommand.
    Git,
}

/// What is known of a program, called by its file name in lower case.
pub fn kind(program: &str) -> Option<Kind> {
    Some(match program {
        "touch" | "mkdir" | "truncate" | "tee" | "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "mkfifo"
        | "mknod" | "patch" | "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "emacs" | "pico" | "joe" | "micro"
        | "hx" | "kak" | "tee-object" | "set-content" | "add-content" | "out-file" | "new-item" | "ni" | "md"
        | "sponge" | "gzip" | "gunzip" | "bzip2" | "xz" | "gtouch" | "gtruncate" | "gtee" | "gchmod" | "gchown" => {
            Kind::All
        }
        "rm" | "grm" | "rmdir" | "unlink" | "shred" | "trash" | "srm" | "del" | "erase" | "rd" | "ri"
        | "remove-item" | "clear-content" | "rename-item" | "ren" | "rename" => Kind::Remove,
        "cp" | "gcp" | "install" | "ginstall" | "ditto" | "ln" | "gln" | "scp" | "copy" | "xcopy" | "robocopy"
        | "copy-item" | "cpi" | "link" => Kind::Copy,
        "rsync" => Kind::Sync,
        "mv" | "gmv" | "move" | "move-item" | "mi" => Kind::Move,
        "sed" | "gsed" | "perl" | "ruby" => Kind::InPlaceLetter,
        "yq" => Kind::InPlace(&["-i", "--inplace", "--in-place"]),
        "gawk" | "awk" => Kind::InPlace(&["inplace"]),
        "prettier" | "rustfmt" | "black" => Kind::InPlace(&["--write", "-w"]),
        "curl" => Kind::Option(&["-o", "--output"]),
        "wget" => Kind::Option(&["-O", "--output-document", "-P", "--directory-prefix"]),
        "sort" | "gcc" | "cc" | "clang" | "pandoc" => Kind::Option(&["-o", "--output"]),
        "tar" | "bsdtar" => Kind::Option(&["-C", "--directory", "-f", "--file"]),
        "unzip" => Kind::Option(&["-d"]),
        "dd" | "gdd" => Kind::Assignment("of"),
        "find" | "fd" => Kind::Find,
        "git" => Kind::Git,
        _ => return None,
    })
}

/// The subcommands of git that write the files named to them.
pub const GIT: [&str; 7] = ["rm", "mv", "checkout", "restore", "clean", "apply", "am"];
