//! Finds files that a program writes because of a command in the program's own language, such as `w x` in `ed` or `.output x` in `sqlite3`.

use super::Command;
use super::ascii::Ascii as _;
use super::word::Word;

/// Programs, and for each program the beginnings of those of its commands that name a file to write.
const WRITING: [(&[&str], &[&str]); 4] = [
    (&["ed", "red"], &["e ", "E ", "f ", "w ", "W ", "wq "]),
    (
        &["ex", "vi", "vim", "nvim", "view"],
        &["w ", "w! ", "wq ", "wq! ", "x ", "sav ", "sav! ", "saveas ", "write ", "write! "],
    ),
    (&["sqlite3"], &[".output ", ".once ", ".backup ", ".save ", ".clone ", ".log ", ".trace ", ".o ", ".on "]),
    (&["psql"], &["\\o ", "\\out ", "\\w ", "\\write "]),
];

impl Command {
    /// Returns the files that the words or the input tell the program to write.
    pub(crate) fn told_to_write(&self) -> impl Iterator<Item = Word> {
        let program = self.program.as_str();
        let beginnings = WRITING.iter().find(|(programs, _)| programs.contains(&program)).map(|(_, begin)| *begin);
        let texts = self.args.iter().chain(&self.input).filter(move |_| beginnings.is_some());
        let lines = texts.flat_map(|word| word.text.lines());
        lines.filter_map(move |line| {
            // The commands are `:w x` and `+w x`, and with a range of lines, `1,$w x`.
            let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || " +:,$%".contains(c));
            let rest = beginnings?.iter().find_map(|begin| line.strip_prefix(begin))?;
            let path = rest.trim().trim_matches(['"', '\'']);
            let is_path = !path.is_empty() && !path.starts_with(['!', '|']) && !path.has(b'\0');
            is_path.then(|| Word { home: path.starts_with('~'), ..Word::literal(path) })
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{PathContext, read};
    use hookhost_guest::prelude::ShellDialect;

    #[test]
    fn what_a_program_is_told_to_write_is_written() {
        for (command, expected) in [
            ("ed -s <<E\ne a/b\n,s/x/y/\nw\nq\nE", "a/b"),
            ("printf '%s\\n' 'r x' '1,$w a/b' q | ed -s", "a/b"),
            ("ed x <<< 'w a/b'", "a/b"),
            ("vim -es -c 'w! a/b' -c q", "a/b"),
            ("ex -s '+w a/b' x", "a/b"),
            ("sqlite3 x.db '.output a/b' 'select 1'", "a/b"),
            ("sqlite3 x.db <<E\n.once \"a/b\"\nselect 1;\nE", "a/b"),
            ("psql -c '\\o a/b'", "a/b"),
            ("sed -n w x", ""),
            ("ed -s x <<< q", ""),
            ("sqlite3 x.db 'select 1'", ""),
            ("vim -c 'w !cat'", ""),
        ] {
            let script = read(command, ShellDialect::Posix, "/work", &PathContext::new("/work"));
            let told = script.commands.iter().flat_map(super::super::Command::told_to_write);
            let told: Vec<String> = told.map(|word| word.text).collect();
            assert_eq!(told.join(" "), expected, "{command}");
        }
    }
}
